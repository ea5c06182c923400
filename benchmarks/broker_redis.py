"""Filtering in the broker, or in every client: ``python -m benchmarks.broker_redis``.

Subscribers that want 0.1 % of the events, each another 0.1 %. With Redis Pub/Sub all of them get
every event and keep what they want; Tamis sends them what they want, as server-sent events. Both
run on loopback, at the same rate, and the clients are the same plain sockets. Redis keeps nothing:
what a client misses is gone, while Tamis answers a publisher when an event is on disk.

Needs ``redis-server`` (Debian's package of that name).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.broker_http import Connection, serving

SUBSCRIBERS = 50
KEYS = 1_000
"""Each subscriber wants one of so many."""
RATE, SECONDS, BATCH = 1_000, 10, 10
REDIS_PORT = 16_379
_MESSAGE = b"*3\r\n$7\r\nmessage\r\n$6\r\nevents\r\n$"
_WARM = 5
"""Batches that are published before anything is measured."""
_PATIENCE = 60.0
"""Seconds to wait for what has not arrived when all is published."""


class Subscriber(asyncio.Protocol):
    """A connection that counts what arrives, and notes when a wanted event does."""

    def __init__(self, key: int, parse: Callable[[Subscriber], None]) -> None:
        self.key, self._parse = key, parse
        self.buffer = bytearray()
        self.is_ready = asyncio.Event()
        self.bytes = 0
        self.latencies: dict[int, float] = {}

    def data_received(self, data: bytes) -> None:
        """Take in what has come."""
        self.bytes += len(data)
        self.buffer += data
        self._parse(self)

    def take(self, event: dict[str, Any]) -> None:
        """Keep an event if it is wanted."""
        if event["key"] == self.key:
            self.latencies[event["n"]] = time.perf_counter() - event["at"]


def parse_redis(subscriber: Subscriber) -> None:
    """Messages of Redis: each has the length of its body."""
    buffer = subscriber.buffer
    if not subscriber.is_ready.is_set():
        if b":1\r\n" not in buffer:
            return
        del buffer[: buffer.index(b":1\r\n") + 4]
        subscriber.is_ready.set()
        subscriber.bytes = 0
    while buffer.startswith(_MESSAGE):
        end = buffer.find(b"\r\n", len(_MESSAGE))
        if end < 0:
            return
        size = int(buffer[len(_MESSAGE) : end])
        if len(buffer) < end + size + 4:
            return
        subscriber.take(json.loads(buffer[end + 2 : end + 2 + size]))
        del buffer[: end + size + 4]


def parse_stream(subscriber: Subscriber) -> None:
    """Server-sent events: each ends with an empty line, which may be in a chunk of HTTP."""
    buffer = subscriber.buffer
    if not subscriber.is_ready.is_set() and b"retry: 1000" in buffer:
        subscriber.is_ready.set()
        subscriber.bytes = 0
    while (begin := buffer.find(b"data: ")) >= 0 and (end := buffer.find(b"\n\n", begin)) >= 0:
        subscriber.take(json.loads(buffer[begin + 6 : end])["event"])
        del buffer[: end + 2]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broker_redis")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    seconds = parser.parse_args(arguments).seconds
    assert shutil.which("redis-server"), "install redis-server"
    events = made(RATE * seconds)
    with tempfile.TemporaryDirectory() as folder:
        with redis(Path(folder)):
            asyncio.run(measure_redis(events))
        with serving(Path(folder), Path(folder) / "broker.db") as (_, port):
            asyncio.run(measure_tamis(port, events))


def made(count: int) -> list[dict[str, Any]]:
    """Events of some 250 bytes."""
    chance = random.Random(1)
    return [
        {
            "n": n,
            "key": chance.randrange(KEYS),
            "price": chance.randrange(1_000),
            "title": "a train set of wood, with rails for two ovals, a bridge and a station" * 2,
        }
        for n in range(count)
    ]


@contextmanager
def redis(folder: Path) -> Iterator[None]:
    """A server that keeps nothing on disk."""
    options = f"--port {REDIS_PORT} --bind 127.0.0.1 --appendonly no --dir {folder}"
    process = subprocess.Popen(
        ["redis-server", *options.split(), "--save", ""], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        while line := process.stdout.readline():
            if "Ready to accept connections" in line:
                break
        yield
    finally:
        process.terminate()
        process.communicate()


async def measure_redis(events: list[dict[str, Any]]) -> None:
    """All events to all subscribers."""
    subscribers = await opened(REDIS_PORT, parse_redis, lambda _: b"SUBSCRIBE events\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", REDIS_PORT)
    turn = asyncio.Lock()

    async def publish(batch: list[dict[str, Any]]) -> None:
        for event in batch:
            body = json.dumps(event).encode()
            head = b"*3\r\n$7\r\nPUBLISH\r\n$6\r\nevents\r\n$%d\r\n" % len(body)
            writer.write(head + body + b"\r\n")
        async with turn:
            for _ in batch:
                await reader.readline()

    await run("Redis Pub/Sub", events, subscribers, publish)


async def measure_tamis(port: int, events: list[dict[str, Any]]) -> None:
    """To each subscriber what it wants."""
    control = await Connection.open(port)
    tickets = []
    for key in range(SUBSCRIBERS):
        body = json.dumps({"subscription": f"key = {key}", "id": f"s{key}"}).encode()
        tickets.append((await control.post("/v1/subscriptions", body))["ticket"])
    subscribers = await opened(
        port,
        parse_stream,
        lambda key: (
            f"GET /v1/subscriptions/s{key}/stream HTTP/1.1\r\nHost: x\r\n"
            f"Tamis-Ticket: {tickets[key]}\r\n\r\n"
        ).encode(),
    )
    free = [await Connection.open(port) for _ in range(4)]

    async def publish(batch: list[dict[str, Any]]) -> None:
        connection = free.pop() if free else await Connection.open(port)
        await connection.post("/v1/events", json.dumps(batch).encode())
        free.append(connection)

    await run("Tamis", events, subscribers, publish)


async def opened(
    port: int, parse: Callable[[Subscriber], None], hello: Callable[[int], bytes]
) -> list[Subscriber]:
    """Subscribers that are ready."""
    found = []
    for key in range(SUBSCRIBERS):
        loop = asyncio.get_running_loop()
        transport, subscriber = await loop.create_connection(
            lambda key=key: Subscriber(key, parse),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        transport.write(hello(key))
        await subscriber.is_ready.wait()
        found.append(subscriber)
    return found


async def run(
    name: str,
    events: list[dict[str, Any]],
    subscribers: list[Subscriber],
    publish: Callable[[list[dict[str, Any]]], Any],
) -> None:
    """Publish at a steady rate, wait for what is wanted, and print."""
    for _ in range(_WARM):  # what is loaded on the first use
        await publish([{**events[0], "n": -1, "key": each.key, "at": 0.0} for each in subscribers])
    while not all(each.latencies for each in subscribers):
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)
    for each in subscribers:
        each.bytes = 0
        each.latencies.clear()
    used = time.process_time()
    start = time.perf_counter()
    tasks = []
    for first in range(0, len(events), BATCH):
        await asyncio.sleep(max(0.0, start + first / RATE - time.perf_counter()))
        now = time.perf_counter()
        batch = [{**event, "at": now} for event in events[first : first + BATCH]]
        tasks.append(asyncio.create_task(publish(batch)))
    await asyncio.gather(*tasks)
    wanted = {key: {e["n"] for e in events if e["key"] == key} for key in range(SUBSCRIBERS)}
    end = time.perf_counter() + _PATIENCE
    while any(each.latencies.keys() != wanted[each.key] for each in subscribers):
        assert time.perf_counter() < end, f"{name}: not every wanted event arrived"
        await asyncio.sleep(0.05)
    used = time.process_time() - used
    times = sorted(taken for each in subscribers for taken in each.latencies.values())
    traffic = sum(each.bytes for each in subscribers)
    print(
        f"{name:<14} {traffic / 2**20:8.2f} MB to {len(subscribers)} subscribers, "
        f"{traffic / len(times):10,.0f} bytes for each of {len(times)} wanted events; "
        f"latency {1e3 * statistics.median(times):.1f} ms, "
        f"99 % {1e3 * times[int(0.99 * len(times))]:.1f} ms; clients {used:.1f} s of processor",
        flush=True,
    )


if __name__ == "__main__":
    main()
