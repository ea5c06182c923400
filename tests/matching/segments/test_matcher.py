"""The sieve against the scan, on sets of subscriptions and events larger than the contract's."""

from __future__ import annotations

import math
import os
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import tamis
from tamis.matching.points import of_columns as arrow_points
from tamis.matching.points import of_events as points
from tamis.matching.points.of_events import MAX_POINTS
from tamis.matching.segments import matcher as sieve_matcher
from tamis.model.limits import Limits
from tamis.predicates.expression import Expression
from tamis.predicates.truth import FAILED
from tests.contract.naive import count_bindings
from tests.contract.strategies import dense_events, dense_expressions
from tests.matching.strategies import PARENTS, record_batch, sample, subscriptions
from tests.strategies import attribute_expressions, events

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SUBSCRIPTIONS, EVENTS = (60, 40) if PLAIN else (300, 150)
MATCHERS = ("sieve", "scan")

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]

Pairs = list[tuple[int, str]]


@cache
def expressions(number: int) -> dict[str, Expression]:
    """Random subscriptions, by id."""
    strategy = attribute_expressions() | dense_expressions() | subscriptions()
    found = sample(strategy, SUBSCRIPTIONS, number)
    return {f"{number}-{index}": expression for index, expression in enumerate(found)}


@cache
def rows(number: int) -> list[dict[str, Any]]:
    """Random events, some of them twice, and the empty one."""
    small = st.one_of(events(), dense_events()).filter(lambda event: count_bindings(event) <= 300)
    found = sample(small, EVENTS, number)
    return [*found, *found[:5], {}]


def engine_of(matcher: str, subscriptions: dict[str, Expression | str]) -> tamis.Engine:
    engine = tamis.Engine(matcher=matcher, taxonomy=PARENTS)
    engine.subscribe_many(subscriptions)
    return engine


def both(number: int) -> tuple[tamis.Engine, tamis.Engine]:
    """Engines to be changed."""
    sieve, scan = (engine_of(matcher, expressions(number)) for matcher in MATCHERS)
    return sieve, scan


def pairs_of(engine: tamis.Engine, source: Any) -> Pairs:
    found = sorted(engine.match_batch(source).pairs())
    assert len(found) == len(set(found)), "a pair came twice"
    return found


@cache
def shared(number: int) -> tuple[tamis.Engine, tamis.Engine]:
    """Engines that nobody changes."""
    return both(number)


@cache
def expected_pairs(number: int) -> Pairs:
    return pairs_of(shared(number)[1], rows(number))


def check_same(engines: Sequence[tamis.Engine], source: Any) -> Pairs:
    """The pairs, of which a sieve and a scan agree."""
    sieve, scan = engines
    expected = pairs_of(scan, source)
    assert pairs_of(sieve, source) == expected
    return expected


# One engine, all ways to ask it.


@pytest.mark.parametrize("number", range(1 if PLAIN else 3))
def test_a_list_of_events(number: int) -> None:
    sieve, _ = shared(number)
    found = pairs_of(sieve, rows(number))
    assert found == expected_pairs(number)
    assert len(found) > len(rows(number)), "hardly anything matches"
    per_row = Counter(row for row, _ in found)
    assert sieve.count_batch(rows(number)) == [per_row[row] for row in range(len(rows(number)))]


