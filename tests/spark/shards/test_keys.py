"""An event visits the shard of every subscription that it matches, and few others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.engine.bulk import BlockReader
from tamis.engine.engine import Engine
from tamis.engine.rows import Row
from tamis.model.events.event import Event
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS
from tamis.spark.columns import SUBSCRIPTION_ID
from tamis.spark.index.building import Settings
from tamis.spark.index.index import Index
from tamis.spark.shards.axes import MOST_KEYS, KeyAxis, chosen_axes
from tamis.spark.shards.building import Homes
from tamis.spark.shards.keys import ALWAYS, NOWHERE, keys_of
from tamis.spark.shards.routing import router_of
from tests.contract.strategies import dense_events, dense_expressions
from tests.contract.test_properties import PARENTS

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
]


class Division(NamedTuple):
    """Subscriptions in shards, in this process."""

    axes: list[KeyAxis]
    keys: list[list[int]]
    """The keys of each subscription."""
    shard: list[int]
    """The shard of each."""
    always: set[int]
    router: Index

    def visited(self, event: Mapping[str, Any]) -> set[int]:
        """The shards that an event visits."""
        shards: list[Any] = self.router.columns[SUBSCRIPTION_ID].to_pylist()
        return self.always.union(shards[int(id)] for id in self.router.engine.match(event))


def divided(texts: Sequence[str], count: int, events: Iterable[Mapping[str, Any]] = ()) -> Division:
    reader = Settings(None, PARENTS, None, LIMITS).reader()
    rows = [Row(number, str(number), text) for number, text in enumerate(texts)]
    axes = chosen_axes([reader.read(row).cover for row in rows], count, [*map(Event, events)])
    block = BlockReader(reader, collect=False).read(rows)
    found = keys_of(block, axes, reader)
    homes, sizes = np.unique(found.homes(), return_counts=True)
    dealt = Homes.dealt(dict(zip(homes.tolist(), sizes.tolist())), count)
    place = {key: (first, several) for key, first, several in zip(*dealt)}
    keys = [found.key[a:b].tolist() for a, b in zip(found.start, found.start[1:])]
    shard = [
        place[home][0] + number % place[home][1]
        for number, home in enumerate(found.homes().tolist())
    ]
    of_shards = [
        sorted({key for own, mine in zip(keys, shard) if mine == each for key in own})
        for each in range(count)
    ]
    always = {each for each, own in enumerate(of_shards) if ALWAYS in own}
    return Division(
        axes, keys, shard, always, router_of(Engine(taxonomy=PARENTS), axes, of_shards, ())
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(dense_expressions(), min_size=1, max_size=12),
    st.lists(dense_events(), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_no_match_is_missed(expressions: list[Any], events: list[Any], count: int) -> None:
    texts = [str(each) for each in expressions]
    division = divided(texts, count)
    oracle = Engine(matcher="scan", taxonomy=PARENTS)
    oracle.subscribe_many([(str(number), text) for number, text in enumerate(texts)])
    for event in events:
        visited = division.visited(event)
        for id in oracle.match(event):
            assert division.shard[int(id)] in visited, texts[int(id)]


def test_all_ways_into_a_block_give_the_same_keys() -> None:
    """Rows of one template are columns, those of a few rows predicates, and others single."""
    several = [f"kind = 'k{n % 30}' and size > {n}" for n in range(60)]
    few = ["kind = 'k1' and other = 2 and size < 3", "kind in ('k2', 'k3') or kind = 'k4'"]
    single = ["kind = 'k5' and (size > 1 or not title contains text 'x')"]
    texts = [*several, *few, *single]
    division = divided(texts, 4)
    reader = Settings(None, None, None, LIMITS).reader()
    for text, keys in zip(texts, division.keys, strict=True):
        expected: set[int] = set()
        for condition in reader.read(Row(0, "0", text)).cover.conditions:
            cells = [axis.cells_of(condition) for axis in division.axes]
            number = next((n for n, found in enumerate(cells) if found), None)
            expected |= (
                {ALWAYS}
                if number is None
                else {number << 32 | cell for cell in cells[number] or ()}
            )
        assert set(keys) == ({ALWAYS} if ALWAYS in expected else expected), text


def test_what_has_no_key_is_visited_always_and_what_never_matches_never() -> None:
    texts = [*(f"kind = {n}" for n in range(20)), "a < b", "kind = 1 and kind = 2"]
    division = divided(texts, 2)
    assert division.keys[-2:] == [[ALWAYS], []]
    assert division.always == {division.shard[-2]}
    assert division.visited({"other": 1}) == division.always


def test_equalities_are_told_apart_by_the_order_of_their_constants() -> None:
    texts = [f"user = 'u{n:06}'" for n in range(5_000)]
    division = divided(texts, 8)
    (axis,) = division.axes
    assert len(axis.cuts) <= 1_024
    assert sorted(map(division.shard.count, range(8)))[0] > 5_000 / 8 * 0.9
    visits = [len(division.visited({"user": f"u{n:06}"})) for n in range(0, 5_000, 50)]
    assert set(visits) == {1}


def test_a_home_with_more_than_its_share_is_dealt_out() -> None:
    dealt = Homes.dealt({NOWHERE: 1, ALWAYS: 10, 5: 500, 6: 90, 7: 100}, 4)
    places = {key: (first, several) for key, first, several in zip(*dealt)}
    assert places[5] == (0, 3)
    assert places[7] == (3, 1)
    assert all(first + several <= 4 for first, several in places.values())


def test_events_decide_between_axes() -> None:
    """An attribute that events rarely have spares them visits."""
    texts = [f"a = {n} and b = {n}" for n in range(100)]
    rare_b = [{"a": n, "b": n} if n % 10 == 0 else {"a": n} for n in range(100)]
    assert [axis.path for axis in divided(texts, 4, rare_b).axes] == [("b",)]
    rare_a = [{"b": n, "a": n} if n % 10 == 0 else {"b": n} for n in range(100)]
    assert [axis.path for axis in divided(texts, 4, rare_a).axes] == [("a",)]


def test_cells_of_ranges() -> None:
    division = divided([f"x between {n} and {n}.5" for n in range(50)], 4)
    (axis,) = division.axes
    assert axis.kind is Kind.NUMBER
    assert all(0 < len(keys) <= MOST_KEYS for keys in division.keys)
    for n in range(50):
        assert division.shard[n] in division.visited({"x": n + 0.25})
