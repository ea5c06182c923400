"""A view is of one moment, whatever comes while it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest

import tamis
from tamis import Algorithm
from tamis.engine.registry import ALGORITHMS
from tamis.matching.batch import Batch
from tamis.matching.pairs import Pairs
from tamis.published.frame.matcher import PublishedMatcher
from tamis.published.frame.view import PublishedView
from tests.matching.segments.interleaving import (
    EVENT,
    LISTED,
    PLACES,
    SUBSCRIPTIONS,
    change_everything,
    read_between_changes,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, without the JIT
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
]

Found = list[tuple[int, int]]


def rows_and_slots(found: Iterable[Pairs]) -> Found:
    return sorted(pair for chunk in found for pair in zip(chunk.row.tolist(), chunk.slot.tolist()))


def one_event(view: PublishedView) -> Found:
    return [(0, slot) for slot in sorted(view.match(tamis.Event(EVENT)).slots)]


def one_event_with_lists(view: PublishedView) -> Found:
    return [(0, slot) for slot in sorted(view.match(tamis.Event(LISTED)).slots)]


def events(view: PublishedView) -> Found:
    return rows_and_slots(view.match_batch(Batch([tamis.Event(LISTED), tamis.Event(EVENT)]), None))


def columns(view: PublishedView) -> Found:
    batch = pa.RecordBatch.from_pylist([LISTED, {**LISTED, "c": []}, EVENT])
    return rows_and_slots(view.match_batch(Batch(batch), None))


FAST = os.environ.get("HYPOTHESIS_PROFILE") == "fast"
"""All algorithms make points alike: the fast tests stop only the first one there."""
READERS = [one_event, one_event_with_lists, events, columns]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_changes_at_every_line_of_a_reader(
    name: str, read: Callable[[PublishedView], Found]
) -> None:
    limit = {"nodes": 300} if name == "gough" else {}
    engine = tamis.Engine(matcher=Algorithm(name, **limit))
    engine.subscribe_many(SUBSCRIPTIONS)
    matcher = engine.subscriptions.index.matcher
    assert isinstance(matcher, PublishedMatcher)
    if read is one_event:  # which has a way of its own if boxes say all
        for id in ["text"] if name == "neon" else ["text", "compared", "compared too"]:
            engine.unsubscribe(id)
        assert matcher._state.is_plain
    expected = read(matcher.view())
    assert {slot for _, slot in expected} >= {0, 1, 2, 6, 7, 8}
    view = matcher.view()
    first = name == next(iter(ALGORITHMS))
    found = read_between_changes(
        lambda: read(view),
        lambda n: change_everything(engine, n),
        places=PLACES[:1] if FAST and not first else PLACES,
    )
    assert found == expected
    assert matcher._state.axes is view._state.axes, "nothing has changed that readers share"
