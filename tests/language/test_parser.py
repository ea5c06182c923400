"""The text notation: what it reads, what it refuses, and that printing is canonical."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

import tamis
from tamis import Expression, ParseError, attr, call, parse, quantity, timestamp, var
from tamis.model.limits import MAX_DEPTH, Limits
from tamis.predicates.expression import all_of, any_of
from tests.strategies import expressions

READINGS: list[tuple[str, Expression]] = [
    ("price < 5", attr("price") < 5),
    ("5 > price", attr("price") < 5),
    ("price = 5.0", attr("price") == 5),
    ("x != -9223372036854775808", attr("x") != -(2**63)),
    ("x <= 18446744073709551615", attr("x") <= 2**64 - 1),
    ("x >= 1.5e3", attr("x") >= 1500),
    ("x > - 2", attr("x") > -2),
    ("a = 'it''s'", attr("a") == "it's"),
    (r"a = 'it\'s \u00e9\n\U0001f600'", attr("a") == "it's é\n😀"),
    ('a = "double"', attr("a") == "double"),
    (r"a matches r'\d+'", attr("a").matches(r"\d+")),
    ("a = TRUE and b = False", (attr("a") == True) & (attr("b") == False)),  # noqa: E712
    ("a = 1 OR b = 2 aNd c = 3", (attr("a") == 1) | ((attr("b") == 2) & (attr("c") == 3))),
    ("(a = 1 or b = 2) and c = 3", ((attr("a") == 1) | (attr("b") == 2)) & (attr("c") == 3)),
    ("not a = 1 and b = 2", ~(attr("a") == 1) & (attr("b") == 2)),
    ("not (a = 1 and b = 2)", ~((attr("a") == 1) & (attr("b") == 2))),
    ("a between 1 and 5 and b = 2", attr("a").between(1, 5) & (attr("b") == 2)),
    ("a not between 1 and 5", ~attr("a").between(1, 5)),
    ("a in (1, 'x', true)", attr("a").is_in([1, "x", True])),
    ("a not in (1)", ~attr("a").is_in([1])),
    ("a in ('X') ignoring case", attr("a").is_in(["X"], ignore_case=True)),
    ("a is a 'toy'", attr("a").is_a("toy")),
    ("a is not an 'apple'", ~attr("a").is_a("apple")),
    ("a contains 'x'", attr("a").contains("x")),
    ("a contains text 'x'", attr("a").contains_text("x")),
    ("a starts with 'x' ignoring case", attr("a").starts_with("x", ignore_case=True)),
    ("a ends with 'x'", attr("a").ends_with("x")),
    ("a like '%x_'", attr("a").like("%x_")),
    ("a not like 'x'", ~attr("a").like("x")),
    ("a is present", attr("a").is_present()),
    ("a is missing", attr("a").is_missing()),
    ("a is not present", attr("a").is_missing()),
    ("ip in cidr '10.0.0.0/8'", attr("ip").in_cidr("10.0.0.0/8")),
    ("ip in cidr ('10.0.0.0/8', '::1')", attr("ip").in_cidr("10.0.0.0/8", "::1/128")),
    ("new.price < old.price", attr("new.price") < attr("old.price")),
    ("a = b ignoring case", attr("a").equals(attr("b"), ignore_case=True)),
    ("`a.b`.c = 1", attr(("a.b", "c")) == 1),
    ("`and` = 1", attr(("and",)) == 1),
    ("timestamp > timestamp '2026-01-01'", attr("timestamp") > timestamp("2026-01-01")),
    ("in = 1 and like = 2", (attr("in") == 1) & (attr("like") == 2)),
    ("größe = 'ß'", attr("größe") == "ß"),
    ("a + b * 2 < 3", attr("a") + attr("b") * 2 < 3),
    ("(a + b) * 2 < 3", (attr("a") + attr("b")) * 2 < 3),
    ("a - (b - c) = 0", attr("a") - (attr("b") - attr("c")) == 0),
    ("-a < 2 * 3", -attr("a") < 6),
    ("near('Bronx', ?d) and ?d < 5", call("near", "Bronx", var("d")) & (var("d") < 5)),
    ("within(5 km, 3)", call("within", quantity(5, "km"), 3)),
    ("now_playing()", call("now_playing")),
    ("true", tamis.all_of()),
    ("false or a = 1", tamis.any_of(tamis.any_of(), attr("a") == 1)),
    ("a = 1 # and b = 2\nand c = 3", (attr("a") == 1) & (attr("c") == 3)),
    ("(a = 1) is true", (attr("a") == 1).is_true()),
    ("(a = 1) IS NOT True", ~(attr("a") == 1).is_true()),
    ("(a = 1 or b = 2) is false", ((attr("a") == 1) | (attr("b") == 2)).is_false()),
    ("(a = 1) is not false", ~(attr("a") == 1).is_false()),
    ("(a < 1) is unknown", (attr("a") < 1).is_unknown()),
    ("(a < 1) is not unknown", ~(attr("a") < 1).is_unknown()),
    ("((a < 1) is unknown) is false", (attr("a") < 1).is_unknown().is_false()),
    ("not (a = 1) is true", ~(attr("a") == 1).is_true()),
    ("(not a = 1) is true", (~(attr("a") == 1)).is_true()),
    ("(a = 1) is true and b = 2", (attr("a") == 1).is_true() & (attr("b") == 2)),
    ("true is unknown", tamis.all_of().is_unknown()),
    ("near('x', ?d) is not true", ~call("near", "x", var("d")).is_true()),
    ("a = 1 unless b = 2", (attr("a") == 1).unless(attr("b") == 2)),
    ("a = 1 unless b = 2", (attr("a") == 1) & ~(attr("b") == 2).is_true()),
    (
        "a = 1 and b = 2 unless c = 3 and d = 4",
        ((attr("a") == 1) & (attr("b") == 2)).unless((attr("c") == 3) & (attr("d") == 4)),
    ),
    (
        "a = 1 or b = 2 unless c = 3 or d = 4",
        (attr("a") == 1) | (attr("b") == 2).unless(attr("c") == 3) | (attr("d") == 4),
    ),
    (
        "a = 1 unless b = 2 unless c = 3",
        (attr("a") == 1).unless(attr("b") == 2).unless(attr("c") == 3),
    ),
    ("unless = 1 unless unless = 2", (attr("unless") == 1).unless(attr("unless") == 2)),
    ("unknown = 1", attr("unknown") == 1),
    ("`null` = x.null", attr(("null",)) == attr(("x", "null"))),
    ("a - b > 5", attr("a") - attr("b") > 5),
    ("a -b > 5", attr("a") - attr("b") > 5),
    ("`a`-b > 5", attr("a") - attr("b") > 5),
    ("a-5 > 5", attr("a") - 5 > 5),
    ("5-a > 5", 5 - attr("a") > 5),
    ("?a-b > 5", var("a") - attr("b") > 5),
    ("a - -5 > 5", attr("a") - -5 > 5),
    ("`detail-type` = 'EC2'", attr(("detail-type",)) == "EC2"),
    ("a in (-1, r'x', TRUE)", attr("a").is_in([-1, "x", True])),
    ("a in ('x', 2) or a in ('x')", attr("a").is_in(["x", 2]) | attr("a").is_in(["x"])),
    ("word = 1 and string = 2", (attr("word") == 1) & (attr("string") == 2)),
    ("number - 1 < variable", attr("number") - 1 < attr("variable")),
    ("near = 1 and near()", (attr("near") == 1) & call("near")),
    (
        "timestamp = 1 or a = timestamp '2026-01-01'",
        (attr("timestamp") == 1) | (attr("a") == timestamp("2026-01-01")),
    ),
    ("a = 1 and a + 1 = 2", (attr("a") == 1) & (attr("a") + 1 == 2)),
    ("a = 2 + b", attr("a") == 2 + attr("b")),
    ("a contains text'x' ", attr("a").contains_text("x")),
]


@pytest.mark.parametrize(("text", "expression"), READINGS, ids=[text for text, _ in READINGS])
def test_reading(text: str, expression: Expression) -> None:
    assert parse(text) == expression


ERRORS = [
    # text, line, column, words that the message must have
    ("", 1, 1, ["empty", "true"]),
    ("price <", 1, 8, ["expected", "the end"]),
    ("price betwen 1 and 5", 1, 7, ["'betwen'", "did you mean 'between'?"]),
    ("a = 1 b", 1, 7, ["'b'", "'and'"]),
    ("a = 1 andd b = 2", 1, 7, ["did you mean 'and'?"]),
    ("x == 3", 1, 3, ["write '='"]),
    ("x <> 3", 1, 3, ["write '!='"]),
    ("a and b = 1", 1, 1, ["write a = true"]),
    ("5", 1, 1, ["compare it"]),
    ("x = 'abc", 1, 5, ["does not end"]),
    ("`x = 1", 1, 1, ["close it with `"]),
    ("0 < x < 5", 1, 7, ["chain"]),
    ("1 < 2", 1, 1, ["two constants"]),
    ("price = null", 1, 9, ["write price is missing", "`null`"]),
    ("price != NULL", 1, 10, ["write price is present", "`null`"]),
    ("price < null", 1, 9, ["is missing", "`null`"]),
    ("null = 5", 1, 1, ["is missing", "`null`"]),
    ("a in (1, null)", 1, 10, ["is missing"]),
    ("a is null", 1, 6, ["write a is missing"]),
    ("a is 'is'", 1, 6, ["found \"'is'\"", "write x = 'y' for equality"]),
    ("a is not null", 1, 10, ["write a is present"]),
    ("flag is true", 1, 9, ["write flag = true"]),
    ("(flag) is not false", 1, 15, ["write (flag = false) is not true"]),
    ("flag is unknown", 1, 9, ["write flag is missing"]),
    ("flag is not unknown", 1, 13, ["write flag is present"]),
    ("a = 1 is true", 1, 7, ["in parentheses: (…) is true"]),
    ("a = 1 in (1, 2)", 1, 7, ["'in' follows an attribute"]),
    ("(a = 1 like 'x')", 1, 8, ["'like' follows an attribute"]),
    ("(a = 1) is missing", 1, 12, ["expected 'true', 'false' or 'unknown'"]),
    ("(a = 1) is tru", 1, 12, ["did you mean 'true'?"]),
    ("(a = 1) is true is false", 1, 17, ["in parentheses"]),
    ("a unless b = 1", 1, 1, ["write a = true"]),
    ("a = 1 unles b = 1", 1, 7, ["did you mean 'unless'?"]),
    ("detail-type = 'EC2'", 1, 1, ["write `detail-type`", "or detail - type"]),
    ("x.detail-type-2.y = 1", 1, 1, ["write x.`detail-type-2`.y"]),
    ("2 * unit-price > 5", 1, 5, ["write `unit-price`"]),
    ("x = 1 -- note", 1, 7, ["write # before a comment"]),
    ("x = --1", 1, 5, ["a space between"]),
    ("a = 1 / 0", 1, 7, ["1 / 0", "divides by zero"]),
    ("a = true + 1", 1, 10, ["needs numbers"]),
    ("{ ?s ?p ?o FILTER ((?o = 1) is true) }", 1, 19, ["FILTER"]),
    ("{ ?s ?p ?o FILTER (?o = 1 unless ?s = 1) }", 1, 27, ["')'"]),
    ("at > now() - 5", 1, 6, ["must not depend on when"]),
    ("(a = 1", 1, 7, ["')'"]),
    ("a = 1)", 1, 6, ["')'"]),
    ("x matches '('", 1, 11, ["RE2"]),
    ("x matches '(?=a)'", 1, 11, ["RE2"]),
    (r"x = '\q'", 1, 5, [r"\q"]),
    (r"x like '\\a'", 1, 8, ["backslash"]),
    ("and = 1", 1, 1, ["`and`"]),
    ("p(x)", 1, 3, ["?variable"]),
    ("p(5 parsec)", 1, 3, ["unknown unit"]),
    ("a > true", 1, 1, ["no order"]),
    ("a between 1 and 'x'", 1, 3, ["one kind"]),
    ("a in ()", 1, 7, ["')'"]),
    ("a in 5", 1, 6, ["in ('a', 'b')"]),
    ("a starts 'x'", 1, 10, ["'with'"]),
    ("a = 18446744073709551616", 1, 5, ["64 bits"]),
    ("a = 1e999", 1, 5, ["finite"]),
    ("a < 'x' ignoring case", 1, 1, ["ignores case"]),
    ("a = 1 ignoring case", 1, 1, ["needs a string"]),
    ("x in cidr '10.0.0.1/8'", 1, 11, ["host bits"]),
    ("a = 1\n and b === 2", 2, 8, ["write '='"]),
    ("a = \ud800", 1, 5, ["surrogate"]),
    (r"a = '\ud800'", 1, 5, ["surrogate"]),
    ("a = timestamp '2026-13-01'", 1, 15, ["month"]),
    ("a & b", 1, 3, ["write 'and'"]),
    ("(a = 1) + 2 < 3", 1, 9, ["arithmetic"]),
    ("a + 'x' < 3", 1, 3, ["numbers"]),
    ("a in (1 2)", 1, 9, ["',' or ')'"]),
    ("a in (1, 2,)", 1, 12, ["a constant"]),
    (r"a in (1, '\q', 2)", 1, 10, [r"\q"]),
    ("a = 1 and (b = 2 @ 5", 1, 18, ["unexpected '@'"]),
    ("a = 1 @ (b", 1, 7, ["unexpected '@'"]),
    ("(a = 1 'x", 1, 8, ["does not end"]),
    ("a = 1 = 2 @", 1, 7, ["chain"]),  # the first fault is told
    ("{ ?s ?p ?o FILTER (?o = @) }", 1, 25, ["unexpected '@'"]),
    ("{ ?s ?p ?o } and { ?s ?p ?o } @", 1, 31, ["unexpected '@'"]),
    (r"x like 'a' or x like 'b' or x like '\q' or x like 'd'", 1, 36, ["backslash"]),
    (r"x ends with 'a' or x ends with 'b' or x ends with '\q'", 1, 51, [r"\q"]),
    ("x ends with 'a' or x ends with 'b' or x ends with 3 or", 1, 51, ["needs a string"]),
    ("{ ?s ?p }", 1, 9, []),
    ("{ ?s ex:p ?o }", 1, 6, ["prefix"]),
]


@pytest.mark.parametrize("word", ["or", "and"])
@pytest.mark.parametrize(
    "tests",
    [
        "x ends with 'a'; x ends with 'b'; x ends with 'c'",
        "x contains text 'a' ignoring case; x CONTAINS text 'b' Ignoring case; x contains text r'c'",
        "x starts with 'a'; X starts with 'b'; x starts with 'c'; x starts with 'd' ignoring case",
        "x like 'a%'; x like '%b'; x not like 'c'; (x like 'd'); x like 'e'; x like 'f'",
        "x matches 'a'; x matches '[b]'; x = 'c'; `x` matches 'd'; `x` matches 'e'",
        "x like 'a'; x like 'b'; x like 'c' and y = 1; x like 'd'; x like 'e' unless z like 'f'",
    ],
)
def test_long_lists_of_tests_mean_what_each_test_means(tests: str, word: str) -> None:
    each = tests.split("; ")
    join = any_of if word == "or" else all_of
    if "unless" not in tests:
        assert parse(f" {word} ".join(each)) == join(*map(parse, each))
    assert parse(f" {word} ".join(f"({one})" for one in each)) == join(*map(parse, each))


@pytest.mark.parametrize(("text", "line", "column", "words"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors_have_a_place_and_a_remedy(
    text: str, line: int, column: int, words: list[str]
) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    message = str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column), message
    for word in words:
        assert word in message
    assert message.splitlines()[-1].endswith("^")


def test_caret_stands_below_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("category = 'Toy'\n  and prise == 5")
    assert str(caught.value).splitlines()[1:] == ["    and prise == 5", "              ^"]


def test_caret_in_a_long_line_stays_in_a_window() -> None:
    with pytest.raises(ParseError) as caught:
        parse("a = 1 and " * 500 + "@")
    assert max(len(line) for line in str(caught.value).splitlines()) < 130


def test_unknown_attributes_get_a_hint() -> None:
    with pytest.raises(ParseError, match="did you mean 'price'") as caught:
        parse("category = 'Toy' and prise < 5", attributes={"price", "category"})
    assert caught.value.column == 22


@pytest.mark.parametrize("text", ["a is is", "a in in", "a = 1 and and b = 2", "a not not in (1)"])
def test_nobody_meant_the_word_that_was_found(text: str) -> None:
    with pytest.raises(ParseError, match=r"found '(?:is|in|and|not)'") as caught:
        parse(text)
    assert "did you mean" not in str(caught.value)


def test_depth_is_limited() -> None:
    deep = "(" * MAX_DEPTH + "a = 1" + ")" * MAX_DEPTH
    assert parse(deep) == parse("a = 1")
    for text in ("(" + deep + ")", "not " * 10_000 + "a = 1", "- " * 10_000 + "a < 1"):
        with pytest.raises(ParseError, match="levels deep"):
            parse(text)


def test_lengths_are_limited() -> None:
    with pytest.raises(tamis.LimitError, match="characters in one subscription"):
        parse("a = 1", limits=Limits(text=4))
    with pytest.raises(tamis.LimitError, match="values of 'in'"):
        parse(f"a in ({','.join('1' for _ in range(10_001))})")
    with pytest.raises(tamis.LimitError, match=r"100,001 operands of one 'and'.*is 100,000"):
        parse(" and ".join("a=1" for _ in range(100_001)))
    with pytest.raises(tamis.LimitError, match=r"1,000,001 char.*is 1,000,000"):
        parse("a = 1".ljust(1_000_001))
    with pytest.raises(tamis.LimitError, match="501 triples of one graph pattern"):
        parse("{" + "?s ?p ?o ." * 501 + "}")
    with pytest.raises(ParseError, match="characters"):
        parse("a = " + "9" * 5_000)


def test_a_text_may_have_as_many_operands_and_characters_as_the_limits_say() -> None:
    text = " and ".join(["a = 1"] * 99_999).ljust(999_993) + "and b=2"
    expression = parse(text)
    assert len([*expression.children()]) == 100_000
    assert parse(str(expression)) == expression
    assert hash(expression) == hash(parse(text))


def test_deep_and_long_together() -> None:
    leaf = " and ".join(f"a{number % 7} != {number}" for number in range(20_000))
    text = "not (b = 1 or (" * 16 + leaf + "))" * 16
    expression = parse(text)
    assert parse(str(expression)) == expression


@pytest.mark.parametrize(("text", "line", "column", "words"), ERRORS, ids=[e[0] for e in ERRORS])
def test_no_error_suggests_what_was_written(
    text: str, line: int, column: int, words: list[str]
) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    found = re.search(r"found '(.*)'; did you mean '(.*)'", str(caught.value))
    assert found is None or found[1].lower() != found[2]


@given(expressions())
def test_printing_is_canonical(expression: Expression) -> None:
    text = str(expression)
    assert parse(text) == expression
    assert str(parse(text)) == text


@pytest.mark.parametrize("path", [5, None, 1.5, {"a": 1}])
def test_an_attribute_must_be_a_path(path: object) -> None:
    with pytest.raises(tamis.SubscriptionError, match="is a path"):
        attr(path)  # type: ignore[arg-type]
