"""Sets of values and conjunctions as expressions again, as a person would write them.

For example,

    values                                    predicate
    [before 1, after 1), [before 4, after 4)  x in (1, 4)
    [before 4, after 6)                       x between 4 and 6
    [after 1, before 3), [after 3, GREATEST)  x > 1 and x != 3
    [before 'ab', before 'ac')                x starts with 'ab'
    everything but 5                          x != 5

and nothing is lost: the normal form of the predicate has the set again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tamis.model.kinds import Kind, Value
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    Between,
    Comparison,
    Expression,
    In,
    Not,
    TextTest,
    all_of,
    any_of,
)
from tamis.predicates.normal import Conjunction, Literal
from tamis.predicates.operands import Attribute, Constant
from tamis.predicates.valueset import Cut, Range, ValueSet, after, prefixed, range_of

NOTHING = any_of()
"""The expression that no event matches."""


def expression_of(conjunction: Conjunction) -> Expression:
    """A conjunction as an expression; sides first, all in the order of their names."""
    sides = (predicate_of(path, values) for path, values in sorted(conjunction.box.items()))
    literals = sorted(map(_of_literal, conjunction.literals), key=str)
    return all_of(*sides, *literals)


def predicate_of(path: Path, values: ValueSet) -> Expression:
    """The predicate that is true of exactly these values.

    NaN and bytes are in a set only if all but a few single values are, for no other predicate is
    true of them.
    """
    attribute = Attribute(path)
    if values.rest:
        return _all_but(attribute, list(_single_values(values.complement())))
    singles = list(_single_values(values))
    parts = [_equals(attribute, singles)] if singles else []
    for kind in sorted(values.ranges):
        parts += _of_ranges(attribute, kind, values.ranges[kind])
    return any_of(*parts)


def _of_literal(literal: Literal) -> Expression:
    return literal.predicate if literal.positive else Not(literal.predicate)


def _all_but(attribute: Attribute, values: list[Value]) -> Expression:
    if not values:
        some = Constant(True)
        return any_of(Comparison(attribute, "=", some), Comparison(attribute, "!=", some))
    if len(values) == 1:
        return Comparison(attribute, "!=", Constant(values[0]))
    return Not(_equals(attribute, values))


def _equals(attribute: Attribute, values: list[Value]) -> Expression:
    constants = tuple(map(Constant, values))
    if len(constants) == 1:
        return Comparison(attribute, "=", constants[0])
    return In(attribute, constants)


def _single_values(values: ValueSet) -> Iterator[Value]:
    yield from sorted(values.booleans)
    for kind in sorted(values.ranges):
        for low, high in values.ranges[kind]:
            if len(low) > 1 and is_single((low, high)):
                yield low[1]


def is_single(span: Range) -> bool:
    """Whether a range holds one value, as far as its cuts tell."""
    low, high = span
    return len(low) > 1 and not low[2] and high == after(low[1])


def _of_ranges(attribute: Attribute, kind: Kind, ranges: tuple[Range, ...]) -> list[Expression]:
    """A predicate for each range; ranges with only a single value between them are one."""
    parts: list[Expression] = []
    wide = [span for span in ranges if not is_single(span)]
    while wide:
        low, high = wide.pop(0)
        holes: list[Value] = []
        while wide and _is_hole(high, wide[0][0]):
            assert len(high) > 1
            holes.append(high[1])
            high = wide.pop(0)[1]
        bounds = _between(attribute, kind, low, high)
        parts.append(all_of(bounds, _all_but(attribute, holes)) if holes else bounds)
    return parts


def _is_hole(high: Cut, low: Cut) -> bool:
    return len(high) > 1 and not high[2] and low == after(high[1])


def _between(attribute: Attribute, kind: Kind, low: Cut, high: Cut) -> Expression:
    if len(low) > 1 and len(high) > 1 and not low[2] and high[2]:
        return Between(attribute, Constant(low[1]), Constant(high[1]))
    if kind is Kind.STRING and len(low) > 1:
        start = str(low[1])
        if prefixed(start) == range_of(kind, low, high):
            return TextTest(attribute, "starts with", Constant(start))
    bounds = []
    if len(low) > 1:
        bounds.append(Comparison(attribute, ">" if low[2] else ">=", Constant(low[1])))
    if len(high) > 1:
        bounds.append(Comparison(attribute, "<=" if high[2] else "<", Constant(high[1])))
    return all_of(*bounds) if bounds else _any_of_kind(attribute, kind)


def _any_of_kind(attribute: Attribute, kind: Kind) -> Expression:
    """All values of a kind, in so many words."""
    if kind is Kind.STRING:
        return TextTest(attribute, "starts with", Constant(""))
    some = Constant(0) if kind is Kind.NUMBER else Constant(Timestamp(0))
    return any_of(Comparison(attribute, "<", some), Comparison(attribute, ">=", some))
