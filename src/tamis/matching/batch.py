"""A batch of events as matchers take it: Arrow's columns where there are any, and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from tamis.errors import EventError
from tamis.model.events.event import Event
from tamis.model.events.readers import read_arrow, read_events
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS, Limits

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamis.model.rdf_terms import RdfTriple
    from tamis.model.schema.schema import Schema

ROWS = 1 << 16
"""Events in one batch."""


class GraphColumn(Protocol):
    """The graphs of some events, which are read when somebody asks for one."""

    def __len__(self) -> int:
        """How many events there are."""

    def slice(self, start: int, stop: int) -> GraphColumn:
        """Those of some of the events."""

    def take(self, rows: NDArray[np.int64]) -> GraphColumn:
        """Copies of some."""

    def graph(self, row: int) -> frozenset[RdfTriple] | None:
        """The graph of an event, if it has one."""


class Batch:
    """Events that are matched together: a record batch of Arrow, or a list of events; ``graphs``
    are those of the events, if these do not carry their own."""

    def __init__(
        self,
        source: pa.RecordBatch | Sequence[Event],
        limits: Limits = LIMITS,
        graphs: GraphColumn | None = None,
    ) -> None:
        self.graphs = graphs
        self._limits = limits
        self._events: Sequence[Event] | None = None
        self._plain: tuple[int, Event] | None = None
        self._last: tuple[int, Event] | None = None
        self.table: pa.RecordBatch | None = None
        if isinstance(source, Sequence):
            self._events = source
        else:
            self.table = source

    def __len__(self) -> int:
        return self.table.num_rows if self.table is not None else len(self.events())

    def slice(self, start: int, stop: int) -> Batch:
        """Some of the rows."""
        graphs = None if self.graphs is None else self.graphs.slice(start, stop)
        if self.table is not None:
            return Batch(self.table.slice(start, stop - start), self._limits, graphs)
        return Batch(self.events()[start:stop], self._limits, graphs)

    def parts(self, most: int) -> Iterator[tuple[int, Batch]]:
        """The batch in parts of at most some rows, each with its first row."""
        if len(self) <= most:
            yield 0, self
            return
        for start in range(0, len(self), most):
            yield start, self.slice(start, min(start + most, len(self)))

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """Copies of some rows; as events, where Arrow cannot take from its columns."""
        import pyarrow as pa

        if self.table is not None:
            graphs = None if self.graphs is None else self.graphs.take(rows)
            try:
                return Batch(self.table.take(rows), self._limits, graphs)
            except pa.ArrowException:
                pass
        return Batch([self.event(row) for row in rows.tolist()], self._limits)

    def events(self) -> Sequence[Event]:
        """All events of the batch, without the graphs of the column."""
        if self._events is None:
            assert self.table is not None
            self._events = list(read_arrow(self.table, self._limits))
        return self._events

    def event(self, row: int) -> Event:
        """One event of the batch, with its graph."""
        if self.graphs is None:
            return self.plain_event(row)
        if self._last is None or self._last[0] != row:
            self._last = row, self.plain_event(row).with_graph(self.graphs.graph(row))
        return self._last[1]

    def plain_event(self, row: int) -> Event:
        """One event of the batch, without the graph of the column."""
        if self._events is not None:
            return self._events[row]
        assert self.table is not None
        if self._plain is None or self._plain[0] != row:
            self._plain = row, next(read_arrow(self.table.slice(row, 1), self._limits))
        return self._plain[1]


def with_graphs(
    several: Iterable[Batch], graphs: GraphColumn, limits: Limits = LIMITS
) -> Iterator[Batch]:
    """Batches whose events, all together, have these graphs."""
    start = 0
    for batch in several:
        stop = start + len(batch)
        if stop > len(graphs):
            break
        source = batch.events() if batch.table is None else batch.table
        yield Batch(source, limits, graphs.slice(start, stop))
        start = stop
    else:
        if start == len(graphs):
            return
    raise EventError(f"there are {len(graphs):,} graphs, which is not as many as events")


def batches(source: Any, limits: Limits = LIMITS, schema: Schema | None = None) -> Iterator[Batch]:
    """Anything that holds events, in batches; a schema tells which strings are timestamps."""
    columns = _arrow_batches(source)
    if columns is not None:
        for table in columns:
            for start in range(0, table.num_rows, ROWS):
                yield _typed(_valid(Batch(table.slice(start, ROWS), limits)), limits, schema)
        return
    events = read_events(source, limits, schema=schema)
    while part := list(islice(events, ROWS)):
        yield Batch(part, limits)


def _typed(batch: Batch, limits: Limits, schema: Schema | None) -> Batch:
    """The batch with its timestamps, in columns if they can be read whole."""
    if schema is None or not schema.paths(Kind.TIMESTAMP):
        return batch
    from tamis.model.schema.arrow_coercion import typed_columns

    assert batch.table is not None
    table, complete = typed_columns(batch.table, schema)
    if complete:
        return Batch(table, limits)
    return Batch([schema.typed(event) for event in batch.events()], limits)


def _valid(batch: Batch) -> Batch:
    """The batch, unless its offsets lead outside of its buffers."""
    import pyarrow as pa

    assert batch.table is not None
    try:
        batch.table.validate()
    except pa.ArrowInvalid as error:
        raise EventError(f"invalid Arrow data: {error}") from error
    return batch


def _arrow_batches(source: Any) -> Iterable[pa.RecordBatch] | None:
    """The record batches of Arrow data; None if the source is none."""
    if type(source).__module__.split(".")[0] != "pyarrow":
        return None
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        return [source]
    if isinstance(source, pa.Table):
        return source.to_batches()
    return source if isinstance(source, pa.RecordBatchReader) else None
