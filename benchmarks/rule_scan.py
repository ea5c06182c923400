"""The reference scan of the tests of W7: compiled, without an index.

Every rule is tried on every event, its tests in their order, on folded texts as UTF-8. A rule is
left at the first selection that decides it, a test at the first value that does. A string search
compares byte by byte. Regular expressions are answered beforehand by ``re``, and the events are
laid out beforehand: neither is in the time of ``match_all``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    Test,
)
from benchmarks.detection_pools import FIELDS
from benchmarks.rule_peers import Place, address_of, bounds_of, folded, is_found, place_of
from tamis.arrays.jit import kernel
from tamis.predicates.texts import fold

Ints = NDArray[np.int64]
NUMBER = "number"
CODES = {code: at for at, code in enumerate(
    (EQUALS, ENDS, CONTAINS, ALL, STARTS, KEYWORD, REGEX, CIDR, NUMBER)
)}  # fmt: skip
_EQUALS, _ENDS, _CONTAINS, _ALL, _STARTS, _KEYWORD, _REGEX, _CIDR, _NUMBER = range(9)
JOINS = {AND: 0, OR: 1, FIRST: 2}
_AND, _OR, _FIRST = range(3)
COLUMN = {name: at for at, name in enumerate(FIELDS)}


class Layout(NamedTuple):
    """Rules in flat arrays: each level has the places where its parts begin in the next.

    rule r       selections begin[r] to filters[r], filters from there to begin[r + 1]
    selection s  tests tests[s] to tests[s + 1]
    test t       an operator, columns fields[t] to fields[t + 1], values values[t] to values[t + 1]
    value v      bytes text[v] to text[v + 1] of data; or numbers low[v] to high[v]
    """

    source: Ints
    join: Ints
    begin: Ints
    filters: Ints
    tests: Ints
    operator: Ints
    fields: Ints
    column: Ints
    values: Ints
    text: Ints
    low: Ints
    high: Ints
    data: NDArray[np.uint8]


class Records(NamedTuple):
    """Events: the bytes of each text, numbers (of addresses, too), and answers of expressions."""

    source: Ints
    begin: Ints  # [events, fields], -1 where missing
    end: Ints
    number: Ints
    answers: NDArray[np.bool_]  # [expressions, events]
    data: NDArray[np.uint8]


@kernel
def _stands_at(data: NDArray[np.uint8], at: int, sought: NDArray[np.uint8]) -> bool:
    for n in range(len(sought)):  # noqa: SIM110  # kernels have no generators
        if data[at + n] != sought[n]:
            return False
    return True


@kernel
def _holds(
    operator: int, data: NDArray[np.uint8], begin: int, end: int, sought: NDArray[np.uint8]
) -> bool:
    """Whether one text fulfils a test of one value."""
    room = end - begin - len(sought)
    if room < 0 or (operator == _EQUALS and room > 0):
        return False
    if operator == _ENDS:
        return _stands_at(data, begin + room, sought)
    if operator in (_EQUALS, _STARTS):
        return _stands_at(data, begin, sought)
    for at in range(begin, begin + room + 1):
        if data[at] == sought[0] and _stands_at(data, at, sought):
            return True
    return False


@kernel
def _test(layout: Layout, records: Records, event: int, test: int) -> bool:
    operator = layout.operator[test]
    for f in range(layout.fields[test], layout.fields[test + 1]):
        column = layout.column[f]
        begin, end = records.begin[event, column], records.end[event, column]
        if begin < 0:
            continue
        found = False
        for value in range(layout.values[test], layout.values[test + 1]):
            if operator == _REGEX:
                found = records.answers[layout.low[value], event]
            elif operator in (_NUMBER, _CIDR):
                number = records.number[event, column]
                found = layout.low[value] <= number and number <= layout.high[value]
            else:
                sought = layout.data[layout.text[value] : layout.text[value + 1]]
                found = _holds(operator, records.data, begin, end, sought)
            if found != (operator == _ALL):
                break
        if found:
            return True
    return False


@kernel
def _selection(layout: Layout, records: Records, event: int, selection: int) -> bool:
    for test in range(layout.tests[selection], layout.tests[selection + 1]):
        if not _test(layout, records, event, test):
            return False
    return True


@kernel
def _some(layout: Layout, records: Records, event: int, begin: int, end: int) -> bool:
    for selection in range(begin, end):  # noqa: SIM110  # kernels have no generators
        if _selection(layout, records, event, selection):
            return True
    return False


@kernel
def _rule(layout: Layout, records: Records, event: int, rule: int) -> bool:
    begin, end, join = layout.begin[rule], layout.filters[rule], layout.join[rule]
    if join == _AND:
        for selection in range(begin, end):
            if not _selection(layout, records, event, selection):
                return False
    elif join == _OR:
        if not _some(layout, records, event, begin, end):
            return False
    elif not (
        _selection(layout, records, event, begin) and _some(layout, records, event, begin + 1, end)
    ):
        return False
    return not _some(layout, records, event, end, layout.begin[rule + 1])


@kernel
def _scan(layout: Layout, records: Records, out: Ints) -> int:
    """Write the pairs that match, as many as fit; return how many there are."""
    count = 0
    for event in range(len(records.source)):
        for rule in range(len(layout.source)):
            if layout.source[rule] == records.source[event] and _rule(layout, records, event, rule):
                if count < len(out):
                    out[count, 0], out[count, 1] = event, rule
                count += 1
    return count


class TestScan:
    """Scans events that were laid out."""

    __test__ = False

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.places: dict[Place, int] = {}
        self.expressions: dict[tuple[str, str], int] = {}
        self.layout = self._layout(rules)

    def _layout(self, rules: Sequence[Rule]) -> Layout:
        lists: dict[str, list[int]] = {name: [] for name in Layout._fields}
        data: list[bytes] = []
        size = 0
        for rule in rules:
            place = place_of(rule.source.labels)
            lists["source"].append(self.places.setdefault(place, len(self.places)))
            lists["join"].append(JOINS[rule.join])
            lists["begin"].append(len(lists["tests"]))
            lists["filters"].append(len(lists["tests"]) + len(rule.selections))
            for group in (*rule.selections, *rule.filters):
                lists["tests"].append(len(lists["operator"]))
                for test in group.tests:
                    is_number = isinstance(test.values[0], int)
                    lists["operator"].append(CODES[NUMBER if is_number else test.operator])
                    lists["fields"].append(len(lists["column"]))
                    lists["column"] += [COLUMN[name] for name in test.fields]
                    lists["values"].append(len(lists["low"]))
                    for low, high, text in self._values(test):
                        lists["low"].append(low)
                        lists["high"].append(high)
                        lists["text"].append(size)
                        data.append(text)
                        size += len(text)
        lists["begin"].append(len(lists["tests"]))
        for name, below in (("tests", "operator"), ("fields", "column"), ("values", "low")):
            lists[name].append(len(lists[below]))
        lists["text"].append(size)
        arrays = [np.array(lists[name], np.int64) for name in Layout._fields[:-1]]
        return Layout._make([*arrays, _bytes(data)])

    def _values(self, test: Test) -> list[tuple[int, int, bytes]]:
        if isinstance(test.values[0], int):
            return [(int(value), int(value), b"") for value in test.values]
        if test.operator == CIDR:
            return [(low, high, b"") for low, high in bounds_of(test.values)]
        if test.operator == REGEX:
            known = self.expressions
            keys = [(test.fields[0], str(pattern)) for pattern in test.values]
            return [(known.setdefault(key, len(known)), 0, b"") for key in keys]
        return [(0, 0, value.encode()) for value in folded(test.values)]

    def records(self, events: Sequence[Event]) -> Records:
        """Lay out events: fold texts, find addresses, answer regular expressions."""
        shape = len(events), len(FIELDS)
        begin, end, number = (np.full(shape, -1, np.int64) for _ in range(3))
        data: list[bytes] = []
        size = 0
        for row, event in enumerate(events):
            for name, at in COLUMN.items():
                if (value := event.get(name)) is None:
                    continue
                text = b"" if isinstance(value, int) else fold(value).encode()
                begin[row, at], end[row, at] = size, size + len(text)
                data.append(text)
                size += len(text)
                if isinstance(value, int):
                    number[row, at] = value
                elif FIELDS[name] == "ip":
                    number[row, at] = address_of(value)
        source = np.array([self.places.get(place_of(event), -1) for event in events], np.int64)
        answers = np.zeros((len(self.expressions) + 1, len(events)), np.bool_)
        for (name, pattern), at in self.expressions.items():
            answers[at] = [is_found(pattern, event.get(name)) for event in events]
        return Records(source, begin, end, number, answers, _bytes(data))

    def match_all(self, records: Records) -> set[tuple[int, int]]:
        """All pairs of events and rules that match."""
        out = np.empty((64 * len(records.source) + 1_000, 2), np.int64)
        if (count := _scan(self.layout, records, out)) > len(out):
            out = np.empty((count, 2), np.int64)
            _scan(self.layout, records, out)
        return {(event, rule) for event, rule in out[:count].tolist()}


def _bytes(parts: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(parts) + b"\0", np.uint8)
