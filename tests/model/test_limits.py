"""Limits: what they are set to is checked when they are made."""

import math
from dataclasses import fields

import pytest

from tamis.errors import LimitError
from tamis.model.limits import Limits

COSTS = ("costly", "cost")
SIZES = tuple(field.name for field in fields(Limits) if field.name not in COSTS)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("given", ["a", -1, 0, None, 1.5, True, math.inf])
def test_a_size_is_a_whole_number(name, given):
    with pytest.raises(LimitError, match=f"the limit '{name}' must be a whole number from 1, not"):
        Limits(**{name: given})


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("given", ["a", -1, -0.5, None, True, math.nan])
def test_a_cost_is_a_number_that_is_not_negative(name, given):
    with pytest.raises(LimitError, match=f"the limit '{name}' must be a number from 0 to inf, not"):
        Limits(**{name: given})


def test_all_may_be_set():
    assert [getattr(Limits(**{name: 1}), name) for name in SIZES] == [1] * len(SIZES)
    for cost in (0, 0.5, 10**6, math.inf):
        assert Limits(costly=cost, cost=cost).cost == cost
