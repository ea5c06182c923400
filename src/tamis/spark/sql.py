"""Match from SQL: a table function for a set of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.errors import TamisError
from tamis.spark.columns import EVENT_ID, SUBSCRIPTION_ID, VERSION, arrow_type, check_present
from tamis.spark.match import compiled
from tamis.spark.snapshots.snapshots import Snapshots
from tamis.spark.worker import MatchTask, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(
    session: SparkSession,
    name: str,
    subscriptions: Any,
    *,
    event_id: str = "id",
    event_id_type: str = "string",
    **settings: Any,
) -> None:
    """Register a table function that matches the rows of a table.

        tamis.spark.register(spark, "alerts", index, event_id="auction", event_id_type="bigint")
        spark.sql("SELECT * FROM alerts(TABLE(auctions))")

    The result has the columns ``event_id``, ``subscription_id`` and ``version``. Spark needs their
    types in advance, so pass ``event_id_type``. ``subscriptions`` may be anything that ``match``
    takes, except ``Snapshots``. The settings are those of ``Index.of``.
    """
    from pyspark.sql.functions import arrow_udtf
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import DataType

    if isinstance(subscriptions, Snapshots):
        raise TamisError("a table function cannot follow Snapshots: pass an Index instead")
    index, source = compiled(session, subscriptions, **settings)
    if index.engine.reads_graphs():
        raise TamisError("a table function sees no graphs: use match(…, graph=…) for patterns")
    id_type = arrow_type(DataType.fromDDL(event_id_type))
    limits = index.engine.limits
    fields = [index.columns.schema.field(each) for each in (SUBSCRIPTION_ID, VERSION)]
    schema = pa.schema([pa.field(EVENT_ID, id_type), *fields])

    class TamisMatch:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            check_present(batch.schema.names, [event_id], "the table")
            names = tuple(batch.schema.names)
            task = MatchTask(source, names, event_id, names, "columns", (), schema, None)
            yield from task.matches(batch, opened(source.path(), limits))

    function: Any = arrow_udtf(TamisMatch, returnType=from_arrow_schema(schema))
    session.udtf.register(name, function)
