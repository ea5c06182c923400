"""Metrics of a pipeline for Prometheus, by HTTP on the driver."""

from __future__ import annotations

from typing import Any

from tamis.errors import MissingExtraError, TamisError
from tamis.spark.pipeline.batches import BatchReport


class Metrics:
    """Counts what micro-batches did, and serves it on a port within a ``with`` block.

    Port 0 takes any that is free; ``port`` tells which.
    """

    def __init__(self, pipeline: str, port: int = 0) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError as error:
            raise MissingExtraError(
                "metrics need prometheus-client: pip install 'tamis[spark]'"
            ) from error
        self.port = port
        self._registry = CollectorRegistry()
        self._server: Any = None
        self._thread: Any = None

        def made(kind: Any, name: str, text: str, *labels: str) -> Any:
            names = ("pipeline", *labels)
            metric = kind(f"tamis_pipeline_{name}", text, names, registry=self._registry)
            return metric if labels else metric.labels(pipeline)

        self._name = pipeline
        self._events = made(Counter, "events", "events read")
        self._matches = made(Counter, "matches", "matches found")
        self._throttled = made(Counter, "throttled_matches", "matches that were held back")
        self._rejected = made(Counter, "rejected_events", "events that were rejected")
        self._batches = made(Counter, "batches", "micro-batches done")
        self._seconds = made(Histogram, "batch_seconds", "duration of micro-batches")
        self._steps = made(Counter, "step_seconds", "time spent in each step", "step")
        self._behind = made(Gauge, "behind_records", "records of Kafka not read yet")
        self._version = made(Gauge, "subscriptions_version", "version of the subscriptions")
        self._subscriptions = made(Gauge, "subscriptions", "subscriptions of this version")
        self._unserved = made(
            Gauge, "unserved_subscriptions", "subscriptions without an access key: all events pay"
        )
        self._expected = made(
            Gauge, "expected_nanoseconds", "what an event pays for an access key", "access_key"
        )
        self._last = made(Gauge, "last_batch_timestamp_seconds", "when the last batch began")

    def tell(self, report: BatchReport) -> None:
        """Count a micro-batch."""
        self._events.inc(report.events)
        self._matches.inc(report.matches)
        self._throttled.inc(report.throttled)
        self._rejected.inc(report.rejected)
        self._batches.inc()
        self._seconds.observe(report.seconds)
        for step, seconds in report.times.items():
            self._steps.labels(self._name, step).inc(seconds)
        if report.behind is not None:
            self._behind.set(report.behind)
        self._version.set(report.version)
        self._subscriptions.set(report.subscriptions)
        self._unserved.set(report.expensive.unserved_count)
        self._expected.clear()
        for each in report.expensive.by_key:
            self._expected.labels(self._name, each.access_key).set(each.nanoseconds)
        self._last.set(report.at)

    def __enter__(self) -> Metrics:
        from prometheus_client import start_http_server

        try:
            self._server, self._thread = start_http_server(self.port, registry=self._registry)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise TamisError(f"cannot serve metrics on port {self.port}: {reason}") from error
        self.port = self._server.server_port
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
