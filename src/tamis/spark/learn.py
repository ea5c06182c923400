"""What events are like, and how often subscriptions match them.

    events ──a sample──────────────> attributes: presence, distinct values, quantiles, frequent ones
           │                         predicates: how many events each is true of
           └──match──by subscription──> matches

The sample is all that must be kept of events: every figure about them is read off it, and two days
are merged by drawing from both samples, in proportion to the events they stand for.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tamis.engine.engine import Engine
from tamis.errors import StorageError, TamisError
from tamis.model.events.event import Event
from tamis.model.events.readers import read_arrow
from tamis.model.kinds import ORDERED, Kind, Value, kind_of
from tamis.model.paths import Path, format_path
from tamis.predicates.expression import And, Expression, Not, Or, TruthTest
from tamis.spark.columns import (
    EVENTS,
    SUBSCRIPTION_ID,
    arrow_schema,
    check_events,
    form_of,
    quoted,
)
from tamis.spark.index.index import Index, as_keys
from tamis.spark.reading import read_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 10_000
"""Events that are kept."""
QUANTILES, FREQUENT = 10, 10
"""Pieces into which values are cut, and values that are listed with their counts."""
_FORM, _EVENTS = b"tamis.form", b"tamis.events"
_SUBSCRIPTION, _MATCHES = "subscription", "matches"


class Statistics:
    """What ``learn`` found out. ``attributes`` and ``predicates`` are tables of Arrow."""

    def __init__(self, events: int, sample: pa.Table, form: Any, matches: pa.Table) -> None:
        self.events = events
        """How many events there were."""
        self.sample = sample
        """Some of them, each as likely as any other, in the columns they came in."""
        self.form = form
        self.matches = matches
        """``subscription`` and ``matches``: how many events each subscription matched, if any."""

    @cached_property
    def sampled_events(self) -> list[Event]:
        """The events of the sample that can be read."""
        found: list[Event] = []
        engine = Engine()
        for batch in self.sample.to_batches():
            read = read_batch(batch, self.form, engine).events
            found += read if isinstance(read, list) else read_arrow(read)
        return found

    @property
    def attributes(self) -> pa.Table:
        """A row for each attribute and kind of value: ``attribute``, ``kind``, ``presence`` (the
        share of events that have it), ``distinct`` values in the sample, ``quantiles`` of what has
        an order, and the most ``frequent`` values, with the share of events that have each."""
        seen: defaultdict[tuple[Path, Kind], Counter[Value]] = defaultdict(Counter)
        for event in self.sampled_events:
            for path, kind, value in {*_values_of(event.attributes, ())}:
                seen[path, kind][value] += 1
        having: Counter[tuple[Path, Kind]] = Counter()
        for event in self.sampled_events:
            having.update({(path, kind) for path, kind, _ in _values_of(event.attributes, ())})
        count = max(len(self.sampled_events), 1)
        rows = [
            {
                "attribute": format_path(path),
                "kind": str(kind),
                "presence": having[path, kind] / count,
                "distinct": len(values),
                "quantiles": _quantiles(kind, values),
                "frequent": [(_text(v), n / count) for v, n in values.most_common(FREQUENT)],
            }
            for (path, kind), values in sorted(seen.items())
        ]
        return pa.Table.from_pylist(rows, _ATTRIBUTES)

    def predicates(self, subscriptions: Iterable[Expression]) -> pa.Table:
        """A row for each distinct predicate: ``predicate``, its ``popularity`` (how many of these
        subscriptions have it) and its ``selectivity`` (the share of events it is true of)."""
        popularity: Counter[str] = Counter()
        for each in subscriptions:
            popularity.update({str(leaf) for leaf in _leaves(each)})
        engine = Engine()
        names = [*popularity]
        engine.subscribe_many([(str(n), name) for n, name in enumerate(names)])
        true = np.bincount(engine.match_batch(self.sampled_events).slot, minlength=len(names))
        share = true / max(len(self.sampled_events), 1)
        rows = sorted(zip(names, popularity.values(), share.tolist()), key=lambda row: -row[1])
        columns = [list(column) for column in zip(*rows)] or [[], [], []]
        return pa.table(dict(zip(("predicate", "popularity", "selectivity"), columns)))

    def teach(self, index: Index) -> None:
        """Let an index choose its access keys by these events; its file keeps the choice."""
        index.engine.learn(self.sampled_events)
        index.engine.settle()

    def merged(self, other: Statistics) -> Statistics:
        """The statistics of both, as of two days."""
        if other.form != self.form or other.sample.schema.names != self.sample.schema.names:
            raise TamisError("statistics of events in different columns cannot be merged")
        total = max(self.events + other.events, 1)
        ours = min(round(SAMPLE * self.events / total), self.sample.num_rows)
        theirs = min(round(SAMPLE * other.events / total), other.sample.num_rows)
        parts = [_drawn(self.sample, ours), _drawn(other.sample, theirs)]
        both = pa.concat_tables([self.matches, other.matches]).group_by(_SUBSCRIPTION)
        matches = both.aggregate([(_MATCHES, "sum")]).rename_columns([_SUBSCRIPTION, _MATCHES])
        return Statistics(total, pa.concat_tables(parts), self.form, matches)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables as Parquet files to a folder."""
        place = os.fspath(folder)
        os.makedirs(place, exist_ok=True)
        kept = {_FORM: self.form.encode(), _EVENTS: str(self.events).encode()}
        known = self.sample.schema.metadata or {}
        sample = self.sample.replace_schema_metadata({**known, **kept})
        parquet.write_table(sample, os.path.join(place, "sample.parquet"))
        parquet.write_table(self.matches, os.path.join(place, "matches.parquet"))
        parquet.write_table(self.attributes, os.path.join(place, "attributes.parquet"))

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Statistics:
        """Read what was saved."""
        place = os.fspath(folder)
        try:
            sample = parquet.read_table(os.path.join(place, "sample.parquet"))
            matches = parquet.read_table(os.path.join(place, "matches.parquet"))
            kept = sample.schema.metadata or {}
            return cls(int(kept[_EVENTS]), sample, kept[_FORM].decode(), matches)
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise StorageError(f"{place} has no statistics: {error}") from error

    def __repr__(self) -> str:
        return f"Statistics({self.events:,} events, {self.matches.num_rows:,} subscriptions)"


