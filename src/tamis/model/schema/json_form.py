"""Schemas from JSON and back, and the plain notation that Python shares with it.

    {
      "version": 1,
      "event_type": "event_type",
      "domains": {
        "grade": {"kind": "enumerated", "values": ["poor", "good"], "order": [["poor", "good"]]},
        "category": {"kind": "hierarchical", "parents": {"chair": ["furniture"]}},
        "rating": {"kind": "numeric", "integer": false, "least": 0, "greatest": 5}
      },
      "attributes": {"price": "number", "seller.rating": "rating"},
      "types": {"offer": {"price": "mandatory unique", "seller.rating": "optional unique"}}
    }

Errors name the place: ``unknown key 'valeus' at domains/grade; did you mean 'values'?``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tamis.errors import ParseError, SchemaError, TaxonomyError, suggestion
from tamis.model.kinds import Kind, to_value
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits, check_limit
from tamis.model.paths import Path, format_path, parse_path
from tamis.model.schema.domains import (
    Domain,
    EnumeratedDomain,
    HierarchicalDomain,
    NumericDomain,
    WholeDomain,
)
from tamis.model.schema.views import Annotation, EventSchema
from tamis.model.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

PARTS = ("domains", "attributes", "types")
_KEYS = ("version", "event_type", *PARTS)
_ANNOTATIONS = {
    word: Annotation(mandatory, unique)
    for mandatory in (True, False)
    for unique in (True, False)
    for word in [str(Annotation(mandatory, unique))]
}


# Documents.


def read_form(form: str | bytes | Mapping[str, Any], limits: Limits = LIMITS) -> dict[str, Any]:
    """The parts of a schema, as they are written, from a document or its object."""
    whole = _decoded(form, limits) if isinstance(form, str | bytes) else form
    return dict(_object(whole, "a schema", "", _KEYS))


def read_extension(
    form: str | bytes | Mapping[str, Any], limits: Limits = LIMITS
) -> dict[str, Any]:
    """The parts of an extension, which has neither a version nor another attribute of types."""
    whole = _decoded(form, limits) if isinstance(form, str | bytes) else form
    return dict(_object(whole, "an extension", "", PARTS))


def parts_of(schema: Schema) -> dict[str, Any]:
    """What a schema has, without its version."""
    return {part: getattr(schema, part) for part in PARTS}


def form_of(schema: Schema) -> dict[str, Any]:
    """The JSON form of a schema."""
    return {
        "version": schema.version,
        "event_type": schema.event_type[0],
        "domains": {name: _domain_form(domain) for name, domain in schema.domains.items()},
        "attributes": {format_path(path): name for path, name in schema.attributes.items()},
        "types": {
            name: {format_path(path): str(each) for path, each in type.annotations.items()}
            for name, type in schema.types.items()
        },
    }


def _decoded(text: str | bytes, limits: Limits) -> Any:
    check_limit(len(text), limits.schema, "characters in the JSON form of a schema")
    try:
        return _DECODER.decode(text.decode() if isinstance(text, bytes) else text)
    except UnicodeDecodeError as error:
        raise SchemaError(f"not valid UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        problem = error.msg[:1].lower() + error.msg[1:]
        place = f"line {error.lineno}, column {error.colno}"
        raise SchemaError(f"not valid JSON: {problem} at {place}") from error
    except RecursionError as error:
        raise SchemaError(f"a schema is at most {MAX_DEPTH} levels deep") from error
    except ValueError as error:  # an integer of thousands of digits
        raise SchemaError("a number beyond all bounds") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise SchemaError(f"the key {twice[:100]!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise SchemaError(f"the constant {name} cannot bound a domain")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse_constant)


# The parts.


def read_domains(forms: Any) -> dict[str, Domain]:
    """Domains by name, each given as a domain or in its JSON form."""
    return {
        checked_name(name, "a domain"): (
            form if isinstance(form, Domain) else _domain(form, f"domains/{name}"[:100])
        )
        for name, form in _mapping(forms, "domains").items()
    }


def read_attributes(forms: Any) -> dict[Path, str]:
    """The names of domains by attribute, which is a path or its dotted form."""
    found: dict[Path, str] = {}
    for name, domain in _mapping(forms, "attributes").items():
        path = _path(name, "attributes")
        if path in found:
            raise SchemaError(f"the attribute {format_path(path)!r} stands twice")
        found[path] = checked_name(domain, "a domain")
    return found


def read_types(forms: Any) -> dict[str, EventSchema]:
    """Event schemas by type, each given as one or in its JSON form."""
    found: dict[str, EventSchema] = {}
    for name, form in _mapping(forms, "types").items():
        checked_name(name, "an event type")
        if not isinstance(form, EventSchema):
            place = f"types/{name}"[:100]
            annotations = {
                _path(attribute, place): _annotation(words, place)
                for attribute, words in _mapping(form, place).items()
            }
            if len(annotations) < len(form):
                raise SchemaError(f"an attribute stands twice at {place}")
            form = EventSchema(annotations)
        found[name] = form
    return found


def checked_version(version: Any) -> int:
    """A version: 1, 2, 3 …"""
    if type(version) is not int or not 1 <= version < 2**63:
        raise SchemaError(f"a version is a number from 1 on, not {str(version)[:50]}")
    return version


def checked_name(name: Any, what: str) -> str:
    """A name of reasonable length."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"the name of {what} is a string, not {str(name)[:50]!r}")
    check_limit(len(name), LIMITS.id, f"characters in the name of {what}")
    return _unicode(name)


