"""Whether subscriptions are divided into shards, and the plan by which events reach them."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from tamis.errors import RejectedWarning, TamisError
from tamis.spark.columns import SUBSCRIPTION, check_present
from tamis.spark.index.building import TABLE
from tamis.spark.index.index import complaint
from tamis.spark.index.shipping import is_remote
from tamis.spark.shards.routing import PARTITION, SENT, RouteTask, ShardTask
from tamis.spark.shards.shards import Shards
from tamis.spark.worker import Batches, MatchTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

How = Literal["broadcast", "shard", "auto"]
"""What becomes of a DataFrame of subscriptions."""
BROADCAST = 4 << 30
"""The bytes of an index up to which ``auto`` broadcasts it."""
_EACH = 60
"""The bytes that a subscription takes in an index besides its text, of W2 and W5."""
_LOG = logging.getLogger("tamis")


def is_sharded(subscriptions: Any, how: str) -> bool:
    """Whether a table of subscriptions is to be divided into shards."""
    if how not in get_args(How):
        raise TamisError(f"how must be 'broadcast', 'shard' or 'auto', not {how!r}")
    if isinstance(subscriptions, Shards) or how == "broadcast":
        return False
    if not hasattr(subscriptions, "mapInArrow"):
        if how == "auto":
            return False
        raise TamisError(
            f"how='shard' divides a DataFrame, not {type(subscriptions).__name__}; "
            "or pass Shards that you have built"
        )
    return how == "shard" or _is_large(subscriptions)


def _is_large(subscriptions: DataFrame) -> bool:
    """Whether the index of a table would be too large to broadcast."""
    from pyspark.sql import functions as F  # noqa: N812

    check_present(subscriptions.columns, [SUBSCRIPTION], TABLE)
    row = subscriptions.agg(F.count(F.lit(1)), F.sum(F.octet_length(SUBSCRIPTION))).first()
    assert row is not None
    size: int = row[0] * _EACH + (row[1] or 0)
    is_large = size > BROADCAST
    said = "more than" if is_large else "at most"
    what = "they are divided into shards" if is_large else "every executor gets them all"
    _LOG.log(
        logging.WARNING if is_large else logging.INFO,
        "%s subscriptions take about %s MiB, %s the %s MiB of a broadcast: %s",
        f"{row[0]:,}", f"{size >> 20:,}", said, f"{BROADCAST >> 20:,}", what,
    )  # fmt: skip
    return is_large


def divided_table(
    subscriptions: DataFrame,
    folder: str | os.PathLike[str] | None,
    count: int,
    settings: Mapping[str, Any],
    known: Mapping[str, Any] | None,
) -> Shards:
    """The shards of a table."""
    if folder is None:
        raise TamisError("how='shard' needs a folder for the shards: a new one that all nodes see")
    if known is not None:
        raise TamisError("statistics of calls go with how='broadcast'")
    shards = Shards.build(subscriptions, folder, count=count, **settings)
    if shards.rejected.num_rows:
        warnings.warn(complaint(shards.rejected), RejectedWarning, stacklevel=4)
    return shards


def check_shardable(shards: Shards, limit: int | None) -> None:
    """Refuse what shards cannot do."""
    if limit is not None:
        raise TamisError(
            "limit= counts the matches of an event in one index: with shards, limit the result "
            "by a window over event_id"
        )
    if shards.reads_graphs:
        raise TamisError("subscriptions with graph patterns cannot be sharded: broadcast them")


def routed(events: DataFrame, task: MatchTask, shards: Shards) -> DataFrame:
    """What a task finds in the shards that each event visits."""
    from pyspark.sql.pandas.types import from_arrow_schema

    count = len(shards.sizes)
    several = -(-_parallelism(events) // count)
    route = RouteTask(task, shards.always, several)
    search = ShardTask(task, shards.folder)

    def tamis_route(batches: Batches) -> Batches:
        return route(batches)

    def tamis_match(batches: Batches) -> Batches:
        return search(batches)

    sent = events.mapInArrow(tamis_route, SENT).repartitionById(count * several, PARTITION)
    return sent.mapInArrow(tamis_match, from_arrow_schema(task.schema))


def _parallelism(events: DataFrame) -> int:
    """The tasks that run at the same time, as far as a session knows."""
    session = events.sparkSession
    return 1 if is_remote(session) else session.sparkContext.defaultParallelism
