"""The matcher around an index: changes, views, rebuilding, bulk, files, options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import tamis
from tamis import Algorithm
from tamis.arrays.types import Numbers
from tamis.engine.registry import ALGORITHMS
from tamis.errors import LimitError, TamisError, UnsupportedError
from tamis.matching.batch import Batch
from tamis.published import naive
from tamis.published.boxes import BoxTable
from tamis.published.frame import matcher as matcher_module
from tamis.published.frame.matcher import PublishedMatcher
from tamis.published.naive import Naive
from tests.matching.segments.live_changes import FORKING, LiveChanges, short_turns
from tests.matching.segments.test_live import halving

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, without the JIT
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore:Generating overly large repr"),
]


def matcher_of(engine: tamis.Engine) -> PublishedMatcher:
    found = engine.subscriptions.index.matcher
    assert isinstance(found, PublishedMatcher)
    return found


def state_of(engine: tamis.Engine) -> Any:
    return matcher_of(engine)._state


# Changes, and who reads meanwhile.


@pytest.mark.parametrize("name", ALGORITHMS)
def test_changes_beside_readers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_module, "CHANGES", 5)
    behaviour: dict[str, Any] = {"matcher": name}
    if name == "gough":  # which is built anew by every change, and refuses what is too large
        behaviour = {"matcher": Algorithm("gough", nodes=3_000), "refusal": (LimitError,)}
    machine = type("ChangesOfIndex", (LiveChanges,), behaviour)
    soak = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
    examples = settings(max_examples=200 if soak else 8, stateful_step_count=20, deadline=None)
    with short_turns():
        run_state_machine_as_test(machine, settings=examples)


def test_a_view_does_not_see_later_changes() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe_many({f"s{i}": f"a >= {i}" for i in range(10)})
    before = state_of(engine)
    found = matcher_of(engine).view().match_batch(Batch([tamis.Event({"a": 5})] * 3), None)
    engine.unsubscribe("s0")
    engine.subscribe("a = 5", id="new")
    assert state_of(engine) is not before
    pairs = [pair for chunk in found for pair in zip(chunk.row.tolist(), chunk.slot.tolist())]
    assert sorted(pairs) == [(row, slot) for row in range(3) for slot in range(6)]
    assert sorted(engine.match({"a": 5})) == ["new", *(f"s{i}" for i in range(1, 6))]


def test_without_views_nothing_is_copied() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("a = 1", id="x")
    state = state_of(engine)
    for number in range(100):
        engine.subscribe(f"a = {number}", id=f"s{number}")
        assert f"s{number}" in engine.match({"a": number})
        assert engine.match_batch([{"a": number}]).ids()
    assert state_of(engine) is state
    view = matcher_of(engine).view()
    engine.unsubscribe("s7")
    assert state_of(engine) is not state
    del view


def test_what_was_counted_before_a_copy_counts() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("a = 1", id="x")
    view = matcher_of(engine).view()
    assert engine.match({"a": 1}) == ["x"]
    engine.subscribe("b = 1", id="y")
    assert view.match(tamis.Event({"a": 1})).slots == [0]
    stats = engine.stats()
    assert (stats.events, stats.evaluated) == (2, 2)


@pytest.mark.timeout(120)
def test_forks_beside_a_writer() -> None:
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", FORKING, "naive"],
        capture_output=True,
        text=True,
        timeout=110,
        env=env,
    )
    assert done.stdout == "fine\n", done.stderr


class Limited(Naive):
    """An index that has an end."""

    most = 3

    def add(self, boxes: Numbers) -> None:
        if self._count + len(boxes) > self.most:
            raise LimitError(f"more than {self.most} boxes")
        super().add(boxes)


@pytest.mark.parametrize("way", ["structures", "names"])
def test_what_an_index_refuses_changes_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naive, "Naive", Limited)
    engine = tamis.Engine(matcher=Algorithm("naive", types=way))
    engine.subscribe("a = 1", id="x")
    engine.subscribe("a > 0 and title like '%_oak%'", id="y")
    engine.subscribe("event_type contains 't' and a > 0", id="z")
    before = engine.stats().to_dict()
    event = {"a": 1, "title": "an oak", "event_type": ["t", "u"]}
    refused = [
        "a in (1, 2, 3, 4)",
        "a = 1 or event_type contains 'u' and a in (1, 2, 3, 4)",
        "a in (1, 2, 3, 4) and title like '%_oak%' or b = 1",
    ]
    for text in refused:
        with pytest.raises(LimitError):
            engine.subscribe(text, id="new")
        with pytest.raises(LimitError):
            engine.subscribe(text, id="x", replace=True)
        with pytest.raises(LimitError):
            engine.subscribe_many({"x": "b = 1", **many(text)}, replace=True)
        assert sorted(engine.match(event)) == ["x", "y", "z"]
        assert sorted(subscription.id for subscription in engine) == ["x", "y", "z"]
        assert len(engine) == 3
        assert engine["x"].text == "a = 1"
    after = engine.stats().to_dict()
    for name in ("subscriptions", "boxes", "predicates", "types"):
        assert after[name] == before[name]
    engine.subscribe("b = 1", id="x", replace=True)
    assert sorted(engine.match(event)) == ["y", "z"]


def many(text: str) -> dict[str, str]:
    """So many rows that they are taken in as columns."""
    return {f"m{number}": text for number in range(1_000)}


# Labels without room, and what is no longer used.


def test_where_there_is_no_room_everything_is_built_anew() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("b != 'x' and c = true or title like '%_oak%'", id="other")
    first = state_of(engine)
    values = [value for value, _ in zip(halving(), range(150), strict=False)]
    for number, value in enumerate(values):
        engine.subscribe(f"a < {value!r}", id=f"plain{number}")
        engine.subscribe(f"a < {value!r} or b = 1", id=f"or{number}")
    assert state_of(engine).axes is not first.axes
    for probe in (*values, -1, 2):
        expected = {
            f"{kind}{n}" for n, v in enumerate(values) if probe < v for kind in ("plain", "or")
        }
        assert set(engine.match({"a": probe})) == expected
    for event in ({"b": 1, "c": True}, {"title": "an oak"}):
        assert "other" in engine.match(event)
    for event in ({"b": "x", "c": True}, {"b": 1, "c": False}, {"title": "oak"}):
        assert "other" not in engine.match(event)


def test_what_is_gone_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_module, "CHANGES", 64)
    engine = tamis.Engine(matcher="naive")
    sizes = []
    for number in range(3_000):
        text = [
            f"a = {number} and b < {number / 7}",
            f"title like '%_oak{number}%' and b{number % 40} > 1",
            f"event_type contains 't{number}' and a > {number}",
        ][number % 3]
        engine.subscribe(text, id=f"s{number}")
        if number >= 20:
            engine.unsubscribe(f"s{number - 20}")
        sizes.append((state_of(engine).axes.constants, state_of(engine).checked))
    assert len(engine) == 20
    constants, checked = np.array(sizes).max(axis=0)
    assert constants < 400
    assert checked < 400
    assert engine.stats().types <= 7
    assert engine.stats().nbytes < 200_000
    assert engine.match({"a": 2_997, "b": 0}) == ["s2997"]
    assert engine.match({"title": "an oak2998", f"b{2_998 % 40}": 2}) == ["s2998"]
    assert engine.match({"event_type": "t2999", "a": 3_000}) == ["s2999"]


def test_renumbering_and_another_taxonomy() -> None:
    engine = tamis.Engine(matcher="naive", taxonomy={"doll": ["toy"], "robot": ["toy", "machine"]})
    for number in range(2_500):
        engine.subscribe(f"category is a 'toy' and a = {number}", id=f"s{number}")
        engine.subscribe(f"a = {number} and title like '%_oak%'", id=f"t{number}")
    for number in range(2_400):
        engine.unsubscribe(f"s{number}")
        engine.unsubscribe(f"t{number}")
    assert len(engine.subscriptions.index.store.ids) < 5_000
    event = {"category": "doll", "a": 2_450, "title": "an oak"}
    assert sorted(engine.match(event)) == ["s2450", "t2450"]
    engine.change_taxonomy({"toy": ["thing"], "doll": [], "robot": ["toy"], "machine": []})
    assert engine.match(event) == ["t2450"]
    assert sorted(engine.match({**event, "category": "robot"})) == ["s2450", "t2450"]
    engine.subscribe("category is a 'thing'", id="new")
    assert sorted(engine.match({**event, "category": "robot"})) == ["new", "s2450", "t2450"]


# Many at once, and one by one.

TEXTS = [
    "a = {0} and b < {1}",
    "a between {0} and {1}",
    "c = 'w{0}' and a > {1}",
    "c in ('w{0}', 'w{1}', 'w{0}')",
    "c != 'w{0}' and b >= {1}.5",
    "at >= timestamp '2026-01-{day:02}' and a = {1}",
    "a = {0} or b = {1}",
    "c starts with 'w{0}' and flag = true",
    "title like '%_oak{0}%' and a < {1}",
    "event_type = 't{2}' and a = {0}",
    "event_type contains 't{2}' and b = {1}",
]


def rows(count: int) -> dict[str, str]:
    rng = np.random.default_rng(count)
    found = {}
    for number in range(count):
        low, high = sorted(rng.integers(0, 40, 2).tolist())
        text = TEXTS[number % len(TEXTS)]
        found[f"s{number}"] = text.format(low, high, number % 5, day=1 + low % 28)
    return found


def events(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(count)
    found: list[dict[str, Any]] = []
    for _ in range(count):
        event = {
            "a": int(rng.integers(0, 40)),
            "b": [int(each) for each in rng.integers(0, 40, rng.integers(1, 3))],
            "c": f"w{rng.integers(0, 40)}",
            "flag": bool(rng.integers(0, 2)),
            "at": tamis.timestamp(f"2026-01-{rng.integers(1, 28):02}"),
            "title": f"an oak{rng.integers(0, 40)}",
            "event_type": [f"t{each}" for each in rng.integers(0, 6, rng.integers(0, 3))],
        }
        found.append({key: value for key, value in event.items() if rng.random() < 0.8})
    return found


@pytest.mark.parametrize("way", ["structures", "names"])
def test_many_at_once_are_the_same_as_one_by_one(way: str, tmp_path: Path) -> None:
    texts, sample = rows(1_500), events(30)
    engines = [tamis.Engine(matcher=Algorithm("naive", types=way)) for _ in range(2)]
    for id, text in texts.items():
        engines[0].subscribe(text, id=id)
    engines[1].subscribe_many(texts)
    scan = tamis.Engine(matcher="scan")
    scan.subscribe_many(texts)
    expected = sorted(scan.match_batch(sample).pairs())
    assert len(expected) > 500
    for engine in engines:
        assert sorted(engine.match_batch(sample).pairs()) == expected
        found = [(row, id) for row, event in enumerate(sample) for id in engine.match(event)]
        assert sorted(found) == expected
    first, second = (engine.stats() for engine in engines)
    for name in ("subscriptions", "boxes", "axes", "types", "predicates"):
        assert getattr(first, name) == getattr(second, name), name
    engines[1].subscribe_many({f"n{id}": text for id, text in rows(1_200).items()})
    scan.subscribe_many({f"n{id}": text for id, text in rows(1_200).items()})
    engines[1].save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    for engine in (engines[1], loaded):
        assert sorted(engine.match_batch(sample).pairs()) == sorted(
            scan.match_batch(sample).pairs()
        )


def test_replacing_many() -> None:
    engine, scan = tamis.Engine(matcher="naive"), tamis.Engine(matcher="scan")
    sample = events(40)
    for each in (engine, scan):
        each.subscribe_many(rows(1_500))
        texts = dict(zip(rows(1_500), reversed(rows(1_500).values()), strict=True))
        each.subscribe_many(texts, replace=True)
        each.disable("s7")
        each.unsubscribe("s8")
    assert sorted(engine.match_batch(sample).pairs()) == sorted(scan.match_batch(sample).pairs())


def test_columns_of_arrow() -> None:
    engine, scan = tamis.Engine(matcher="naive"), tamis.Engine(matcher="scan")
    for each in (engine, scan):
        each.subscribe_many(rows(1_100))
    rng = np.random.default_rng(4)
    count = 90
    table = pa.table(
        {
            "a": pa.array(rng.integers(0, 40, count), mask=rng.random(count) < 0.2),
            "b": pa.array([[1, 2.5], [], None] * (count // 3)),
            "c": pa.array([f"w{n}" for n in rng.integers(0, 50, count)]).dictionary_encode(),
            "flag": pa.array(rng.random(count) < 0.5),
            "title": pa.array([f"an oak{n}" for n in rng.integers(0, 40, count)]),
            "event_type": pa.array([["t1", "t2"], ["t9"], None] * (count // 3)),
        }
    )
    for each in range(2):
        expected = sorted(scan.match_batch(table).pairs())
        assert sorted(engine.match_batch(table).pairs()) == expected
        assert sorted(engine.match_batch(table, threads=2).pairs()) == expected
        assert len(engine.match_batch(table, limit=2)) == sum(
            min(2, n) for n in np.bincount([row for row, _ in expected]).tolist()
        )
        for engine_ in (engine, scan):
            engine_.subscribe(f"a < 7.25 and c > 'w2{each}'", id=f"new{each}")


# Options, figures, files.


def test_options() -> None:
    assert Algorithm("naive", types="names") == Algorithm("naive", types="names")
    assert Algorithm("naive") != Algorithm("naive", types="names")
    assert hash(Algorithm("naive", types="names")) == hash(Algorithm("naive", types="names"))
    assert repr(Algorithm("naive", types="names")) == "Algorithm('naive', types='names')"
    engine = tamis.Engine(matcher=Algorithm("naive"))
    assert repr(engine) == "Engine(0 subscriptions, matcher=Algorithm('naive'))"
    with pytest.raises(TamisError, match="did you mean 'naive'"):
        Algorithm("naiv")
    with pytest.raises(TamisError, match=r"'naive' has no option 'colapse'; it has types"):
        tamis.Engine(matcher=Algorithm("naive", colapse=True))
    with pytest.raises(TamisError, match="did you mean 'types'"):
        tamis.Engine(matcher=Algorithm("naive", type="names"))
    for name, inner in (("gryphon", "order"), ("hanson", "events"), ("naive", "table")):
        with pytest.raises(TamisError, match=f"'{name}' has no option '{inner}'"):
            tamis.Engine(matcher=Algorithm(name, **{inner: [0]}))
    with pytest.raises(TamisError, match="'structures' or 'names', not 'both'"):
        tamis.Engine(matcher=Algorithm("naive", types="both"))
    with pytest.raises(TamisError, match="values of JSON"):
        Algorithm("naive", types=object())
    with pytest.raises(TamisError, match="unknown matcher 'naiv'; did you mean 'naive'"):
        tamis.Engine(matcher="naiv")


def test_an_index_may_refuse_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    class Picky(Naive):
        def __init__(self, table: BoxTable, share: float = 0.5) -> None:
            if not 0 < share < 1:
                raise ValueError(f"share={share}: it is between 0 and 1")
            super().__init__(table)

    monkeypatch.setattr(naive, "Naive", Picky)
    with pytest.raises(tamis.TamisError, match=r"refuses its options: share=2: it is between"):
        tamis.Engine(matcher=Algorithm("naive", share=2))
    with pytest.raises(tamis.TamisError, match="has no option 'shar'; did you mean 'share'"):
        tamis.Engine(matcher=Algorithm("naive", shar=2))
    assert repr(tamis.Engine(matcher=Algorithm("naive", share=0.25)).matcher) == (
        "Algorithm('naive', share=0.25)"
    )


def test_options_are_saved(tmp_path: Path) -> None:
    engine = tamis.Engine(matcher=Algorithm("naive", types="names"))
    engine.subscribe("a = 1", id="x", metadata={"m": 1})
    engine.subscribe("a = 1", id="y", enabled=False)
    engine.subscribe("a = 1", id="z")
    engine.unsubscribe("z")
    engine.save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    assert loaded.matcher == engine.matcher
    assert loaded.match({"a": 1}) == ["x"]
    assert loaded["x"].metadata == {"m": 1}
    loaded.enable("y")
    assert sorted(loaded.match({"a": 1})) == ["x", "y"]
    assert "z" not in loaded


def test_figures_of_the_papers() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("a = 1 and b < 2", id="x")
    engine.subscribe("a = 1 or c like '%_oak%'", id="y")
    for _ in range(2):
        assert sorted(engine.match({"a": 1, "b": 1})) == ["x", "y"]
    stats = engine.stats()
    assert (stats.subscriptions, stats.boxes, stats.predicates) == (2, 3, 4)
    assert (stats.events, stats.evaluated, stats.sums, stats.visited) == (2, 8, 0, 0)
    assert stats.nbytes == sum(stats.bytes.values()) == stats.to_dict()["nbytes"]
    assert "evaluated" in str(stats)
    assert "predicates=4" in repr(stats)
    with pytest.raises(UnsupportedError, match="'naive' has no access keys"):
        engine.plan()
    assert engine.cost("a = 1").nanoseconds > 0
    assert engine.attributes() == frozenset({"a", "b", "c"})
    engine.learn([{"a": 1}])
    engine.settle()
    engine.subscribe("event_type contains 't'", id="z")
    assert engine.attributes() == frozenset({"a", "b", "c", "event_type"})


def test_events_with_too_many_bindings_go_to_the_oracle() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("a = 1 and b = 2", id="x")
    engine.subscribe("a = 1 and b = 200", id="y")
    engine.subscribe("a = 1 and title like '%_oak%'", id="z")
    event = {"a": list(range(100)), "b": list(range(100)), "title": ["oak", "an oak"]}
    assert sorted(engine.match(event)) == ["x", "z"]
    assert sorted(engine.match_batch([{"a": 1, "b": 200}, event]).pairs()) == [
        (0, "y"),
        (1, "x"),
        (1, "z"),
    ]


def test_more_attributes_than_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.matching.boxes import compiler as sides
    from tamis.published.frame import loading, state

    for module in (sides, loading, state):
        monkeypatch.setattr(module, "MAX_AXES", 10)
    engine = tamis.Engine(matcher="naive")
    for number in range(8):
        engine.subscribe(f"a{number} = 1 and b{number} < 5", id=f"s{number}")
    engine.subscribe_many(many("a1 = 1 and z < 3"))
    assert engine.match({"a7": 1, "b7": 3}) == ["s7"]
    assert engine.match({"a7": 1, "b7": 7}) == []
    assert len(engine.match({"a1": 1, "z": 2})) == 1_000
    assert engine.attributes() is None
    for number in range(8):
        engine.unsubscribe(f"s{number}")
    assert len(engine.match({"a1": 1, "z": 2})) == 1_000


def test_all_kinds_of_equality_are_equalities() -> None:
    for texts in (["a = true", "a = false", "a is missing"], ["a = 'x'", "a = 1", "a = 1.5"]):
        engine = tamis.Engine(matcher="naive")
        for number, text in enumerate(texts):
            engine.subscribe(text, id=f"s{number}")
        engine.subscribe_many({f"m{n}": texts[n % 3] for n in range(1_000)})
        low, high = state_of(engine).parts[0].table.arrays[4:]
        assert (low == high).all()
        for number, value in enumerate(
            [True, False, None] if texts[0] == "a = true" else ["x", 1, 1.5]
        ):
            assert len(engine.match({"a": value})) == 335 - bool(number)
