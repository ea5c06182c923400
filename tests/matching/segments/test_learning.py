"""A sample of events, what it tells of axes, and access keys that are chosen by it."""

from __future__ import annotations

import gc
import os
import threading
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.matching.batch import Batch, batches
from tamis.matching.boxes.layout import PRESENCE
from tamis.matching.covers.covers import cover_of
from tamis.matching.planning.plan import plan_of
from tamis.matching.segments import sample as module
from tamis.matching.segments.builder import SegmentBuilder
from tamis.matching.segments.sample import (
    GAP,
    LARGE,
    ROW_BYTES,
    ROWS,
    SLICE,
    Sample,
    drawn,
    statistics_of,
)
from tamis.matching.segments.segment import Segment
from tamis.matching.segments.statistics import AxisStatistics, smoothed
from tests.contract.strategies import dense_events, dense_expressions
from tests.matching.strategies import PARENTS, record_batch, sample, subscriptions
from tests.strategies import attribute_expressions

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
MANY = 100 if PLAIN else 5_000

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]


def segment_of(*texts: str) -> Segment:
    builder = SegmentBuilder()
    for slot, text in enumerate(texts):
        builder.add(slot, cover_of(tamis.parse(text)))
    return builder.finish()


def rows_of(several: Any) -> int:
    return sum(len(batch) for batch in several)


def table_of(rows: int, **columns: Any) -> pa.Table:
    return pa.table({"number": pa.array(np.arange(rows)), **columns})


# What a sample tells.


def test_mass_is_what_was_seen_and_never_zero() -> None:
    mass = smoothed(np.array([5, 1, 0, 2]))
    assert mass == pytest.approx([0.5417, 0.1528, 0.0556, 0.25], abs=1e-3)
    assert mass.sum() == pytest.approx(1)


def test_values_that_are_all_new_are_all_alike() -> None:
    counts = np.zeros(10_000, np.int64)
    counts[:50] = 1
    assert smoothed(counts) == pytest.approx(np.full(10_000, 1e-4))
    assert smoothed(np.zeros(4, np.int64)) == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("columns", [False, True])
def test_presence_and_mass_of_axes(columns: bool) -> None:
    segment = segment_of("kind = 'a' and price < 5", "kind = 'b'", "coupon is present")
    events = [{"kind": "a" if n % 10 else "b", "price": 3} for n in range(990)] + [
        {"coupon": 1}
    ] * 10
    source = pa.Table.from_pylist(events, pa.schema({"kind": pa.string(), "price": pa.int64(),
        "coupon": pa.int64()})) if columns else events  # fmt: skip
    presence, mass = statistics_of(batches(source))(segment.axes)
    known = {str(axis.key): (presence[n], mass[n]) for n, axis in enumerate(segment.axes)}
    for name, expected in (("kind (string)", 0.99), ("price (number)", 0.99)):
        assert known[name][0] == pytest.approx(expected, abs=0.01)
    kinds, coupon = known["kind (string)"][1], known["coupon (presence)"][1]
    assert kinds is not None
    assert coupon is not None
    assert sorted(kinds)[-2:] == pytest.approx([0.1, 0.9], abs=0.02)
    assert coupon == pytest.approx([0.01, 0.99], abs=0.01)
    assert all(each is not None and (each > 0).all() for each in mass)


def test_points_of_lists_are_counted_one_by_one() -> None:
    segment = segment_of("tags = 'a'", "tags = 'b'")
    events = [{"tags": ["a", "a", "a", "b"]}, {"tags": []}]
    presence, mass = statistics_of(batches(events))(segment.axes)
    assert presence[0] == pytest.approx((4 + PRESENCE) / 6)
    assert mass[0] is not None
    assert mass[0].max() > 0.4


def test_what_is_found_has_no_statistics() -> None:
    segment = segment_of("title contains text 'oak' and price < 3")
    axes = [*segment.axes, segment.sought[0].found.axis]
    presence, mass = statistics_of(batches([{"title": "oak", "price": 3}] * 9))(axes)
    assert mass[-1] is None
    assert presence[-1] == PRESENCE
    assert all(each is not None for each in mass[:-1])


