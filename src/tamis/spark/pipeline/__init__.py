"""Pipelines: from where events come from to where matches are needed, each match once."""

from tamis.spark.pipeline.batches import BatchReport
from tamis.spark.pipeline.configuration import Configuration, read_configuration
from tamis.spark.pipeline.events import EventForm, EventSource
from tamis.spark.pipeline.feeds import SubscriptionSource
from tamis.spark.pipeline.pipeline import Pipeline
from tamis.spark.pipeline.run import Run
from tamis.spark.pipeline.settings import PipelineError
from tamis.spark.pipeline.sinks.broker import Broker, broker_subscriptions
from tamis.spark.pipeline.sinks.catalogue import SINKS
from tamis.spark.pipeline.sinks.delta import Delta
from tamis.spark.pipeline.sinks.files import Json, Parquet
from tamis.spark.pipeline.sinks.jdbc import Jdbc
from tamis.spark.pipeline.sinks.kafka import Kafka
from tamis.spark.pipeline.sinks.simple import Call, Console
from tamis.spark.pipeline.sinks.sink import BatchRows, Sink
from tamis.spark.pipeline.sinks.webhook import Webhook
from tamis.spark.pipeline.throttle import Throttle

__all__ = [
    "SINKS",
    "BatchReport",
    "BatchRows",
    "Broker",
    "Call",
    "Configuration",
    "Console",
    "Delta",
    "EventForm",
    "EventSource",
    "Jdbc",
    "Json",
    "Kafka",
    "Parquet",
    "Pipeline",
    "PipelineError",
    "Run",
    "Sink",
    "SubscriptionSource",
    "Throttle",
    "Webhook",
    "broker_subscriptions",
    "read_configuration",
]
