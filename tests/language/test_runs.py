"""Long lists of alternative texts are one token: they must mean, and fail, as they do one by one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.language.lexer import tokens_of
from tamis.language.parser import Parser, parse
from tamis.language.template import Templates
from tamis.predicates.expression import Or

TESTS = [
    "a contains text 'x'",
    "a ends with 'it''s' ignoring case",
    'b.c starts with "\\t(" ignoring case',
    "A contains text ''",
    "a contains text 'x' ignoring  case",
    "a contains text 'or b contains text'",
    "`or` ends with 'x'",
    "a = 1",
    "a contains 'x'",
    "a like 'x%'",
    "not a contains text 'x'",
]
FAULTY = [
    "or contains text 'x'",
    "not ends with 'x'",
    "a contains text r'x'",
    "a contains text '\\q'",
    "a contains text 'x",
    "a contains text 5",
    "a contains text 'x' ignoring",
    "a contains text 'x')",
]


def outcome(text: str, *, runs: bool, attributes: frozenset[str] | None = None) -> str:
    """The tree of a text, or what is said of it, with the place."""
    try:
        return repr(Parser(text, {}, attributes, runs=runs).parse())
    except TamisError as error:
        return str(error)


def test_a_list_is_one_token() -> None:
    text = "(a contains text 'x' or a contains text 'y' or b ends with 'z' ignoring case) and c = 1"
    run = "or a contains text 'y' or b ends with 'z' ignoring case"
    assert tokens_of(text, 0)[:7] == ["(", "a", "contains", "text", "'x'", run, ")"]


@pytest.mark.parametrize("joint", ["and", "unless"])
def test_what_binds_more_strongly_takes_the_last_test(joint: str) -> None:
    text = f"a starts with 'x' or a starts with 'y' or a starts with 'z' {joint} b = 1"
    found = parse(text)
    assert isinstance(found, Or)
    assert [str(part) for part in found.parts[:2]] == ["a starts with 'x'", "a starts with 'y'"]
    assert repr(found) == outcome(text, runs=False)


@given(
    st.lists(st.sampled_from([*TESTS, *FAULTY]), min_size=2, max_size=6),
    st.lists(st.sampled_from([" or ", " or ", " or ", " and ", " unless ", "  or\n"]), min_size=5),
    st.booleans(),
)
def test_runs_mean_and_fail_as_single_tests(
    tests: list[str], joints: list[str], in_brackets: bool
) -> None:
    pieces = [test + joint for test, joint in zip(tests, [*joints[: len(tests) - 1], ""])]
    text = "".join(pieces)
    text = f"({text}) and d = 1" if in_brackets else text
    for attributes in (None, frozenset({"a"})):
        expected = outcome(text, runs=False, attributes=attributes)
        assert outcome(text, runs=True, attributes=attributes) == expected


def test_templates_know_the_texts_of_runs() -> None:
    templates = Templates()
    for first, last in ("xz", "yw", "üö"):
        text = f"a contains text '{first}' or a contains text '{last}' or b ends with '{first}'"
        assert templates.parse(text) == parse(text)


def test_an_attribute_of_a_run_is_no_keyword_elsewhere() -> None:
    parse("a ends with 'x' or timestamp ends with 'y' or timestamp ends with 'z'")
    assert str(parse("b < timestamp '2026-01-01'")).startswith("b < timestamp '2026-01-01")


def test_hostile_lists_are_read_in_linear_time() -> None:
    test = " or a contains text 'x'"
    texts = [
        "a = 1" + test * 20_000 + " and",
        "a = 1" + test * 20_000 + " or a contains text 'x",
        "a = 1" + (test + " and b = 1") * 12_000 + ")",
        "a = 1" + " or a contains text ''" + "''" * 200_000 + " x",
    ]
    for text in texts:
        taken = []
        for part in (text[: len(text) // 4], text):
            begin = time.process_time()
            outcome(part, runs=True)
            taken.append(time.process_time() - begin)
        assert taken[1] < 16 * taken[0] + 1
