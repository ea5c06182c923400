"""Matching by brute force: every binding of the raw event, and the whole tree under each.

Written from the rules of matching alone, without a line of the engine: no canonical events, no
normal form, no list left out because nobody asks for it. Slow and obvious.

    {"a": [1, 2], "items": [{"b": 3}, 4]}

    bindings    {"a": 1, "items": {"b": 3}}    {"a": 1, "items": 4}
                {"a": 2, "items": {"b": 3}}    {"a": 2, "items": 4}
"""

from __future__ import annotations

import ipaddress
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import re2

from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    And,
    Between,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Or,
    Present,
    TextTest,
    TruthTest,
)
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand

Raw = Mapping[str, Any]
Truth = bool | None
"""True, false, or None for unknown."""
Parents = Mapping[str, list[str]]

UNBOUND = object()
"""What an empty list gives to its attribute."""

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def naive_match(expression: Expression, event: Raw, parents: Parents | None = None) -> bool:
    """Whether there is a binding under which the expression is true."""
    return any(truth(expression, event, binding, parents) is True for binding in bindings(event))


def truth(
    expression: Expression, event: Raw, binding: Any, parents: Parents | None = None
) -> Truth:
    """The truth of an expression under one binding of the event."""
    return _Evaluation(event, binding, parents or {}).truth(expression)


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


class _Evaluation:
    def __init__(self, event: Raw, binding: Any, parents: Parents) -> None:
        self.event = event
        self.binding = binding
        self.parents = parents

    def truth(self, node: Expression) -> Truth:
        match node:
            case And():
                found = [self.truth(part) for part in node.parts]
                return False if False in found else None if None in found else True
            case Or():
                found = [self.truth(part) for part in node.parts]
                return True if True in found else None if None in found else False
            case Not():
                inner = self.truth(node.part)
                return None if inner is None else not inner
            case TruthTest():
                wanted = {"true": True, "false": False, "unknown": None}[node.truth]
                return self.truth(node.part) is wanted
            case Present():
                return any(True for _ in all_at(self.event, node.attribute.path))
            case Contains():
                return self.contains(node)
            case Comparison():
                left, right = self.value(node.left), self.value(node.right)
                return compare(left, node.operator, right, node.ignore_case)
        value = self.value(node.attribute)  # type: ignore[attr-defined]
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

    def value(self, term: Operand) -> Any:
        """The value of a term under the binding; None if it has none."""
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Attribute):
            return value_at(self.binding, term.path)
        assert isinstance(term, Arithmetic)
        left, right = self.value(term.left), self.value(term.right)
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
        return equal(left, right, ignore_case) is (symbol == "=")
    if kind(left) != kind(right) or kind(left) in ("boolean", "bytes"):
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
