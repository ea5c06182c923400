"""The normal form: its shape, its limits and contradictions."""

from __future__ import annotations

import time

import pytest

from tamis import LimitError, parse
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
    "a like '%x' and not a like '%x'",
    "a like 'x%' and a = 'y'",
    "a like 'x' and a like 'y'",
    "(a = 1) is true and a = 2",
    "(a = 1) is false and a = 1",
    "(a < 1) is unknown and (a < 1) is not unknown",
    "(a = 1 and false) is true",
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
    "x is missing and (x = 1) is not true",
    "(x = 1) is unknown and x is present",
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
    form = normalise(parse("not (a = 1 and b < 2 and c like '%x')"))
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


def test_the_number_of_predicates_is_limited() -> None:
    common = " and ".join(f"a{i} = 1" for i in range(2_000))
    alternatives = " and ".join(f"(x{i} = 1 or y{i} = 1)" for i in range(10))
    assert len(normalise(parse(common)).conjunctions) == 1
    assert len(normalise(parse(alternatives)).conjunctions) == 1_024
    with pytest.raises(LimitError, match="more than 1,048,576 predicates in its conjunctions"):
        normalise(parse(f"{common} and {alternatives}"))
    half = " and ".join(f"(x{i} = 1 or y{i} = 1)" for i in range(9))
    with pytest.raises(LimitError, match="more than 1,048,576 predicates in its conjunctions"):
        normalise(parse(f"{common} and {half} or {common} and {half}"))


def test_no_form_takes_long() -> None:
    hostile = [
        " and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(500)),
        " and ".join(f"(a{i} like '%x' or b{i} like '%y')" for i in range(10)),
        " and ".join(f"a{i} like '%x'" for i in range(1_000)),
        "not (" + " and ".join(f"a{i} like '%x'" for i in range(1_000)) + ")",
        " and ".join(f"a{i} is missing" for i in range(500)) + " and " + "b = 1",
        " and ".join(f"a{i} is missing and b{i} = 1" for i in range(4_000)),
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
    ("text", "same"),
    [
        ("(a < 1) is true", "a < 1"),
        ("(a < 1) is false", "not a < 1"),
        ("(a = 1 or b = 2) is true and c = 3", "(a = 1 or b = 2) and c = 3"),
        ("(a = 1 and b < 2) is false", "not (a = 1 and b < 2)"),
        ("((a < 1) is true) is true", "a < 1"),
        ("a like 'x%'", "a starts with 'x'"),
        ("a like 'x%%'", "a starts with 'x'"),
        ("a like '%'", "a starts with ''"),
        ("a like ''", "a = '' and a starts with ''"),
        (r"a like r'x\%'", "a = 'x%'"),
        ("not a like 'x%'", "not a starts with 'x'"),
        ("a contains text ''", "a starts with ''"),
        ("a ends with '' ignoring case", "a starts with ''"),
    ],
)
def test_what_says_the_same_has_the_same_form(text: str, same: str) -> None:
    assert normalise(parse(text)).conjunctions == normalise(parse(same)).conjunctions


@pytest.mark.parametrize(
    "text",
    [
        "(a < 1) is not true",
        "(a < 1) is unknown",
        "(near('x', ?d)) is true",
        "not (near('x', ?d) and far('x', ?d))",
        "not not near('x', ?d)",
    ],
)
def test_what_cannot_be_taken_apart_is_one_literal(text: str) -> None:
    (conjunction,) = normalise(parse(text)).conjunctions
    assert not conjunction.box
    ((node, positive),) = conjunction.literals
    assert (node if positive else ~node) == parse(text)
