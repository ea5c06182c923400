"""Whether an event conforms to its schema (Le Subscribe, section 2.1).

    R1   it names its types, all of them known
    R2   it has every attribute of the view, with values of the domain, and one if it is unique
    R3   it has nothing else

The view is the one over its types whose optional attributes are those that the event has: if any
view fits the event, this one does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from tamis.errors import suggestion
from tamis.model.events.event import Event, Node
from tamis.model.kinds import Value, equal, kind_of
from tamis.model.paths import Path, format_path
from tamis.model.schema.domains import Domain
from tamis.model.schema.views import View

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema


class Rule(StrEnum):
    """The rules that an event may break."""

    R1 = "R1"
    R2 = "R2"
    R3 = "R3"
    UNREADABLE = "unreadable"
    """What should be an event is none."""


class Violation(NamedTuple):
    """A rule that an event breaks: by which attribute, under which types, and how."""

    rule: Rule
    attribute: str
    types: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class Held(NamedTuple):
    """What an event has at a path."""

    values: list[Value]
    is_mapping: bool
    """Whether a mapping without keys stands there."""


def violations(schema: Schema, event: Event, types: Collection[str] = ()) -> list[Violation]:
    """What an event breaks; ``types`` are its types if it does not name them."""
    held = held_by(event)
    named = held.pop(schema.event_type, None)
    found = [*_type_violations(schema, named, types, held)]
    if found:
        return found
    known = types if named is None else [str(value) for value in named.values]
    widest = schema.view(known)
    view = widest.with_only(path for path in held if path in widest.attributes)
    return [*_second_rule(schema, view, held), *_third_rule(schema, widest, held)]


def held_by(event: Event) -> dict[Path, Held]:
    """The values of an event by path, lists taken apart; also where there are none."""
    found: dict[Path, Held] = {}

    def walk(node: Node, path: Path) -> None:
        if isinstance(node, dict) and node:
            for key, child in node.items():
                walk(child, (*path, key))
        elif isinstance(node, list) and node:
            for element in node:
                walk(element, path)
        elif isinstance(node, dict | list):
            if path:
                known = found.get(path, Held([], False))
                found[path] = known._replace(is_mapping=known.is_mapping or node == {})
        else:
            found.setdefault(path, Held([], False)).values.append(node)

    walk(event.attributes, ())
    return found


def _type_violations(
    schema: Schema, named: Held | None, types: Collection[str], held: Collection[Path]
) -> Iterator[Violation]:
    name = format_path(schema.event_type)

    def broken(reason: str) -> Violation:
        return Violation(Rule.R1, name, (), f"{reason}: an event names its types in {name!r}")

    inside = [path for path in held if path[0] == schema.event_type[0]]
    if inside or (named is not None and named.is_mapping):
        yield broken(f"{name!r} is a mapping")
        return
    if named is None and not types:
        yield broken(f"{name!r} is missing")
    elif named is not None and not named.values:
        yield broken(f"{name!r} is empty")
    for value in types if named is None else named.values:
        if not isinstance(value, str) or value not in schema.types:
            hint = suggestion(str(value), schema.types) or "create the type first"
            reason = f"{_shown(value)} is not a known event type; {hint}"
            yield Violation(Rule.R1, name, (str(value)[:100],), reason)


def _second_rule(schema: Schema, view: View, held: dict[Path, Held]) -> Iterator[Violation]:
    for path, annotation in view.annotations.items():
        name = format_path(path)
        owners = _owners(schema, view, path)
        has = held.get(path)
        if has is None or has.is_mapping:
            what = "missing" if has is None else "a mapping, and no value"
            where = f"mandatory in {_listed(owners)}" if annotation.mandatory else "an attribute"
            reason = f"{name!r} is {what}; it is {where}"
            yield Violation(Rule.R2, name, owners, reason)
            continue
        domain = schema.domain(path)
        assert domain is not None
        for value in has.values:
            if value not in domain:
                said = f"{name!r} of {_listed(owners)} is {_shown(value)}"
                yield Violation(Rule.R2, name, owners, f"{said}, {_foreign(value, domain)}")
                break
        if annotation.unique and not is_single(has.values):
            count = len(has.values) or "no"
            reason = f"{name!r} has {count} values; it is unique in {_listed(owners)}"
            yield Violation(Rule.R2, name, owners, reason)


def _third_rule(schema: Schema, view: View, held: dict[Path, Held]) -> Iterator[Violation]:
    types = tuple(sorted(view.types))
    for path, has in held.items():
        if path in view.attributes or (path in view.inner and not has.values):
            continue
        name = format_path(path)
        others = [type for type, each in schema.types.items() if path in each.attributes]
        known = map(format_path, view.attributes)
        hint = f"it is one of {_listed(others)}" if others else suggestion(name, known)
        said = f"{name!r} is not an attribute of {_listed(types)}"
        yield Violation(Rule.R3, name, types, said + (f"; {hint}" if hint else ""))


def _owners(schema: Schema, view: View, path: Path) -> tuple[str, ...]:
    """The types of a view that have an attribute, or those for which it is mandatory."""
    found = [type for type in sorted(view.types) if path in schema.types[type].attributes]
    strict = [type for type in found if path in schema.types[type].mandatory]
    return tuple(strict or found)


def is_single(values: list[Value]) -> bool:
    """Whether the set of values has one: a value that is repeated counts once."""
    return bool(values) and all(equal(value, values[0]) for value in values[1:])


def _foreign(value: Value, domain: Domain) -> str:
    if kind_of(value) is not domain.kind:
        return f"a {kind_of(value)} and no {domain.kind}"
    hint = domain.hint(value)
    return "outside of its domain" + (f"; {hint}" if hint else "")


def _shown(value: object) -> str:
    text = str(value) if type(value).__name__ == "Timestamp" else repr(value)
    return text if len(text) <= 100 else text[:99] + "…"


def _listed(names: Iterable[str]) -> str:
    several = [name[:50] for name in names]
    if len(several) > 5:
        several = [*several[:5], f"{len(several) - 5} more"]
    *first, last = several
    return f"{', '.join(first)} and {last}" if first else last
