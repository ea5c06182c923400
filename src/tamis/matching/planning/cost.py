"""What a subscription costs events, estimated from its normal form alone, before there is a plan.

    kind = 'a' and title matches '[ab]+'        1 event in 178 has kind 'a' and a title: 2 ns
    title matches '[ab]+'                       no key: every event that has a title: 227 ns
    not (a + b < 5)                             no key, and Python decides: 11 µs

An event pays for a conjunction if it gets through to it: if it has the attributes, and what can be
a key lets it pass. How likely that is, is assumed; the plan of what is there (plan.py) knows more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tamis.errors import LimitError
from tamis.matching.boxes.compiler import MAX_BOXES, axis_ranges, side_sets, sides_to_widen
from tamis.matching.boxes.derived import most_selective
from tamis.matching.boxes.layout import PRESENCE
from tamis.matching.planning.tables import figure
from tamis.matching.sieve.signatures import TEST
from tamis.matching.tests.column_tests import is_checked
from tamis.model.limits import Limits
from tamis.model.paths import Path, format_path
from tamis.predicates.expression import Comparison, Contains, Expression, IsA, Present, TextTest
from tamis.predicates.normal import Conjunction, Literal, NormalForm
from tamis.predicates.operands import Attribute, operands_within
from tamis.predicates.valueset import GREATEST, LEAST, Range, ValueSet

CHECK, PATTERN, ORACLE = 100.0, 300.0, 20_000.0
"""Nanoseconds, measured: a test of one value by Arrow, by RE2, and of an event by the oracle."""
VALUE, WINDOW, HALF = 0.01, 0.1, 0.5
"""How likely an attribute that is there has a given value, lies in a range, or above a constant."""
REMEDY = "add a clause that few events satisfy, such as an equality"
_MOST_NAMED = 3
_HARDLY = 1e-9


class Cost(NamedTuple):
    """What an average event pays for a subscription, and why."""

    nanoseconds: float
    reason: str

    def __str__(self) -> str:
        return f"about {figure(self.nanoseconds)} ns an event ({self.reason})"


def cost_of(form: NormalForm) -> Cost:
    """What a subscription costs: the sum of its alternatives, and the reason of the dearest."""
    costs = [_conjunction_cost(conjunction) for conjunction in form.conjunctions]
    if not costs:
        return Cost(0.0, "it never matches")
    reason = max(costs).reason
    more = f"; the dearest of {len(costs):,} alternatives" if len(costs) > 1 else ""
    return Cost(sum(cost.nanoseconds for cost in costs), reason + more)


def costly(form: NormalForm, limits: Limits) -> Cost | None:
    """What a subscription costs, if that is much; a LimitError if it is too much."""
    most = TEST * len(form.conjunctions)
    if most <= min(limits.cost, limits.costly) and all(map(_is_plain, form.conjunctions)):
        return None  # as most are, which need no closer look
    cost = cost_of(form)
    if cost.nanoseconds > limits.cost:
        raise LimitError(f"it costs {cost}: the limit is {figure(limits.cost)} ns; {REMEDY}")
    return cost if cost.nanoseconds > limits.costly else None


def _is_plain(conjunction: Conjunction) -> bool:
    """Whether a conjunction becomes boxes for certain, and no more than that."""
    sides = conjunction.box.values()
    counts = (2 + sum(map(len, values.ranges.values())) for values in sides)
    return not conjunction.literals and (len(sides) < 2 or prod(counts) <= MAX_BOXES)


def _conjunction_cost(conjunction: Conjunction) -> Cost:
    sets, others = side_sets(conjunction)
    counts = {key: len(axis_ranges(values, key.sort)) for key, values in sets.items()}
    wide = sides_to_widen(counts)
    chances = [1.0 if key in wide else _chance(values) for key, values in sets.items()]
    chances += [_literal_chance(literal) for literal in others]
    tests = [literal for literal in others if is_checked(literal)]
    left = [node for node, _ in others if not isinstance(node, Present | IsA)]
    sought = most_selective(tests)
    if sought is not None:
        chances.append(VALUE)
        if sought.whole:
            tests.remove(sought.literal)
            left.remove(sought.literal.predicate)
    needed = {*conjunction.box, *_needed(conjunction.literals)}
    chance = PRESENCE ** len(needed) * prod(chances)
    asks = bool(wide) or len(left) > len(tests)
    price = TEST + sum(_price(node) for node in left) + ORACLE * asks
    has_key = any(each < 1.0 for each in chances)
    return Cost(chance * price, f"{_who(has_key, chance, needed)} {_what(left, asks)}")


def _chance(values: ValueSet) -> float:
    """How likely a value lies in a set."""
    found = HALF * len(values.booleans) + values.rest
    for ranges in values.ranges.values():
        ends = (ranges[0][0] == LEAST) + (ranges[-1][1] == GREATEST)
        windows = sum(not _is_value(each) for each in ranges)
        likely = VALUE * (len(ranges) - windows) + WINDOW * windows
        found += (min(HALF, likely), HALF, 1.0)[ends]
    return min(found, 1.0)


def _is_value(each: Range) -> bool:
    low, high = each
    return len(low) > 1 and len(high) > 1 and low[1] == high[1]


def _literal_chance(literal: Literal) -> float:
    """How likely what can be a key of a literal lets an event pass; a test can be none."""
    node, positive = literal
    if isinstance(node, Present):
        return 1.0 if positive else 1.0 - PRESENCE
    return WINDOW if isinstance(node, IsA) and positive else 1.0


def _needed(literals: Sequence[Literal] | frozenset[Literal]) -> set[Path]:
    """The attributes without which literals are not true."""
    return {
        term.path
        for node, positive in literals
        if positive or not isinstance(node, Present)
        for side in node.operands()
        for term in operands_within(side)
        if isinstance(term, Attribute)
    }


def _price(node: Expression) -> float:
    """What a test costs; that of the oracle is not in it."""
    return _TESTS[_kind(node)] if is_checked(Literal(node, True)) else 0.0


_TESTS = {
    "a regular expression": PATTERN,
    "a search in its text": CHECK,
    "a search among its values": CHECK,
    "a comparison of attributes": CHECK,
}


def _kind(node: Expression) -> str:
    """The test of a literal in words."""
    if isinstance(node, TextTest):
        pattern = node.operator in ("like", "matches")
        return "a regular expression" if pattern else "a search in its text"
    if isinstance(node, Contains):
        return "a search among its values"
    assert isinstance(node, Comparison)
    return "a comparison of attributes"


def _who(has_key: bool, chance: float, needed: set[Path]) -> str:
    if chance < _HARDLY:
        return "hardly any event"
    if has_key:
        return f"about 1 event in {max(2, round(1 / chance)):,}"
    named = " and ".join(repr(format_path(path)) for path in sorted(needed)[:_MOST_NAMED])
    more = " and more" if len(needed) > _MOST_NAMED else ""
    return "no key: every event" + (f" that has {named}{more}" if named else "")


def _what(left: Sequence[Expression], asks: bool) -> str:
    if asks:
        return "is decided by the oracle, in Python"
    said = dict.fromkeys(sorted(map(_kind, left), key=_TESTS.__getitem__, reverse=True))
    return f"is tested by {' and '.join(said)}" if said else "is tested against its box"