def test_one_by_one() -> None:
    sieve, scan = shared(0)
    for row in rows(0)[: EVENTS // 2]:
        found = sieve.match(row)
        assert len(found) == len(set(found))
        assert sorted(found) == sorted(scan.match(row))
        assert sieve.count(row) == len(found)
        assert sieve.first(row) in found if found else sieve.first(row) is None


@pytest.mark.parametrize("seed", range(2 if PLAIN else 12))
def test_arrow(seed: int) -> None:
    sieve, scan = shared(seed % 2)
    batch = record_batch(seed, columns=4, rows=30, depth=seed % 4)
    check_same((sieve, scan), batch)
    check_same((sieve, scan), batch.slice(7, 5))
    table = pa.Table.from_batches([batch.slice(25), batch.slice(0, 3), batch.slice(5, 9)])
    found = check_same((sieve, scan), table)
    per_row = Counter(row for row, _ in found)
    assert sieve.count_batch(table) == [per_row[row] for row in range(table.num_rows)]


def test_flat_columns() -> None:
    """Columns without lists, of all the values that subscriptions name."""
    rng = np.random.default_rng(8)
    pools: dict[str, list[Any]] = {
        "a": [0, 1, 2, 3, None],
        "b": ["red", "Red", "blue", "", "10.0.0.1", "other", None],
        "c": [True, False, None],
        "x.y": [0.0, 1.5, 2.0, float("nan"), None],
    }
    count = 50 if PLAIN else 300
    columns = {
        key: [pool[index] for index in rng.integers(len(pool), size=count)]
        for key, pool in pools.items()
    }
    table = pa.table(columns)
    sieve, scan = shared(0)
    expected = check_same((sieve, scan), table)
    assert pairs_of(sieve, table.to_pylist()) == expected


# Limits and chunks.


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 10_000])
def test_a_limit(limit: int) -> None:
    sieve, _ = shared(0)
    whole = set(expected_pairs(0))
    counts = Counter(row for row, _ in whole)
    expected = {row: min(limit, count) for row, count in counts.items() if limit}
    found = list(sieve.match_batch(rows(0), limit=limit).pairs())
    assert len(found) == len(set(found))
    assert set(found) <= whole
    assert Counter(row for row, _ in found) == expected
    chunked = [pair for chunk in sieve.match_chunks(rows(0), limit=limit) for pair in chunk.pairs()]
    assert len(chunked) == len(set(chunked))
    assert set(chunked) <= whole
    assert Counter(row for row, _ in chunked) == expected
    for row in range(0, len(rows(0)), 20):
        one = sieve.match(rows(0)[row], limit=limit)
        assert {(row, id) for id in one} <= whole
        assert len(one) == len(set(one)) == min(limit, counts[row])


def test_a_limit_among_removed_ones() -> None:
    sieve, scan = both(1)
    pairs_of(sieve, rows(1))
    for engine in (sieve, scan):
        for id in [*expressions(1)][::2]:
            engine.unsubscribe(id)
    whole = set(pairs_of(scan, rows(1)))
    counts = Counter(row for row, _ in whole)
    found = list(sieve.match_batch(rows(1), limit=3).pairs())
    assert set(found) <= whole
    assert Counter(row for row, _ in found) == {row: min(3, n) for row, n in counts.items()}


@pytest.mark.parametrize("source", ["list", "arrow"])
def test_chunks_are_the_batch(source: str) -> None:
    sieve, _ = shared(0)
    data: Any = rows(0) if source == "list" else record_batch(3, columns=4, rows=100, depth=3)
    chunks = list(sieve.match_chunks(data))
    assert all(len(chunk) for chunk in chunks)
    found = sorted(pair for chunk in chunks for pair in chunk.pairs())
    assert found == pairs_of(sieve, data)


