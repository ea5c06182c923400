"""Matching by brute force: every binding of the raw event, and the whole tree under each.

Written from the rules of matching alone, without a line of the engine: no canonical events, no
normal form, no list left out because nobody asks for it. Slow and obvious.

    {"a": [1, 2], "items": [{"b": 3}, 4]}

    bindings    {"a": 1, "items": {"b": 3}}    {"a": 1, "items": 4}
                {"a": 2, "items": {"b": 3}}    {"a": 2, "items": 4}

Variables are tried likewise: a scope (the whole, or what a ``not (…)`` or an ``is …`` form shuts in)
is written out as all its *ways* to be true, one side of each disjunction that binds variables; in
each way every assignment of its variables is tried, over all values that any of its tables has.
"""

from __future__ import annotations

import ipaddress
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import re2

from tamis.model.paths import Path
from tamis.model.rdf_terms import XSD, Iri, RdfLiteral
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    And,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Or,
    Pattern,
    Present,
    TextTest,
    TruthTest,
)
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand, Variable

Raw = Mapping[str, Any]
FAILED = "failed"
Truth = bool | str | None
"""True, false, None for unknown, or FAILED."""
Parents = Mapping[str, list[str]]
Assignment = Mapping[str, Any]
Table = list[tuple[Any, ...]] | str | None
"""Rows, FAILED, or None for unknown."""

OPEN = object()
"""What a variable stands for that only failed or unknown tables have."""

UNBOUND = object()
"""What an empty list gives to its attribute."""

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class Surroundings(NamedTuple):
    """What counts beside the event and its binding."""

    parents: Parents
    operators: Mapping[str, Callable[..., Any]]
    graph: frozenset[Any] | None


def naive_match(
    expression: Expression,
    event: Raw,
    parents: Parents | None = None,
    operators: Mapping[str, Callable[..., Any]] | None = None,
    graph: frozenset[Any] | None = None,
) -> bool:
    """Whether there is a binding under which the expression is true."""
    around = Surroundings(parents or {}, operators or {}, graph)
    return naive_truth(expression, event, around) is True


def naive_truth(expression: Expression, event: Raw, around: Surroundings) -> Truth:
    """True if some binding makes it so, else FAILED, false or unknown, what comes first."""
    found = [
        _Evaluation(event, binding, around).exists(expression, {}) for binding in bindings(event)
    ]
    return next(truth for truth in (True, FAILED, False, None) if truth in found)


def truth(
    expression: Expression, event: Raw, binding: Any, parents: Parents | None = None
) -> Truth:
    """The truth of an expression under one binding of the event."""
    return _Evaluation(event, binding, Surroundings(parents or {}, {}, None)).exists(expression, {})


def value_at(binding: Any, path: Path) -> Any:
    """The value that a binding gives to an attribute; None if it gives none."""
    for key in path:
        binding = binding.get(key) if isinstance(binding, Mapping) else None
    return None if binding is UNBOUND or isinstance(binding, Mapping) else plain(binding)


def bindings(node: Any) -> Iterator[Any]:
    """All ways to replace every list in a tree by one of its elements."""
    if isinstance(node, Mapping):
        for picks in product(*(list(bindings(value)) for value in node.values())):
            yield dict(zip(node, picks, strict=True))
    elif isinstance(node, list):
        elements = [element for element in node if element is not None]
        for element in elements:
            yield from bindings(element)
        if not elements:
            yield UNBOUND
    else:
        yield node


def count_bindings(node: Any) -> int:
    """How many bindings there are."""
    if isinstance(node, Mapping):
        return math.prod(count_bindings(value) for value in node.values())
    if isinstance(node, list):
        return sum(count_bindings(element) for element in node if element is not None) or 1
    return 1


def all_at(node: Any, path: Path) -> Iterator[Any]:
    """Everything that stands at a path, in all lists: values, mappings, and lists themselves."""
    if node is None:
        return
    if not path:
        yield node
    if isinstance(node, list):
        for element in node:
            yield from all_at(element, path)
    elif path and isinstance(node, Mapping):
        yield from all_at(node.get(path[0]), path[1:])


def both(found: list[Truth]) -> Truth:
    """And."""
    return next((truth for truth in (False, FAILED, None) if truth in found), True)


def either(found: list[Truth]) -> Truth:
    """Or."""
    return next((truth for truth in (True, FAILED, None) if truth in found), False)


