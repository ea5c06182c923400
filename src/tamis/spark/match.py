"""The main job: a DataFrame of events, static or streaming, against subscriptions."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tamis.engine.engine import Engine
from tamis.errors import RejectedWarning, TamisError
from tamis.model.events.arrow_events import check_columns
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.operators.registry import KnownOperators, check_needed
from tamis.spark.columns import (
    BINDINGS,
    EVENT_ID,
    EVENTS,
    SUBSCRIPTION_ID,
    VERSION,
    arrow_schema,
    check_events,
    check_packed,
    check_present,
    quoted,
)
from tamis.spark.index.index import Index
from tamis.spark.index.shipping import ship
from tamis.spark.progress import METRIC
from tamis.spark.snapshots.snapshots import Snapshots
from tamis.spark.worker import Batches, MatchTask, Source, declare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def match(
    events: DataFrame,
    subscriptions: Any,
    *,
    event_id: str = "id",
    column: str | None = None,
    keep: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    limit: int | None = None,
    deduplicate: tuple[str, str] | None = None,
    errors: Literal["raise", "collect"] = "collect",
    schema: Schema | Mapping[str, Any] | None = None,
    taxonomy: Taxonomies | TaxonomyLike | None = None,
    prefixes: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
    operators: Sequence[str] = (),
    bindings: bool = False,
) -> DataFrame:
    """Match events against subscriptions.

    Returns a DataFrame with one row for each match and the columns ``event_id``,
    ``subscription_id``, ``version``, and those you ask for with ``keep`` (from the events) and
    ``subscription_columns`` (from the subscriptions). If ``events`` is a stream, so is the result.

    Every column of ``events`` is an attribute; structs and lists are nested ones. If one column
    holds whole events, as JSON, a map or a struct, name it in ``column``.

    ``subscriptions`` is a DataFrame with the columns ``id``, ``subscription`` and optionally
    ``version``, an ``Index``, an ``Engine``, the path of a saved one, or ``Snapshots``, which may
    change while a stream runs.

    An event gets at most ``limit`` matches. ``deduplicate`` is a column of timestamps and a delay,
    such as ``("at", "10 minutes")``: only one event with the same id gets through; in a stream,
    the first within the delay.

    ``operators`` are modules that declare operators with ``@tamis.operator``; executors import
    them, so they must be there too. Those of Tamis itself need no module. With ``bindings``, there
    is a last column ``bindings``: the values of a subscription's variables, as JSON.

    Faulty rows of the table cause a ``RejectedWarning``; ``Index.of(table).rejected`` lists them.
    With ``errors="raise"`` they raise an error. The remaining parameters are those of an engine;
    they apply only if ``subscriptions`` is a DataFrame.
    """
    check_events(events, [event_id, *([column] if column else []), *keep])
    _check_result(keep, [*subscription_columns, *[BINDINGS] * bindings], limit)
    declare(operators)
    if isinstance(subscriptions, Snapshots) and not events.isStreaming:
        subscriptions = subscriptions.file
    index, source = compiled(
        events.sparkSession,
        subscriptions,
        columns=subscription_columns,
        errors=errors,
        schema=schema,
        taxonomy=taxonomy,
        prefixes=prefixes,
        limits=limits,
        operators=operators,
    )
    check_needed(index.engine.needed_operators(), KnownOperators(), "the index")
    check_present(index.columns.column_names, subscription_columns, "the index")
    attributes = _attributes(events, column, index, isinstance(subscriptions, Snapshots))
    if deduplicate is not None:
        events = _deduplicated(events, event_id, deduplicate)
    needed = tuple(dict.fromkeys([*attributes, event_id, *keep]))
    task = MatchTask(
        source,
        needed,
        event_id,
        tuple(attributes),
        column is not None,
        tuple(keep),
        _schema(events, needed, event_id, keep, index, subscription_columns, bindings),
        limit,
        index.engine.limits,
        tuple(operators),
        bindings,
    )
    found = _mapped(events, task)
    more = map(quoted, (*keep, *subscription_columns, *[BINDINGS] * bindings))
    return found.select(EVENT_ID, SUBSCRIPTION_ID, VERSION, *more)


def _schema(
    events: DataFrame,
    needed: Sequence[str],
    event_id: str,
    keep: Sequence[str],
    index: Index,
    columns: Sequence[str],
    bindings: bool,
) -> pa.Schema:
    """The columns that a worker returns: those of the event, then those of the subscription."""
    types = arrow_schema(events.select(*map(quoted, needed)), EVENTS)
    theirs = index.columns.schema
    return pa.schema(
        [
            pa.field(EVENT_ID, types.field(event_id).type),
            *(types.field(name) for name in keep),
            *(theirs.field(name) for name in (SUBSCRIPTION_ID, VERSION, *columns)),
            *[pa.field(BINDINGS, pa.string())] * bindings,
        ]
    )


def _mapped(events: DataFrame, task: MatchTask) -> DataFrame:
    """The matches of a task; if they are a stream, Spark counts them."""
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import from_arrow_schema

    def tamis_match(batches: Batches) -> Batches:
        return task(batches)

    # Rename the columns, because mapInArrow reads a dot in a name as a step into a struct.
    numbered = [functions.col(quoted(name)).alias(f"c{n}") for n, name in enumerate(task.columns)]
    found = events.select(*numbered).mapInArrow(tamis_match, from_arrow_schema(task.schema))
    if events.isStreaming:
        count = functions.count(functions.lit(1)).alias("matches")
        found = found.observe(f"{METRIC}_{secrets.token_hex(4)}", count)
    return found


def _check_result(keep: Sequence[str], columns: Sequence[str], limit: int | None) -> None:
    taken = [EVENT_ID, SUBSCRIPTION_ID, VERSION]
    for name in (*keep, *columns):
        if name in taken:
            raise TamisError(f"matches already have a column {name!r}: rename or drop the other")
        taken.append(name)
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise TamisError(f"limit must be a number of matches, not {limit!r}")


def compiled(session: SparkSession, subscriptions: Any, **settings: Any) -> tuple[Index, Source]:
    """The compiled subscriptions, and the place where executors find them."""
    if isinstance(subscriptions, Snapshots):
        return subscriptions.index, subscriptions.source()
    if isinstance(subscriptions, str | os.PathLike):
        return Index.open(subscriptions), ship(session, subscriptions)
    if isinstance(subscriptions, Engine):
        subscriptions = Index(subscriptions)
    if hasattr(subscriptions, "mapInArrow"):
        if subscriptions.isStreaming:
            raise TamisError("a stream cannot hold subscriptions: if they change, use Snapshots")
        subscriptions = Index.of(subscriptions, **settings)
        if subscriptions.rejected.num_rows:
            warnings.warn(subscriptions.complaint(), RejectedWarning, stacklevel=3)
    if not isinstance(subscriptions, Index):
        raise TamisError(
            "subscriptions must be a Spark DataFrame, an Index, an Engine, the path of a saved one "
            f"or Snapshots, not {type(subscriptions).__name__}"
        )
    return subscriptions, ship(session, subscriptions)


def _attributes(
    events: DataFrame, column: str | None, index: Index, changing: bool
) -> Sequence[str]:
    """The columns that workers need: those that subscriptions use, or all if these may change.

    Checks their types, so that you learn of unsupported ones before the job starts.
    """
    if column is not None:
        check_packed(events, column)
        names = [column]
    else:
        asked = None if changing else index.engine.attributes()
        names = [name for name in events.columns if asked is None or name in asked]
    schema = arrow_schema(events.select(*map(quoted, names)), EVENTS)
    check_columns(schema.names, schema.types)
    return names


def _deduplicated(events: DataFrame, event_id: str, within: tuple[str, str]) -> DataFrame:
    if isinstance(within, str) or len(within) != 2:
        raise TamisError(
            "deduplicate must be a column of timestamps and a delay, such as ('at', '10 minutes')"
        )
    time, delay = within
    check_present(events.columns, [time], EVENTS)
    if not events.isStreaming:
        return events.dropDuplicates([event_id])
    return events.withWatermark(time, delay).dropDuplicatesWithinWatermark([event_id])
