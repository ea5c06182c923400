"""A topic of Kafka: the key of a record identifies its row, so that readers can drop repeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tamis.spark.columns import quoted
from tamis.spark.pipeline.libraries import SERVERS, missing_format, unavailable_kafka
from tamis.spark.pipeline.settings import Options
from tamis.spark.pipeline.sinks.sink import BatchRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic; a record's key is the JSON list of event and subscription, its value the row."""

    topic: str
    """the topic, which must exist unless the broker makes topics by itself"""
    options: Options = field(default_factory=dict)
    """options of Spark's Kafka writer; "kafka.bootstrap.servers" is needed"""

    def problems(self) -> Iterator[str]:
        """Options that are missing."""
        if SERVERS not in self.options:
            yield f"options need {SERVERS!r}, such as 'localhost:9092'"

    def check(self, session: SparkSession) -> Iterator[str]:
        """The connector may be missing, or the server unavailable."""
        missing = [*missing_format(session, "kafka")]
        yield from missing or unavailable_kafka(session, self.options)

    def write(self, rows: BatchRows) -> None:
        """Append the records of a batch; a batch that is run again appends the same ones."""
        keys = ", ".join(f"CAST({quoted(name)} AS STRING)" for name in rows.key)
        records = rows.frame.selectExpr(
            f"to_json(array({keys})) AS key", "to_json(struct(*)) AS value"
        )
        writer = records.write.format("kafka").options(**self.options)
        writer.option("topic", self.topic).save()
