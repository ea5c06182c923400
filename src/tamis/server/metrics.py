"""Numbers for Prometheus: requests by operation and status, and what the broker counts itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from tamis.broker import Broker
    from tamis.server.streams import Streams

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self, broker: Broker, streams: Streams) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_BrokerCollector(broker, streams))
        self._requests = Counter(
            "tamis_http_requests",
            "Requests by operation and status.",
            ("operation", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "tamis_http_request_seconds",
            "How long requests took; streams are not among them.",
            ("operation",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._events = Counter(
            "tamis_http_events", "Events that were taken over HTTP.", registry=self._registry
        )

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def count_events(self, count: int) -> None:
        """Count events."""
        self._events.inc(count)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The text that Prometheus reads, in the format that it accepts, and its media type."""
        encoder, kind = choose_encoder(accept)
        return encoder(self._registry), kind


class _BrokerCollector(Collector):
    """What the broker counts, read when somebody asks."""

    def __init__(self, broker: Broker, streams: Streams) -> None:
        self._broker, self._streams = broker, streams

    def collect(self) -> Iterable[Metric]:
        """The metrics."""
        numbers = self._broker.stats()
        for name, about in _COUNTERS.items():
            yield CounterMetricFamily(f"tamis_{name}", about, numbers[name])
        for name, about in _GAUGES.items():
            yield GaugeMetricFamily(f"tamis_{name}", about, numbers[name])
        yield GaugeMetricFamily("tamis_streams", "Clients that wait.", self._streams.open)


_COUNTERS = {
    "events": "Events that were published.",
    "matches": "Pairs of an event and a subscription.",
    "commits": "Transactions that were synced.",
    "webhooks_sent": "Notifications that webhooks took.",
    "webhooks_failed": "Requests to webhooks that failed.",
    "links_refused": "Events of linked brokers that the schema or the limits do not allow.",
}
_GAUGES = {
    "subscriptions": "Subscriptions.",
    "pending": "Notifications that wait to be acknowledged.",
    "slow": "Subscriptions for which more than a thousand notifications wait.",
    "waiting": "Requests that wait to be written.",
    "event_bytes": "Bytes of events that are kept.",
    "links": "Brokers that are linked to this one, and connected.",
    "links_waiting": "Events that linked brokers have not acknowledged yet.",
}
