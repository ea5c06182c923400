"""The normal form: its shape, its limits, contradictions and safety."""

from __future__ import annotations

import time

import pytest

from tamis import LimitError, SubscriptionError, parse
from tamis.model.limits import Limits
from tamis.predicates.normal import normalise

CONTRADICTIONS = [
    "price < 1 and price > 2",
    "price = 1 and price = 2",
    "price = 1 and price != 1",
    "price = 1 and price = true",
    "price between 5 and 1",
    "price in (1, 2) and price > 2",
    "price < 5 and not price < 5",
    "price < 5 and price starts with 'x'",
    "a starts with 'ab' and a starts with 'b'",
    "a starts with 'ab' and a = 'a'",
    "x is missing and x = 1",
    "x is missing and x.y = 1",
    "x is missing and x is present",
    "x is missing and not x contains 1",
    "x is missing and x < y",
    "x contains 1 and not x contains 1",
    "a like 'x%' and not a like 'x%'",
    "not (a = 1 or a != 1)",
    "false",
    "a = 1 and false",
    "not true",
    "(a = 1 and a = 2) or (b = 1 and b = 2)",
]


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_contradictions_are_found(text: str) -> None:
    assert normalise(parse(text)).never_matches


POSSIBLE = [
    "price > 4 and price < 5",
    "price >= 1 and price <= 1",
    "a contains 1 and a contains 2",
    "a != 1 and a != 2 and a != true and a != 'x'",
    "x.y is missing and x = 1",
    "x.y is missing and x.z = 1",
    "not x is a 'y' and not x = 'y'",
    "x = 1 or x = 1 and x = 2",
    "true",
]


@pytest.mark.parametrize("text", POSSIBLE)
def test_what_is_possible_is_no_contradiction(text: str) -> None:
    assert not normalise(parse(text)).never_matches


def test_predicates_on_one_attribute_are_intersected() -> None:
    (conjunction,) = normalise(parse("a > 1 and a < 5 and a != 3 and b contains 1")).conjunctions
    values = conjunction.box["a",]
    assert [value in values for value in (1, 2, 3, 4, 5, "2")] == [0, 1, 0, 1, 0, 0]
    assert set(conjunction.box) == {("a",)}
    assert len(conjunction.literals) == 1


def test_alternatives_of_one_attribute_are_one_side() -> None:
    assert len(normalise(parse("(a = 1 or a = 2 or a > 7) and (b = 1 or b = 2)")).conjunctions) == 1


def test_negation_is_pushed_inwards() -> None:
    form = normalise(parse("not (a = 1 and b < 2 and c like 'x')"))
    assert len(form.conjunctions) == 3
    assert {literal.positive for part in form.conjunctions for literal in part.literals} == {False}


def test_size_is_limited_and_the_clause_is_named() -> None:
    clause = "(a{0} = 1 or b{0} = 1)"
    text = " and ".join(clause.format(index) for index in range(11))
    with pytest.raises(
        LimitError, match=r"1,024 conjunctions; the clause 'a0 = 1 or b0 = 1'.*by 2"
    ):
        normalise(parse(text))
    assert len(normalise(parse(text), Limits(conjunctions=2_048)).conjunctions) == 2_048
    with pytest.raises(LimitError, match="alternatives"):
        normalise(parse("a = 1 or b = 1 or c = 1"), Limits(conjunctions=2))


def test_no_form_takes_long() -> None:
    hostile = [
        " and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(500)),
        " and ".join(f"(a{i} like 'x' or b{i} like 'y')" for i in range(10)),
        " and ".join(f"a{i} like 'x'" for i in range(1_000)),
        "not (" + " and ".join(f"a{i} like 'x'" for i in range(1_000)) + ")",
        " and ".join(f"a{i} is missing" for i in range(500)) + " and " + "b = 1",
        " and ".join(f"a != {i}" for i in range(1_000)),
        " or ".join(f"a = {i}" for i in range(1_000)),
    ]
    for text in hostile:
        expression = parse(text)
        start = time.process_time()
        try:
            normalise(expression)
        except LimitError:
            pass
        assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("?d < 5", "d"),
        ("near('x', ?d) and ?e < 5", "e"),
        ("near('x', ?d) or ?d < 5", "d"),
        ("not near('x', ?d) and ?d < 5", "d"),
        ("(near('x', ?d) or a = 1) and ?d < 5", "d"),
        ("near('x', ?d) and price * ?q < ?d", "q"),
        ("not { ?s ?p ?o } and ?o = 5", "o"),
    ],
)
def test_unbound_variables_are_named(text: str, variable: str) -> None:
    with pytest.raises(SubscriptionError, match=rf"nothing binds \?{variable} "):
        normalise(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "near('x', ?d) and ?d < 5",
        "near('x', ?d) and not far('x', ?d, ?e) and price < ?d",
        "{ ?s ?p ?o } and not ?o = 5",
        "not { ?s ?p ?o FILTER (?o > 5) }",
        "(near('x', ?d) or far('x', ?d)) and ?d < 5",
    ],
)
def test_bound_variables_are_accepted(text: str) -> None:
    assert not normalise(parse(text)).never_matches
