"""The main job: a DataFrame of events, static or streaming, against subscriptions."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import pyarrow as pa

from tamis.engine.engine import Engine
from tamis.errors import RejectedWarning, TamisError, suggestion
from tamis.graphs.reader import FORMATS
from tamis.model.events.arrow_events import check_columns
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.operators.registry import KnownOperators, check_needed
from tamis.spark.calls import CallTask, known_calls, summed
from tamis.spark.columns import (
    BINDINGS,
    EVENT_ID,
    EVENTS,
    REASON,
    SUBSCRIPTION_ID,
    TEXT,
    VERSION,
    arrow_schema,
    check_events,
    check_no_variants,
    check_present,
    form_of,
    quoted,
)
from tamis.spark.index.index import Index
from tamis.spark.index.shipping import Shipment, ship
from tamis.spark.progress import METRIC
from tamis.spark.shards.matching import (
    How,
    check_shardable,
    divided_table,
    is_sharded,
    routed,
)
from tamis.spark.shards.shards import Shards
from tamis.spark.snapshots.snapshots import Snapshots
from tamis.spark.worker import NO_GRAPHS, Batches, MatchTask, OnError, Source, declare

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
    on_error: OnError = "fail",
    graph: str | None = None,
    graph_format: str = "n-triples",
    statistics: DataFrame | None = None,
    how: How = "broadcast",
    shards: int = 8,
    folder: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Match events against subscriptions.

    Returns a DataFrame with one row for each match and the columns ``event_id``,
    ``subscription_id``, ``version``, and those you ask for with ``keep`` (from the events) and
    ``subscription_columns`` (from the subscriptions). If ``events`` is a stream, so is the result.

    Every column of ``events`` is an attribute; structs and lists are nested ones. If one column
    holds whole events, as JSON, a variant, a map or a struct, name it in ``column``. A column of
    RDF documents that are the graphs of the events is named in ``graph``, their format in
    ``graph_format``; ``tamis.spark.graphs`` makes such a column of quads, or of feeds.

    ``subscriptions`` is a DataFrame with the columns ``id``, ``subscription`` and optionally
    ``version``, an ``Index``, an ``Engine``, the path of a saved one, ``Shards``, or ``Snapshots``,
    which may change while a stream runs.

    ``how`` is what becomes of a DataFrame of subscriptions. ``"broadcast"`` compiles one index,
    which every executor gets. ``"shard"`` divides it into so many ``shards`` and writes them to
    ``folder``, a new one that all nodes see; an event goes to the shards that it can match.
    ``"auto"`` shards if the index would be larger than 4 GiB, and logs its decision.

    An event gets at most ``limit`` matches. ``deduplicate`` is a column of timestamps and a delay,
    such as ``("at", "10 minutes")``: only one event with the same id gets through; in a stream,
    the first within the delay.

    ``operators`` are modules that declare operators with ``@tamis.operator``; executors import
    them, so they must be there too. Those of Tamis itself need no module. With ``bindings``, there
    is a column ``bindings``: the values of a subscription's variables, as JSON. ``statistics`` are
    what ``call_statistics`` gave of an earlier run: the order of calls begins with them.

    An event that cannot be read (broken JSON, or beyond a limit) fails the job. With
    ``on_error="skip"`` it has no matches. With ``"collect"`` it becomes a row of the result, whose
    last columns are ``text`` (the event) and ``reason``; of matches, these are null. ``divided``
    separates the two.

    Faulty rows of the table cause a ``RejectedWarning``; ``Index.of(table).rejected`` lists them.
    With ``errors="raise"`` they raise an error. The remaining parameters are those of an engine;
    they apply only if ``subscriptions`` is a DataFrame.
    """
    check_events(events, [event_id, *(each for each in (column, graph) if each), *keep])
    if on_error not in get_args(OnError):
        raise TamisError(f"on_error must be 'fail', 'skip' or 'collect', not {on_error!r}")
    said = () if on_error == "fail" else (TEXT, REASON)
    texts = (*[BINDINGS] * bindings, *said)
    more = (*subscription_columns, *[BINDINGS] * bindings)
    _check_result(keep, (*more, *said), limit)
    declare(operators)
    if isinstance(subscriptions, Snapshots) and not events.isStreaming:
        subscriptions = subscriptions.file
    known = None if statistics is None else known_calls(statistics)
    settings: dict[str, Any] = {
        "columns": subscription_columns,
        "errors": errors,
        "schema": schema,
        "taxonomy": taxonomy,
        "prefixes": prefixes,
        "limits": limits,
        "operators": operators,
    }
    if is_sharded(subscriptions, how):
        subscriptions = divided_table(subscriptions, folder, shards, settings, known)
    if isinstance(subscriptions, Shards):
        check_shardable(subscriptions, limit)
        source: Source = ship(events.sparkSession, subscriptions.router)
        facts = Facts.of_shards(subscriptions)
    else:
        index, source = compiled(events.sparkSession, subscriptions, known=known, **settings)
        facts = Facts.of_index(index, changing=isinstance(subscriptions, Snapshots))
    check_needed(facts.operators, KnownOperators(), "the index")
    check_present(facts.columns.names, subscription_columns, "the index")
    attributes = _attributes(events, column, facts.attributes, graph)
    graphs = None
    if facts.reads_graphs is not False:
        graphs = _graphs(events, graph, graph_format, required=facts.reads_graphs is True)
    if deduplicate is not None:
        events = _deduplicated(events, event_id, deduplicate)
    needed = tuple(dict.fromkeys([*attributes, event_id, *keep, *([graphs[0]] if graphs else [])]))
    task = MatchTask(
        source,
        needed,
        event_id,
        tuple(attributes),
        form_of(events, column),
        tuple(keep),
        _schema(events, needed, event_id, keep, facts.columns, subscription_columns, texts),
        limit,
        facts.limits,
        tuple(operators),
        bindings,
        on_error,
        graphs,
    )
    found = _mapped(events, task, subscriptions if isinstance(subscriptions, Shards) else None)
    if on_error == "skip":
        found, said = found.where(found[REASON].isNull()), ()
    return found.select(EVENT_ID, SUBSCRIPTION_ID, VERSION, *map(quoted, (*keep, *more)), *said)