def test_events_that_cannot_be_read_teach_nothing() -> None:
    faulty = pa.record_batch([pa.array(["a"] * 9)] * 2, ["kind", "kind"])
    statistics = AxisStatistics([Batch(faulty), Batch([tamis.Event({"kind": "a"})] * 9)])(
        segment_of("kind = 'a'").axes
    )
    assert statistics.presence[0] == pytest.approx((9 + PRESENCE) / 10)


def test_an_axis_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = statistics_of(batches([{"kind": "a"}]))
    axes = segment_of("kind = 'a'").axes
    first = known(axes)
    monkeypatch.setattr(known, "_batches", None)
    assert known(axes).mass[0] is first.mass[0]


# What is kept.


def test_few_events_are_all_drawn() -> None:
    assert rows_of(drawn(batches(table_of(100)))) == 100
    assert rows_of(drawn(batches([{"a": 1}] * 100))) == 100
    assert drawn(batches([])) == []


def test_many_events_are_drawn_evenly() -> None:
    table = table_of(50 * ROWS)
    found = drawn(batches(table.to_reader(max_chunksize=10_000)))
    assert rows_of(found) == ROWS
    assert max(map(len, found)) <= SLICE
    numbers = np.concatenate([batch.table["number"].to_numpy() for batch in found if batch.table])
    assert len(np.unique(numbers)) == ROWS
    quarters = np.bincount(numbers // (len(table) // 4), minlength=4)
    assert quarters == pytest.approx(np.full(4, ROWS / 4), rel=0.15)


def test_a_table_is_not_kept_alive() -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    known = Sample()
    known.see(Batch(table_of(1_000_000).to_batches()[0]))
    gc.collect()
    assert pa.total_allocated_bytes() - before < SLICE * ROW_BYTES
    assert known.expected() is not None


@pytest.fixture(scope="module")
def texts() -> pa.Array:
    return pa.array([f"a rather long text, number {n}" for n in range(20_000)])


@pytest.mark.parametrize("kind", ["dictionary", "view", "runs", "list", "struct"])
def test_columns_of_all_layouts_are_copied_or_read(kind: str, texts: pa.Array) -> None:
    column: Any = {
        "dictionary": lambda: texts.dictionary_encode(),
        "view": lambda: texts.cast(pa.string_view()),
        "runs": lambda: pa.RunEndEncodedArray.from_arrays(np.arange(1, 20_001, dtype="i4"), texts),
        "list": lambda: pa.ListArray.from_arrays(np.arange(20_001), texts),
        "struct": lambda: pa.StructArray.from_arrays([texts.dictionary_encode()], ["x"]),
    }[kind]()
    gc.collect()
    before = pa.total_allocated_bytes()
    known = Sample()
    known.see(Batch(pa.record_batch({"title": column})))
    gc.collect()
    assert pa.total_allocated_bytes() - before < SLICE * ROW_BYTES
    path = "title.x" if kind == "struct" else "title"
    expected = known.expected()
    assert expected is not None
    presence, _ = expected(segment_of(f"{path} = 'x'").axes)
    assert presence[0] > 0.99


def test_of_large_rows_fewer_are_kept() -> None:
    text = "x" * 10 * ROW_BYTES
    for source in (pa.table({"a": [text] * LARGE}), [{"a": text}] * LARGE):
        known = Sample()
        for batch in batches(source):
            known.see(batch)
        assert 1 <= rows_of(known._slices) < SLICE / 5
    known = Sample()
    known.see(Batch([tamis.Event({"a": ["x"] * 50_000})] * LARGE))
    assert rows_of(known._slices) == 0


def test_small_batches_and_most_large_ones_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []

    def look(batch: Batch, rows: Any) -> Batch:
        looked.append(rows)
        return Batch([])

    monkeypatch.setattr(module, "copied", look)
    known = Sample()
    small, large = Batch([tamis.Event({})] * (LARGE - 1)), Batch([tamis.Event({})] * LARGE)
    known.see(small)
    assert not looked
    for _ in range(4 * GAP // LARGE):
        known.see(large)
    assert 10 < len(looked) < 20
    assert {len(rows) for rows in looked} == {SLICE}
    assert max(rows.max() for rows in looked) < LARGE


def test_the_oldest_events_go_first() -> None:
    known = Sample()
    known.learn(drawn(batches([{"old": 1}] * 2 * ROWS)))
    assert rows_of(known._slices) == ROWS
    for _ in range(10):
        known._due = 0
        known.see(Batch([tamis.Event({"new": 1})] * LARGE))
    assert rows_of(known._slices) == ROWS
    assert (
        sum("new" in event.attributes for each in known._slices for event in each.events()) == 640
    )


# Engines.


def ranges(count: int = MANY) -> dict[str, str]:
    """Two ranges, of which one can be sorted: as long as nothing is known, either."""
    random = np.random.default_rng(1)
    return {
        f"s{n}": f"price < {random.integers(1, 10_000)} and weight < {random.integers(1, 10_000)}"
        for n in range(count)
    }


def light_events(count: int = 2_000) -> pa.Table:
    """Weights that nearly every subscription allows."""
    random = np.random.default_rng(2)
    return pa.table({"price": random.integers(0, 10_000, count).tolist(), "weight": [1] * count})


def pairs_of(engine: tamis.Engine, events: Any) -> list[tuple[int, str]]:
    return sorted(engine.match_batch(events).pairs())


def test_learning_chooses_other_keys_that_cost_less() -> None:
    engine, events = tamis.Engine(), light_events()
    engine.subscribe_many(ranges())
    before, expected = engine.plan(events), pairs_of(engine, events[:50])
    assert any("weight sorted" in group.signature for group in before.groups)
    engine.learn(events)
    engine.settle()
    after = engine.plan(events)
    served = {group.signature: group.boxes for group in after.groups}
    assert served["price sorted"] > 0.9 * MANY
    assert after.cost < 0.8 * before.cost
    assert engine.plan().cost == pytest.approx(after.cost, rel=0.1)
    assert engine.stats().cost == pytest.approx(engine.plan().cost)
    assert pairs_of(engine, events[:50]) == expected
    said = before.compared(after)
    assert "price sorted" in str(said)
    assert f"{before.cost:,.0f} ns an event before, {after.cost:,.0f} ns after" in str(said)
    assert repr(said).startswith("Comparison(cost=")


def test_an_attribute_that_is_rare_gates_its_subscriptions() -> None:
    texts = [f"price < {n + 1} and score > {n}" for n in range(MANY)]
    events = [{"price": n % 100, **({"score": n} if n % 50 == 0 else {})} for n in range(3_000)]
    segment, known = segment_of(*texts), statistics_of(batches(events))
    engine = tamis.Engine()
    engine.subscribe_many(dict(zip(map(str, range(MANY)), texts)))
    engine.learn(events)
    engine.settle()
    (after,) = [group for group in engine.plan(events).groups if group.boxes > MANY / 2]
    assert "score" in after.signature
    assert after.probability == pytest.approx(0.02, abs=0.01)
    assert engine.plan(events).cost <= plan_of([segment], known).cost


def test_one_value_dominates() -> None:
    """Of four equalities three are hashed: those that tell events apart."""
    names = ("shop", "color", "size")
    random = np.random.default_rng(3)
    texts = {}
    for n, values in enumerate(random.integers(0, 10, (MANY, 3))):
        said = " and ".join(f"{a} = 'v{v}'" for a, v in zip(names, values))
        texts[f"s{n}"] = f"kind = 'k{n if n < 20 else 0}' and {said}"
    others = {a: [f"v{v}" for v in random.integers(0, 10, 2_000)] for a in names}
    events = pa.table({"kind": ["k0"] * 2_000, **others})
    engine = tamis.Engine()
    engine.subscribe_many(texts)
    before = engine.plan(events)
    assert "kind" in before.groups[0].signature
    engine.learn(events)
    engine.settle()
    after = engine.plan(events)
    assert after.groups[0].signature == "shop = ? and color = ? and size = ?"
    assert after.cost < before.cost


@cache
def expressions_of(number: int) -> dict[str, Any]:
    """Expressions of all sorts, the same for the same number."""
    strategy = attribute_expressions() | dense_expressions() | subscriptions()
    return {str(n): each for n, each in enumerate(sample(strategy, 40 if PLAIN else 200, number))}


@pytest.mark.parametrize("number", range(1 if PLAIN else 3))
@pytest.mark.parametrize("columns", [False, True])
def test_learning_changes_no_result(number: int, columns: bool) -> None:
    rows = record_batch(number, columns=4, rows=50, depth=number) if columns else None
    events: Any = rows or sample(dense_events(), 40 if PLAIN else 50, number)
    sieve, scan = (tamis.Engine(matcher=each, taxonomy=PARENTS) for each in ("sieve", "scan"))
    for engine in (sieve, scan):
        engine.subscribe_many(expressions_of(number))
    expected = pairs_of(scan, events)
    for engine in (sieve, scan):
        engine.learn(events)
        engine.settle()
    assert pairs_of(sieve, events) == expected
    first = [(row, id) for row, id in expected if row < 10]
    assert pairs_of(scan, events[:10]) == first  # it has nothing to learn, and takes its time
    assert sieve.plan().boxes == sieve.plan(events).boxes


def test_what_is_learned_first_serves_what_comes_later() -> None:
    events = light_events()
    for one_by_one in (False, True):
        engine = tamis.Engine()
        engine.learn(events)
        if one_by_one:
            for id, text in ranges(500).items():
                engine.subscribe(text, id=id)
        else:
            engine.subscribe_many(ranges(MANY))
        engine.settle()
        sorted_by = [group.signature for group in engine.plan().groups if group.boxes > 10]
        assert sorted_by == ["price sorted"]


def learned_by(engine: tamis.Engine) -> Any:
    """What the matcher of an engine knows about events."""
    matcher: Any = engine.subscriptions.index.matcher
    return matcher.statistics()


def test_events_that_pass_serve_the_next_merge() -> None:
    engine, events = tamis.Engine(), light_events()
    assert learned_by(engine) is None
    engine.match({"price": 1, "weight": 1})
    engine.match_batch(events.slice(0, 10))
    assert learned_by(engine) is None
    engine.match_batch(events)
    assert learned_by(engine) is not None
    texts = list(ranges().items())
    half = len(texts) // 2
    engine.subscribe_many(dict(texts[:half]))
    engine.subscribe_many(dict(texts[half:]))
    engine.settle()
    (most,) = [group for group in engine.plan().groups if group.boxes > 0.9 * MANY]
    assert most.signature.endswith("price sorted")


def test_changes_meanwhile_are_not_lost() -> None:
    engine, scan, events = tamis.Engine(), tamis.Engine(matcher="scan"), light_events(50)
    count = 60 if PLAIN else 3_000
    texts = list(ranges(count).items())
    third = count // 3
    for each in (engine, scan):
        each.subscribe_many(dict(texts[:third]))

    def teach() -> None:
        for _ in range(5):
            engine.learn(events)

    teacher = threading.Thread(target=teach)
    teacher.start()
    for id, text in texts[third:]:
        engine.subscribe(text, id=id)
    for id, _ in texts[: third // 2]:
        engine.unsubscribe(id)
    teacher.join()
    engine.settle()
    for id, text in texts[third:]:
        scan.subscribe(text, id=id)
    for id, _ in texts[: third // 2]:
        scan.unsubscribe(id)
    assert pairs_of(engine, events) == pairs_of(scan, events)
    matcher: Any = engine.subscriptions.index.matcher
    assert {each.learned for each in matcher._snapshot.segments} == {5}


def test_slots_that_are_given_back_leave_what_was_learned() -> None:
    engine, events = tamis.Engine(), light_events()
    engine.subscribe_many(ranges(1_500))
    engine.learn(events)
    held = engine.subscriptions.index
    for n in range(1_400):
        engine.unsubscribe(f"s{n}")
    assert engine.subscriptions.index is not held
    engine.settle()
    assert learned_by(engine) is not None
    assert [group.signature for group in engine.plan().groups if group.boxes > 10] == [
        "price sorted"
    ]


def test_faulty_events_are_refused() -> None:
    with pytest.raises(tamis.EventError):
        tamis.Engine().learn([{"a": object()}])