def opposite(found: Truth) -> Truth:
    """Not."""
    return not found if isinstance(found, bool) else found


def names_in(node: Any) -> set[str]:
    """The names of all variables in a tree."""
    if isinstance(node, Variable):
        return {node.name}
    inside = (
        [*node.operands(), *node.children()] if isinstance(node, Expression) else node.children()
    )
    return {name for each in inside for name in names_in(each)}


def binds(node: Expression) -> bool:
    """Whether a call or pattern with variables stands in it, outside all shut-in forms."""
    if isinstance(node, And | Or):
        return any(binds(part) for part in node.parts)
    return isinstance(node, Call | Pattern) and bool(names_in(node))


def ways(node: Expression) -> list[list[Expression]]:
    """All ways to make a scope true, each as what must be true then."""
    if isinstance(node, And) and binds(node):
        picks = product(*(ways(part) for part in node.parts))
        return [[leaf for way in pick for leaf in way] for pick in picks]
    if isinstance(node, Or) and binds(node):
        return [way for part in node.parts for way in ways(part)]
    return [[node]]


class _Evaluation:
    def __init__(self, event: Raw, binding: Any, around: Surroundings) -> None:
        self.event = event
        self.binding = binding
        self.parents = around.parents
        self.around = around

    def exists(self, node: Expression, given: Assignment) -> Truth:
        """The truth of a scope: true if some way and some assignment makes it so."""
        if not binds(node):
            return self.truth(node, given)
        return either([found for way in ways(node) for found in self.truths_of(way, given)])

    def truths_of(self, way: list[Expression], given: Assignment) -> list[Truth]:
        tables = [(leaf, self.table(leaf)) for leaf in way if binds(leaf)]
        conditions = [leaf for leaf in way if not binds(leaf)]
        names = sorted({name for leaf, _ in tables for name in names_in(leaf)} - set(given))
        settled = {n for leaf, table in tables if isinstance(table, list) for n in names_in(leaf)}
        cells = [
            cell for _, table in tables if isinstance(table, list) for row in table for cell in row
        ]
        domain = list({(kind(cell) or "term", cell): cell for cell in cells}.values())
        found = []
        for values in product(*(domain if name in settled else [OPEN] for name in names)):
            assignment = {**given, **dict(zip(names, values, strict=True))}
            rows = [self.in_table(leaf, table, assignment) for leaf, table in tables]
            if False not in rows:
                rows += [self.truth(condition, assignment) for condition in conditions]
            found.append(both(rows))
        return found

    def in_table(self, leaf: Expression, table: Table, assignment: Assignment) -> Truth:
        if not isinstance(table, list):
            return table
        wanted = [assignment[name] for name in columns(leaf)]
        return any(all(map(same_cell, wanted, row)) for row in table)

    def table(self, leaf: Expression) -> Table:
        if isinstance(leaf, Pattern):
            return pattern_table(leaf, self.around.graph)
        assert isinstance(leaf, Call)
        try:
            given = self.called(leaf)
            rows = given if given is None else list(given)
        except Exception:
            return FAILED
        return None if rows is None else [row if isinstance(row, tuple) else (row,) for row in rows]

    def called(self, leaf: Call) -> Any:
        arguments = [None if isinstance(a, Variable) else a.value for a in leaf.arguments]  # type: ignore[union-attr]
        bound = SimpleNamespace(attributes=without_unbound(self.binding))
        return self.around.operators[leaf.name](bound, *arguments)

    def truth(self, node: Expression, given: Assignment) -> Truth:
        """The truth of what binds nothing, under an assignment."""
        if not isinstance(node, And | Or) and any(given.get(n) is OPEN for n in names_in(node)):
            return None
        match node:
            case And():
                return both([self.truth(part, given) for part in node.parts])
            case Or():
                return either([self.truth(part, given) for part in node.parts])
            case Not():
                return opposite(self.exists(node.part, given))
            case TruthTest():
                inner = self.exists(node.part, given)
                wanted = {"true": True, "false": False, "unknown": None}[node.truth]
                return FAILED if inner == FAILED else inner is wanted
            case Call():
                try:
                    said: Truth = self.called(node)
                except Exception:
                    return FAILED
                return said
            case Pattern():
                table = self.table(node)
                return bool(table) if isinstance(table, list) else table
            case Present():
                return any(True for _ in all_at(self.event, node.attribute.path))
            case Contains():
                return self.contains(node)
            case Comparison():
                left, right = self.value(node.left, given), self.value(node.right, given)
                return compare(left, node.operator, right, node.ignore_case)
        value = self.value(node.attribute, given)  # type: ignore[attr-defined]
        return None if value is None else self.test(node, value)

    def contains(self, node: Contains) -> Truth:
        found = list(all_at(self.event, node.attribute.path))
        if not found:
            return None
        values = [plain(each) for each in found if not isinstance(each, Mapping | list)]
        return any(equal(value, node.value.value, node.ignore_case) for value in values)

    def test(self, node: Expression, value: Any) -> Truth:
        match node:
            case In():
                return any(equal(value, one.value, node.ignore_case) for one in node.values)
            case Between():
                low = compare(value, ">=", node.low.value)
                high = compare(value, "<=", node.high.value)
                return None if low is None or high is None else low and high
            case IsA():
                return self.is_a(value, node.ancestor.value) if isinstance(value, str) else None
            case TextTest():
                text, pattern = value, str(node.pattern.value)
                if not isinstance(text, str):
                    return None
                return matches_text(text, node.operator, pattern, node.ignore_case)
            case InCidr():
                address = address_of(value)
                return address and any(address in network for network in node.networks)
        raise TypeError(f"no test of {type(node).__name__}")

    def is_a(self, term: str, ancestor: Any) -> bool:
        above = self.parents.get(term, [])
        return term == ancestor or any(self.is_a(parent, ancestor) for parent in above)

    def value(self, term: Operand, given: Assignment) -> Any:
        """The value of a term under the binding; None if it has none."""
        if isinstance(term, Variable):
            return given.get(term.name)
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Attribute):
            return value_at(self.binding, term.path)
        assert isinstance(term, Arithmetic)
        left, right = self.value(term.left, given), self.value(term.right, given)
        if kind(left) != "number" or kind(right) != "number":
            return None
        try:
            return _RESULTS[term.operator](whole(left), whole(right))
        except (ZeroDivisionError, OverflowError):  # the latter of integers beyond all doubles
            return None


