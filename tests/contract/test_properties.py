"""Laws: on random expressions and events, every matcher agrees with brute force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

import tamis
from tamis.engine.registry import ALGORITHMS
from tamis.engine.subscriptions import MATCHERS
from tamis.errors import LimitError
from tamis.predicates.expression import Expression, Not, all_of
from tamis.predicates.normal import Conjunction, normalise, true_set
from tamis.predicates.operands import Attribute, Constant
from tests.contract.arrow import table_of
from tests.contract.naive import (
    Parents,
    bindings,
    count_bindings,
    naive_match,
    plain,
    truth,
    value_at,
)
from tests.contract.reading import GROUPS, OF_VARIABLES
from tests.contract.strategies import dense_events, dense_expressions
from tests.strategies import EXTRA, VALUES, attribute_expressions, comparisons, events, predicates

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.OperatorWarning"),
]

PARENTS = {"red": ["blue"], "Red": ["red", ""], "10.0.0.1": []}
"""A taxonomy that knows all strings of the strategies."""

SCALARS = [value for value in (*VALUES, *EXTRA) if value is not None]
WORDS = [value for value in VALUES if isinstance(value, str)]


def small_events() -> st.SearchStrategy[dict[str, Any]]:
    """Events that brute force gets through."""
    return events().filter(lambda event: count_bindings(event) <= 300)


def predicates_of_one_attribute() -> st.SearchStrategy[Expression]:
    """Predicates that speak of the attribute ``a`` alone."""
    subject = st.just(Attribute(("a",)))
    values = st.sampled_from(VALUES).map(Constant)
    words = st.sampled_from(WORDS).map(Constant)
    return comparisons(subject, values) | predicates(subject, values, words)


def engine_of(matcher: str) -> tamis.Engine:
    return tamis.Engine(matcher=matcher, taxonomy=PARENTS)


# Matching.

TOGETHER = pytest.mark.parametrize(
    "matchers", [["scan"], ["sieve"], [*ALGORITHMS]], ids=["scan", "sieve", "published"]
)
"""Matchers that are tried on the same examples."""


@TOGETHER
@given(expression=attribute_expressions(), event=small_events())
def test_a_matcher_is_exact(
    matchers: list[str], expression: Expression, event: dict[str, Any]
) -> None:
    expected = ["x"] if naive_match(expression, event, PARENTS) else []
    for matcher in matchers:
        engine = engine_of(matcher)
        engine.subscribe(expression, id="x")
        assert engine.match(event) == expected, matcher


@TOGETHER
@given(
    expressions=st.lists(dense_expressions(), min_size=5, max_size=10),
    rows=st.lists(dense_events(), min_size=1, max_size=3),
)
def test_a_matcher_is_exact_where_values_meet(
    matchers: list[str], expressions: list[Expression], rows: list[dict[str, Any]]
) -> None:
    expected = [
        [
            str(number)
            for number, expression in enumerate(expressions)
            if naive_match(expression, event, PARENTS)
        ]
        for event in rows
    ]
    for matcher in matchers:
        engine = engine_of(matcher)
        try:
            engine.subscribe_many({str(number): one for number, one in enumerate(expressions)})
        except LimitError:
            assert matcher == "gough", "whose tree may be too large"
            continue
        assert [sorted(engine.match(event), key=int) for event in rows] == expected, matcher


@TOGETHER
@given(
    expressions=st.lists(attribute_expressions(), min_size=2, max_size=6),
    rows=st.lists(small_events(), max_size=4),
)
def test_a_batch_is_exact(
    matchers: list[str], expressions: list[Expression], rows: list[dict[str, Any]]
) -> None:
    expected = [
        (row, str(number))
        for row, event in enumerate(rows)
        for number, expression in enumerate(expressions)
        if naive_match(expression, event, PARENTS)
    ]
    counts = [sum(1 for row, _ in expected if row == number) for number in range(len(rows))]
    for matcher in matchers:
        engine = engine_of(matcher)
        engine.subscribe_many({str(number): one for number, one in enumerate(expressions)})
        assert sorted(engine.match_batch(rows).pairs()) == expected, matcher
        assert engine.count_batch(rows) == counts, matcher


@TOGETHER
@given(expression=attribute_expressions(), event=small_events())
def test_an_arrow_table_is_exact(
    matchers: list[str], expression: Expression, event: dict[str, Any]
) -> None:
    table = table_of(event)
    assume(table is not None)
    rows: list[dict[str, Any]] = [{}, event, {}]
    expected = [row for row, each in enumerate(rows) if naive_match(expression, each, PARENTS)]
    for matcher in matchers:
        engine = engine_of(matcher)
        engine.subscribe(expression, id="x")
        assert [row for row, _ in engine.match_batch(table).pairs()] == expected, matcher


@given(expression=attribute_expressions(), event=small_events())
def test_an_explanation_says_whether_it_matches(
    expression: Expression, event: dict[str, Any]
) -> None:
    engine = engine_of("scan")
    engine.subscribe(expression, id="x")
    assert engine.explain("x", event).matches is naive_match(expression, event, PARENTS)


# The normal form.


@given(
    expression=attribute_expressions() | dense_expressions(),
    event=small_events() | dense_events(),
)
def test_the_normal_form_holds_under_the_same_bindings(
    expression: Expression, event: dict[str, Any]
) -> None:
    _check_normal_form(expression, event, PARENTS)


@pytest.mark.parametrize("group", GROUPS)
def test_the_normal_form_of_the_cases(group: str) -> None:
    for case in GROUPS[group]:
        if case.group not in OF_VARIABLES:
            _check_normal_form(tamis.parse(case.subscription), case.event, case.taxonomy)


def _check_normal_form(
    expression: Expression, event: dict[str, Any], parents: Parents | None
) -> None:
    """A conjunction is true under exactly those bindings under which the expression is."""
    conjunctions = normalise(expression).conjunctions
    for binding in bindings(event):
        found = any(_holds(conjunction, event, binding, parents) for conjunction in conjunctions)
        assert found is (truth(expression, event, binding, parents) is True), str(expression)


def _holds(
    conjunction: Conjunction, event: dict[str, Any], binding: Any, parents: Parents | None
) -> bool:
    for path, values in conjunction.box.items():
        value = value_at(binding, path)
        if value is None or value not in values:
            return False
    return all(
        truth(node, event, binding, parents) is positive for node, positive in conjunction.literals
    )


@given(predicate=predicates_of_one_attribute(), positive=st.booleans())
def test_the_set_of_a_predicate_is_what_it_is_true_of(
    predicate: Expression, positive: bool
) -> None:
    found = true_set(predicate, positive)
    assume(found is not None)
    assert found is not None
    path, values = found
    assert path == ("a",)
    for value in SCALARS:
        event = {"a": value}
        assert (plain(value) in values) is (truth(predicate, event, event, PARENTS) is positive)


@given(
    parts=st.lists(predicates_of_one_attribute(), min_size=2, max_size=4),
    negated=st.lists(st.booleans(), min_size=4, max_size=4),
    values=st.lists(st.sampled_from(SCALARS), max_size=3),
)
def test_what_never_matches_does_not(
    parts: list[Expression], negated: list[bool], values: list[Any]
) -> None:
    expression = all_of(*(Not(part) if no else part for part, no in zip(parts, negated)))
    assume(normalise(expression).never_matches)
    assert not naive_match(expression, {"a": values}, PARENTS)
    assert not naive_match(expression, {"a": SCALARS}, PARENTS)
    assert not naive_match(expression, {}, PARENTS)


@given(expression=attribute_expressions(), event=small_events())
def test_nothing_matches_with_its_negation(expression: Expression, event: dict[str, Any]) -> None:
    engine = engine_of("scan")
    engine.subscribe(expression & ~expression, id="x")
    assert engine.match(event) == []


# Changes.


class Changes(RuleBasedStateMachine):
    """An engine beside a dict from id to expression and whether it is enabled."""

    ids = st.sampled_from("pqrstu")

    matcher: str

    def __init__(self) -> None:
        super().__init__()
        self.engine = engine_of(self.matcher)
        self.model: dict[str, tuple[Expression, bool]] = {}

    @rule(id=ids, expression=attribute_expressions(), enabled=st.booleans())
    def subscribe(self, id: str, expression: Expression, enabled: bool) -> None:
        if id in self.model:
            with pytest.raises(tamis.DuplicateIdError):
                self.engine.subscribe(expression, id=id, enabled=enabled)
        else:
            self.engine.subscribe(expression, id=id, enabled=enabled)
            self.model[id] = expression, enabled

    @rule(id=ids, expression=attribute_expressions())
    def replace(self, id: str, expression: Expression) -> None:
        self.engine.subscribe(str(expression), id=id, replace=True)
        self.model[id] = expression, True

    @rule(id=ids)
    def unsubscribe(self, id: str) -> None:
        if id in self.model:
            self.engine.unsubscribe(id)
            del self.model[id]
        else:
            with pytest.raises(tamis.UnknownIdError):
                self.engine.unsubscribe(id)

    @rule(id=ids, enabled=st.booleans())
    def switch(self, id: str, enabled: bool) -> None:
        change = self.engine.enable if enabled else self.engine.disable
        if id in self.model:
            change(id)
            self.model[id] = self.model[id][0], enabled
        else:
            with pytest.raises(tamis.UnknownIdError):
                change(id)

    @rule(
        rows=st.dictionaries(ids, attribute_expressions(), max_size=4),
        replace=st.booleans(),
        collect=st.booleans(),
    )
    def subscribe_many(self, rows: Mapping[str, Expression], replace: bool, collect: bool) -> None:
        new = {id: row for id, row in rows.items() if replace or id not in self.model}
        if len(new) < len(rows) and not collect:
            with pytest.raises(tamis.SubscriptionError):
                self.engine.subscribe_many(rows, replace=replace)
            return
        errors: Any = "collect" if collect else "raise"
        taken = self.engine.subscribe_many(rows, replace=replace, errors=errors)
        assert taken.ids == list(new)
        assert [row.id for row in taken.rejected] == [id for id in rows if id not in new]
        self.model |= {id: (expression, True) for id, expression in new.items()}

    @precondition(lambda self: self.model)
    @rule()
    def save_and_load(self) -> None:
        with TemporaryDirectory() as folder:
            self.engine.save(Path(folder) / "engine")
            self.engine = tamis.Engine.load(Path(folder) / "engine")

    @rule(event=small_events())
    def match(self, event: dict[str, Any]) -> None:
        expected = sorted(self._expected(event))
        assert sorted(self.engine.match(event)) == expected
        assert sorted(self.engine.match_batch([{}, event]).pairs()) == [
            *((0, id) for id in sorted(self._expected({}))),
            *((1, id) for id in expected),
        ]
        assert len(self.engine) == len(self.model)

    def _expected(self, event: dict[str, Any]) -> Iterator[str]:
        for id, (expression, enabled) in self.model.items():
            if enabled and naive_match(expression, event, PARENTS):
                yield id


@pytest.mark.parametrize("matcher", MATCHERS)
def test_changes(matcher: str) -> None:
    machine = type("ChangesOfMatcher", (Changes,), {"matcher": matcher})
    share = 4 if matcher in ALGORITHMS else 2  # beside readers they are tried elsewhere
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=settings().max_examples // share, stateful_step_count=20),
    )
