"""Expressions and events over so few names and values that they nearly always meet."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tamis.predicates.expression import Expression, Not, TruthTest, all_of, any_of
from tamis.predicates.operands import Attribute, Constant
from tests.strategies import comparisons, predicates

SUBJECTS = [("a",), ("items", "color"), ("items", "price")]
VALUES = [1, 2, "red", "Red", True]
ELEMENTS = [*VALUES, 1.0, 3, math.nan, False, None, b"red", "blue"]


def dense_expressions() -> st.SearchStrategy[Expression]:
    """Conjunctions and disjunctions of two to six predicates, some of them negated or tested for
    their truth."""
    subjects = st.sampled_from(SUBJECTS).map(Attribute)
    values = st.sampled_from(VALUES).map(Constant)
    words = st.sampled_from(["red", "Red"]).map(Constant)
    predicate = comparisons(subjects, values) | predicates(subjects, values, words)
    literal = predicate | predicate.map(Not)
    pair = st.tuples(literal, literal)
    clause = literal | pair.map(lambda two: all_of(*two)) | pair.map(lambda two: any_of(*two))
    tested = st.builds(TruthTest, clause, st.sampled_from(TruthTest.TRUTHS))
    several = clause | clause.map(Not) | tested | tested.map(Not)
    clauses = st.lists(several, min_size=2, max_size=3)
    return clauses.map(lambda parts: all_of(*parts)) | clauses.map(lambda parts: any_of(*parts))


def dense_events() -> st.SearchStrategy[dict[str, Any]]:
    """Events with two or three items, whose keys may hold lists again."""
    element = st.sampled_from(ELEMENTS)
    value = element | st.lists(element, max_size=3)
    item = st.fixed_dictionaries({"color": value, "price": value}) | st.fixed_dictionaries(
        {}, optional={"color": value, "price": value}
    )
    items = st.lists(item | st.lists(item, max_size=2), min_size=2, max_size=3)
    return st.fixed_dictionaries({"items": items}, optional={"a": value})
