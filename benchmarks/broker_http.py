"""The broker over HTTP on loopback, in a process of its own: ``python -m benchmarks.broker_http``.

W2 with 1M subscriptions, or ``--subscriptions`` so many, on SQLite. The client speaks HTTP over
plain sockets, since it shares two cores with the server. Matches are compared with an engine's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import workloads
from benchmarks.broker import store
from tamis import Engine
from tamis.broker import Broker

EVENTS, BATCH, PUBLISHERS = 20_000, 100, 4
CREATED, CREATORS = 5_000, 16
RATE, SECONDS = 1_000, 10
"""Events a second, and how long, while latency is measured."""
WATCHERS = 5_000
SETTINGS = """\
[server]
port = 0
requests_per_second = 0
anonymous_requests_per_second = 0
streams_per_subscription = 100000
log_level = "warning"
[broker]
store = "sqlite:///{path}"
anonymous = ["publish", "subscribe"]
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broker_http")
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    count = parser.parse_args(arguments).subscriptions
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    workload = workloads.w2(count, EVENTS)
    texts = list(workload.texts())
    events = workload.event_table().to_pylist()
    expected = expected_matches(texts, events)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broker.db"
        Broker.open(f"sqlite:///{path}").close()
        store(path, texts)
        with Broker.open(f"sqlite:///{path}"):
            pass  # saves the index
        with serving(Path(folder), path) as (process, port):
            asyncio.run(measure(process, port, texts, events, expected))


def expected_matches(texts: list[str], events: list[dict[str, Any]]) -> int:
    """What an engine finds."""
    engine = Engine()
    engine.subscribe_many({str(n): text for n, text in enumerate(texts)})
    return sum(engine.count_batch(events))


