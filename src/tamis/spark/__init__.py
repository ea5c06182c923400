"""Tamis on Spark: match a DataFrame or a stream of events against a table of subscriptions."""

from tamis.errors import MissingExtraError

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise MissingExtraError("tamis.spark needs PySpark: pip install 'tamis[spark]'") from error

from tamis.spark.backtest import Backtest, History, backtest
from tamis.spark.compact import Compaction, compact
from tamis.spark.index.index import Index
from tamis.spark.learn import Statistics, learn
from tamis.spark.match import Division, call_statistics, divided, match
from tamis.spark.pipeline import Pipeline
from tamis.spark.progress import Summary, watch
from tamis.spark.schemas import from_spark, to_spark
from tamis.spark.session.session import session_builder
from tamis.spark.shards.shards import Shards
from tamis.spark.snapshots.snapshots import Snapshots
from tamis.spark.sql import register
from tamis.spark.validate import Validated, validate

__all__ = [
    "Backtest",
    "Compaction",
    "Division",
    "History",
    "Index",
    "Pipeline",
    "Shards",
    "Snapshots",
    "Statistics",
    "Summary",
    "Validated",
    "backtest",
    "call_statistics",
    "compact",
    "divided",
    "from_spark",
    "learn",
    "match",
    "register",
    "session_builder",
    "to_spark",
    "validate",
    "watch",
]
