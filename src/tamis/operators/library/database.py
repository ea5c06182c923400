"""Lookups in a database, batched into one query.

    use_database(connect, {"owner": ("plate", "select plate, name from cars where plate in ({})")})

    lookup('owner', ?name) and ?name = 'Police'

A query is named, and says which attribute of the event it looks up. It is asked for all events that
need it at once: ``{}`` stands for as many placeholders as there are values. Its first column is the
value that was looked up, the others are the rows. SQLite and PostgreSQL (psycopg) are tested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tamis.errors import TamisError, suggestion
from tamis.model.events.event import Event, single_value
from tamis.model.paths import Path, parse_path
from tamis.operators.registry import operator

MOST = 500
"""Values in one query: SQLite takes 999 placeholders."""


class Query(NamedTuple):
    """A named query."""

    connect: Callable[[], Any]
    path: Path
    sql: str
    placeholder: str


_QUERIES: dict[str, Query] = {}


def use_database(
    connect: Callable[[], Any], queries: Mapping[str, tuple[str, str]], placeholder: str = "?"
) -> None:
    """Add queries by name: the attribute that is looked up, and the text.

    ``connect`` opens a connection of the DB-API; ``placeholder`` is ``%s`` for psycopg.
    """
    for name, (attribute, sql) in queries.items():
        if "{}" not in sql:
            raise TamisError(f"the query {name!r} needs {{}} in the place of the values")
        _QUERIES[name] = Query(connect, parse_path(attribute), sql, placeholder)


def _rows(query: Query, values: list[Any]) -> dict[Any, list[Any]]:
    """The rows by the value that was looked up."""
    found: dict[Any, list[Any]] = defaultdict(list)
    connection = query.connect()
    try:
        for start in range(0, len(values), MOST):
            some = values[start : start + MOST]
            marks = ", ".join([query.placeholder] * len(some))
            cursor = connection.cursor()
            cursor.execute(query.sql.replace("{}", marks), some)
            for key, *row in cursor.fetchall():
                found[key].append(row[0] if len(row) == 1 else tuple(row))
    finally:
        connection.close()
    return found


@operator("query: string, *?columns", batch=True)
def lookup(events: Sequence[Event], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a named query gives for the event; without variables, whether it gives a row."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, argument in enumerate(arguments):
        groups[argument[0]].append(place)
    given: list[Any] = [None] * len(events)
    for name, places in groups.items():
        query = _QUERIES.get(name)
        if query is None:
            hint = suggestion(name, _QUERIES) or "see use_database"
            error = LookupError(f"no query {name!r}; {hint}")
            for place in places:
                given[place] = error
            continue
        keys = {place: single_value(events[place].attributes, query.path) for place in places}
        known = list(dict.fromkeys(key for key in keys.values() if key is not None))
        rows = _rows(query, known) if known else {}
        for place, key in keys.items():
            if key is not None:
                found = rows.get(key, [])
                given[place] = found if None in arguments[place] else bool(found)
    return given
