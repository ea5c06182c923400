"""Live changes: seen by the next event, atomic for readers, merged in the background."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import tamis
from tamis.matching.axes import live as live_axes
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.live import LiveAxis, NoRoomError
from tamis.matching.axes.sort import AxisSort
from tamis.matching.lines.taxonomy import NO_TERMS
from tamis.matching.segments import live
from tamis.matching.segments import matcher as sieve_matcher
from tests.matching.segments.live_changes import FORKING, LiveChanges, short_turns, snapshot_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore:Generating overly large repr"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live parts of a few boxes, so that a few changes make segments and merge them."""
    monkeypatch.setattr(sieve_matcher, "LIVE", 4)
    monkeypatch.setattr(sieve_matcher, "ASKED", 10)
    monkeypatch.setattr(live, "_ASKING", 1)


def test_changes_beside_readers() -> None:
    examples = settings().max_examples // 6
    with short_turns():
        run_state_machine_as_test(
            LiveChanges,
            settings=settings(max_examples=examples, stateful_step_count=30, deadline=None),
        )


def test_a_replaced_subscription_is_always_there_once() -> None:
    engine = tamis.Engine()
    engine.subscribe_many({f"s{i}": f"a = {i} and b < {i}" for i in range(1_000)})
    engine.subscribe("a >= 0", id="x")
    wrong: list[list[str]] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            found = engine.match({"a": 5, "b": 100})
            if found != ["x"]:
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(2)]
    with short_turns():
        for thread in threads:
            thread.start()
        for number in range(400):
            text = ["a >= {}", "a >= {} and b > 0", "a > -{} or b = 1"][number % 3].format(0)
            engine.subscribe(text, id="x", replace=True)
            if number % 50 == 0:
                time.sleep(0.01)
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert engine.match({"a": 5, "b": 100}) == ["x"]


def test_what_was_added_is_seen_and_what_was_removed_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 64)
    engine = tamis.Engine()
    kept: set[str] = set()
    rng = np.random.default_rng(3)
    for number in range(3_000):
        id = f"s{number}"
        engine.subscribe(f"a = {number % 50} and b <= {number}", id=id)
        kept.add(id)
        found = set(engine.match({"a": number % 50, "b": number}))
        assert id in found
        assert found <= kept
        if number % 2:
            gone = f"s{rng.integers(number + 1)}"
            if gone in kept:
                engine.unsubscribe(gone)
                kept.discard(gone)
                assert gone not in engine.match({"a": int(gone[1:]) % 50, "b": 0})
    engine.settle(60)
    everything = [id for value in range(50) for id in engine.match({"a": value, "b": 0})]
    assert sorted(everything) == sorted(kept)


def test_segments_are_few_and_settle_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 16)
    engine = tamis.Engine()
    for number in range(2_000):
        engine.subscribe(f"a = {number}", id=f"s{number}")
    engine.settle(60)
    now = snapshot_of(engine)
    sizes = [each.segment.boxes for each in now.segments]
    assert sum(sizes) == 2_000
    assert len(sizes) <= 6
    assert all(ours >= 4 * theirs for ours, theirs in pairwise(sizes))
    assert now.lives[-1].boxes == 0
    assert engine.match({"a": 1_999}) == ["s1999"]


def test_removing_everything_gives_the_memory_back() -> None:
    engine = tamis.Engine()
    count = 5_000
    engine.subscribe_many({f"s{i}": f"a = {i} and b < {i} and c = 'word{i}'" for i in range(count)})
    engine.settle(60)
    before = engine.stats().nbytes
    for number in range(count):
        engine.unsubscribe(f"s{number}")
    engine.settle(60)
    gc.collect()
    assert len(engine) == 0
    assert engine.stats().nbytes < before / 10
    assert engine.match({"a": 5, "b": 1, "c": "word5"}) == []


