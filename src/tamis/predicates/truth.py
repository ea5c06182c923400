"""The values of truth, and the truth of single predicates.

    FALSE      0
    TRUE       1     the only one that matches
    UNKNOWN    2     a missing attribute, an order across kinds
    FAILED     3     an operator failed, or there were more bindings than the limit
    OPEN       4     not decided yet; matchers use it, an evaluation never gives it

    and        FALSE wins, then FAILED, then UNKNOWN
    or         TRUE wins, then FAILED, then UNKNOWN
    not        exchanges TRUE and FALSE
    is …       TRUE or FALSE, but FAILED stays FAILED

They are plain integers, so that arrays of ``int8`` hold them as they are.

This is where the meaning of every predicate on attributes is written, once; the oracle applies it
to bindings, and the compiled matchers to what they cannot decide by ranks.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Final

from tamis.model.kinds import Value, compare, equal
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import (
    EQUALITIES,
    Between,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    TextTest,
)
from tamis.predicates.operands import Constant
from tamis.predicates.texts import compile_regex, fold, is_like

Truth = int
"""One of the five."""
FALSE: Final = 0
TRUE: Final = 1
UNKNOWN: Final = 2
FAILED: Final = 3
OPEN: Final = 4

TRUTHS: Mapping[Truth, str] = {
    FALSE: "false",
    TRUE: "true",
    UNKNOWN: "unknown",
    FAILED: "failed",
}
"""Their words; all but the last are those of ``is true``, ``is false`` and ``is unknown``."""

_NEGATIONS = (TRUE, FALSE, UNKNOWN, FAILED)
_ORDERS: dict[str, tuple[Truth, Truth, Truth]] = {
    "<": (FALSE, FALSE, TRUE),
    "<=": (TRUE, FALSE, TRUE),
    ">": (FALSE, TRUE, FALSE),
    ">=": (TRUE, TRUE, FALSE),
}
"""For each operator the truth of an order of 0, 1 and -1, so that the order is the index."""


def negation(truth: Truth) -> Truth:
    """Not, where the negation of unknown is unknown, and of failed is failed."""
    return _NEGATIONS[truth]


def conjunction(truths: Iterable[Truth]) -> Truth:
    """And: false if any is false, else failed if any is, else unknown if any is."""
    result = TRUE
    for truth in truths:
        if truth == FALSE:
            return FALSE
        if truth > result:
            result = truth
    return result


def disjunction(truths: Iterable[Truth]) -> Truth:
    """Or: true if any is true, else failed if any is, else unknown if any is."""
    result = FALSE
    for truth in truths:
        if truth == TRUE:
            return TRUE
        if truth > result:
            result = truth
    return result


def truth_test(truth: Truth, asked: str) -> Truth:
    """Whether a part is true, false or unknown, as asked; what failed stays failed."""
    if truth == FAILED:
        return FAILED
    return TRUE if TRUTHS[truth] == asked else FALSE


def holds(left: Value | None, operator: str, right: Value | None, *, ignore_case: bool) -> Truth:
    """A comparison of two values, either of which may be missing."""
    if left is None or right is None:
        return UNKNOWN
    if operator in EQUALITIES:
        same = _same(left, right) if ignore_case else equal(left, right)
        return TRUE if same is (operator == "=") else FALSE
    order = compare(left, right)
    return UNKNOWN if order is None else _ORDERS[operator][order]


def contains(node: Contains, values: Iterable[Value]) -> bool:
    """Whether the constant is among all the values of a present attribute."""
    same = _same if node.ignore_case else equal
    return any(same(value, node.value.value) for value in values)


@singledispatch
def test(node: Expression, value: Value, taxonomy: Taxonomy | None) -> Truth:
    """The truth of a predicate on one attribute that is bound to the value."""
    raise TypeError(f"no predicate on one attribute: {node}")


@test.register
def _(node: Comparison, value: Value, taxonomy: Taxonomy | None) -> Truth:
    assert isinstance(node.right, Constant)
    return holds(value, node.operator, node.right.value, ignore_case=node.ignore_case)


@test.register
def _(node: Between, value: Value, taxonomy: Taxonomy | None) -> Truth:
    low, high = compare(value, node.low.value), compare(value, node.high.value)
    if low is None or high is None:
        return UNKNOWN
    return TRUE if low >= 0 and high <= 0 else FALSE


@test.register
def _(node: In, value: Value, taxonomy: Taxonomy | None) -> Truth:
    same = _same if node.ignore_case else equal
    return int(any(same(value, constant.value) for constant in node.values))


@test.register
def _(node: IsA, value: Value, taxonomy: Taxonomy | None) -> Truth:
    assert taxonomy is not None
    if not isinstance(value, str):
        return UNKNOWN
    return int(taxonomy.is_a(value, str(node.ancestor.value)))


@test.register
def _(node: TextTest, value: Value, taxonomy: Taxonomy | None) -> Truth:
    return int(_text_matches(node, value)) if isinstance(value, str) else UNKNOWN


@test.register
def _(node: InCidr, value: Value, taxonomy: Taxonomy | None) -> Truth:
    address = _address(value)
    if address is None:
        return UNKNOWN
    return int(any(address in network for network in node.networks))


def _text_matches(node: TextTest, value: str) -> bool:
    pattern = str(node.pattern.value)
    if node.operator == "like":
        return is_like(value, pattern, ignore_case=node.ignore_case)
    if node.operator == "matches":
        return compile_regex(pattern, ignore_case=node.ignore_case).search(value) is not None
    if node.ignore_case:
        value, pattern = fold(value), fold(pattern)
    if node.operator == "starts with":
        return value.startswith(pattern)
    if node.operator == "ends with":
        return value.endswith(pattern)
    return pattern in value


def _address(value: Value) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a string denotes, if it is one; a scope makes it none."""
    if not isinstance(value, str) or "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def _same(a: Value, b: Value) -> bool:
    """Equality without regard to case."""
    if isinstance(a, str) and isinstance(b, str):
        return fold(a) == fold(b)
    return equal(a, b)