def whole(number: Any) -> Any:
    """A number as the integer that it equals, if that has 64 bits."""
    fits = math.isfinite(number) and -(2**63) <= number < 2**64
    return int(number) if fits and number == int(number) else number


def columns(leaf: Expression) -> list[str]:
    """The names of the columns of a table: those of a call as they stand, those of a pattern once."""
    if isinstance(leaf, Call):
        return [each.name for each in leaf.arguments if isinstance(each, Variable)]
    return sorted(names_in(leaf))


def same_cell(left: Any, right: Any) -> bool:
    """Whether two values join; RDF terms that are no values equal themselves."""
    return left == right if not kind(left) and not kind(right) else equal(left, right)


def without_unbound(binding: Any) -> Any:
    """A binding without the attributes whose list is empty."""
    if not isinstance(binding, Mapping):
        return binding
    kept = {
        key: value for key, value in binding.items() if value is not UNBOUND and value is not None
    }
    return {key: without_unbound(value) for key, value in kept.items()}


def pattern_table(leaf: Pattern, graph: frozenset[Any] | None) -> Table:
    """All assignments of nodes to the variables under which every triple is in the graph."""
    if graph is None:
        return None
    graph = frozenset(tuple(map(with_plain_language, triple)) for triple in graph)
    nodes = {node for triple in graph for node in triple}
    names = sorted(names_in(leaf))
    rows = []
    for picked in product(nodes, repeat=len(names)):
        chosen = dict(zip(names, picked, strict=True))

        def put(term: Any, chosen: Mapping[str, Any] = chosen) -> Any:
            return chosen[term.name] if isinstance(term, Variable) else with_plain_language(term)

        if all(tuple(map(put, triple)) in graph for triple in leaf.triples) and all(
            filtered(each, chosen) is True for each in leaf.filters
        ):
            rows.append(tuple(rdf_value(chosen[name]) for name in names))
    return rows


def with_plain_language(term: Any) -> Any:
    """A term with its language in lower case."""
    if not isinstance(term, RdfLiteral) or term.language is None:
        return term
    return RdfLiteral(term.lexical, language=term.language.lower())


