"""Templates give what the parser gives, text for text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis import Expression, ParseError, Templates, parse
from tests.strategies import expressions


def test_template_is_learned_once_and_filled() -> None:
    templates = Templates()
    texts = [f"a = 'v{i}' and b < {i} and c between -{i} and {i}.5" for i in range(50)]
    assert list(templates.parse_many(texts)) == [parse(text) for text in texts]
    assert len(templates._known) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a = 5", "a = 'x'"),  # another sort of literal
        ("x = 'v' and b = 1", "x = ' and b = 1"),  # a string that does not end
        ("a matches 'x'", "a matches '('"),  # a constant that makes it invalid
        ("a like 'x'", r"a like '\\x'"),
        ("a = 1", "a = 99999999999999999999"),
        ("a = timestamp '2026-01-01'", "a = timestamp 'x'"),
        ("a = 'x'", r"a = '\q'"),
        ("ip in cidr '10.0.0.0/8'", "ip in cidr '11.0.0.0/8'"),  # no constants of the tree
        ("a < 2 * 3", "a < 2 * 4"),
        ("near(5 km, 'x')", "near(6 km, 'y')"),
        ("a = 1 # 1", "a = 2 # 2"),
        ("`a 1` = 1", "`a 2` = 2"),
        ("a = r'x'", r"a = r'\d'"),
        ("a1 = 1", "a2 = 2"),
        ("a in (1, 2)", "a in (3, 3)"),
        ("(a = 1) is true", "(a = 2) is true"),
        ("(a = 1) is true", "(a = 1) is not true"),
        ("a = 1 unless b = 'x'", "a = 2 unless b = 'y'"),
        ("(a like 'x') is unknown", r"(a like '\\x') is unknown"),
        ("a = 1 --1", "a = 2 --2"),
        ("a-b = 1", "a-b = 2"),
        ("a = null or b = 1", "a = null or b = 2"),
        ("a = 'it''s' or a = \"x\"", "a = 'b\"' or a = \"it's\""),
        ("prefix ex: <http://e/1#> a = 1", "prefix ex: <http://e/2#> a = 2"),
    ],
)
def test_second_text_is_read_as_if_it_were_the_first(first: str, second: str) -> None:
    templates = Templates()
    for _ in range(2):
        assert outcome(templates.parse, first) == outcome(parse, first)
    assert outcome(templates.parse, second) == outcome(parse, second)


def outcome(read: Callable[[str], Expression], text: str) -> Expression | str:
    try:
        return read(text)
    except ParseError as error:
        return str(error)


TEMPLATES = Templates()


@given(expressions())
def test_any_expression(expression: Expression) -> None:
    text = str(expression)
    for _ in range(3):  # the last one by the template
        assert TEMPLATES.parse(text) == expression


@given(st.text(alphabet="ab01.'\"r`#\\ =<()-", max_size=30))
def test_any_text_is_read_or_refused_as_by_the_parser(text: str) -> None:
    assert outcome(TEMPLATES.parse, text) == outcome(parse, text)


def test_memory_is_bounded() -> None:
    templates = Templates()
    for index in range(10_050):
        templates.parse(f"attribute{index} = 1")
    assert not templates._known  # what comes alone is not learned
    for index in range(10_050):
        templates.parse(f"attribute{index} = 1")
    assert 0 < len(templates._known) <= 10_000
    for index in range(100_000):
        assert not templates._is_seen((str(index),))
    assert len(templates._seen) <= 100_000


def test_a_template_is_recognised_from_the_second_text_on() -> None:
    templates = Templates()
    assert templates.template(templates.split("a = 1")) is None
    split = templates.split("a = 2")
    assert split.literals == ["2"]
    template = templates.template(split)
    assert template is not None
    assert template.fill(split.literals) == parse("a = 2")


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 and b = 'x'",
        "a between 1 and 2 and b = 3",
        "(a = 1 AND b < 2) Or (c in (1, 2) and not d = 4)",
        "(a = 1) and (b = 2)",
        "((a = 1 and b = 2))",
        "a = 1 or b = 2 and c = 3",
        "(a = 1 or b = 2) and c = 3",
        "(a = 1) or (b = 2) and (c = 3 or d = 4)",
        "not (a = 1 and b = 2) or c = 3",
        "a = 1 unless b = 2 and c = 3",
        "a = 1 and b = 2 unless c = 3",
        "5 < a and 3 > b",
        "a < b and c = 2",
        "(a = 1 and b = 2) is true and c = 3",
        "a = 1\n  and\tb = 2",
    ],
)
def test_templates_put_together_say_what_the_parser_says(text: str) -> None:
    templates = Templates()
    found = [templates.template(templates.split(text)) for _ in range(3)][-1]
    if found is not None:
        assert found.fill(templates.split(text).literals) == parse(text)
    assert templates.parse(text) == templates.parse(text) == parse(text)


@given(expressions())
def test_any_template_says_what_the_parser_says(expression: Expression) -> None:
    split = TEMPLATES.split(str(expression))
    for _ in range(2):
        found = TEMPLATES.template(split)
        if found is not None:
            assert found.fill(split.literals) == expression


def test_error_of_a_bad_type() -> None:
    with pytest.raises(tamis.SubscriptionError, match="must be a string, not int"):
        Templates().parse(5)  # type: ignore[arg-type]


def test_a_very_long_text_has_no_template() -> None:
    templates = Templates()
    text = " or ".join(["a = 1"] * 12_000)
    for _ in range(3):
        assert templates.parse(text) == parse(text)
    assert templates.split(text).key == ()
    assert not templates._known


def test_names_are_remembered_and_others_still_refused() -> None:
    templates = Templates(attributes={"price", "x.y"})
    for _ in range(3):
        assert templates.parse("price < 5 or `x`.y = 1") == parse("price < 5 or x.y = 1")
        with pytest.raises(ParseError, match="unknown attribute 'prise'; did you mean 'price'"):
            templates.parse("price < 5 or prise = 1")
    assert sorted(templates._names) == ["`x`.y", "price"]


def test_long_names_are_not_remembered() -> None:
    templates = Templates()
    name = "n" * 101
    assert templates.parse(f"{name} = 1") == (tamis.attr(name) == 1)
    assert not templates._names
