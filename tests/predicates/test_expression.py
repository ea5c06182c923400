"""The tree: what cannot be a subscription cannot be built."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import (
    LimitError,
    SubscriptionError,
    all_of,
    any_of,
    attr,
    call,
    parse,
    quantity,
    timestamp,
    var,
)
from tamis.model.limits import MAX_DEPTH
from tamis.predicates.expression import And, Comparison, Not, Or, Pattern
from tamis.predicates.operands import Constant
from tamis.predicates.texts import compile_like

REFUSED = [
    (lambda: attr("a") == math.nan, "NaN"),
    (lambda: attr("a") < math.inf, "finite"),
    (lambda: attr("a") == None, "is missing"),  # noqa: E711
    (lambda: attr("a") == b"x", "opaque"),
    (lambda: attr("a") == 2**64, "64 bits"),
    (lambda: attr("a") == "\ud800", "surrogate"),
    (lambda: attr("a") == object(), "object"),
    (lambda: attr("a") < True, "no order"),
    (lambda: attr("a").between(True, False), "no order"),
    (lambda: attr("a").between(1, "x"), "one kind"),
    (lambda: attr("a").between(attr("b"), 1), "constants only"),
    (lambda: attr("a").is_in([]), "at least one"),
    (lambda: attr("a").is_in([1], ignore_case=True), "needs a string"),
    (lambda: attr("a").is_a(5), "needs a string"),  # type: ignore[arg-type]
    (lambda: attr("a").matches("("), "RE2"),
    (lambda: attr("a").matches("x" * 1_001), "limit"),
    (lambda: attr("a").like("x" * 600), "limit"),
    (lambda: attr("a").in_cidr(), "at least one"),
    (lambda: attr("a").in_cidr("nonsense"), "not a network"),
    (lambda: attr(()), "path"),
    (lambda: attr(("\ud800",)), "surrogate"),
    (lambda: call("no name"), "plain word"),
    (lambda: call("now"), "must not depend"),
    (lambda: call("f", attr("a")), "constant or a"),
    (lambda: var("1x"), "plain word"),
    (lambda: quantity(5, "parsecs"), "unknown unit"),
    (lambda: quantity("x", "m"), "number"),  # type: ignore[arg-type]
    (lambda: attr("a") < quantity(5, "m"), "arguments of operators"),
    (lambda: attr("a") + "x" < 1, "numbers"),
    (lambda: timestamp("yesterday"), "ISO 8601"),
    (lambda: Constant(1) and Comparison(Constant(1), "<", Constant(2)), "two constants"),
    (lambda: And((attr("a") == 1,)), "all_of"),
    (lambda: Or((any_of(attr("a") == 1, attr("b") == 1), attr("a") == 1)), "any_of"),
    (lambda: Pattern(()), "at least one triple"),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_refused(build, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SubscriptionError, match=words):
        build()


def test_equality_knows_kinds() -> None:
    assert (attr("x") == 1) == (attr("x") == 1.0)
    assert (attr("x") == 1) != (attr("x") == True)  # noqa: E712
    assert len({attr("x") == 1, attr("x") == 1.0, attr("x") == True}) == 2  # noqa: E712


def test_no_truth_value() -> None:
    with pytest.raises(TypeError, match="between"):
        bool(attr("x") == 1)
    with pytest.raises(TypeError):
        1 < attr("x") < 5  # noqa: B015


def test_chains_are_flat() -> None:
    a, b, c = (attr(name) == 1 for name in "abc")
    assert a & b & c == a & (b & c) == all_of(a, b, c)
    assert a | b | c == a | (b | c) == any_of(a, b, c)
    assert all_of(a) is a


def test_depth_is_limited_however_it_is_built() -> None:
    expression = attr("a") == 1
    with pytest.raises(LimitError, match=f"{MAX_DEPTH} levels"):
        for _ in range(MAX_DEPTH + 1):
            expression = Not(expression)
    term = attr("a") + 1
    with pytest.raises(LimitError, match=f"{MAX_DEPTH} levels"):
        for _ in range(MAX_DEPTH + 1):
            term = 1 - term


def test_only_expressions_combine() -> None:
    with pytest.raises(TypeError):
        (attr("a") == 1) & 1  # type: ignore[operator]


def test_a_filter_is_as_deep_as_its_text() -> None:
    triples = ((var("s").term, var("p").term, var("o").term),)
    part = var("o") == 1
    with pytest.raises(LimitError, match=f"{MAX_DEPTH} levels"):
        for _ in range(MAX_DEPTH):
            pattern = Pattern(triples, (part,))  # type: ignore[arg-type]
            assert parse(str(pattern)) == pattern
            part = Not(part)


@pytest.mark.parametrize("text", ['it\'s \\ "x"', "tab\t'\u2028", "\\'\n\\", "é\U0001f600"])
def test_strings_are_printed_as_they_are_read(text: str) -> None:
    assert parse(str(attr("a") == text)) == (attr("a") == text)


def test_long_trees_are_compared_hashed_and_printed() -> None:
    parts = [attr("a") == i for i in range(100_000)]
    start = time.process_time()
    ours, theirs = any_of(*parts), any_of(*(attr("a") == i for i in range(100_000)))
    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert str(ours) == str(theirs)
    assert ours != all_of(*parts)
    assert ours != any_of(*parts[:-1])
    with pytest.raises(LimitError, match="100,001 operands of one 'or'"):
        any_of(ours, attr("b") == 1)
    assert time.process_time() - start < 10


@given(st.text(max_size=490), st.booleans())
def test_what_like_accepts_is_a_regular_expression(pattern: str, ignore_case: bool) -> None:
    try:
        attr("a").like(pattern, ignore_case=ignore_case)
    except SubscriptionError:
        return
    assert compile_like(pattern, ignore_case=ignore_case)


@pytest.mark.parametrize("character", ["_", "%", "a", "ß", "\U0001f600", ".", "\n"])
def test_the_longest_like_pattern_is_a_regular_expression(character: str) -> None:
    for ignore_case in (False, True):
        attr("a").like(character * 490, ignore_case=ignore_case)
        assert compile_like(character * 490, ignore_case=ignore_case)