def _unicode(text: str) -> str:
    try:
        to_value(text)
    except ValueError as error:
        raise SchemaError(f"{text[:50]!r} is {error}") from error
    return text


def _path(name: Any, place: str) -> Path:
    if isinstance(name, tuple) and name:
        path = name
    elif isinstance(name, str):
        check_limit(len(name), 100 * LIMITS.id, "characters in an attribute")
        try:
            path = parse_path(name)
        except ParseError as error:
            raise SchemaError(f"{error.problem} at {place}; {error.hint}") from error
    else:
        raise SchemaError(f"an attribute is a dotted path, not {str(name)[:50]!r} at {place}")
    check_limit(len(path), MAX_DEPTH, "keys in an attribute")
    return tuple(checked_name(key, "a key") for key in path)


def _annotation(words: Any, place: str) -> Annotation:
    if isinstance(words, Annotation):
        return words
    if isinstance(words, str):
        found = _ANNOTATIONS.get(words) or _ANNOTATIONS.get(" ".join(words.split()[::-1]))
        if found is not None:
            return found
    raise SchemaError(
        f"an attribute is 'mandatory' or 'optional' and 'unique' or 'multiple', such as "
        f"'optional unique', not {str(words)[:50]!r} at {place}"
    )


# Domains.


def _domain(form: Any, place: str) -> Domain:
    kind = _mapping(form, place).get("kind")
    if not isinstance(kind, str) or kind not in _READERS:
        hint = suggestion(str(kind), _READERS) or "known are " + ", ".join(_READERS)
        raise SchemaError(f"unknown kind of domain {str(kind)[:50]!r} at {place}; {hint}")
    keys, read = _READERS[kind]
    _object(form, f"a domain that is {kind}", place, ("kind", *keys))
    try:
        return read(form)
    except (SchemaError, TaxonomyError) as error:
        raise SchemaError(f"{error} at {place}") from error


def _numeric(form: Mapping[str, Any]) -> Domain:
    integer = form.get("integer", False)
    if not isinstance(integer, bool):
        raise SchemaError(f"'integer' is true or false, not {str(integer)[:50]}")
    return NumericDomain(integer, form.get("least"), form.get("greatest"))


def _enumerated(form: Mapping[str, Any]) -> Domain:
    chains = _list(form.get("order", []), "'order'")
    check_limit(sum(len(_list(chain, "a chain")) for chain in chains), LIMITS.schema, "values")
    return EnumeratedDomain(
        _strings(form.get("values"), "'values'"),
        tuple(_strings(chain, "a chain of the order") for chain in chains),
    )


def _hierarchical(form: Mapping[str, Any]) -> Domain:
    parents = _mapping(form.get("parents"), "'parents'")
    for term, above in parents.items():
        _strings([term], "a term")
        _strings(above, f"the parents of {str(term)[:50]!r}")
    return HierarchicalDomain(Taxonomy(parents))


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Domain]]] = {
    "numeric": (("integer", "least", "greatest"), _numeric),
    "string": ((), lambda _: WholeDomain(Kind.STRING)),
    "boolean": ((), lambda _: WholeDomain(Kind.BOOLEAN)),
    "timestamp": ((), lambda _: WholeDomain(Kind.TIMESTAMP)),
    "bytes": ((), lambda _: WholeDomain(Kind.BYTES)),
    "enumerated": (("values", "order"), _enumerated),
    "hierarchical": (("parents",), _hierarchical),
}
"""For each kind of domain the keys of its form, and what reads it."""


def _domain_form(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, NumericDomain):
        bounds = {"least": domain.least, "greatest": domain.greatest}
        given = {key: bound for key, bound in bounds.items() if bound is not None}
        return {"kind": "numeric", "integer": domain.integer, **given}
    if isinstance(domain, EnumeratedDomain):
        order = {"order": [list(chain) for chain in domain.order]} if domain.order else {}
        return {"kind": "enumerated", "values": list(domain.values), **order}
    if isinstance(domain, HierarchicalDomain):
        parents = {term: list(above) for term, above in domain.taxonomy.parents.items()}
        return {"kind": "hierarchical", "parents": parents}
    return {"kind": str(domain.kind)}


# What stands at a place.


def _object(form: Any, what: str, place: str, keys: Collection[str]) -> Mapping[str, Any]:
    where = f" at {place}" if place else ""
    if not isinstance(form, Mapping):
        raise SchemaError(f"{what} is an object, not a {type(form).__name__}{where}")
    for key in form:
        if key not in keys:
            hint = suggestion(str(key), keys) or "known are " + ", ".join(keys)
            raise SchemaError(f"unknown key {str(key)[:50]!r}{where}; {hint}")
    return form


def _mapping(form: Any, place: str) -> Mapping[Any, Any]:
    if not isinstance(form, Mapping):
        raise SchemaError(f"{place}: expected an object, found a {type(form).__name__}")
    return form


def _list(form: Any, what: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(form, list | tuple):
        raise SchemaError(f"{what} is a list, not a {type(form).__name__}")
    return form


def _strings(form: Any, what: str) -> tuple[str, ...]:
    values: Iterable[Any] = _list(form, what)
    for value in values:
        if not isinstance(value, str):
            raise SchemaError(f"{what} has strings only, not a {type(value).__name__}")
        _unicode(value)
    return tuple(values)
