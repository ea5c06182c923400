"""A Tamis broker at both ends of a pipeline: its subscriptions come in, its deliveries go out.

    broker ──subscriptions──▶ pipeline ──matches──▶ broker ──▶ streams, webhooks, long polls

Spark matches what would be too much for one machine; the broker keeps leases and tickets, and
delivers. Both ends use the client (``tamis.client``), and need the key of an administrator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tamis.client import Client, Delivery
from tamis.spark.columns import BINDINGS, ID, SUBSCRIPTION, VERSION, quoted
from tamis.spark.pipeline.sinks.sink import BatchRows

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


def broker_subscriptions(address: str, key: str) -> Callable[[], pa.Table]:
    """A function that reads all subscriptions of a broker that are enabled, for ``Pipeline``."""

    def read() -> pa.Table:
        with Client(address, key=key) as client:
            found = [(each.id, each.text) for each in client.subscriptions() if each.enabled]
        ids = pa.array([id for id, _ in found], pa.string())
        return pa.table({ID: ids, SUBSCRIPTION: pa.array([text for _, text in found], pa.string())})

    return read


@dataclass(frozen=True, slots=True)
class Broker:
    """Delivers matches through a broker, in bulk. A notification has as its event what matches
    carry along (``EventForm.keep``): one column with whole events as JSON, or all of them."""

    address: str
    """where the broker is: "http://127.0.0.1:8080" """
    key: str = field(repr=False)
    """the key of an administrator of the tenant whose subscriptions they are"""
    event: str | None = None
    """the column with whole events as JSON, such as "document" """

    def problems(self) -> Iterator[str]:
        """An address that is none."""
        if not self.address.startswith(("http://", "https://")):
            yield f"address must begin with 'http://' or 'https://', not {self.address!r}"

    def check(self, session: SparkSession) -> Iterator[str]:
        """Nothing can be missing."""
        yield from ()

    def write(self, rows: BatchRows) -> None:
        """Deliver the events of a batch; those that the broker has already change nothing."""
        from pyspark.sql import functions

        event, subscription = map(quoted, rows.key)
        apart = {*rows.key, VERSION, BINDINGS}
        kept = [quoted(name) for name in rows.frame.columns if name not in apart]
        whole = f"to_json(struct({', '.join(kept)}))" if kept else "'{}'"
        if self.event is not None:
            whole = f"CAST({quoted(self.event)} AS STRING)"
        one = rows.frame.selectExpr(
            f"CAST({event} AS STRING) AS id",
            f"CAST({subscription} AS STRING) AS subscription",
            f"{whole} AS event",
        )
        found = one.groupBy("id").agg(
            functions.first("event").alias("event"),
            functions.collect_set("subscription").alias("subscriptions"),
        )
        deliver = _Deliver(self.address, self.key, rows.name)
        found.foreachPartition(deliver)  # type: ignore[arg-type]


class _Deliver(NamedTuple):
    """Delivers the events of a partition, in an executor."""

    address: str
    key: str
    source: str

    def __call__(self, rows: Iterator[Row]) -> None:
        with Client(self.address, key=self.key) as client:
            client.deliver(map(self._delivery, rows))

    def _delivery(self, row: Row) -> Delivery:
        event = json.loads(row["event"])
        return Delivery(row["id"], event, sorted(row["subscriptions"]), self.source)
