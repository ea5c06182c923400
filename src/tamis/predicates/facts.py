"""What is known of attributes: it decides how much can be said of two subscriptions.

Without facts an attribute may have several values, of any kinds, and terms have no taxonomy.
A fact is a promise about *all* events: an answer that rests on one holds for events that keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tamis.errors import TamisError, suggestion
from tamis.model.events.event import Event
from tamis.model.kinds import ORDERED, Kind, Value, kind_of
from tamis.model.paths import Path, parse_path
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.valueset import GREATEST, LEAST, ValueSet


class Facts(Protocol):
    """What a schema, or anything else, knows of attributes."""

    def unique(self, path: Path) -> bool:
        """Whether no list of two or more elements stands at the path or on the way to it."""
        ...

    def is_integer(self, path: Path) -> bool:
        """Whether all values there are integers."""
        ...

    def kind(self, path: Path) -> Kind | None:
        """The kind of all values there, if it is known."""
        ...

    def taxonomy(self, path: Path) -> Taxonomy | None:
        """The taxonomy by which ``is a`` is decided there."""
        ...


class KnownFacts:
    """Facts that are written down: ``KnownFacts(unique=["price"], kinds={"price": "number"})``."""

    def __init__(
        self,
        *,
        unique: Iterable[str] = (),
        integers: Iterable[str] = (),
        kinds: Mapping[str, Kind | str] | None = None,
        taxonomy: Taxonomy | None = None,
    ) -> None:
        self._unique = {
            path[:length] for path in map(parse_path, unique) for length in range(1, len(path) + 1)
        }
        self._integers = set(map(parse_path, integers))
        self._kinds = {parse_path(name): _kind(kind) for name, kind in (kinds or {}).items()}
        self._taxonomy = taxonomy

    def unique(self, path: Path) -> bool:
        """Whether the path, or one that it leads to, was said to be unique."""
        return path in self._unique

    def is_integer(self, path: Path) -> bool:
        """Whether the values there are integers."""
        return path in self._integers

    def kind(self, path: Path) -> Kind | None:
        """The kind of the values there."""
        return Kind.NUMBER if path in self._integers else self._kinds.get(path)

    def taxonomy(self, path: Path) -> Taxonomy | None:
        """The one taxonomy, for all attributes."""
        return self._taxonomy


def _kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError as error:
        hint = suggestion(str(name), map(str, Kind)) or "there are " + ", ".join(Kind)
        raise TamisError(f"{name!r} is not a kind of value; {hint}") from error


NO_FACTS: Facts = KnownFacts()


def domain(facts: Facts, path: Path) -> ValueSet | None:
    """The values that the attribute may have, integers not told from other numbers; None if
    nothing is known."""
    integer = facts.is_integer(path)
    kind = Kind.NUMBER if integer else facts.kind(path)
    if kind is None:
        return None
    ranges = {kind: ((LEAST, GREATEST),)} if kind in ORDERED else {}
    booleans = frozenset({True, False}) if kind is Kind.BOOLEAN else frozenset()
    nan_or_bytes = kind is Kind.BYTES or (kind is Kind.NUMBER and not integer)
    return ValueSet(ranges, booleans, nan_or_bytes)


def can_be(facts: Facts, path: Path, value: Value) -> bool:
    """Whether the attribute may have the value."""
    if facts.is_integer(path):
        return type(value) is int or (type(value) is float and value.is_integer())
    kind = facts.kind(path)
    return kind is None or kind_of(value) is kind


def conforms(event: Event, facts: Facts, paths: Iterable[Path]) -> bool:
    """Whether an event keeps the facts about some attributes."""
    return all(_keeps(event, facts, path) for path in paths)


def _keeps(event: Event, facts: Facts, path: Path) -> bool:
    if facts.unique(path):
        ways = (path[:length] for length in range(1, len(path) + 1))
        if any(len(list(event.nodes(way))) > 1 for way in ways):
            return False
    return all(can_be(facts, path, value) for value in event.values(path))
