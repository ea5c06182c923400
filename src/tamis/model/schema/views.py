"""Event schemas, and views over several of them (Le Subscribe, section 2.1).

    antiques     price mandatory unique     period mandatory unique
    furniture    price mandatory unique     material optional unique     tags optional multiple
    book                                    tags mandatory unique

    view over {furniture, book}: price mandatory unique, material optional unique,
                                 tags mandatory multiple

Where types annotate an attribute differently, mandatory has priority over optional, and multiple
over unique. Beside the mandatory ones a view has any of the optional attributes: the widest one has
all, and the one that an event is held against has those that the event has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tamis.model.paths import Path


class Annotation(NamedTuple):
    """Whether events of a type must have an attribute, and whether they have one value of it."""

    mandatory: bool
    unique: bool

    def __str__(self) -> str:
        return " ".join(
            ["mandatory" if self.mandatory else "optional", "unique" if self.unique else "multiple"]
        )

    def joined(self, other: Annotation) -> Annotation:
        """Both at once: mandatory and multiple have priority."""
        return Annotation(self.mandatory or other.mandatory, self.unique and other.unique)


Annotations = Mapping[Path, Annotation]


class _Annotated:
    """What event schemas and views have in common: a set of annotated attributes."""

    annotations: Annotations

    @cached_property
    def attributes(self) -> frozenset[Path]:
        """The attribute set."""
        return frozenset(self.annotations)

    @cached_property
    def mandatory(self) -> frozenset[Path]:
        """The mandatory set."""
        return frozenset(path for path, each in self.annotations.items() if each.mandatory)

    @cached_property
    def unique(self) -> frozenset[Path]:
        """The unique set."""
        return frozenset(path for path, each in self.annotations.items() if each.unique)


@dataclass(frozen=True)
class EventSchema(_Annotated):
    """The attributes of the events of one type."""

    annotations: Annotations


@dataclass(frozen=True)
class View(_Annotated):
    """Some event types, and attributes of theirs with one annotation each."""

    types: frozenset[str]
    annotations: Annotations

    @cached_property
    def inner(self) -> frozenset[Path]:
        """The paths of the mappings in which the attributes lie."""
        return inner_paths(self.annotations)

    def with_only(self, paths: Iterable[Path]) -> View:
        """The view with these of its optional attributes, and all mandatory ones."""
        kept = self.mandatory.union(paths)
        return View(
            self.types, {path: each for path, each in self.annotations.items() if path in kept}
        )


def widest_view(schemas: Mapping[str, EventSchema]) -> View:
    """The view over all these types with all of their attributes."""
    annotations: dict[Path, Annotation] = {}
    for schema in schemas.values():
        for path, annotation in schema.annotations.items():
            known = annotations.get(path)
            annotations[path] = annotation if known is None else known.joined(annotation)
    return View(frozenset(schemas), annotations)


def inner_paths(paths: Iterable[Path]) -> frozenset[Path]:
    """The proper beginnings of paths."""
    return frozenset(path[:length] for path in paths for length in range(1, len(path)))
