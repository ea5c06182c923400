"""The sinks by the names that files of pipelines use."""

from __future__ import annotations

from tamis.spark.pipeline.sinks.broker import Broker
from tamis.spark.pipeline.sinks.delta import Delta
from tamis.spark.pipeline.sinks.files import Json, Parquet
from tamis.spark.pipeline.sinks.jdbc import Jdbc
from tamis.spark.pipeline.sinks.kafka import Kafka
from tamis.spark.pipeline.sinks.simple import Call, Console
from tamis.spark.pipeline.sinks.webhook import Webhook

SINKS: dict[str, type] = {
    "parquet": Parquet,
    "json": Json,
    "kafka": Kafka,
    "jdbc": Jdbc,
    "webhook": Webhook,
    "delta": Delta,
    "broker": Broker,
    "call": Call,
    "console": Console,
}