def rdf_value(term: Any) -> Any:
    """What an RDF term stands for outside the braces; as far as the tests need it."""
    if isinstance(term, Iri):
        return term.value
    if not isinstance(term, RdfLiteral) or term.language:
        return term
    read: dict[str, Callable[[str], Any]] = {
        "string": str,
        "integer": int,
        "decimal": float,
        "double": float,
        "boolean": lambda text: text in ("true", "1"),
        "dateTime": lambda text: plain(datetime.fromisoformat(text)),
    }
    convert = read.get(term.datatype.removeprefix(XSD))
    try:
        return term if convert is None else convert(term.lexical)
    except ValueError:
        return term


def filtered(node: Any, chosen: Mapping[str, Any]) -> Truth:
    """A filter by SPARQL's rules; None is for an error."""
    if isinstance(node, And | Or):
        found = [filtered(part, chosen) for part in node.parts]
        return both(found) if isinstance(node, And) else either(found)
    if isinstance(node, Not):
        return opposite(filtered(node.part, chosen))
    left, right = (
        side.value if isinstance(side, Constant) else chosen[side.name]
        for side in (node.left, node.right)
    )
    if isinstance(left, Iri) or isinstance(right, Iri):
        same = left == right
        return None if node.operator in _ORDERS else same is (node.operator == "=")
    left, right = rdf_value(left), rdf_value(right)
    if not kind(left) or kind(left) != kind(right):
        return None
    return compare(left, node.operator, right)


def plain(raw: Any) -> Any:
    """A raw value with naive datetimes and dates made instants, and decimals numbers."""
    if isinstance(raw, datetime):
        moment = raw.replace(tzinfo=UTC) if raw.tzinfo is None else raw
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        whole = since.days * 86_400 + since.seconds
        return Timestamp((whole * 1_000_000 + since.microseconds) * 1_000)
    if isinstance(raw, date):
        return plain(datetime(raw.year, raw.month, raw.day))
    if isinstance(raw, Decimal):
        return int(raw) if raw == int(raw) else float(raw)
    return raw


def address_of(value: Any) -> Any:
    """The IP address that a string denotes, or None."""
    try:
        return ipaddress.ip_address(value) if isinstance(value, str) and "%" not in value else None
    except ValueError:
        return None


def kind(value: Any) -> str:
    """The kind of a value, or nothing of none."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", Timestamp: "timestamp", bytes: "bytes"}.get(type(value), "")


def equal(left: Any, right: Any, ignore_case: bool = False) -> bool:
    """Equality, which is total over the kinds."""
    if kind(left) != kind(right):
        return False
    if ignore_case and isinstance(left, str):
        return fold(left) == fold(right)
    return bool(left == right)


def compare(left: Any, symbol: str, right: Any, ignore_case: bool = False) -> Truth:
    """A comparison of two values, of which either may be None."""
    if left is None or right is None:
        return None
    if symbol in ("=", "!="):
        same = equal(left, right, ignore_case) if kind(left) else left == right
        return same is (symbol == "=")
    if not kind(left) or kind(left) != kind(right) or kind(left) in ("boolean", "bytes"):
        return None
    if left != left or right != right:  # NaN
        return None
    return bool(_ORDERS[symbol](left, right))


def fold(text: str) -> str:
    """Case folded, one code point for one."""
    folded = ((mark, mark.casefold(), mark.lower()) for mark in text)
    return "".join(next((one for one in (b, c) if len(one) == 1), a) for a, b, c in folded)


def matches_text(text: str, symbol: str, pattern: str, ignore_case: bool) -> bool:
    """A test of text."""
    if symbol == "matches":
        return re2.search(("(?i)" if ignore_case else "") + pattern, text) is not None
    if ignore_case:
        text, pattern = fold(text), fold(pattern)
    if symbol == "starts with":
        return text[: len(pattern)] == pattern
    if symbol == "ends with":
        return text[max(0, len(text) - len(pattern)) :] == pattern
    if symbol == "contains text":
        return pattern in text
    return like(text, pattern)


def like(text: str, pattern: str) -> bool:
    """SQL's ``like``, by trying all ways to divide the text."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[start:], pattern[1:]) for start in range(len(text) + 1))
    escaped = pattern[0] == "\\"
    wanted, rest = (pattern[1], pattern[2:]) if escaped else (pattern[0], pattern[1:])
    wild = wanted == "_" and not escaped
    return bool(text) and (wild or text[0] == wanted) and like(text[1:], rest)