def call_statistics(
    events: DataFrame,
    subscriptions: Any,
    *,
    event_id: str = "id",
    column: str | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    taxonomy: Taxonomies | TaxonomyLike | None = None,
    prefixes: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
    operators: Sequence[str] = (),
    graph: str | None = None,
    graph_format: str = "n-triples",
) -> DataFrame:
    """What matching events tells of operator calls, for ``match(…, statistics=…)``.

    Returns a DataFrame with one row for each distinct call: ``call`` with the version of its
    operator, ``true_results`` and ``results`` (of each task at most the last thousand count), and
    the ``seconds`` of a call of its operator and of its set-up. It makes the calls: give it a
    sample of your events. The parameters are those of ``match``.
    """
    check_events(events, [event_id, *(each for each in (column, graph) if each)])
    if events.isStreaming:
        raise TamisError("statistics are made of a table of events, not of a stream")
    declare(operators)
    if isinstance(subscriptions, Snapshots):
        subscriptions = subscriptions.file
    index, source = compiled(
        events.sparkSession,
        subscriptions,
        schema=schema,
        taxonomy=taxonomy,
        prefixes=prefixes,
        limits=limits,
        operators=operators,
    )
    facts = Facts.of_index(index, changing=False)
    check_needed(facts.operators, KnownOperators(), "the index")
    attributes = _attributes(events, column, facts.attributes, graph)
    graphs = None
    if index.engine.reads_graphs():
        graphs = _graphs(events, graph, graph_format, required=True)
    needed = tuple(dict.fromkeys([*attributes, event_id, *([graphs[0]] if graphs else [])]))
    task = MatchTask(
        source, needed, event_id, tuple(attributes), form_of(events, column), (),
        _schema(events, needed, event_id, (), facts.columns, (), ()), None, facts.limits,
        tuple(operators), graph=graphs,
    )  # fmt: skip
    return summed(_numbered(events, task), CallTask(task))


class Division(NamedTuple):
    """Matches and rejected events; cache what you divide if you use both, or Spark computes it
    twice."""

    matches: DataFrame
    """The matches, without text and reason."""
    rejected: DataFrame
    """The events that could not be read, with ``event_id``, ``text`` and ``reason``, and the
    columns of events that were kept."""


def divided(found: DataFrame, keep: Sequence[str] = ()) -> Division:
    """Divide what ``match(…, on_error="collect")`` found; ``keep`` is what was given there."""
    check_present(found.columns, [EVENT_ID, TEXT, REASON, *keep], "the result")
    reason = found[REASON]
    return Division(
        found.where(reason.isNull()).drop(TEXT, REASON),
        found.where(reason.isNotNull()).select(EVENT_ID, *map(quoted, keep), TEXT, REASON),
    )


def _schema(
    events: DataFrame,
    needed: Sequence[str],
    event_id: str,
    keep: Sequence[str],
    theirs: pa.Schema,
    columns: Sequence[str],
    texts: Sequence[str],
) -> pa.Schema:
    """The columns that a worker returns: those of the event, those of the subscription, texts."""
    types = arrow_schema(events.select(*map(quoted, needed)), EVENTS)
    return pa.schema(
        [
            pa.field(EVENT_ID, types.field(event_id).type),
            *(types.field(name) for name in keep),
            *(theirs.field(name) for name in (SUBSCRIPTION_ID, VERSION, *columns)),
            *(pa.field(name, pa.string()) for name in texts),
        ]
    )


