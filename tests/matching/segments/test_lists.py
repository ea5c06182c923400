"""Events with lists: whatever is made of them, points or choices, they match the same."""

from __future__ import annotations

import os
import random
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.matching.points import of_columns, of_events, of_lists
from tamis.matching.segments import view

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
]

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
LEAVES = [
    *(f"a = {n}" for n in range(4)),
    *(f"b < {n}" for n in range(4)),
    *(f"tags = '{c}'" for c in "xyz"),
    *(f"items.color = '{c}'" for c in "rgb"),
    *(f"items.size > {n}" for n in range(3)),
    *(f"items.sizes = {n}" for n in range(3)),
    *(f"items.name contains text '{c}'" for c in "pq"),
    *(f"tags contains '{c}'" for c in "xyz"),
    "not a = 1",
    "a < b",
    "b is missing",
    "(tags = 'x') is not true",
]
ITEM = pa.struct(
    [
        ("color", pa.string()),
        ("size", pa.int64()),
        ("name", pa.string()),
        ("sizes", pa.list_(pa.int64())),
    ]
)
SCHEMA = pa.schema(
    [
        ("a", pa.list_(pa.int64())),
        ("b", pa.list_(pa.int64())),
        ("tags", pa.list_(pa.string())),
        ("items", pa.list_(ITEM)),
    ]
)


def expression(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(LEAVES)
    word = rng.choice([" and ", " and ", " or "])
    return "(" + word.join(expression(rng, depth - 1) for _ in range(rng.randint(2, 3))) + ")"


def some(rng: random.Random, values: Any) -> list[Any]:
    return [rng.choice(values) for _ in range(rng.randint(0, 3))]


def item(rng: random.Random) -> dict[str, Any]:
    whole = {
        "color": rng.choice("rgb"),
        "size": rng.randint(0, 4),
        "name": rng.choice(["p", "pq", "z"]),
        "sizes": some(rng, range(4)),
    }
    return {key: value for key, value in whole.items() if rng.random() < 0.7}


def event(rng: random.Random) -> dict[str, Any]:
    whole = {
        "a": some(rng, range(4)),
        "b": some(rng, range(5)),
        "tags": some(rng, "xyzw"),
        "items": [item(rng) for _ in range(rng.randint(0, 3))],
    }
    return {key: value for key, value in whole.items() if rng.random() < 0.8}


@pytest.mark.parametrize("most", [0, 2, 6, 256])
def test_points_and_choices_match_what_the_oracle_says(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (of_events, of_columns, view):
        monkeypatch.setattr(module, "MAX_POINTS", most)
    rng = random.Random(most)
    texts = {str(n): expression(rng) for n in range(40 if PLAIN else 120)}
    bulk, single, scan = tamis.Engine(), tamis.Engine(), tamis.Engine(matcher="scan")
    bulk.subscribe_many(texts)
    scan.subscribe_many(texts)
    for id, text in texts.items():
        single.subscribe(text, id=id)
    events = [event(rng) for _ in range(20 if PLAIN else 80)]
    expected = sorted(scan.match_batch(events).pairs())
    assert sorted(bulk.match_batch(events).pairs()) == expected
    table = pa.Table.from_pylist(events, SCHEMA)
    assert sorted(bulk.match_batch(table).pairs()) == expected
    for row, each in enumerate(events[:10]):
        found = sorted(id for number, id in expected if number == row)
        assert sorted(bulk.match(each)) == sorted(single.match(each)) == found


def test_independent_lists_add_and_do_not_multiply() -> None:
    engine = tamis.Engine()
    engine.subscribe_many({f"{n}": f"l{n} = 'v{n}' and m = {n}" for n in range(30)})
    lists = {f"l{n}": [f"v{n}", *(f"w{i}" for i in range(20))] for n in range(30)}
    event = tamis.Event({**lists, "m": [3, 7, 99]})
    assert sorted(engine.match(event)) == ["3", "7"]
    assert engine.match_batch([event]).ids() is not None
    (segment,) = engine.subscriptions.index.matcher.segments()  # type: ignore[attr-defined]
    choices = of_lists.choices_of(event, segment.axes)
    assert choices is not None
    assert choices.size.sum() == 30 * 21 + 3
    assert engine.stats().fallbacks == {}


def test_a_group_with_too_many_choices_is_left_to_the_oracle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_lists, "MAX_CHOICES", 100)
    engine = tamis.Engine()
    engine.subscribe_many({"a": "items.x = 1 and items.y = 2 and z = 3", "b": "z = 3"})
    long = [{"x": list(range(20)), "y": list(range(20))}]
    assert sorted(engine.match({"items": long, "z": 3})) == ["a", "b"]
    assert engine.stats().fallbacks == {"an event with too many bindings": 1}
