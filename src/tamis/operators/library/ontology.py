"""Ontologies: whether an individual is of a class, by OWL (owlready2).

    use_ontology("file:///data/vehicles.owl")        instance_of('EmergencyVehicle')

The event names an individual in ``subject``. Subclasses are followed; what a reasoner adds is there
if you run it on the ontology before you hand it over.
"""

from __future__ import annotations

from typing import Any

import owlready2

from tamis.errors import suggestion
from tamis.model.events.event import Event
from tamis.operators.registry import operator

_ONTOLOGIES: list[Any] = []


def use_ontology(source: Any) -> None:
    """Use an ontology: one of owlready2, or an address or a path that it can load."""
    found = (
        source if isinstance(source, owlready2.Ontology) else owlready2.get_ontology(source).load()
    )
    _ONTOLOGIES[:] = [found]


@operator("name: string", reads=("subject",))
def instance_of(event: Event, name: str) -> bool | None:
    """Whether the individual in ``subject`` is an instance of a class, or of a subclass of it."""
    if not _ONTOLOGIES:
        raise LookupError("there is no ontology; see use_ontology")
    (ontology,) = _ONTOLOGIES
    subject = event.attributes.get("subject")
    if not isinstance(subject, str):
        return None
    asked = ontology[name]
    if asked is None:
        names = [each.name for each in ontology.classes()]
        raise LookupError(f"no class {name!r}; {suggestion(name, names) or 'see the ontology'}")
    individual = ontology[subject]
    return None if individual is None else isinstance(individual, asked)
