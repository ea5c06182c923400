"""A workload as the algorithms take it, and as the other side of a wire sends and receives it.

    sender                                    receiver
    events -> message (Arrow stream) ------>  matrix of labels, or ranks -> points -> stab
    lists  <------ reply (Arrow stream)       a list of subscriptions for each event

Labels are ranks with room between them, so that a range never looks like an equality, as in the
axes that change (tamis.matching.axes.live).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.sieve import Ranked
from benchmarks.workloads import Workload
from tamis.arrays.types import Labels
from tamis.matching.boxes.layout import Boxes
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.published.boxes import UNBOUNDED
from tamis.published.index import BoxHits

CHECKED = 20
"""Events whose matches are compared with those of the reference scan."""
GAP = 2
"""Labels for a rank."""


class Subject:
    """Subscriptions and events of one experiment; the number of a box is its subscription.

    The last subscriptions may be kept aside, to be added later.
    """

    def __init__(
        self, name: str, boxes: Boxes, ranks: NDArray[np.int32], aside: Boxes | None = None
    ) -> None:
        self.name = name
        self.boxes, self.sides = boxes, sides_of(boxes)
        self.ranks = ranks
        self.labels = np.where(ranks < 0, -1, GAP * ranks.astype(np.int64))
        self.aside = some_boxes(boxes, 0, 0) if aside is None else aside

    @classmethod
    def of(cls, workload: Workload, aside: int = 0) -> Subject:
        """A workload, with so many subscriptions kept aside."""
        boxes, ranks, _ = workload.to_ranks()
        last = len(boxes.owner)
        first = some_boxes(boxes, 0, last - aside)
        kept = some_boxes(boxes, last - aside, last)
        return cls(workload.name, first, ranks[balanced_order(ranks)], kept)

    def beginning(self, subscriptions: int) -> Subject:
        """The first subscriptions, and the events that are checked."""
        count = min(subscriptions, self.subscriptions)
        return Subject(self.name, some_boxes(self.boxes, 0, count), self.ranks[:CHECKED])

    @property
    def subscriptions(self) -> int:
        """How many there are."""
        return len(self.boxes.owner)

    @cached_property
    def sieve(self) -> BoxSieve:
        """The sieve over all subscriptions; no statistics, as an engine has none at first."""
        return BoxSieve(self.boxes)

    @cached_property
    def expected(self) -> list[NDArray[np.int32]]:
        """What the reference scan says of the first events."""
        return self._scan(self.boxes)

    @cached_property
    def expected_aside(self) -> list[NDArray[np.int32]]:
        """The same with the subscriptions that were kept aside."""
        both = zip(self.expected, self._scan(self.aside))
        return [np.concatenate(each) for each in both]

    def _scan(self, boxes: Boxes) -> list[NDArray[np.int32]]:
        scanner = Ranked(boxes, self.ranks).scanner()
        return [np.sort(scanner(point)) for point in self.ranks[:CHECKED]]

    @cached_property
    def matches(self) -> NDArray[np.int64]:
        """The number of matches of each event."""
        counts = self.sieve.count(self.ranks)
        np.testing.assert_array_equal(
            counts[:CHECKED], [len(each) for each in self.expected], "the sieve differs"
        )
        return counts


def balanced_order(ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """An order of events in which every beginning has all sets of attributes alike.

    What an event costs depends first of all on the attributes that it has; with this, a mean over
    few events, for a slow algorithm, is close to one over many.
    """
    _, group = np.unique(ranks >= 0, axis=0, return_inverse=True)
    rng = default_rng(1)
    group = rng.permutation(group.max(initial=0) + 1)[group]
    by_group = np.argsort(group, kind="stable")
    first = np.searchsorted(group[by_group], group[by_group])
    turn = np.empty(len(group), np.int64)
    turn[by_group] = np.arange(len(group)) - first
    return np.lexsort((group, turn))


def sides_of(boxes: Boxes) -> Boxes:
    """Boxes of ranks as boxes of labels, all of one event type; odd ranks are constants."""
    low, high = boxes.low.astype(np.int64), boxes.high.astype(np.int64)
    is_equality = (low == high) & (low % 2 == 1)
    is_open = high == (boxes.size - 1)[boxes.axis]
    high = np.where(is_equality, GAP * high, GAP * high + GAP - 1)
    high[is_open] = UNBOUNDED
    return Boxes(boxes.start, boxes.axis, GAP * low, high, boxes.owner)


def some_boxes(boxes: Boxes, first: int, last: int) -> Boxes:
    """Boxes, from the first up to the last."""
    begin, end = boxes.start[first], boxes.start[last]
    own = slice(begin, end)
    start = boxes.start[first : last + 1] - begin
    sides = boxes.axis[own], boxes.low[own], boxes.high[own]
    return Boxes(start, *sides, boxes.owner[first:last], boxes.size)


def message_of(matrix: NDArray[Any]) -> pa.Buffer:
    """Events, one a row, as an Arrow stream; what is negative is absent."""
    columns: list[pa.Array[Any]] = [pa.array(column, mask=column < 0) for column in matrix.T]
    return _stream(columns, [f"a{a}" for a in range(len(columns))])


def matrix_of(message: pa.Buffer) -> NDArray[Any]:
    """The events of a message; -1 where they are absent."""
    batch = pa.ipc.open_stream(message).read_next_batch()
    dtype = batch.schema.types[0].to_pandas_dtype()
    matrix = np.empty((batch.num_rows, batch.num_columns), dtype, order="F")
    for place, column in enumerate(batch.columns):
        matrix[:, place] = column.fill_null(-1).to_numpy()
    return matrix


def reply_of(chunks: Sequence[BoxHits], events: int) -> pa.Buffer:
    """A list of subscriptions for each event, as an Arrow stream."""
    nothing = np.empty(0, np.int32)
    point = np.concatenate([nothing, *(chunk.point for chunk in chunks)])
    box = np.concatenate([nothing, *(chunk.box for chunk in chunks)])
    offsets = np.searchsorted(point, np.arange(events + 1)).astype(np.int32)
    bounds: Any = pa.array(offsets)
    return _stream([pa.ListArray.from_arrays(bounds, pa.array(box))], ["matches"])


def lists_of(reply: pa.Buffer) -> list[Labels]:
    """The subscriptions of each event, ascending."""
    column: Iterable[Any] = pa.ipc.open_stream(reply).read_next_batch().column(0)
    return [np.sort(np.array(each.as_py(), np.int64)) for each in column]


def _stream(columns: list[Any], names: list[str]) -> pa.Buffer:
    batch = pa.record_batch(columns, names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
