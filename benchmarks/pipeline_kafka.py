"""Kafka to Kafka: JSON events of W2 in a topic, a pipeline with a million subscriptions, matches in
another topic; the broker, the pipeline and the producer share two cores.

    a full topic ──> pipeline ──> matches                         events a second at most
    producer at 132,000 a second ──> pipeline ──> matches         sustained, with bounded memory
    producer at 30,000 a second ──> pipeline ──> matches          latency

Latency is the time from when a record of an event was made to when the broker appended a match of
it. Memory is what all processes of the pipeline have for themselves (proportional set size).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tamis.spark
from benchmarks.pipeline_documents import documents
from benchmarks.pipeline_shards import rules
from benchmarks.spark import Bench
from tamis.spark.pipeline import (
    BatchReport,
    EventForm,
    EventSource,
    Kafka,
    Pipeline,
    SubscriptionSource,
)
from tests.spark.kafka import Broker, broker

SECONDS, QUICK_SECONDS = 300.0, 20.0
"""How long events are offered."""
COUNT, QUICK_COUNT = 4_000_000, 2_000_000
"""Events that lie in a topic when the pipeline starts; their matches are compared."""
BATCH = 400_000
"""Most events of a micro-batch."""
RATE, AIM = 60_000.0, 120_000.0
OFFERED = 1.1 * AIM
LATENCY_SECONDS = 60.0
WARM = 400_000
"""Events before the first that counts."""
SETTLED = 10.0
"""Seconds after the last event until the pipeline is stopped."""
TEXTS = 50_000
"""Documents that the producer has made before it starts."""
_SERVERS = "kafka.bootstrap.servers"


class Outcome(NamedTuple):
    """What came of a run. The first micro-batch, which compiles the subscriptions, is left out."""

    reports: list[BatchReport]
    memory: list[tuple[float, float]]
    """When, and how many GB."""

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.reports[-1].at + self.reports[-1].seconds - self.reports[1].at

    @property
    def rate(self) -> float:
        """Events a second."""
        return sum(each.events for each in self.reports[1:]) / self.seconds

    def grown(self) -> float:
        """The greatest memory of the last third, as a multiple of that of the second third."""
        begin, end = self.reports[1].at, self.memory[-1][0]
        third = (end - begin) / 3
        middle = [gb for at, gb in self.memory if begin + third <= at < begin + 2 * third]
        last = [gb for at, gb in self.memory if at >= begin + 2 * third]
        return max(last) / max(middle)

    def steps(self) -> dict[str, float]:
        """The seconds of all steps."""
        found: dict[str, float] = {}
        for report in self.reports[1:]:
            for step, seconds in report.times.items():
                found[step] = found.get(step, 0.0) + seconds
        return found


def throughput(bench: Bench) -> None:
    """Events a second from topic to topic: of a topic that is full, and offered for minutes."""
    size, quick = bench.largest, bench.run.quick
    count = QUICK_COUNT if quick else COUNT
    with broker(bench.folder / "kafka") as kafka:
        _fill(bench, kafka, "full", count)
        kafka.make_topic("full-matches")
        full = _run(bench, kafka, "full")
        events = documents(bench, count)
        index = bench.index("w2", size)
        expected = tamis.spark.match(events, index, column="event").count()
        found = _records(kafka, "full-matches")
        assert found == expected == sum(each.matches for each in full.reports), (found, expected)
        _note_share(bench, "a full topic", full)
        wanted = bench.seconds or (QUICK_SECONDS if quick else SECONDS)
        offered = _offered(bench, kafka, "events", OFFERED, wanted)
        found = _records(kafka, "events-matches")
        assert found == sum(each.matches for each in offered.reports)
    _note_share(bench, f"{OFFERED:,.0f} events/s offered", offered)

    def add(what: str, unit: str, value: float, must: float | None = None) -> None:
        name = f"Kafka to Kafka, {what}"
        bench.add(name, size, f"{OFFERED:,.0f} events/s offered", unit, value, must, more=False)

    add("time", "s", offered.seconds)
    behind = [report.behind or 0 for report in offered.reports[-len(offered.reports) // 3 :]]
    add("events that waited, at most, in the last third", "", max(behind))
    add("memory", "GB", max(gb for _, gb in offered.memory))
    add("memory, last third to second", "x", offered.grown(), 1.1)


def _note_share(bench: Bench, through: str, outcome: Outcome) -> None:
    """The rate of a run, and where its time went."""
    size, figure = bench.largest, "Kafka to Kafka, events"
    bench.add(figure, size, through, "a second", outcome.rate, RATE, AIM)
    for step, seconds in outcome.steps().items():
        share = 100 * seconds / outcome.seconds
        bench.add(f"Kafka to Kafka, time for {step}", size, through, "%", share, more=False)


def latency(bench: Bench) -> None:
    """How long it takes from an event to its match, at half the load that must be borne."""
    size = bench.largest
    seconds = min(bench.seconds or LATENCY_SECONDS, LATENCY_SECONDS)
    with broker(bench.folder / "kafka-latency") as kafka:
        outcome = _offered(bench, kafka, "events", RATE / 2, seconds)
        delays = np.array([*_delays(kafka, "events-matches", outcome.reports)])
    assert len(delays) > 1_000, len(delays)
    bench.add("Kafka to Kafka, events", size, "half load", "a second", outcome.rate)
    for name, part, must in (("median", 50, 2.0), ("99th percentile", 99, 5.0)):
        value = float(np.percentile(delays, part))
        figure = f"Kafka to Kafka, latency, {name}"
        bench.add(figure, size, "half load", "s", value, must, more=False)


def _offered(bench: Bench, kafka: Broker, topic: str, rate: float, seconds: float) -> Outcome:
    """Run the pipeline while a producer offers so many events a second, for so long."""
    _fill(bench, kafka, topic, WARM)
    kafka.make_topic(f"{topic}-matches", message_timestamp_type="LogAppendTime")
    over = threading.Event()

    def offer() -> None:
        _produce(bench, kafka, topic, rate, seconds)
        over.set()

    thread = threading.Thread(target=offer)
    outcome = _run(bench, kafka, topic, started=thread.start, over=over)
    thread.join()
    return outcome


def _fill(bench: Bench, kafka: Broker, topic: str, count: int) -> None:
    """Make a topic with so many events."""
    kafka.make_topic(topic)
    records = documents(bench, count).selectExpr("event AS value")
    options = {_SERVERS: kafka.address, "kafka.compression.type": "lz4", "topic": topic}
    records.write.format("kafka").options(**options).save()


def _run(
    bench: Bench,
    kafka: Broker,
    topic: str,
    *,
    started: Callable[[], None] | None = None,
    over: threading.Event | None = None,
) -> Outcome:
    """Run the pipeline until the topic is done. With ``over``, call ``started`` after some
    micro-batches, and end when ``over`` is set and nothing waits any more."""
    rules(bench, bench.largest)
    servers = {_SERVERS: kafka.address}
    source = {**servers, "subscribe": topic, "maxOffsetsPerTrigger": str(BATCH)}
    pipeline = Pipeline(
        EventSource("kafka", options=source),
        SubscriptionSource("parquet", str(bench.folder / f"rules-{bench.largest}")),
        [Kafka(f"{topic}-matches", servers)],
        str(bench.folder / f"state-{kafka.port}-{topic}"),
        events=EventForm(keep=("timestamp",)),
    )
    reports: list[BatchReport] = []
    stop = threading.Event()

    def told(report: BatchReport) -> None:
        reports.append(report)
        if report.number == 0 and started is not None:
            started()

    def end() -> None:
        assert over is not None
        over.wait()
        time.sleep(SETTLED)
        stop.set()

    if over is not None:
        threading.Thread(target=end, daemon=True).start()
    with _watched() as memory:
        pipeline.run(bench.session, once=over is None, told=told, stop=stop)
    return Outcome(reports, memory)


def _records(kafka: Broker, topic: str) -> int:
    """How many records a topic has."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "benchmark"})
    try:
        places = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        marks = [consumer.get_watermark_offsets(TopicPartition(topic, each)) for each in places]
        return sum(high - low for low, high in marks)
    finally:
        consumer.close()