def test_millions_of_matches_come_in_bounded_chunks() -> None:
    """Every event matches every subscription, half of them by two of their alternatives."""
    count, events = (30, 40) if PLAIN else (2_000, 2_000)
    texts = {f"p{n}": f"a > {-n}" for n in range(count // 2)}
    texts |= {f"q{n}": f"a > {-n} or b < {n + 1}" for n in range(count // 2)}
    engine = engine_of("sieve", texts)
    table = pa.table({"a": pa.array([1] * events), "b": pa.array([0] * events)})
    engine.match_batch(table.slice(0, 1))
    sizes = []
    seen = np.zeros(events, np.int64)
    tracemalloc.start()
    for chunk in engine.match_chunks(table):
        sizes.append(len(chunk))
        seen += np.bincount(np.asarray(chunk.event), minlength=events)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (seen == count).all()
    assert sum(sizes) == count * events
    if not PLAIN:
        assert max(sizes) <= 1 << 20
        assert len(sizes) > 3
        assert peak < sum(sizes) * 8 / 2, "half of all matches are held at once"
    assert engine.count_batch(table.slice(0, 3)) == [count] * 3


# Changes.


def test_changes_between_batches() -> None:
    """Additions, removals, replacements and switches, with a batch after each."""
    rng = np.random.default_rng(4)
    engines = [tamis.Engine(matcher=matcher, taxonomy=PARENTS) for matcher in MATCHERS]
    pool = [*expressions(0).values(), *expressions(1).values()]
    table = record_batch(5, columns=4, rows=10, depth=2)
    some = rows(0)[: EVENTS // 6]
    ids: list[str] = []
    for step in range(6 if PLAIN else 20):
        chosen = [pool[index] for index in rng.integers(len(pool), size=20)]
        new = {f"{step}-{number}": one for number, one in enumerate(chosen[:10])}
        one_by_one = {f"{step}+{number}": one for number, one in enumerate(chosen[10:16])}
        replaced = dict(zip(rng.permutation(ids)[:4].tolist(), chosen[16:], strict=False))
        kept = [id for id in ids if id not in replaced]
        removed = rng.permutation(kept)[: step % 12].tolist()
        switched = [id for id in rng.permutation(kept)[:6].tolist() if id not in removed]
        for engine in engines:
            engine.subscribe_many(new)
            for id, expression in one_by_one.items():
                engine.subscribe(expression, id=id)
            for id, expression in replaced.items():
                engine.subscribe(expression, id=id, replace=True)
            for id in removed:
                engine.unsubscribe(id)
            for number, id in enumerate(switched):
                (engine.disable if (number + step) % 2 else engine.enable)(id)
        ids = [id for id in (*ids, *new, *one_by_one) if id not in removed]
        check_same(engines, some)
        check_same(engines, table)
        assert [len(engine) for engine in engines] == [len(ids)] * 2
    for engine in engines:
        engine.subscribe_many(dict.fromkeys(ids[::2], pool[0]), replace=True)
    check_same(engines, some)


def test_the_live_segment_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small segments, with removals from each."""
    monkeypatch.setattr(sieve_matcher, "LIVE", 7)
    engines = [tamis.Engine(matcher=matcher, taxonomy=PARENTS) for matcher in MATCHERS]
    some = rows(0)[: EVENTS // 6]
    for number, (id, expression) in enumerate(expressions(0).items()):
        for engine in engines:
            engine.subscribe(expression, id=id)
        if number % 5 == 0:
            assert sorted(engines[0].match(some[0])) == sorted(engines[1].match(some[0]))
        if number == 60:
            break
    check_same(engines, some)
    for engine in engines:
        for id in [*expressions(0)][:60:3]:
            engine.unsubscribe(id)
    check_same(engines, some)
    for row in some:
        found = engines[0].match(row, limit=2)
        assert len(found) == min(2, engines[1].count(row))


def test_freezing_keeps_up_with_a_busy_thread() -> None:
    """Who adds gives way to the thread that freezes, which else would get its turn too seldom."""
    engine = tamis.Engine()
    for number in range(3 * sieve_matcher.LIVE + 2_000):
        engine.subscribe(f"a = {number % 50} and b < {number}", id=str(number))
    assert len(engine.subscriptions.index.matcher._snapshot.lives) <= 2
    engine.settle()
    assert len(engine.match({"a": 7, "b": -1})) == len(range(7, len(engine), 50))


def test_a_batch_does_not_see_later_changes() -> None:
    """What a result holds stays, whatever happens to the engine."""
    sieve, _ = both(0)
    matches = sieve.match_batch(rows(0))
    before = sorted(matches.pairs())
    for id in [*expressions(0)][::2]:
        sieve.unsubscribe(id)
    sieve.subscribe_many(expressions(1))
    assert sorted(matches.pairs()) == before


# Many bindings.


def test_events_with_more_bindings_than_points(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 300 if PLAIN else MAX_POINTS
    monkeypatch.setattr(points, "MAX_POINTS", most)
    monkeypatch.setattr(arrow_points, "MAX_POINTS", most)
    side = math.isqrt(most) + 6
    last = side - 1
    long: dict[str, Any] = {"a": [*range(side)], "b": [*range(side)], "c": 5}
    items = {"items": [{"color": "red", "price": n} for n in range(most + 1)]}
    texts: dict[str, Any] = {
        "sum": f"a = {last} and b = {last}",
        "none": f"a = {last} and b = {side}",
        "one": f"a > {last - 1}",
        "neither": "a != 0 and b != 0 and c != 5",
        "negated": f"not a < {last} and not b < {last} and c is present",
        "item": f"items.color = 'red' and items.price = {most}",
        "no item": "items.color = 'blue' and items.price = 5",
        "residual": f"a + b > {2 * last - 1}",
    }
    source = [{"a": last, "b": last}, long, {"a": 1}, items, {}, long]
    engines = [engine_of(matcher, texts) for matcher in MATCHERS]
    found = check_same(engines, source)
    assert {id for row, id in found if row == 1} == {"sum", "one", "negated", "residual"}
    assert {id for row, id in found if row == 3} == {"item"}
    for row in (long, items):
        assert sorted(engines[0].match(row)) == sorted(engines[1].match(row))
    short = {"a": [last], "b": [last], "c": 1}
    table = pa.Table.from_pylist([short, long, {"a": [], "b": [1]}, long])
    check_same(engines, table)
    check_same(engines, pa.Table.from_pylist([items, {"items": []}, items]))
    for engine in engines:
        engine.unsubscribe("sum")
    assert "sum" not in engines[0].match(long)
    limited = Counter(row for row, _ in engines[0].match_batch(source, limit=2).pairs())
    assert limited == Counter(row for row, _ in engines[1].match_batch(source, limit=2).pairs())


@pytest.mark.parametrize("matcher", MATCHERS)
def test_more_bindings_than_the_limit_are_no_match(matcher: str) -> None:
    limits = Limits(bindings=5_000)
    engine = tamis.Engine(matcher=matcher, limits=limits)
    engine.subscribe("a.x = -1 and a.y = -1", id="coupled")
    engine.subscribe("a.x = 1", id="alone")
    event = {"a": {"x": [*range(80)], "y": [*range(80)]}}
    table = pa.Table.from_pylist([event])
    decides = matcher == "sieve"  # it looks at the two lists one by one
    with nullcontext() if decides else pytest.warns(tamis.IncompleteWarning, match="bindings"):
        assert engine.match(event) == ["alone"]
    for source in ([event], table):
        found = engine.match_batch(source)
        assert found.ids() == ["alone"]
        left = [(each.event, each.subscription) for each in found.incomplete]
        assert left == ([] if decides else [(0, "coupled")])
    assert engine.explain("coupled", event).truth == FAILED


def test_points_of_one_event_are_one_match() -> None:
    """Hundreds of bindings stab the same boxes, in different chunks and batches."""
    texts: dict[str, Any] = {f"p{n}": f"a >= {n} and b >= 0" for n in range(20)}
    texts |= {f"q{n}": f"a >= {n} or b like '%1%' or b > 3" for n in range(20)}
    engines = [engine_of(matcher, texts) for matcher in MATCHERS]
    values, times = ([*range(12)], 2) if PLAIN else ([*range(30)], 5)
    source = [{"a": values, "b": values}, {"a": [[], [1, [2]]], "b": [["11"], 4]}] * times
    check_same(engines, source)
    check_same(engines, pa.table({"a": [values] * times, "b": [values] * times}))


# Nothing.


def test_no_subscriptions_and_no_events() -> None:
    empty = tamis.Engine(matcher="sieve")
    assert empty.match({"a": 1}) == []
    assert pairs_of(empty, [{}, {"a": 1}]) == []
    assert empty.count_batch([{}, {}]) == [0, 0]
    sieve, _ = shared(0)
    assert pairs_of(sieve, []) == []
    assert sieve.count_batch([]) == []
    assert list(sieve.match_chunks([])) == []
    assert pairs_of(sieve, pa.table({"a": pa.array([], pa.int64())})) == []


def test_subscriptions_without_attributes() -> None:
    engines = [engine_of(each, {"all": "true", "none": "false"}) for each in MATCHERS]
    for source in ([{}, {"a": [1, 2]}], pa.table({"a": [[1, 2], []]})):
        assert check_same(engines, source) == [(0, "all"), (1, "all")]


# Threads.


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_find_the_same(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr("tamis.engine.threads._LEAST", 7)
    sieve, _ = shared(0)
    batch = record_batch(3, columns=4, rows=60, depth=2)
    table = pa.Table.from_batches([batch, batch.slice(0, 0), batch.slice(11, 20)])
    for source in (table, rows(0)):
        expected = pairs_of(sieve, source)
        assert sorted(sieve.match_batch(source, threads=threads).pairs()) == expected
        chunks = sieve.match_chunks(source, threads=threads)
        assert sorted(pair for chunk in chunks for pair in chunk.pairs()) == expected
    event = sieve.match_batch(table, threads=threads).event
    assert (np.diff(event) >= 0).all()


def test_threads_are_a_number() -> None:
    with pytest.raises(tamis.TamisError, match="threads"):
        tamis.Engine().match_batch([{"a": 1}], threads=0)


def test_an_error_in_a_thread_is_raised() -> None:
    with pytest.raises(tamis.EventError, match="an event is a mapping"):
        tamis.Engine().match_batch([{"a": 1}, 5], threads=2)
