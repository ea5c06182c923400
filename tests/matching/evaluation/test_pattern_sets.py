"""Sets of regular expressions, held against the oracle."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from tamis import Engine, Limits
from tamis.engine.matches import Matches
from tamis.matching.evaluation import pattern_sets
from tamis.predicates import texts
from tamis.predicates.texts import compile_set

PATTERNS = [
    *(f"[{first}-m][0-9]{{{count}}}" for first in "abcdef" for count in (1, 2, 3)),
    *("^[A-C]+$", "[é-ü]", "(?s).", "", "[α-ω]+[0-9]?$"),
]
CHEAP = Limits(costly=math.inf)
TEXTS = ["a1", "m12", "F123", "ABC", "é", "Übung 7", "λ3", "", "nothing", "b9 c99\n d999", "x"]
VALUES = [*TEXTS, None, 5, True]


def subscriptions() -> dict[str, str]:
    """Every pattern in several settings, some of them under other keys or negated."""
    found = {}
    for number, pattern in enumerate(PATTERNS):
        test = f"title matches '{pattern}'"
        found[f"plain {number}"] = test
        found[f"folded {number}"] = f"{test} ignoring case"
        found[f"negated {number}"] = f"not {test} and n = {number % 3}"
        found[f"other {number}"] = f"n = {number % 3} and (inner.text matches '{pattern}' or n > 1)"
        found[f"unless {number}"] = f"n < 2 unless {test} ignoring case"
    return found


def events(values: list[Any]) -> list[dict[str, Any]]:
    """Each value as a title and inside, without those that are missing."""
    several = [
        {"title": value, "inner": {"text": values[-place]}, "n": place % 4}
        for place, value in enumerate(values)
    ]
    return [*several, {"n": 1}, {"title": "a1"}]


def pairs(matches: Matches) -> list[tuple[int, str]]:
    return sorted(zip(matches.event.tolist(), matches.ids()))


@pytest.fixture(scope="module")
def engines() -> tuple[Engine, Engine]:
    """The sieve, and the matcher that tries everything."""
    engine, plain = Engine(limits=CHEAP), Engine(matcher="scan", limits=CHEAP)
    for each in (engine, plain):
        each.subscribe_many(subscriptions())
    engine.settle()
    return engine, plain


def test_sets_say_what_the_oracle_says(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, plain = engines
    asked: list[str] = []
    found_in = pattern_sets.PatternSet.found_in

    def counted(self: pattern_sets.PatternSet, text: str) -> list[int]:
        asked.append(text)
        return found_in(self, text)

    monkeypatch.setattr(pattern_sets.PatternSet, "found_in", counted)
    several = events(VALUES)
    expected = pairs(plain.match_batch(several))
    assert pairs(engine.match_batch(several)) == expected
    assert {*TEXTS} <= {*asked}
    asked.clear()
    single = [(row, id) for row, event in enumerate(several) for id in engine.match(event)]
    assert sorted(single) == expected
    assert {*TEXTS} <= {*asked}


def test_sets_read_columns_that_are_sliced_and_chunked(engines: tuple[Engine, Engine]) -> None:
    engine, plain = engines
    several = events([*TEXTS, None])
    table = pa.Table.from_pylist(several)
    expected = pairs(plain.match_batch(several))
    assert pairs(engine.match_batch(pa.concat_tables([table[:4], table[4:]]))) == expected
    assert pairs(engine.match_batch(table[3:9])) == pairs(plain.match_batch(several[3:9]))


def test_a_set_that_needs_too_much_memory_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_set(PATTERNS) is not None
    monkeypatch.setattr(texts, "_SET_MEMORY", 1 << 12)
    assert compile_set(PATTERNS) is None


def test_without_sets_patterns_are_tried_one_by_one(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_sets, "compile_set", lambda *_, **__: None)
    engine = Engine(limits=CHEAP)
    engine.subscribe_many(subscriptions())
    several = events(VALUES)
    expected = pairs(engines[1].match_batch(several))
    assert pairs(engine.match_batch(several)) == expected
    single = [(row, id) for row, event in enumerate(several) for id in engine.match(event)]
    assert sorted(single) == expected
