"""What people use today for the rules of W7: a loop in Python, and SQLite.

Each peer takes events and gives pairs of an event's number and a rule's number. Both fold case once
for each text of an event, in the same way as Tamis.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any

from benchmarks.detection_events import Event
from benchmarks.detection_model import (
    ALL,
    AND,
    CIDR,
    CONTAINS,
    ENDS,
    EQUALS,
    FIRST,
    KEYWORD,
    OR,
    REGEX,
    STARTS,
    Rule,
    Selection,
    Test,
)
from benchmarks.detection_pools import FIELDS
from tamis.predicates.texts import fold

Pairs = set[tuple[int, int]]
Texts = dict[str, str]
Check = Callable[[Texts, Event], bool]
"""A compiled test: of the folded texts of an event, and of the event."""
Place = tuple[str | None, ...]
WHOLE = "*"


def place_of(labels: Event) -> Place:
    """The log source of an event or a rule."""
    return tuple(labels.get(name) for name in ("_product", "_category", "_service"))


def folded(values: Iterable[str | int]) -> tuple[str, ...]:
    """Texts with their case folded."""
    return tuple(fold(str(value)) for value in values)


def folded_texts(event: Event) -> Texts:
    """The texts of an event, folded; under WHOLE all together, in which keywords are sought."""
    texts = {name: fold(value) for name, value in event.items() if isinstance(value, str)}
    sought = [text for name, text in texts.items() if FIELDS.get(name, "digits") != "digits"]
    texts[WHOLE] = "\0".join(sought)
    return texts


def address_of(text: str | None) -> int:
    """An address as a number, -1 if it is none."""
    try:
        return int(IPv4Address(text)) if text else -1
    except AddressValueError:
        return -1


def bounds_of(values: Iterable[str | int]) -> list[tuple[int, int]]:
    """The first and the last address of networks."""
    networks = [IPv4Network(str(value)) for value in values]
    return [(int(each.network_address), int(each.broadcast_address)) for each in networks]


# --- a loop in Python ----------------------------------------------------------------------------


class PythonLoop:
    """Rules as closures, in buckets by log source; texts are folded once for each event."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._buckets: dict[Place, list[tuple[int, Check]]] = {}
        for number, rule in enumerate(rules):
            bucket = self._buckets.setdefault(place_of(rule.source.labels), [])
            bucket.append((number, _rule_check(rule)))

    def match(self, event: Event) -> list[int]:
        """The rules that an event matches."""
        texts = folded_texts(event)
        bucket = self._buckets.get(place_of(event), ())
        return [number for number, check in bucket if check(texts, event)]

    def match_all(self, events: Sequence[Event]) -> Pairs:
        """All pairs of events and rules that match."""
        return {(at, rule) for at, event in enumerate(events) for rule in self.match(event)}


def _rule_check(rule: Rule) -> Check:
    checks = [_every([_test_check(t) for t in each.tests]) for each in rule.selections]
    if rule.join == FIRST:
        check = _every([checks[0], _some(checks[1:])])
    else:
        check = _every(checks) if rule.join == AND else _some(checks)
    if not rule.filters:
        return check
    held_back = _some([_every([_test_check(t) for t in each.tests]) for each in rule.filters])
    return lambda texts, event: check(texts, event) and not held_back(texts, event)