def test_results_outlive_what_they_came_from() -> None:
    engine = tamis.Engine()
    engine.subscribe_many({f"s{i}": f"a = {i % 10}" for i in range(3_000)})
    matches = engine.match_batch([{"a": 3}])
    expected = sorted(matches.ids())
    for number in range(2_990):
        engine.unsubscribe(f"s{number}")
    engine.subscribe("a = 3", id="new")
    assert sorted(matches.ids()) == expected
    assert sorted(engine.match({"a": 3})) == ["new", "s2993"]


def test_a_chunk_reader_keeps_its_snapshot() -> None:
    engine = tamis.Engine()
    engine.subscribe("a = 1", id="x")
    chunks = engine.match_chunks([{"a": 1}])
    first = next(chunks)
    engine.unsubscribe("x")
    assert first.ids() == ["x"]
    assert engine.match({"a": 1}) == []


def test_many_who_write() -> None:
    """Loads of all sizes beside removals that renumber everything: nothing is lost or doubled."""
    engine = tamis.Engine()
    taken: list[str] = []

    def load(number: int) -> None:
        for turn, count in enumerate((1_200, 30, 1)):
            ids = [f"{number}-{turn}-{each}" for each in range(count)]
            engine.subscribe_many(dict.fromkeys(ids, "a = 1"))
            for id in ids[:-5]:
                engine.unsubscribe(id)
        for each in range(100):
            try:
                engine.subscribe_many({f"same{each}": "a = 1"})
            except tamis.SubscriptionError:
                continue
            taken.append(f"same{each}")

    threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(f"same{each}" for each in range(100))
    kept = [
        f"{number}-{turn}-{each}"
        for number in range(3)
        for turn, count in enumerate((1_200, 30, 1))
        for each in range(max(count - 5, 0), count)
    ]
    assert sorted(engine.match({"a": 1})) == sorted([*kept, *taken])
    assert len(engine) == len(kept) + len(taken)


@pytest.mark.timeout(120)
def test_forks_beside_a_writer() -> None:
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", FORKING, "sieve"],
        capture_output=True,
        text=True,
        timeout=110,
        env=env,
    )
    assert done.stdout == "fine\n", done.stderr


def wait_for_merging() -> None:
    for thread in threading.enumerate():
        if thread.name == "tamis-merging":
            thread.join(60)


def test_a_live_part_that_asks_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 1_000)
    monkeypatch.setattr(sieve_matcher, "ASKED", 200)
    engine = tamis.Engine()
    for number in range(20):
        engine.subscribe(f"t like '%{number}x%'", id=f"s{number}")
    for _ in range(9):
        assert engine.match({"t": "7x"}) == ["s7"]
    assert snapshot_of(engine).lives[-1].boxes == 20
    for _ in range(2):
        assert engine.match({"t": "7x"}) == ["s7"]
    wait_for_merging()
    (live_part,) = snapshot_of(engine).lives
    assert not live_part.boxes
    assert engine.match({"t": "7x"}) == ["s7"]


def test_who_reads_does_not_wait_to_freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 1_000)
    monkeypatch.setattr(sieve_matcher, "ASKED", 1)
    engine = tamis.Engine()
    engine.subscribe("t like '%x%'", id="x")
    found: list[list[str]] = []
    reader = threading.Thread(target=lambda: found.append(engine.match({"t": "7x"})))
    with engine.subscriptions.index.matcher._lock:
        reader.start()
        reader.join(60)
        assert found == [["x"]]


def test_boxes_that_ask_weigh_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 64)
    monkeypatch.setattr(live, "_ASKING", 16)
    engine = tamis.Engine()
    for number in range(3):
        engine.subscribe(f"t like '%{number}x%'", id=f"s{number}")
    engine.subscribe("a = 1", id="plain")
    assert snapshot_of(engine).lives[-1].boxes == 4
    engine.subscribe("t like '%3x%'", id="s3")
    assert not snapshot_of(engine).lives[-1].boxes
    assert sorted(engine.match({"t": "3x", "a": 1})) == ["plain", "s3"]


