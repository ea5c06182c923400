"""Three-valued truth of single predicates: True, False, or None for unknown.

This is where the meaning of every predicate on attributes is written, once; the oracle applies it
to bindings, and the compiled matchers to what they cannot decide by ranks.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch

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
from tamis.predicates.texts import compile_like, compile_regex, fold

Truth = bool | None
FALSE, TRUE, UNKNOWN, FAILED, OPEN = range(5)
TRUTHS: Mapping[Truth, str] = {True: "true", False: "false", None: "unknown"}
"""The words of ``is true``, ``is false`` and ``is unknown``."""

_ORDERS: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def negation(truth: Truth) -> Truth:
    """Not, where the negation of unknown is unknown."""
    return None if truth is None else not truth


def conjunction(truths: Iterable[Truth]) -> Truth:
    """And: false if any is false, else unknown if any is unknown."""
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def disjunction(truths: Iterable[Truth]) -> Truth:
    """Or: true if any is true, else unknown if any is unknown."""
    return negation(conjunction(negation(truth) for truth in truths))


def holds(left: Value | None, operator: str, right: Value | None, *, ignore_case: bool) -> Truth:
    """A comparison of two values, either of which may be missing."""
    if left is None or right is None:
        return None
    if operator in EQUALITIES:
        same = _same(left, right) if ignore_case else equal(left, right)
        return same if operator == "=" else not same
    order = compare(left, right)
    return None if order is None else _ORDERS[operator](order)


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
    return None if low is None or high is None else low >= 0 and high <= 0


@test.register
def _(node: In, value: Value, taxonomy: Taxonomy | None) -> Truth:
    same = _same if node.ignore_case else equal
    return any(same(value, constant.value) for constant in node.values)


@test.register
def _(node: IsA, value: Value, taxonomy: Taxonomy | None) -> Truth:
    assert taxonomy is not None
    return taxonomy.is_a(value, str(node.ancestor.value)) if isinstance(value, str) else None


@test.register
def _(node: TextTest, value: Value, taxonomy: Taxonomy | None) -> Truth:
    if not isinstance(value, str):
        return None
    pattern = str(node.pattern.value)
    if node.operator == "like":
        return compile_like(pattern, ignore_case=node.ignore_case).search(value) is not None
    if node.operator == "matches":
        return compile_regex(pattern, ignore_case=node.ignore_case).search(value) is not None
    if node.ignore_case:
        value, pattern = fold(value), fold(pattern)
    if node.operator == "starts with":
        return value.startswith(pattern)
    if node.operator == "ends with":
        return value.endswith(pattern)
    return pattern in value


@test.register
def _(node: InCidr, value: Value, taxonomy: Taxonomy | None) -> Truth:
    address = _address(value)
    return None if address is None else any(address in network for network in node.networks)


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
