"""A pipeline on S3, PostgreSQL and a web service, all of them real and on this machine."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.postgresql import postgresql_server
from tests.spark.kafka import free_port
from tests.spark.pipeline.test_pipeline import RULES, documents, oracle, write_lines
from tests.spark.processes import PYTHON, running

DRIVER = (*PYTHON, str(Path(__file__).with_name("servers_driver.py")))
FILES = 5


@contextmanager
def s3() -> Iterator[tuple[str, Any]]:
    """An S3 server with a bucket: its address and a client."""
    import boto3  # type: ignore[import-untyped]
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="tests",
        aws_secret_access_key="tests",
    )
    client.create_bucket(Bucket="tamis")
    try:
        yield address, client
    finally:
        client.close()
        server.stop()


class Hook(BaseHTTPRequestHandler):
    """Takes what is posted; it is unavailable for the first few requests."""

    refused = 0
    rows: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = type(self)
        if kind.refused < 8:
            kind.refused += 1
            self.send_response(503)
        else:
            assert self.headers["Idempotency-Key"].startswith("servers-")
            kind.rows += body
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


@contextmanager
def webhook() -> Iterator[tuple[str, type[Hook]]]:
    """A web service: its address, and the class with what it was given."""
    kind = type("Taken", (Hook,), {"rows": [], "refused": 0})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", kind
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.filterwarnings("ignore")  # of moto and boto3
@pytest.mark.timeout(420)
def test_state_in_s3_and_sinks_of_all_kinds_after_a_kill(tmp_path: Path) -> None:
    import psycopg

    events = [documents(40, seed) for seed in range(FILES)]
    for number, some in enumerate(events):
        write_lines(tmp_path / "events" / f"{number}.json", some)
    rules = [{"id": id, "subscription": text, "version": 1} for id, text in RULES.items()]
    lines = "".join(json.dumps(row) + "\n" for row in rules).encode()
    port = free_port()
    with s3() as (address, client), postgresql_server(port) as server, webhook() as (hook, taken):
        client.put_object(Bucket="tamis", Key="changes/1.ndjson", Body=lines)
        database = f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        command = (*DRIVER, str(tmp_path), address, database, hook)
        with running(*command) as program:
            program.wait_for("batch 1:")
            program.kill()
        with running(*command) as program:
            assert program.wait() == 0, program.output
            assert program.lines[-1].startswith("ended after "), program.output
        expected = Counter(oracle([each for some in events for each in some], RULES))
        assert parquet(client) == expected
        assert taken.refused == 8
        assert {tuple(row["key"]) for row in taken.rows} == set(expected)
        with psycopg.connect(server.address) as connection:
            rows = connection.execute(
                'SELECT event_id, subscription_id, version, "batch" FROM matches'
            ).fetchall()
            left = connection.execute(
                "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'matches_tamis%'"
            ).fetchone()
        assert Counter((event, id) for event, id, _, _ in rows) == expected
        assert {(version, batch) for _, _, version, batch in rows} == {
            (1, batch) for batch in range(FILES)
        }
        assert left == (0,)


def parquet(client: Any) -> Counter[tuple[str, str]]:
    """The rows of all Parquet files in the bucket."""
    rows: list[dict[str, Any]] = []
    for each in client.list_objects_v2(Bucket="tamis", Prefix="matches/")["Contents"]:
        if each["Key"].endswith(".parquet"):
            body = client.get_object(Bucket="tamis", Key=each["Key"])["Body"].read()
            rows += pq.read_table(io.BytesIO(body)).to_pylist()
    return Counter((row["event_id"], row["subscription_id"]) for row in rows)
