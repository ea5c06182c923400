"""Rows that a matcher refuses are collected as others are."""

from __future__ import annotations

import pytest

import tamis
from tamis import Algorithm
from tamis.errors import LimitError

ROWS = {
    "small": "a < 5",
    "large": "a < 5 and b > 3 and c = 1 and d between 2 and 7 and e > 4",
    "faulty": "a <",
    "large too": "a > 2 and d between 1 and 2 and b = 6 and c between 2 and 5 and e > 3",
    "small too": "a = 1",
}


def test_rows_that_a_matcher_refuses_are_collected() -> None:
    engine = tamis.Engine(matcher=Algorithm("gough", nodes=6))
    engine.subscribe("a = 3", id="large too")
    with pytest.raises(tamis.TamisError):
        engine.subscribe_many({id: ROWS[id] for id in ("small", "large")})
    assert len(engine) == 1
    found = engine.subscribe_many(ROWS, replace=True, errors="collect")
    assert [each.id for each in found.rejected] == ["large", "faulty", "large too"]
    assert [each.row for each in found.rejected] == [1, 2, 3]
    assert isinstance(found.rejected[0].error, LimitError)
    assert sorted(found.ids) == ["small", "small too"]
    assert sorted(engine.match({"a": 3})) == ["large too", "small"], "the old one stays"
    assert sorted(engine.match({"a": 1})) == ["small", "small too"]
