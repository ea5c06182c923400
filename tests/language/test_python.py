"""Expressions written in Python: what cannot be one is refused at the place where it is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tamis import SubscriptionError, attr, parse, pattern, timestamp


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: attr(5), "an attribute is a path such as 'a.b', not 5"),
        (lambda: attr(None), "an attribute is a path such as 'a.b', not None"),
        (lambda: attr("a") < object(), "object"),
        (lambda: attr("a") == None, "None|null"),  # noqa: E711
        (lambda: pattern("a = 1"), "in braces"),
        (lambda: timestamp("yesterday"), "yesterday"),
    ],
)
def test_what_cannot_be_an_expression_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(SubscriptionError, match=said):
        make()


def test_a_path_is_a_string_or_its_keys() -> None:
    assert attr("a.b").term == attr(("a", "b")).term
    assert (attr(("a", "b c")) < 5) == parse("a.`b c` < 5")
