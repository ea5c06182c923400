"""What a subscription costs events, estimated from its cover alone, before there is a plan.

    kind = 'a' and title matches '[ab]+'        1 event in 178 has kind 'a' and a title: 2 ns
    title matches '[ab]+'                       no key: every event that has a title: 227 ns
    not (a + b < 5)                             no key: every event that has a and b: 283 ns

An event pays for a conjunction if it gets through to it: if it has the attributes, and what can be
a key lets it pass. How likely that is, is assumed; the plan of what is there (plan.py) knows more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tamis.errors import LimitError
from tamis.matching.covers.chances import PRESENCE, chance_of, chance_within
from tamis.matching.covers.covers import Condition, Cover, needed_by
from tamis.matching.covers.formula import Every, Formula, Some
from tamis.matching.covers.leaves import Lacks, Leaf, is_of_two_attributes, is_tested
from tamis.matching.planning.tables import figure
from tamis.matching.sieve.signatures import TEST
from tamis.model.limits import Limits
from tamis.model.paths import Path, format_path
from tamis.predicates.expression import (
    Comparison,
    Expression,
    IsA,
    Pattern,
    Present,
    TextTest,
)
from tamis.predicates.normal import Literal

EVALUATION, CHECK, PATTERN, ARITHMETIC = 200.0, 100.0, 300.0, 500.0
JOIN, ORACLE = 1_000.0, 20_000.0
"""Nanoseconds, measured: an evaluation, a test of one value by Arrow or by RE2, arithmetic on
columns, a pattern in a graph, and the oracle."""
REMEDY = "add a clause that few events satisfy, such as an equality"
_MOST_NAMED = 3
_HARDLY = 1e-9
_DEAREST = 2e8
"""More than one event can pay for a subscription: it has at most 100,000 operands."""


class Cost(NamedTuple):
    """What an average event pays for a subscription, and why."""

    nanoseconds: float
    reason: str

    def __str__(self) -> str:
        return f"about {figure(self.nanoseconds)} ns an event ({self.reason})"


def cost_of(cover: Cover) -> Cost:
    """What a subscription costs: the sum of its conditions, and the reason of the dearest."""
    behind = _behind(cover)
    costs = _costs(cover, behind)
    if not costs:
        return Cost(0.0, "it never matches")
    dearest = cover.conditions[costs.index(max(costs))]
    more = f"; the dearest of {len(costs):,} alternatives" if len(costs) > 1 else ""
    return Cost(sum(costs), _reason(dearest, behind) + more)


def costly(cover: Cover, limits: Limits) -> Cost | None:
    """What a subscription costs, if that is much; a LimitError if it is too much."""
    most = TEST * len(cover.conditions)
    if most <= min(limits.cost, limits.costly) and all(map(_is_plain, cover.conditions)):
        return None  # as most are, which need no closer look
    chances = map(_Chances(assumes_presence=True).of, cover.conditions)
    if sum(chances) * _DEAREST <= min(limits.cost, limits.costly):
        return None  # as rules are that begin with some equalities
    behind = _behind(cover)
    for assumes_presence in (True, False):  # which is quicker to say, and enough for most
        if sum(_costs(cover, behind, assumes_presence)) <= min(limits.cost, limits.costly):
            return None
    cost = cost_of(cover)
    if cost.nanoseconds > limits.cost:
        raise LimitError(f"it costs {cost}: the limit is {figure(limits.cost)} ns; {REMEDY}")
    return cost if cost.nanoseconds > limits.costly else None


def _behind(cover: Cover) -> _Rest:
    """What is left to do when a condition holds that does not say all."""
    return _NOTHING if cover.is_whole else _Rest.of(_literals(cover.formula), True)


def _costs(cover: Cover, behind: _Rest, assumes_presence: bool = False) -> list[float]:
    """What an average event pays for each condition; or one that has all attributes."""
    chances = _Chances(assumes_presence)
    incomplete = _price_of(Condition(whole=False), behind) if behind.evaluated else 0.0
    return [
        chances.of(each) * (_price_of(each, behind) if each.whole else incomplete)
        for each in cover.conditions
    ]


def _is_plain(condition: Condition) -> bool:
    """Whether a condition is boxes and no more than that."""
    return condition.whole and not condition.found and not condition.literals


def _literals(formula: Formula) -> Iterator[Literal]:
    """The literals of a formula."""
    if isinstance(formula, Literal):
        yield formula
    elif isinstance(formula, Lacks) and isinstance(formula.part, Literal):
        yield formula.part
    elif isinstance(formula, Every | Some):
        for part in formula.parts:
            yield from _literals(part)


class _Rest(NamedTuple):
    """What is left to do when a condition holds."""

    evaluated: bool
    tests: list[Expression]
    asks: bool
    """Whether the oracle must be asked."""

    @classmethod
    def of(cls, literals: Iterable[Literal], evaluated: bool) -> _Rest:
        some = list(literals)
        distinct = dict.fromkeys(some) if len(some) > 1 else some  # a pattern's hash takes a while
        left = [each for each in distinct if not _is_known(each)]
        tests = [each.predicate for each in left if is_tested(each) or _is_pattern(each)]
        return cls(evaluated, tests, len(tests) < len(left))


_NOTHING = _Rest(False, [], False)


def _is_known(literal: Literal) -> bool:
    return isinstance(literal.predicate, Present | IsA)


def _is_pattern(literal: Literal) -> bool:
    """Whether the index of patterns decides."""
    return literal.positive and isinstance(literal.predicate, Pattern)


class _Chances:
    """How likely events have the attributes of conditions, and pass them. Conditions of one cover
    have most of their sides in common, so each is looked at once."""

    def __init__(self, assumes_presence: bool = False) -> None:
        self._within: dict[int, float] = {}
        self._assumes_presence = assumes_presence

    def of(self, condition: Condition) -> float:
        """The chance of a condition of the cover."""
        chance = 1.0
        if not self._assumes_presence:
            chance = PRESENCE ** len({*needed_by(condition)})
        for values in condition.sides.values():
            known = self._within.get(id(values))
            if known is None:
                known = self._within[id(values)] = chance_within(values)
            chance *= known
        others: list[Leaf] = [*condition.found, *condition.literals]
        for leaf in others:
            chance *= chance_of(leaf)
        return float(chance)


def _price_of(condition: Condition, behind: _Rest) -> float:
    """What an event that passes a condition pays for it, in nanoseconds."""
    evaluated, tests, asks = _rest(condition, behind)
    return TEST + EVALUATION * evaluated + sum(map(_price, tests)) + ORACLE * asks


def _reason(condition: Condition, behind: _Rest) -> str:
    has_key = any(chance_of(leaf) < 1.0 for leaf in condition.leaves)
    who = _who(has_key, _Chances().of(condition), {*needed_by(condition)})
    return f"{who} {_what(_rest(condition, behind))}"


def _rest(condition: Condition, behind: _Rest) -> _Rest:
    whole = condition.whole
    return _Rest.of(condition.literals, len(condition.found) > 1) if whole else behind


def _price(node: Expression) -> float:
    """What a test costs."""
    return _TESTS[_kind(node)]


_TESTS = {
    "a search of its graph": JOIN,
    "a regular expression": PATTERN,
    "a search in its text": CHECK,
    "a comparison of attributes": CHECK,
    "arithmetic": ARITHMETIC,
}


def _kind(node: Expression) -> str:
    """The test of a literal in words."""
    if isinstance(node, TextTest):
        pattern = node.operator in ("like", "matches")
        return "a regular expression" if pattern else "a search in its text"
    if isinstance(node, Pattern):
        return "a search of its graph"
    assert isinstance(node, Comparison)
    return "a comparison of attributes" if is_of_two_attributes(node) else "arithmetic"


def _who(has_key: bool, chance: float, needed: set[Path]) -> str:
    if chance < _HARDLY:
        return "hardly any event"
    if has_key:
        return f"about 1 event in {max(2, round(1 / chance)):,}"
    named = " and ".join(repr(format_path(path)) for path in sorted(needed)[:_MOST_NAMED])
    more = " and more" if len(needed) > _MOST_NAMED else ""
    return "no key: every event" + (f" that has {named}{more}" if named else "")


def _what(rest: _Rest) -> str:
    evaluated, left, asks = rest
    if asks:
        return "is decided by the oracle, in Python"
    if evaluated and not left:
        return "is evaluated"
    said = dict.fromkeys(sorted(map(_kind, left), key=_TESTS.__getitem__, reverse=True))
    return f"is tested by {' and '.join(said)}" if said else "is tested against its box"