def test_what_fails_in_the_background_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError("none left")

    monkeypatch.setattr(sieve_matcher, "frozen_boxes", broken)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    engine = tamis.Engine()
    for number in range(5):
        engine.subscribe(f"a = {number}", id=f"s{number}")
    with pytest.raises(tamis.TamisError, match="none left"):
        engine.settle(60)
    assert engine.match({"a": 3}) == ["s3"]
    monkeypatch.undo()
    engine.settle(60)
    assert engine.match({"a": 3}) == ["s3"]


# Labels.


def numbers() -> st.SearchStrategy[Any]:
    wide = st.integers(-(2**63), 2**64 - 1)
    return st.integers(-5, 5) | wide | st.floats(allow_nan=False) | st.sampled_from([2**53, 1e300])


@given(cuts=st.lists(st.tuples(numbers(), st.booleans()), min_size=1, max_size=30), value=numbers())
def test_labels_are_in_the_order_of_values(cuts: list[tuple[Any, bool]], value: Any) -> None:
    axis = LiveAxis(AxisKey(("x",), AxisSort.NUMBER), NO_TERMS)
    for cut in cuts:
        axis.lines[0].add(*cut)
    label = axis.rank(value)
    for constant, after in cuts:
        is_above = value > constant if after else value >= constant
        assert (label >= axis.lines[0].add(constant, after)) is is_above


def test_constants_that_ascend_or_descend_find_room() -> None:
    for step in (1, -1):
        axis = LiveAxis(AxisKey(("x",), AxisSort.NUMBER), NO_TERMS)
        for number in range(5_000):
            axis.lines[0].add(step * number, False)


def halving() -> Iterator[float]:
    """Numbers each of which lies between the last two."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        yield middle
        low, high = (middle, high) if int(middle * 1e9) % 2 else (low, middle)


def test_where_there_is_no_room_another_live_part_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 1_000)
    monkeypatch.setattr(live_axes, "_STEP", 4)
    axis = LiveAxis(AxisKey(("x",), AxisSort.NUMBER), NO_TERMS)
    with pytest.raises(NoRoomError):
        for value, _ in zip(halving(), range(200), strict=False):
            axis.lines[0].add(value, True)
    engine = tamis.Engine()
    values = [value for value, _ in zip(halving(), range(60), strict=False)]
    for number, value in enumerate(values):
        engine.subscribe(f"a < {value!r}", id=f"plain{number}")
        engine.subscribe(f"a < {value!r} or b = 1", id=f"or{number}")
    for probe in (*values, -1, 2):
        expected = {
            f"{kind}{n}" for n, v in enumerate(values) if probe < v for kind in ("plain", "or")
        }
        assert set(engine.match({"a": probe})) == expected


def test_what_matches_everything_is_live_too() -> None:
    engine = tamis.Engine()
    engine.subscribe("true", id="all")
    assert engine.match({}) == ["all"]
    assert engine.match({"a": [1, 2]}) == ["all"]
    engine.subscribe("a = 1 or a > 5", id="some")
    assert sorted(engine.match({"a": [1, 2]})) == ["all", "some"]
    assert engine.match({"a": [2, 3]}) == ["all"]
    engine.settle(60)
    assert sorted(engine.match({"a": [1, 2]})) == ["all", "some"]


def test_of_a_subscription_that_finds_no_room_nothing_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 1_000)
    engine = tamis.Engine()
    engine.subscribe_many({"zero": "a = 0.0", "one": "a = 1.0"})
    number, before = 0, snapshot_of(engine).lives
    while len(snapshot_of(engine).lives) == len(before):
        engine.subscribe(f"a in (7, {0.5**number})", id=f"s{number}")  # 7 has room, the other not
        number += 1
    assert sorted(engine.match({"a": 7})) == sorted(f"s{n}" for n in range(number))
