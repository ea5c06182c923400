"""The papers whose experiments there are; loads nothing else."""

PAPERS = {
    "lesubscribe": "Le Subscribe: figures 9 to 11, additions, naive, tiny domains",
    "operators": "expensive operators: figures 4 to 8, costs, what scheduling takes",
    "gryphon": "Gryphon: time and nodes against the theorem's bound, space, optimisations",
}
