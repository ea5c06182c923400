"""How likely leaves are by a sample of events, and covers that are chosen by it."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tamis
from tamis import Engine
from tamis.engine.matches import Matches
from tamis.matching.batch import Batch
from tamis.matching.covers.formula import formula_of
from tamis.matching.covers.leaves import Holds, Lacks, Within
from tamis.matching.segments.sample_chances import SampleChances
from tamis.model.events.event import Event

EVENTS: list[dict[str, Any]] = [
    {"n": number, "name": "Ann" if number % 4 else "Bob", "tags": ["a"] * (number % 2), "mixed": 1}
    for number in range(97)
] + [{"mixed": "x"}, {"mixed": True}, {"mixed": b"?", "n": float("nan")}]


@pytest.mark.parametrize(
    "text",
    [
        *("n = 5", "n < 10", "n between 3 and 20", "n in (1, 2, 200)", "n != 5"),
        *("name = 'Ann'", "name = 'ANN' ignoring case", "name ends with 'ob'", "name like 'b%'"),
        *("name in ('Bob', 'x') ignoring case", "name ends with 'NN' ignoring case", "name > 'B'"),
        *("mixed = true", "mixed = 1", "mixed in ('x', 1, true)", "mixed != 'x'"),
        *("tags contains 'a'", "tags = 'a'", "not n < 10"),
    ],
)
def test_chances_are_those_of_the_sample(text: str) -> None:
    leaf = formula_of(tamis.parse(text))
    assert isinstance(leaf, Within | Holds)
    engine = Engine(matcher="scan")
    engine.subscribe(text)
    share = len(engine.match_batch(EVENTS)) / len(EVENTS)
    halves = [Batch([Event(event) for event in some]) for some in (EVENTS[:50], EVENTS[50:])]
    assert SampleChances(halves)(leaf) == pytest.approx(share, abs=0.02)


def test_what_is_not_counted_is_as_likely_as_ever() -> None:
    chances = SampleChances([Batch([Event(event) for event in EVENTS])])
    for text in ("name contains text 'nn'", "n < mixed", "name is present"):
        leaf = formula_of(tamis.parse(text))
        assert not isinstance(leaf, Lacks)
        assert chances(leaf) == pytest.approx(SampleChances([])(leaf), rel=0.3)


HOSTS, USUAL = 5, 4
"""Alternatives of both sorts."""


def pairs(matches: Matches) -> list[tuple[int, str]]:
    return sorted(zip(matches.event.tolist(), matches.ids()))


def rules(count: int, seed: int) -> dict[str, str]:
    """Alternatives that seem to be rare but are not, beside some that seem to be frequent."""
    draw = random.Random(seed)
    found = {}
    for number in range(count):
        hosts = " or ".join(f"h{at} = 'v{draw.randint(0, 300)}'" for at in range(HOSTS))
        usual = "status = 'ok' or code = 0 or zone = 'z' or level = 5"
        found[f"{seed} {number}"] = f"({hosts}) and ({usual})"
    return found


def usual_events(count: int) -> list[dict[str, Any]]:
    draw = random.Random(3)
    return [
        {f"h{at}": f"v{draw.randint(0, 300)}" for at in range(HOSTS)}
        | {"status": draw.choice(["ok", "bad"]), "code": draw.choice([0, 1]), "level": 5}
        for _ in range(count)
    ]


def test_learning_finds_subscriptions_by_what_is_rare() -> None:
    events, early, late = usual_events(300), rules(60, 1), rules(30, 2)
    engine, plain = Engine(), Engine(matcher="scan")
    engine.subscribe_many(early)
    engine.settle()
    assert engine.plan().boxes == USUAL * 60  # these seem to be rarer, as long as nothing is known
    engine.learn(events)
    engine.settle()
    assert engine.plan().boxes == HOSTS * 60
    engine.subscribe_many(late)
    engine.settle()
    assert engine.plan().boxes == HOSTS * 90
    engine.unsubscribe("1 7")
    plain.subscribe_many({**early, **late})
    plain.unsubscribe("1 7")
    expected = pairs(plain.match_batch(events))
    assert expected
    assert pairs(engine.match_batch(events)) == expected
    single = [(row, id) for row, event in enumerate(events) for id in engine.match(event)]
    assert sorted(single) == expected


def test_what_was_learned_survives_a_change_of_taxonomy() -> None:
    engine = Engine(taxonomy={"chair": ["furniture"]})
    engine.subscribe_many(rules(20, 1))
    engine.learn(usual_events(300))
    engine.change_taxonomy({"chair": ["furniture"], "table": ["furniture"]})
    engine.subscribe_many(rules(20, 2))
    engine.settle()
    assert engine.plan().boxes == HOSTS * 40
