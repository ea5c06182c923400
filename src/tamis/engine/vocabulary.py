"""What ``is a`` asks: taxonomies that the engine is given, or those of the schema's attributes."""

from __future__ import annotations

from tamis.errors import SchemaError
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies


def vocabulary(schema: Schema | None, given: Taxonomies = NO_TAXONOMIES) -> Taxonomies:
    """The taxonomies of an engine with this schema."""
    if schema is None:
        return given
    if given != NO_TAXONOMIES:
        raise SchemaError("a schema has its own taxonomies, in its domains; give it no other")
    found = {path: schema.taxonomy(path) for path in schema.attributes}
    return Taxonomies(None, {path: each for path, each in found.items() if each is not None})
