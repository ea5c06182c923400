"""Detection rules as neutral data, and the same as texts in Tamis's language.

    rule       a log source, selections that are joined, filters that must not hold
    selection  tests that must all hold (a filter is one, too)
    test       a field, an operator, and values of which one must hold (of ALL: all of them)

All tests of text ignore case. A filter holds only if its fields are there and its tests are true:
an event in which a field of the filter is missing passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

EQUALS, ENDS, CONTAINS, ALL, STARTS, KEYWORD, REGEX, CIDR = (
    "equals",
    "ends with",
    "contains",
    "contains all",
    "starts with",
    "keyword",
    "regex",
    "cidr",
)
AND, OR, FIRST = "and", "or", "first and one of the others"

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """Where events come from: what it is called, how much of the workload it is, its fields."""

    product: str
    category: str
    service: str
    rules: float
    events: float
    fields: dict[str, str]
    """The kind of value of each field, by its name."""

    @property
    def labels(self) -> dict[str, str]:
        """The attributes that tell the source; those it does not have are missing."""
        given = {"_product": self.product, "_category": self.category, "_service": self.service}
        return {name: value for name, value in given.items() if value}

    @property
    def is_unix(self) -> bool:
        """Whether paths have slashes."""
        return self.product in ("linux", "macos")

    @property
    def texts(self) -> list[str]:
        """The fields in which a keyword is looked for."""
        return [name for name, kind in self.fields.items() if kind not in ("number", "digits")]


@dataclass(slots=True)
class Test:
    """One field against some values; ``fields`` has several for a keyword."""

    __test__ = False  # it is no test of pytest's

    fields: tuple[str, ...]
    operator: str
    values: tuple[str | int, ...]


@dataclass(slots=True)
class Selection:
    """Tests that must all hold."""

    tests: list[Test]


@dataclass(slots=True)
class Rule:
    """A detection: the source, the selections joined by AND, OR or FIRST, and the filters."""

    source: Source
    selections: list[Selection]
    join: str
    filters: list[Selection]

    def text(self) -> str:
        """The rule in Tamis's language."""
        parts = [f"{name} = {quoted(value)}" for name, value in self.source.labels.items()]
        selections = [_selection_text(selection) for selection in self.selections]
        if self.join == FIRST:
            parts += [selections[0], _joined(" or ", selections[1:])]
        else:
            parts.append(_joined(f" {self.join} ", selections))
        text = " and ".join(parts)
        if self.filters:
            filters = " or ".join(_selection_text(each) for each in self.filters)
            text += f" unless ({filters})"
        return text


def quoted(value: str | int) -> str:
    """A constant as the language writes it."""
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def attribute(name: str) -> str:
    """A field as the language writes it."""
    return name if _PLAIN.match(name) else f"`{name}`"


def _joined(word: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"


def _selection_text(selection: Selection) -> str:
    return _joined(" and ", [_test_text(test) for test in selection.tests])


def _test_text(test: Test) -> str:
    name, operator = attribute(test.fields[0]), test.operator
    values = [quoted(value) for value in test.values]
    if operator == EQUALS:
        case = "" if isinstance(test.values[0], int) else " ignoring case"
        if len(values) == 1:
            return f"{name} = {values[0]}{case}"
        return f"{name} in ({', '.join(values)}){case}"
    if operator == CIDR:
        return f"{name} in cidr ({', '.join(values)})"
    if operator == ALL:
        return _joined(" and ", [*_each(name, "contains text", values)])
    if operator == KEYWORD:
        names = map(attribute, test.fields)
        return _joined(" or ", [p for each in names for p in _each(each, "contains text", values)])
    words = {CONTAINS: "contains text", REGEX: "matches"}.get(operator, operator)
    return _joined(" or ", [*_each(name, words, values)])


def _each(name: str, words: str, values: Iterable[str]) -> Iterable[str]:
    return (f"{name} {words} {value} ignoring case" for value in values)
