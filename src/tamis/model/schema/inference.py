"""A schema from a sample of events, all of which are valid under it.

    event                                 counted for each of its types, and for each attribute
    {"event_type": ["s", "t"], "a": 1}    s: a in 1 of 1      t: a in 1 of 1

An attribute belongs to a type if an event of that type alone has it. Where only events of several
types have it, it belongs to those of them whose events all have it, or, if there is none, to all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import SchemaError
from tamis.model.events.event import Event
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.limits import LIMITS
from tamis.model.paths import Path, format_path
from tamis.model.schema import schema as model
from tamis.model.schema.conformity import held_by, is_single
from tamis.model.schema.views import Annotation, EventSchema
from tamis.model.timestamp import Timestamp

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

Types = frozenset[str]


class _Seen:
    """What is known of one attribute."""

    def __init__(self) -> None:
        self.kinds: set[Kind] = set()
        self.integers = True
        self.timestamps = True
        self.distinct: set[str] = set()
        self.owners: set[Types] = set()
        """The sets of types of the events that have it."""

    def take(self, values: Iterable[Value], most: int) -> None:
        for value in values:
            self.kinds.add(kind_of(value))
            self.integers = self.integers and type(value) is int
            if isinstance(value, str):
                self.timestamps = self.timestamps and _is_timestamp(value)
                if len(self.distinct) <= most:
                    self.distinct.add(value)


def infer(
    events: Iterable[Event | Mapping[str, Any]], type: str, event_type: str, enumerate: int
) -> Schema:
    """The schema of a sample; ``type`` is that of events that name none."""
    attributes: dict[Path, _Seen] = {}
    of_type: Counter[str] = Counter()
    having: Counter[tuple[str, Path]] = Counter()
    several: set[tuple[str, Path]] = set()
    for event in map(Event.of, events):
        held = held_by(event)
        named = held.pop((event_type,), None)
        types = _types([type] if named is None else named.values, event_type)
        of_type.update(types)
        for path, has in held.items():
            if has.is_mapping or (not has.values and _has_below(path, held)):
                continue
            seen = attributes.setdefault(path, _Seen())
            seen.take(has.values, enumerate)
            seen.owners.add(types)
            for each in types:
                having[each, path] += 1
                if not is_single(has.values):
                    several.add((each, path))
    annotations: dict[str, dict[Path, Annotation]] = {each: {} for each in sorted(of_type)}
    domains: dict[str, Any] = {}
    names: dict[Path, str] = {}
    for path, seen in attributes.items():
        names[path] = _domain(path, seen, enumerate, domains)
        for owner in _owners(path, seen, having, of_type):
            everywhere = having[owner, path] == of_type[owner]
            annotations[owner][path] = Annotation(everywhere, (owner, path) not in several)
    return model.Schema(
        domains=domains,
        attributes=names,
        types={each: EventSchema(found) for each, found in annotations.items()},
        event_type=event_type,
    )


def _types(values: Iterable[Value], event_type: str) -> Types:
    found = list(values)
    for value in found:
        if not isinstance(value, str) or not value:
            raise SchemaError(
                f"{event_type!r} has {value!r}, which is not the name of an event type"
            )
    if not found:
        raise SchemaError(f"{event_type!r} is empty: an event has one type or more")
    return frozenset(str(value) for value in found)


def _has_below(path: Path, held: Iterable[Path]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in held)


def _owners(
    path: Path, seen: _Seen, having: Counter[tuple[str, Path]], of_type: Counter[str]
) -> list[str]:
    alone = {type for types in seen.owners if len(types) == 1 for type in types}
    found = set(alone)
    for types in seen.owners:
        if alone.isdisjoint(types):
            always = {type for type in types if having[type, path] == of_type[type]}
            found |= always or types
    return sorted(found)


def _domain(path: Path, seen: _Seen, most: int, domains: dict[str, Any]) -> str:
    """The name of the domain of an attribute, created if it is an enumeration."""
    if len(seen.kinds) > 1:
        kinds = " and ".join(sorted(seen.kinds))
        raise SchemaError(
            f"the attribute {format_path(path)!r} has values of several kinds, {kinds}: clean the "
            "sample, or give the values attributes of their own"
        )
    kind = next(iter(seen.kinds), Kind.STRING)
    if kind is Kind.NUMBER:
        return "integer" if seen.integers else "number"
    if kind is not Kind.STRING:
        return str(kind)
    if seen.kinds and seen.timestamps:
        return "timestamp"
    if 0 < len(seen.distinct) <= min(most, LIMITS.members) and "" not in seen.distinct:
        name = f"{format_path(path)} values"
        domains[name] = {"kind": "enumerated", "values": sorted(seen.distinct)}
        return name
    return "string"


def _is_timestamp(text: str) -> bool:
    try:
        Timestamp.parse(text)
    except ValueError:
        return False
    return True
