"""The four rules by which a schema is extended (Le Subscribe, section 2.2).

    domain creation           a new domain, with its order
    attribute creation        a new attribute, with its domain
    event schema extension    an existing type gets an attribute, which is optional
    event schema creation     a new type, with its event schema

An extension holds any number of each, and all are applied or none. Nothing that there is can be
changed or narrowed, so every event that was valid stays valid, and every subscription that was
taken keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import SchemaError
from tamis.model.paths import Path, format_path
from tamis.model.schema import json_form
from tamis.model.schema.domains import Domain
from tamis.model.schema.views import EventSchema

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema


def extended(schema: Schema, parts: Mapping[str, Any]) -> Schema:
    """The schema with all that the parts add, or itself if they add nothing."""
    domains = json_form.read_domains(parts.get("domains", {}))
    attributes = json_form.read_attributes(parts.get("attributes", {}))
    types = json_form.read_types(parts.get("types", {}))
    refused = [
        *_refused_domains(schema, domains),
        *_refused_attributes(schema, attributes),
        *_refused_annotations(schema, types),
    ]
    if refused:
        more = f"; and {len(refused) - 10} more" if len(refused) > 10 else ""
        raise SchemaError("the extension is refused: " + "; ".join(refused[:10]) + more)
    try:
        other = type(schema)(
            domains={**schema.domains, **domains},
            attributes={**schema.attributes, **attributes},
            types=_joined(schema.types, types),
            version=schema.version + 1,
            event_type=schema.event_type[0],
        )
    except SchemaError as error:
        raise SchemaError(f"the extension is refused: {error}") from error
    return schema if json_form.parts_of(other) == json_form.parts_of(schema) else other


def _refused_domains(schema: Schema, domains: Mapping[str, Domain]) -> Iterator[str]:
    for name, domain in domains.items():
        if name in schema.domains and schema.domains[name] != domain:
            yield (
                f"domain creation: {name!r} exists, with another definition; create a domain of "
                "another name"
            )


def _refused_attributes(schema: Schema, attributes: Mapping[Path, str]) -> Iterator[str]:
    for path, domain in attributes.items():
        known = schema.attributes.get(path)
        if known is not None and known != domain:
            yield (
                f"attribute creation: {format_path(path)!r} exists, with the domain {known!r}; "
                "create an attribute of another name"
            )


def _refused_annotations(schema: Schema, types: Mapping[str, EventSchema]) -> Iterator[str]:
    for name, new in types.items():
        if name not in schema.types:
            continue
        known = schema.types[name].annotations
        for path, annotation in new.annotations.items():
            said = f"event schema extension: {format_path(path)!r} of {name!r}"
            if path in known and known[path] != annotation:
                yield f"{said} is {known[path]}, and stays so"
            elif path not in known and annotation.mandatory:
                yield f"{said} can only be optional: events without it are valid"


def _joined(
    known: Mapping[str, EventSchema], new: Mapping[str, EventSchema]
) -> dict[str, EventSchema]:
    joined = dict(known)
    for name, schema in new.items():
        before = known[name].annotations if name in known else {}
        joined[name] = EventSchema({**before, **schema.annotations})
    return joined
