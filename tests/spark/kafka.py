"""A Kafka broker on this machine, as a process of its own (KRaft: no ZooKeeper)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tamis.spark.session.java import ensure_java
from tests.jars import KAFKA, jars

_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=500
"""
_PATIENCE = 60.0


class Broker:
    """A broker that can be stopped and started again with what it had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._settings = folder / "server.properties"
        self._settings.write_text(
            _SETTINGS.format(port=self.port, controller=controller, folder=folder)
        )
        self._java = str(Path(ensure_java()) / "bin" / "java")
        self._process: subprocess.Popen[bytes] | None = None
        self._run("kafka.tools.StorageTool", "format", "-t", "tamis-tests-cluster-00", "-c")

    def _command(self, main: str, *arguments: str) -> list[str]:
        options = ["-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        path = ":".join(jars(KAFKA, alone=False))
        return [self._java, *options, "-cp", path, main, *arguments, str(self._settings)]

    def _run(self, main: str, *arguments: str) -> None:
        run = subprocess.run(self._command(main, *arguments), capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with open(self.folder / "broker.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka"), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            said = (self.folder / "broker.log").read_text()[-3000:]
            assert self._process.poll() is None, f"the broker ended:\n{said}"
            assert time.monotonic() < deadline, f"the broker does not answer:\n{said}"
            time.sleep(0.2)

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            self.admin().list_topics(timeout=2)
        except KafkaException:
            return False
        return True

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait(20)
            self._process = None

    def admin(self) -> Any:
        """A client that makes topics."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def make_topic(self, name: str, partitions: int = 2, **settings: str) -> None:
        """Make a topic."""
        from confluent_kafka.admin import NewTopic

        config = {each.replace("_", "."): value for each, value in settings.items()}
        topic = NewTopic(name, partitions, 1, config=config)
        admin = self.admin()  # kept: its futures end with it
        for future in admin.create_topics([topic]).values():
            future.result(30)

    def produce(self, topic: str, records: Any) -> None:
        """Append records, pairs of key and value."""
        from confluent_kafka import Producer

        producer = Producer(
            {"bootstrap.servers": self.address, "linger.ms": 50, "enable.idempotence": True}
        )
        for key, value in records:
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(120) == 0

    def consume(self, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Key and value of all records of a topic as it is now."""
        for message in self.messages(topic):
            yield message.key(), message.value()

    def places(self, topic: str) -> Iterator[tuple[int, int, bytes]]:
        """Partition, offset and key of all records of a topic."""
        for message in self.messages(topic):
            yield message.partition(), message.offset(), message.key()

    def messages(self, topic: str) -> Iterator[Any]:
        """All records of a topic as it is now."""
        from confluent_kafka import Consumer, TopicPartition

        settings = {"bootstrap.servers": self.address, "group.id": "tests", "log_level": 0}
        consumer = Consumer(settings | {"enable.auto.commit": False})
        try:
            for partition in consumer.list_topics(topic, timeout=20).topics[topic].partitions:
                place = TopicPartition(topic, partition, 0)
                _, end = consumer.get_watermark_offsets(place, timeout=20)
                consumer.assign([place])
                at = 0
                while at < end:
                    for message in consumer.consume(10_000, timeout=20):
                        assert message.error() is None, message.error()
                        at = (message.offset() or 0) + 1
                        yield message
        finally:
            consumer.close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A running broker, ended with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Broker(folder)
    try:
        made.start()
        yield made
    finally:
        made.kill()