def learn(
    events: DataFrame,
    subscriptions: Any = None,
    *,
    event_id: str = "id",
    column: str | None = None,
    seed: int = 0,
    **options: Any,
) -> Statistics:
    """Learn what events are like and, given ``subscriptions``, how often each of them matches.

    ``subscriptions`` and the options are those of ``match``; matching reads all events. Without
    subscriptions, events are counted and a sample of them is taken. Use the outcome with
    ``Statistics.teach`` for an index, or ``Shards.build(…, statistics=…)``.
    """
    from tamis.spark.match import match

    check_events(events, [event_id, *([column] if column else [])])
    if events.isStreaming:
        raise TamisError("statistics are learned from a table of events, not from a stream")
    form = form_of(events, column)
    names = [column] if column else [name for name in events.columns if name != event_id]
    told = events.select(*map(quoted, names))
    total = events.count()
    chosen = told if total <= SAMPLE else told.sample(min(1.0, 1.2 * SAMPLE / total), seed)
    sample = chosen.limit(SAMPLE).toArrow().cast(arrow_schema(told, EVENTS))
    matches = pa.table({_SUBSCRIPTION: pa.array([], pa.large_string()), _MATCHES: _counts([])})
    if subscriptions is not None:
        found = match(events, subscriptions, event_id=event_id, column=column, **options)
        counts = found.groupBy(SUBSCRIPTION_ID).count().toArrow()
        columns: dict[str, Any] = {_SUBSCRIPTION: as_keys(counts[0]), _MATCHES: counts[1]}
        matches = pa.table(columns)
    return Statistics(total, sample, form, matches)


def _counts(values: Sequence[int]) -> Any:
    return pa.array(values, pa.int64())


_FIELDS: dict[str, Any] = {
    "attribute": pa.string(),
    "kind": pa.string(),
    "presence": pa.float64(),
    "distinct": pa.int64(),
    "quantiles": pa.list_(pa.string()),
    "frequent": pa.map_(pa.string(), pa.float64()),
}
_ATTRIBUTES = pa.schema(_FIELDS)


def _drawn(sample: pa.Table, rows: int) -> pa.Table:
    random = np.random.default_rng(0)
    return sample.take(np.sort(random.choice(sample.num_rows, rows, replace=False)))


def _values_of(node: Any, path: Path) -> Iterable[tuple[Path, Kind, Value]]:
    """The values of an event, each with its path and kind; NaN, of which no two are equal, is not
    among them."""
    if isinstance(node, Mapping):
        for name, inner in node.items():
            yield from _values_of(inner, (*path, name))
    elif isinstance(node, list):
        for inner in node:
            yield from _values_of(inner, path)
    elif node == node:
        yield path, kind_of(node), node


def _quantiles(kind: Kind, values: Counter[Value]) -> list[str]:
    """The values that cut what was seen into pieces of about the same number of events."""
    if kind not in ORDERED:
        return []
    ordered: list[Any] = sorted(values.elements())
    last = len(ordered) - 1
    return [_text(ordered[last * n // QUANTILES]) for n in range(QUANTILES + 1)]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _leaves(node: Expression) -> Iterable[Expression]:
    """The predicates of an expression."""
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _leaves(part)
    elif isinstance(node, Not | TruthTest):
        yield from _leaves(node.part)
    else:
        yield node