def _every(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        one, two = checks
        return lambda texts, event: one(texts, event) and two(texts, event)
    return lambda texts, event: all(check(texts, event) for check in checks)


def _some(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    return lambda texts, event: any(check(texts, event) for check in checks)


def _test_check(test: Test) -> Check:
    name, operator = test.fields[0], test.operator
    if isinstance(test.values[0], int):
        numbers = frozenset(test.values)
        return lambda texts, event: event.get(name) in numbers
    if operator == CIDR:
        bounds = bounds_of(test.values)
        return lambda texts, event: _is_within(address_of(event.get(name)), bounds)
    if operator == REGEX:
        joined = "|".join(f"(?:{pattern})" for pattern in test.values)
        search = re.compile(joined, re.IGNORECASE | re.ASCII).search
        return lambda texts, event: name in event and search(event[name]) is not None
    values = folded(test.values)
    if operator == EQUALS:
        words = frozenset(values)
        return lambda texts, event: texts.get(name) in words
    if operator == STARTS:
        return lambda texts, event: texts.get(name, "").startswith(values)
    if operator == ENDS:
        return lambda texts, event: texts.get(name, "").endswith(values)
    name = WHOLE if operator == KEYWORD else name
    if operator == ALL:
        return lambda texts, event: _has_all(texts.get(name), values)
    if len(values) == 1:
        (value,) = values
        return lambda texts, event: value in texts.get(name, "")
    return lambda texts, event: _has_any(texts.get(name), values)


def _has_any(text: str | None, values: tuple[str, ...]) -> bool:
    return text is not None and any(value in text for value in values)


def _has_all(text: str | None, values: tuple[str, ...]) -> bool:
    return text is not None and all(value in text for value in values)


def _is_within(address: int, bounds: list[tuple[int, int]]) -> bool:
    return any(low <= address <= high for low, high in bounds)


# --- SQLite --------------------------------------------------------------------------------------

GROUP = 100
"""Alternatives in one pair of parentheses: SQLite's trees have at most a thousand levels."""


class SqlRules:
    """One SELECT for each rule, over a table of the events in memory, with an index on the source.

    A text has a column with its case folded; beside it are the text as it was, for regular
    expressions, and the number of an address.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._queries = [_query(rule) for rule in rules]
        self._base = sqlite3.connect(":memory:", cached_statements=len(rules) + 10)
        self._base.create_function("regexp", 2, is_found, deterministic=True)
        columns = ", ".join(_column(name, part) for name in FIELDS for part in ("", "raw", "ip"))
        whole = _column(WHOLE)
        self._base.execute(
            f"create table events (number integer primary key, source, {whole}, {columns})"
        )
        self._base.execute("create index by_source on events (source)")

    def match_all(self, events: Sequence[Event]) -> Pairs:
        """Insert the events and run all queries."""
        marks = ", ".join("?" * (3 + 3 * len(FIELDS)))
        self._base.execute("delete from events")
        rows = (_row(number, event) for number, event in enumerate(events))
        self._base.executemany(f"insert into events values ({marks})", rows)
        found: Pairs = set()
        for rule, query in enumerate(self._queries):
            found.update((number, rule) for (number,) in self._base.execute(query))
        return found

    def close(self) -> None:
        """Give the memory back."""
        self._base.close()


def _row(number: int, event: Event) -> list[Any]:
    texts = folded_texts(event)
    row: list[Any] = [number, "/".join(part or "" for part in place_of(event)), texts[WHOLE]]
    for name, kind in FIELDS.items():
        value = event.get(name)
        address = address_of(value) if kind == "ip" else None
        row += [texts.get(name, value), value, address]
    return row


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


def is_found(pattern: str, text: str | None) -> bool:
    return text is not None and _compiled(pattern).search(text) is not None


def _query(rule: Rule) -> str:
    source = "/".join(part or "" for part in place_of(rule.source.labels))
    parts = [_selection_sql(each) for each in rule.selections]
    if rule.join == FIRST:
        condition = f"{parts[0]} and {_grouped(' or ', parts[1:])}"
    else:
        condition = _grouped(" or " if rule.join == OR else " and ", parts)
    query = f"select number from events where source = {_literal(source)} and {condition}"
    if rule.filters:
        filters = _grouped(" or ", [_selection_sql(each) for each in rule.filters])
        query += f" and {filters} is not true"
    return query


def _selection_sql(selection: Selection) -> str:
    return _grouped(" and ", [_test_sql(test) for test in selection.tests])


def _grouped(word: str, parts: list[str]) -> str:
    """The parts joined, in groups so small that the tree stays flat."""
    while len(parts) > GROUP:
        parts = [
            f"({word.join(parts[at : at + GROUP])})" for at in range(0, len(parts), GROUP)
        ]  # fmt: skip
    return f"({word.join(parts)})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _column(name: str, part: str = "") -> str:
    return f'"{part} {name}"' if part else f'"{name}"'


def _test_sql(test: Test) -> str:
    name, operator = test.fields[0], test.operator
    column, raw = _column(name), _column(name, "raw")
    if operator == REGEX:
        return _grouped(" or ", [f"regexp({_literal(each)}, {raw})" for each in test.values])
    if operator == CIDR:
        address, bounds = _column(name, "ip"), bounds_of(test.values)
        return _grouped(" or ", [f"{address} between {low} and {high}" for low, high in bounds])
    if isinstance(test.values[0], int):
        return f"{column} in ({', '.join(map(str, test.values))})"
    values = folded(test.values)
    if operator == EQUALS:
        return f"{column} in ({', '.join(map(_literal, values))})"
    if operator in (CONTAINS, ALL, KEYWORD):
        column = _column(WHOLE) if operator == KEYWORD else column
        parts = [f"instr({column}, {_literal(value)}) > 0" for value in values]
        return _grouped(" and " if operator == ALL else " or ", parts)
    begins = [1 if operator == STARTS else -len(value) for value in values]
    parts = [
        f"substr({column}, {begin}, {len(value)}) = {_literal(value)}"
        for begin, value in zip(begins, values)
    ]
    return _grouped(" or ", parts)
