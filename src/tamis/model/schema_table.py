"""A schema as a table to look at: attributes by rows, event types by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.model.paths import format_path

if TYPE_CHECKING:
    from tamis.model.schema import Schema

ABSENT = "-"


def header_of(schema: Schema) -> list[str]:
    """The titles of the columns."""
    return ["attribute", "domain", *schema.types]


def rows_of(schema: Schema) -> list[list[str]]:
    """A row for each attribute: its name, its domain, and its annotation in each type."""
    return [
        [
            format_path(path),
            domain,
            *(str(type.annotations.get(path, ABSENT)) for type in schema.types.values()),
        ]
        for path, domain in schema.attributes.items()
    ]


def table_of(schema: Schema) -> str:
    """The whole schema as text."""
    title = f"version {schema.version}, types in {format_path(schema.event_type)!r}"
    lines = [title, "", *_aligned([header_of(schema), *rows_of(schema)])]
    if schema.domains:
        domains = [[name, str(domain)] for name, domain in schema.domains.items()]
        lines += ["", *_aligned([["domain", "values"], *domains])]
    return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