class Facts(NamedTuple):
    """What must be known of subscriptions before events meet them."""

    columns: pa.Schema
    attributes: frozenset[str] | None
    """The attributes they speak of; None if any may matter."""
    reads_graphs: bool | None
    """Whether some have graph patterns; None if some may, later."""
    operators: Mapping[str, str]
    limits: Limits

    @classmethod
    def of_index(cls, index: Index, *, changing: bool) -> Facts:
        """Those of an index, whose subscriptions may change."""
        engine = index.engine
        return cls(
            index.columns.schema,
            None if changing else engine.attributes(),
            None if changing else engine.reads_graphs(),
            engine.needed_operators(),
            engine.limits,
        )

    @classmethod
    def of_shards(cls, shards: Shards) -> Facts:
        """Those of all shards."""
        return cls(shards.schema, shards.attributes, False, shards.operators, shards.limits)


def _mapped(events: DataFrame, task: MatchTask, shards: Shards | None = None) -> DataFrame:
    """What a task finds; if it is a stream, Spark counts matches and rejected events."""
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import from_arrow_schema

    def tamis_match(batches: Batches) -> Batches:
        return task(batches)

    numbered = _numbered(events, task)
    if shards is None:
        found = numbered.mapInArrow(tamis_match, from_arrow_schema(task.schema))
    else:
        found = routed(numbered, task, shards)
    if events.isStreaming:
        reason = functions.lit(None) if task.on_error == "fail" else functions.col(REASON)
        matches = functions.count_if(reason.isNull()).alias("matches")
        rejected = functions.count_if(reason.isNotNull()).alias("rejected")
        found = found.observe(f"{METRIC}_{secrets.token_hex(4)}", matches, rejected)
    return found


def _numbered(events: DataFrame, task: MatchTask) -> DataFrame:
    """The columns of a task, renamed: mapInArrow reads a dot in a name as a step into a struct."""
    from pyspark.sql import functions

    return events.select(
        *(functions.col(quoted(name)).alias(f"c{n}") for n, name in enumerate(task.columns))
    )


def _check_result(keep: Sequence[str], columns: Sequence[str], limit: int | None) -> None:
    taken = [EVENT_ID, SUBSCRIPTION_ID, VERSION]
    for name in (*keep, *columns):
        if name in taken:
            raise TamisError(f"matches already have a column {name!r}: rename or drop the other")
        taken.append(name)
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise TamisError(f"limit must be a number of matches, not {limit!r}")


def compiled(
    session: SparkSession,
    subscriptions: Any,
    *,
    known: Mapping[str, Any] | None = None,
    **settings: Any,
) -> tuple[Index, Source]:
    """The compiled subscriptions, and the place where executors find them; ``known`` is what is
    known of calls."""
    if known is not None and isinstance(subscriptions, Snapshots | str | os.PathLike):
        raise TamisError(
            "statistics go with a DataFrame, an Index or an Engine: a file has its own; for a "
            "saved index, give Index.open(path)"
        )
    if isinstance(subscriptions, Snapshots):
        return subscriptions.index, subscriptions.source()
    if isinstance(subscriptions, Shipment):
        return subscriptions.index, subscriptions.source
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
    if known is not None:
        subscriptions.engine.learn_calls(known)
    return subscriptions, ship(session, subscriptions)


def _graphs(
    events: DataFrame, name: str | None, format: str, *, required: bool
) -> tuple[str, str] | None:
    """The column of RDF documents and their format."""
    from pyspark.sql.types import BinaryType, StringType

    if name is None:
        if required:
            raise TamisError(NO_GRAPHS)
        return None
    kind = events.schema[name].dataType
    if not isinstance(kind, StringType | BinaryType):
        raise TamisError(
            f"column {name!r} is of type {kind.simpleString()}: RDF documents are texts or bytes"
        )
    if format not in FORMATS:
        hint = suggestion(str(format), FORMATS) or "known are " + ", ".join(FORMATS)
        raise TamisError(f"unknown format {format!r:.50} of graphs; {hint}")
    return name, format


def _attributes(
    events: DataFrame, column: str | None, asked: frozenset[str] | None, graph: str | None
) -> Sequence[str]:
    """The columns that workers need: those that subscriptions ask for, or all if any may matter.

    Checks their types, so that you learn of unsupported ones before the job starts.
    """
    if column is not None:
        form_of(events, column)
        names = [column]
    else:
        columns = [name for name in events.columns if name != graph]
        names = [name for name in columns if asked is None or name in asked]
        check_no_variants(events, names)
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
