"""The broker on SQLite, without HTTP: ``python -m benchmarks.broker [--quick]``.

W2 with 1M subscriptions (100k with ``--quick``). Matches are counted and compared
with those of an engine before a time is shown.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import workloads
from tamis import Engine
from tamis.broker import Broker, BrokerSettings, Identity, NewSubscription, Publication, Role
from tamis.broker.state import subscription_checksum

EVENTS = 20_000
BATCH = 100
CLIENTS = 16
CREATED = 5_000
"""Subscriptions that the clients make, each waiting for its receipt."""
SETTINGS = BrokerSettings(anonymous=frozenset({Role.PUBLISH, Role.SUBSCRIBE}))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broker")
    parser.add_argument("--quick", action="store_true", help="100k subscriptions instead of 1M")
    options = parser.parse_args(arguments)
    count = 100_000 if options.quick else 1_000_000
    workload = workloads.w2(count, EVENTS)
    texts = list(workload.texts())
    events = workload.event_table().to_pylist()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broker.db"
        url = f"sqlite:///{path}"
        Broker.open(url, SETTINGS).close()
        store(path, texts)
        began = time.perf_counter()
        with Broker.open(url, SETTINGS) as broker:
            show(f"start with {count:,}, no index", time.perf_counter() - began, "s")
            me = broker.anonymous()
            began = time.perf_counter()
        show("closing, with the index saved", time.perf_counter() - began, "s")
        began = time.perf_counter()
        with Broker.open(url, SETTINGS) as broker:
            show(f"start with {count:,} subscriptions", time.perf_counter() - began, "s")
            assert broker.stats()["tenants_rebuilt"] == 0
            assert broker.stats()["subscriptions"] == count
            measure_publishing(broker, me, texts, events)
            measure_creation(broker, me, texts)


def measure_publishing(
    broker: Broker, me: Identity, texts: list[str], events: list[dict[str, Any]]
) -> None:
    """Batches of 100, from one client and from four."""
    engine = Engine()
    engine.subscribe_many({str(n): text for n, text in enumerate(texts)})
    expected = engine.count_batch(events)
    publications = [Publication(event, id=f"e{n}") for n, event in enumerate(events)]
    batches = [publications[n : n + BATCH] for n in range(0, len(events), BATCH)]
    half = len(batches) // 2
    broker.publish(batches[0], me).result()  # what is compiled or loaded on the first use
    found: dict[int, list[int]] = {}

    def publish(number: int) -> None:
        outcomes = broker.publish(batches[number], me).result()
        found[number] = [outcome.matched for outcome in outcomes]

    def publish_all(numbers: Sequence[int], clients: int) -> float:
        waiting = deque(numbers)
        return timed(lambda: together(clients, lambda: publish(waiting.popleft()), waiting))

    for clients, numbers in ((1, range(1, half)), (4, range(half, len(batches)))):
        seconds = publish_all(numbers, clients)
        rate = len(numbers) * BATCH / seconds
        show(f"published in batches of {BATCH}, {clients} clients", rate, "events/s")
    publish(0)
    assert [each for number in sorted(found) for each in found[number]] == expected
    show("matches", sum(expected) / len(expected), "an event")


def measure_creation(broker: Broker, me: Identity, texts: list[str]) -> None:
    """Subscriptions from 16 clients, each of which waits for the receipt."""
    waiting = deque(texts[:CREATED])

    def create() -> None:
        broker.subscribe(NewSubscription(waiting.popleft()), me).result()

    seconds = timed(lambda: together(CLIENTS, create, waiting))
    show(f"created by {CLIENTS} clients", CREATED / seconds, "subscriptions/s")


def store(path: Path, texts: list[str]) -> None:
    """Write subscriptions into a store without a broker, in seconds rather than minutes."""
    expires = time.time() + 86_400
    rows = (
        (number, f"s{number}", "default", 0, b"", text, "tamis", None, "{}", None, 1, 86_400.0,
         expires, 0, 0.0, number, 0, 0, 0,
         subscription_checksum(number, f"s{number}", "default", 0, text))
        for number, text in enumerate(texts, 1)
    )  # fmt: skip
    connection = sqlite3.connect(path)
    with connection:
        connection.executemany("insert into subscriptions values (" + "?, " * 19 + "?)", rows)
        connection.execute("update meta set value = ? where name = 'sequence'", (len(texts) + 9,))
    connection.close()


def together(clients: int, step: Callable[[], None], waiting: deque[Any]) -> None:
    """Let threads take steps until nothing waits."""

    def run() -> None:
        while waiting:
            try:
                step()
            except IndexError:
                return

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def timed(run: Callable[[], Any]) -> float:
    """Seconds that something takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def show(what: str, figure: float, unit: str) -> None:
    """Print one figure."""
    print(f"{what:<50} {figure:>12,.1f} {unit}", flush=True)


if __name__ == "__main__":
    main()