def _delays(kafka: Broker, topic: str, reports: list[BatchReport]) -> Iterator[float]:
    """The seconds from an event to its match, of all matches but those of the first batch."""
    begin = reports[0].at + reports[0].seconds
    for message in kafka.messages(topic):
        made = datetime.fromisoformat(json.loads(message.value())["timestamp"]).timestamp()
        if made > begin:
            yield message.timestamp()[1] / 1000 - made


# The producer, a process of its own.


def _produce(bench: Bench, kafka: Broker, topic: str, rate: float, seconds: float) -> None:
    texts = bench.folder / "texts.ndjson"
    rows = documents(bench, TEXTS).select("event").collect()
    texts.write_text("\n".join(row[0] for row in rows))
    given = (kafka.address, topic, str(texts), str(rate), str(seconds))
    subprocess.run([sys.executable, "-m", "benchmarks.pipeline_kafka", *given], check=True)


def produce(address: str, topic: str, texts: Path, rate: float, seconds: float) -> None:
    """Append so many documents a second, evenly."""
    from confluent_kafka import Producer

    settings = {"linger.ms": 20, "compression.type": "lz4", "queue.buffering.max.messages": 2**20}
    producer = Producer({"bootstrap.servers": address, **settings})
    lines = texts.read_bytes().splitlines()
    start, sent = time.monotonic(), 0
    while (now := time.monotonic() - start) < seconds:
        for _ in range(max(0, int(rate * now) - sent)):
            producer.produce(topic, lines[sent % len(lines)])
            sent += 1
        producer.poll(0.005)
    assert producer.flush(60) == 0


# Memory.


@contextmanager
def _watched() -> Iterator[list[tuple[float, float]]]:
    """A list of what the processes of this one have, once a second."""
    found: list[tuple[float, float]] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            found.append((time.time(), _memory()))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.append((time.time(), _memory()))
        over.set()
        thread.join()


def _memory() -> float:
    """GB of this process and its descendants, but for the broker."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(_proportional(pid) for pid in own) / 1e6


def _proportional(pid: int) -> float:
    """KB that a process has for itself, and its part of what it shares."""
    try:
        if b"kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0.0
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0  # it has ended
    return float(next((line.split()[1] for line in lines if line.startswith("Pss:")), 0))


if __name__ == "__main__":
    produce(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *map(float, sys.argv[4:]))
