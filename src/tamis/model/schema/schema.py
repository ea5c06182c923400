"""The integrated event schema: which attributes there are, and which events of a type have.

    domains       attributes                      types
    number   <──  price                     <──   furniture   price mandatory unique
    category <──  furniture_category        <──               furniture_category mandatory unique
    period   <──  period                          antiques    price mandatory unique, …

A schema never changes; ``extend`` makes another one of the next version, which has all that the
former had. Attributes are paths: ``seller.rating`` lies in the mapping ``seller``. The attribute
``event_type``, in every event, has the event's types; its domain is the set of all types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tamis.errors import InvalidEventError, SchemaError, suggestion
from tamis.model.events.event import Event
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS, Limits, check_limit
from tamis.model.paths import Path, format_path
from tamis.model.schema import conformity, json_form, table
from tamis.model.schema.coercion import Readers, readers_of, typed
from tamis.model.schema.conformity import Violation
from tamis.model.schema.domains import (
    BUILT_IN,
    Domain,
    EnumeratedDomain,
    HierarchicalDomain,
    NumericDomain,
)
from tamis.model.schema.extension import extended
from tamis.model.schema.views import EventSchema, View, inner_paths, widest_view
from tamis.model.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa

EVENT_TYPE = "event_type"
_NOTHING: Mapping[Any, Any] = MappingProxyType({})
_VIEWS = 1_000
"""Views kept, each for a set of types."""


class Schema:
    """Domains, attributes and event types.

        Schema(
            domains={"grade": {"kind": "enumerated", "values": ["poor", "good"]}},
            attributes={"price": "number", "grade": "grade"},
            types={"offer": {"price": "mandatory unique", "grade": "optional multiple"}},
        )

    An attribute's domain is given by its name: one of ``domains``, or ``number``, ``integer``,
    ``string``, ``boolean``, ``timestamp`` or ``bytes``.
    """

    def __init__(
        self,
        *,
        domains: Mapping[str, Any] = _NOTHING,
        attributes: Mapping[Any, str] = _NOTHING,
        types: Mapping[str, Any] = _NOTHING,
        version: int = 1,
        event_type: str = EVENT_TYPE,
    ) -> None:
        self.version = json_form.checked_version(version)
        self.event_type: Path = (json_form.checked_name(event_type, "an attribute"),)
        """The path of the attribute that has the types of an event."""
        self.domains: Mapping[str, Domain] = json_form.read_domains(domains)
        """Those besides the built-in ones, by name."""
        self.attributes: Mapping[Path, str] = json_form.read_attributes(attributes)
        """All attributes but the event's types, each with the name of its domain."""
        self.types: Mapping[str, EventSchema] = json_form.read_types(types)
        self._views: dict[frozenset[str], View] = {}
        self._check()

    def _check(self) -> None:
        for what in ("domains", "attributes", "types"):
            check_limit(len(getattr(self, what)), LIMITS.attributes, f"{what} of a schema")
        for name in self.domains:
            if name in BUILT_IN:
                raise SchemaError(f"the domain {name!r} is built in; give yours another name")
        for path, name in self.attributes.items():
            place = repr(format_path(path))
            if path[0] == self.event_type[0]:
                raise SchemaError(f"{place} has the types of an event, and no other domain")
            if path in self.inner:
                raise SchemaError(f"{place} is an attribute, and cannot have others inside")
            if name not in BUILT_IN and name not in self.domains:
                hint = suggestion(name, [*BUILT_IN, *self.domains]) or "create the domain first"
                raise SchemaError(f"the attribute {place} has the unknown domain {name!r}; {hint}")
        for type, schema in self.types.items():
            for path in schema.annotations:
                if path not in self.attributes:
                    raise SchemaError(f"the type {type!r} has the {self.unknown(path)}")

    def unknown(self, path: Path) -> str:
        """The message for a path that is not an attribute."""
        hint = suggestion(format_path(path), self.names)
        return f"unknown attribute '{format_path(path)}'" + (f"; {hint}" if hint else "")

    @cached_property
    def inner(self) -> frozenset[Path]:
        """The paths of the mappings that attributes lie in."""
        return inner_paths(self.attributes)

    @cached_property
    def names(self) -> frozenset[str]:
        """The attributes, and the mappings that they lie in, as they are written in texts."""
        paths = {self.event_type, *self.attributes, *self.inner}
        return frozenset(map(format_path, paths))

    # What the schema says of one attribute.

    def domain(self, path: Path) -> Domain | None:
        """The domain of an attribute; None if it is unknown."""
        if path == self.event_type:
            return self._type_domain
        name = self.attributes.get(path)
        if name is None:
            return None
        return self.domains[name] if name in self.domains else BUILT_IN[name]

    @cached_property
    def _type_domain(self) -> EnumeratedDomain:
        return EnumeratedDomain(tuple(self.types))

    def kind(self, path: Path) -> Kind | None:
        """The kind of an attribute's values; None if it is unknown."""
        domain = self.domain(path)
        return None if domain is None else domain.kind

    def is_integer(self, path: Path) -> bool:
        """Whether an attribute's values are integers."""
        domain = self.domain(path)
        return isinstance(domain, NumericDomain) and domain.integer

    def taxonomy(self, path: Path) -> Taxonomy | None:
        """The taxonomy of a hierarchical attribute."""
        domain = self.domain(path)
        return domain.taxonomy if isinstance(domain, HierarchicalDomain) else None

    def unique(self, path: Path) -> bool:
        """Whether no valid event has a list of different elements at an attribute, or on the way
        to it. Of one within another that is not known: elements may share a value and differ in
        others."""
        return len(path) == 1 and self.has_one_value(path)

    def has_one_value(self, path: Path) -> bool:
        """Whether no valid event has two values of an attribute: it is unique in all types that
        have it, of which there are some."""
        found = [each.annotations[path] for each in self.types.values() if path in each.attributes]
        return bool(found) and all(annotation.unique for annotation in found)

    def paths(self, kind: Kind) -> list[Path]:
        """The attributes whose values are of a kind."""
        return [path for path in self.attributes if self.kind(path) is kind]

    # Views and events.

    def view(self, types: Iterable[str]) -> View:
        """The view over some types, with all of their attributes."""
        wanted = frozenset(types)
        found = self._views.get(wanted)
        if found is None:
            for type in wanted:
                if type not in self.types:
                    hint = suggestion(type, self.types) or f"there are {len(self.types):,}"
                    raise SchemaError(f"unknown event type {type!r}; {hint}")
            if len(self._views) >= _VIEWS:
                self._views.clear()
            schemas = {type: each for type, each in self.types.items() if type in wanted}
            found = self._views[wanted] = widest_view(schemas)
        return found

    def violations(
        self,
        event: Event | Mapping[str, Any],
        *,
        types: Collection[str] = (),
        limits: Limits = LIMITS,
    ) -> list[Violation]:
        """What an event breaks of the rules R1, R2 and R3; nothing if it is valid.

        ``types`` are those of events that do not name their own.
        """
        return conformity.violations(self, Event.of(event, limits), types)

    def check(
        self,
        event: Event | Mapping[str, Any],
        *,
        types: Collection[str] = (),
        limits: Limits = LIMITS,
    ) -> None:
        """Raise an InvalidEventError unless an event is valid."""
        found = self.violations(event, types=types, limits=limits)
        if found:
            message = "; ".join(map(str, found[:10]))
            more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
            raise InvalidEventError(message + more, tuple(found))

    def typed(self, event: Event, *, texts: bool = False) -> Event:
        """The event, with the strings of timestamp attributes converted, if they are timestamps.

        With ``texts``, for sources that have only strings, numbers and booleans are converted too.
        """
        return typed(event, self._texts if texts else self._timestamps)

    @cached_property
    def _timestamps(self) -> Readers:
        return readers_of(self, [Kind.TIMESTAMP])

    @cached_property
    def _texts(self) -> Readers:
        return readers_of(self, [Kind.TIMESTAMP, Kind.NUMBER, Kind.BOOLEAN])

    # Other schemas, and other forms.

    def extend(self, extension: Schema | str | bytes | Mapping[str, Any]) -> Schema:
        """The schema of the next version, with more domains, attributes, types, and more optional
        attributes of types that exist: all of them, or a SchemaError that tells what is refused.

        The extension has the form of a schema. What it repeats of this one changes nothing; if
        it has nothing new, this schema is returned.
        """
        if isinstance(extension, Schema):
            return extended(self, json_form.parts_of(extension))
        return extended(self, json_form.read_extension(extension))

    @classmethod
    def from_json(cls, form: str | bytes | Mapping[str, Any], limits: Limits = LIMITS) -> Schema:
        """The schema of a JSON document, or of the object that it holds."""
        return cls(**json_form.read_form(form, limits))

    def to_json(self) -> dict[str, Any]:
        """The JSON form, which ``from_json`` reads."""
        return json_form.form_of(self)

    @classmethod
    def from_arrow(
        cls, schema: pa.Schema, *, type: str = "event", event_type: str = EVENT_TYPE
    ) -> Schema:
        """The schema that ``to_arrow`` gave; of other Arrow schemas, one type with all columns:
        mandatory if they cannot be null, and multiple if they are lists."""
        from tamis.model.schema import arrow_form  # pyarrow stays unloaded until here

        return arrow_form.from_arrow(schema, type, event_type)

    def to_arrow(self) -> pa.Schema:
        """An Arrow schema that events of all types fit, and ``from_arrow`` reads."""
        from tamis.model.schema import arrow_form

        return arrow_form.to_arrow(self)

    @classmethod
    def infer(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str = "event",
        event_type: str = EVENT_TYPE,
        enumerate: int = 0,
    ) -> Schema:
        """A schema by which all events of a sample are valid.

        ``type`` is the type of events that do not name one. Strings with at most ``enumerate``
        distinct values become an enumerated domain.
        """
        from tamis.model.schema.inference import infer

        return infer(events, type, event_type, enumerate)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def _parts(self) -> tuple[Any, ...]:
        return self.version, self.event_type, self.domains, self.attributes, self.types

    def __str__(self) -> str:
        return table.table_of(self)

    def __repr__(self) -> str:
        return (
            f"Schema(version {self.version}: {len(self.types):,} types, "
            f"{len(self.attributes):,} attributes, {len(self.domains):,} domains)"
        )
