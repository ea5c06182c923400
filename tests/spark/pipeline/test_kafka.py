"""Kafka for real: topic → match → topic, with a broker that is killed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import tamis
from tests.spark.kafka import Broker, broker
from tests.spark.processes import PYTHON, Program, running

SOAK = bool(os.environ.get("TAMIS_SOAK"))
EVENTS = 1_000_000 if SOAK else 20_000
PATIENCE = 1_200 if SOAK else 150
BROKEN = 1_000
"""One document in so many is no JSON."""
DRIVER = (*PYTHON, str(Path(__file__).with_name("kafka_driver.py")))
RULES = {f"s{number}": f"x = {number} and y < {number % 7}" for number in range(50)} | {
    "tags": "tags contains 'a' and x < 10"
}


def document(number: int) -> dict[str, Any]:
    numbers = random.Random(number)
    tags = numbers.sample(["a", "b"], numbers.randrange(3))
    return {"n": number, "x": numbers.randrange(50), "y": numbers.randrange(7), "tags": tags}


def record(number: int) -> tuple[bytes, bytes]:
    text = json.dumps(document(number))
    return str(number).encode(), (text[:-1] if number % BROKEN == 0 else text).encode()


def rule(id: str, text: str | None, version: int = 1) -> tuple[bytes, bytes | None]:
    value = json.dumps({"subscription": text, "version": version}).encode()
    return id.encode(), None if text is None else value


@pytest.mark.timeout(300 + 2 * PATIENCE)
def test_every_event_is_matched_though_the_broker_is_killed(tmp_path: Path) -> None:
    with broker(tmp_path / "kafka") as kafka:
        for topic in ("events", "matches", "rejected"):
            kafka.make_topic(topic)
        kafka.make_topic("rules", 1, cleanup_policy="compact")
        kafka.produce("rules", [rule(id, text) for id, text in RULES.items()])
        kafka.produce("events", map(record, range(EVENTS // 2)))
        with running(*DRIVER, str(tmp_path), kafka.address) as program:
            program.wait_for("batch 1:")
            kafka.kill()
            kafka.start()
            kafka.produce("events", map(record, range(EVENTS // 2, EVENTS)))
            stop_when_done(program, kafka)
        check(kafka)
        changes_take_effect(kafka, tmp_path)


def stop_when_done(program: Program, kafka: Broker) -> None:
    """Stop the pipeline with a signal once it has seen everything; it may also have failed."""
    deadline = time.monotonic() + PATIENCE
    while events_done(program) < EVENTS:
        assert program.process.poll() is None, program.output
        assert time.monotonic() < deadline, program.output
        time.sleep(0.2)
    os.kill(program.process.pid, signal.SIGTERM)
    assert program.wait(90) == 0, program.output
    assert program.lines[-1].startswith("stopped after "), program.output


def events_done(program: Program) -> int:
    return sum(
        int(line.split()[2].replace(",", ""))
        for line in list(program.lines)
        if line[:6] == "batch "
    )


def check(kafka: Broker) -> None:
    """Each match is there once for a reader who drops repeated keys; none is missing."""
    ids = {f"events-{part}-{offset}": int(key) for part, offset, key in kafka.places("events")}
    assert sorted(ids.values()) == list(range(EVENTS))
    scan = tamis.Engine()
    scan.subscribe_many(RULES)
    found: dict[bytes, bytes] = {}
    for key, value in kafka.consume("matches"):
        assert key is not None
        assert value is not None
        assert found.setdefault(key, value) == value
    by_event: dict[int, set[str]] = {}
    for key in found:
        event, subscription = json.loads(key)
        by_event.setdefault(ids[event], set()).add(subscription)
    for number in range(EVENTS):
        expected = set() if number % BROKEN == 0 else set(scan.match(document(number)))
        assert by_event.get(number, set()) == expected, number
    texts = {json.loads(value or b"")["text"] for _, value in kafka.consume("rejected")}
    assert texts == {record(number)[1].decode() for number in range(0, EVENTS, BROKEN)}


def changes_take_effect(kafka: Broker, folder: Path) -> None:
    """A tombstone removes a subscription, a new value replaces it, a faulty one is left out."""
    kafka.produce("rules", [rule("tags", None), rule("s1", "n = -1", 2), rule("bad", "x betwen 1")])
    kafka.produce("events", [(b"last", b'{"n": -1, "x": 1, "y": 0, "tags": ["a"]}')])
    before = {key for key, _ in kafka.consume("matches")}
    with running(*DRIVER, str(folder), kafka.address, "--once", "--check") as program:
        assert program.wait() == 0, program.output
        found = [line.removeprefix("problem: ") for line in program.lines if "problem: " in line]
    places = [line.partition(":")[0] for line in found]
    assert places == ["folder", "sinks.kafka", "source", "subscriptions"], found
    assert "no file system 's3a'" in found[0]
    assert "add 'org.apache.hadoop:hadoop-aws:3." in found[0]
    assert "Kafka at '127.0.0.1:1' does not answer: " in found[1]
    assert "there is no topic 'event'; did you mean 'events'?" in found[2]
    assert "there is no topic 'rule'; did you mean 'rules'?" in found[3]
    new = [(key, value) for key, value in kafka.consume("matches") if key not in before]
    assert [json.loads(key or b"")[1] for key, _ in new] == ["s1"]
    assert json.loads(new[0][1] or b"")["version"] == 2
