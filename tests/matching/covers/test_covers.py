"""Covers: whenever an expression is true one of its conditions is, and whole ones say all of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import tamis
from tamis.bindings.evaluation import Trial
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.covers.covers import Condition, cover_of
from tamis.matching.covers.formula import Every, Formula, Some, formula_of
from tamis.matching.covers.leaves import Holds, Lacks, Within, path_of
from tamis.matching.lines.forms import FORM_LINES
from tamis.predicates.expression import IsA, nodes_within
from tamis.predicates.normal import Literal
from tamis.predicates.texts import fold
from tamis.predicates.truth import TRUE
from tests.contract.strategies import dense_events
from tests.strategies import attribute_expressions

EXPRESSIONS = attribute_expressions().filter(
    lambda expression: not any(isinstance(node, IsA) for node in nodes_within(expression))
)
FLAT = dense_events().map(lambda event: {k: v for k, v in event.items() if not _has_list(v)})


def _has_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_list, value.values()))
    return isinstance(value, list)


def is_so(formula: Formula, event: tamis.Event) -> bool:
    """Whether a formula is so of an event without lists, told from what its leaves say."""
    if isinstance(formula, Every):
        return all(is_so(part, event) for part in formula.parts)
    if isinstance(formula, Some):
        return any(is_so(part, event) for part in formula.parts)
    if isinstance(formula, Lacks):
        return not is_so(formula.part, event)
    if isinstance(formula, Literal):
        return Trial(event).truth(formula.predicate, None) == int(formula.positive)
    values = event.values(path_of(formula.place if isinstance(formula, Within) else formula.key))
    if isinstance(formula, Within):
        sort = formula.place.sort if isinstance(formula.place, AxisKey) else ""
        if sort in FORM_LINES:
            form = FORM_LINES[sort].form
            values = list(values)
            texts: Any = [form(value) for value in values if isinstance(value, str)]
            others = any(not isinstance(value, str) for value in values)
            inside = any(text in formula.values for text in filter(None, texts))
            return inside or (others and formula.values.rest)
        return any(value in formula.values for value in values)
    if formula.key.sort is AxisSort.CONTAINED:
        return any(
            (type(thing) is type(value) and thing == value) or _numbers_equal(thing, value)
            for thing in formula.things
            for value in values
        )
    folds = formula.key.sort is AxisSort.FOLDED_SUBSTRINGS
    texts = [fold(value) if folds else value for value in values if isinstance(value, str)]
    return any(str(thing) in text for thing in formula.things for text in texts)


def _numbers_equal(one: Any, other: Any) -> bool:
    numbers = not isinstance(one, bool) and not isinstance(other, bool)
    return numbers and isinstance(one, int | float) and one == other


def holds(condition: Condition, event: tamis.Event) -> bool:
    return all(is_so(leaf, event) for leaf in condition.leaves)


@given(EXPRESSIONS, FLAT)
def test_a_formula_is_so_when_the_expression_is_true(
    expression: tamis.Expression, attributes: Any
) -> None:
    event = tamis.Event(attributes)
    expected = Trial(event).truth(expression, None) == TRUE
    assert is_so(formula_of(expression), event) == expected


@given(EXPRESSIONS, FLAT)
def test_a_condition_holds_when_the_expression_is_true(
    expression: tamis.Expression, attributes: Any
) -> None:
    event = tamis.Event(attributes)
    cover = cover_of(expression)
    is_true = Trial(event).truth(expression, None) == TRUE
    if is_true:
        assert any(holds(condition, event) for condition in cover.conditions)
    else:
        assert not any(each.whole and holds(each, event) for each in cover.conditions)


@pytest.mark.parametrize(
    ("text", "conditions", "whole"),
    [
        ("a = 1 and b < 2", 1, True),
        ("a = 1 or b < 2", 2, True),
        ("a in (1, 2, 3) or a = 7", 1, True),
        ("t contains text 'x' or t contains text 'y'", 1, True),
        ("a = 1 and (b = 1 or c = 1) and (d = 1 or e = 1)", 4, True),
        ("a = 1 unless b = 1", 1, False),
        ("(a = 1) is not true", 1, False),
        ("a > 5 and (a < 3 or a < 2)", 0, True),
        ("a is missing and (a = 1 or a.b = 2)", 0, True),
        ("t contains text 'x' and not t contains text 'x'", 0, True),
        (" and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(40)), 2, False),
    ],
)
def test_how_many_conditions_there_are(text: str, conditions: int, whole: bool) -> None:
    cover = cover_of(tamis.parse(text))
    assert (len(cover.conditions), cover.is_whole) == (conditions, whole)
    assert cover.never_matches is (conditions == 0)


def test_the_rarest_alternatives_become_conditions() -> None:
    many = " or ".join(f"b{n} > 1" for n in range(17))
    cover = cover_of(tamis.parse(f"({many}) and (c = 1 or d = 2) and e < 5"))
    assert [sorted(map(path_of, each.sides)) for each in cover.conditions] == [
        [("c",), ("e",)],
        [("d",), ("e",)],
    ]


def test_a_formula_is_as_long_as_its_expression() -> None:
    parts = 60
    text = " and ".join(
        "(" + " or ".join(f"a{m}_{n} = {n}" for n in range(5)) + ")" for m in range(parts)
    )
    formula = formula_of(tamis.parse(text))
    assert isinstance(formula, Every)
    assert [len(part.parts) for part in formula.parts if isinstance(part, Some)] == [5] * parts


def test_alternative_texts_of_one_attribute_are_one_leaf() -> None:
    words = [f"w{n}" for n in range(500)]
    texts = " or ".join(f"t contains text '{word}' ignoring case" for word in words)
    formula = formula_of(tamis.parse(texts))
    assert formula == Holds(AxisKey(("t",), AxisSort.FOLDED_SUBSTRINGS), frozenset(words))
    ends = " or ".join(f"t ends with '{word}'" for word in words)
    assert isinstance(formula_of(tamis.parse(ends)), Within)
