"""A schema as a table to look at, attributes by rows and event types by columns, and its trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tamis.model.paths import format_path
from tamis.model.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

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


def tree_of(taxonomy: Taxonomy) -> Iterator[str]:
    """The lines of a tree with the terms of a taxonomy, the most general ones first.

    What lies below a term with several parents is shown once, and is an ellipsis elsewhere.
    """
    below: dict[str, list[str]] = {term: [] for term in taxonomy}
    for term in taxonomy:
        for parent in taxonomy.parents[term]:
            below[parent].append(term)
    shown: set[str] = set()
    tops = [term for term in taxonomy if not taxonomy.parents[term]]
    waiting = [(term, "", "") for term in reversed(tops)]
    while waiting:
        term, branch, rail = waiting.pop()
        again = term in shown and bool(below[term])
        yield branch + term + (" …" if again else "")
        if not again:
            shown.add(term)
            children = sorted(below[term], reverse=True)
            waiting.extend(
                (
                    child,
                    rail + ("├── " if number else "└── "),
                    rail + ("│   " if number else "    "),
                )
                for number, child in enumerate(children)
            )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