@contextmanager
def serving(folder: Path, path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """``tamis serve`` as anybody starts it."""
    (folder / "tamis.toml").write_text(SETTINGS.format(path=path))
    command = [sys.executable, "-m", "tamis.cli.main", "serve", "--config", "tamis.toml"]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = ""
        while "its description at" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        show("start of the process", time.perf_counter() - began, "s")
        yield process, int(re.findall(r":(\d+)/v1,", said)[0])
    finally:
        process.terminate()
        process.communicate(timeout=120)


class Connection:
    """One connection that sends requests and reads answers, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, body: bytes, headers: str = "") -> Any:
        """Send a body of JSON, and read the JSON that comes back."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: (\d+)", answer)[0])
        content = await self.reader.readexactly(length)
        assert answer.startswith(b"HTTP/1.1 20"), content
        return json.loads(content)

    async def watch(self, id: str, ticket: str) -> None:
        """Begin a stream of server-sent events."""
        path = f"/v1/subscriptions/{id}/stream"
        self.writer.write(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nTamis-Ticket: {ticket}\r\n\r\n".encode()
        )
        assert (await self.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await self.reader.readuntil(b"retry: 1000")


async def measure(
    process: subprocess.Popen[str],
    port: int,
    texts: list[str],
    events: list[dict[str, Any]],
    expected: int,
) -> None:
    """All measurements, on one server."""
    await measure_publishing(process, port, events, expected)
    await measure_latency(port, events)
    await measure_creation(process, port, texts)
    await measure_streams(process, port)


async def measure_publishing(
    process: subprocess.Popen[str], port: int, events: list[dict[str, Any]], expected: int
) -> None:
    """Batches of 100, by a few connections."""
    batches = [json.dumps(events[n : n + BATCH]).encode() for n in range(0, len(events), BATCH)]
    matched = 0
    waiting = iter(batches)

    async def publish() -> None:
        nonlocal matched
        connection = await Connection.open(port)
        for body in waiting:
            answer = await connection.post("/v1/events", body)
            matched += answer["matched"]

    warm = await Connection.open(port)
    await warm.post("/v1/events", b'{"warm": 1}')
    used, began = processor_time(process.pid), time.perf_counter()
    await asyncio.gather(*(publish() for _ in range(PUBLISHERS)))
    seconds, used = time.perf_counter() - began, processor_time(process.pid) - used
    assert matched == expected, f"{matched:,} matches, but an engine finds {expected:,}"
    show(f"published in batches of {BATCH}", len(events) / seconds, "events/s")
    show("processor time of the server for one", 1e6 * used / len(events), "µs")


async def measure_latency(port: int, events: list[dict[str, Any]]) -> None:
    """From the moment an event is sent until a stream has it, at a steady rate of other events."""
    control = await Connection.open(port)
    made = await control.post("/v1/subscriptions", b'{"subscription": "probe = 1", "id": "probe"}')
    stream = await Connection.open(port)
    await stream.watch("probe", made["ticket"])
    times: list[float] = []
    sent = 0

    async def receive() -> None:
        while len(times) < sent or sent == 0 or not done:
            try:
                line = await asyncio.wait_for(stream.reader.readuntil(b"\n\n"), 2)
            except TimeoutError:
                return
            for began in re.findall(rb'"at":([0-9.]+)', line):
                times.append(time.perf_counter() - float(began))

    done = False
    receiver = asyncio.create_task(receive())
    size = 10
    bodies = [events[n : n + size - 1] for n in range(0, 5_000, size)]
    connections = [await Connection.open(port) for _ in range(8)]
    tasks = []

    async def send(connection: Connection, body: bytes) -> None:
        await connection.post("/v1/events", body)
        connections.append(connection)

    start = time.perf_counter()
    for number in range(RATE * SECONDS // size):
        await asyncio.sleep(max(0.0, start + number * size / RATE - time.perf_counter()))
        connection = connections.pop() if connections else await Connection.open(port)
        batch = [*bodies[number % len(bodies)], {"probe": 1, "at": time.perf_counter()}]
        tasks.append(asyncio.create_task(send(connection, json.dumps(batch).encode())))
        sent += 1
    await asyncio.gather(*tasks)
    done = True
    await receiver
    assert len(times) == sent, f"{len(times)} of {sent} arrived"
    ordered = sorted(times)
    show(f"publish to stream at {RATE:,} events/s, median", 1e3 * statistics.median(times), "ms")
    show("99th percentile", 1e3 * ordered[int(0.99 * len(ordered))], "ms")


async def measure_creation(process: subprocess.Popen[str], port: int, texts: list[str]) -> None:
    """Subscriptions made by 16 clients, each of which waits for its receipt."""
    texts = texts[:CREATED]
    waiting = iter([json.dumps({"subscription": text}).encode() for text in texts])

    async def create() -> None:
        connection = await Connection.open(port)
        for body in waiting:
            await connection.post("/v1/subscriptions", body)

    used, began = processor_time(process.pid), time.perf_counter()
    await asyncio.gather(*(create() for _ in range(CREATORS)))
    seconds, used = time.perf_counter() - began, processor_time(process.pid) - used
    show(f"subscriptions made by {CREATORS} clients", len(texts) / seconds, "/s")
    show("processor time of the server for one", 1e6 * used / len(texts), "µs")


async def measure_streams(process: subprocess.Popen[str], port: int) -> None:
    """Memory of the server with thousands of streams, all of which get an event."""
    control = await Connection.open(port)
    made = await control.post("/v1/subscriptions", b'{"subscription": "all = 1", "id": "all"}')
    before = resident(process.pid)
    connections = []
    began = time.perf_counter()
    for _ in range(0, WATCHERS, 100):
        opened = await asyncio.gather(*(Connection.open(port) for _ in range(100)))
        await asyncio.gather(*(each.watch("all", made["ticket"]) for each in opened))
        connections += opened
    show(f"{WATCHERS:,} streams, opened", time.perf_counter() - began, "s")
    show("memory of the server for them", (resident(process.pid) - before) / 2**20, "MB")
    began = time.perf_counter()
    await (await Connection.open(port)).post("/v1/events", b'{"all": 1}')
    await asyncio.gather(*(each.reader.readuntil(b"event: notification") for each in connections))
    show("one event to all of them", time.perf_counter() - began, "s")
    show("memory then", (resident(process.pid) - before) / 2**20, "MB")
    for each in connections:
        each.writer.close()


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used, whatever else the machine does."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(what: str, figure: float, unit: str) -> None:
    """A line of the outcome."""
    print(f"{what:<50} {figure:>12,.2f} {unit}", flush=True)


if __name__ == "__main__":
    main()
