"""The papers whose experiments there are; loads nothing else."""

PAPERS = {
    "lesubscribe": "Le Subscribe: figures 9 to 11, additions, naive, tiny domains",
    "operators": "expensive operators: figures 4 to 8, costs, what scheduling takes",
    "gtopss": "G-ToPSS: figures 9a to 9h, shared joins, and graphs in an engine",
    "padres": "PADRES: figures 12 to 15, table 2, removal of a coverer, messages of an overlay",
    "gryphon": "Gryphon: time and nodes against the theorem's bound, space, optimisations",
}
