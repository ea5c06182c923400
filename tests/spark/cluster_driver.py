"""A driver of a standalone cluster: parts of the contract, a stream, a job that loses an executor.

    python cluster_driver.py MASTER PACKAGES FOLDER

PACKAGES is where executors find Tamis, as installed. Prints a line of JSON for each part.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import tamis
from tamis.spark import Index, Snapshots, call_statistics, match, session_builder
from tests.contract.reading import GROUPS
from tests.spark.oracle import drained, pairs
from tests.spark.processes import ROOT
from tests.spark.test_contract_spark import as_json, check, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 40
ROWS = 500
"""Events of a partition of the job that is disturbed."""


def say(part: str, found: Any) -> None:
    print(part, json.dumps(found), flush=True)


def session_of(master: str, packages: str, folder: Path) -> SparkSession:
    builder = session_builder(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.executor.memory", "512m").config("spark.executor.cores", 1)
    builder = builder.config("spark.executorEnv.PYTHONPATH", packages)
    builder = builder.config("spark.executorEnv.NUMBA_CACHE_DIR", str(folder / "numba"))
    session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def where(session: SparkSession) -> list[str]:
    """Where executors have Tamis from."""

    def files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import tamis

        for _ in batches:
            time.sleep(1)  # so that one executor does not take them all
            yield pa.RecordBatch.from_pydict({"file": [tamis.__file__]})

    rows = session.range(0, 4, 1, 4).mapInArrow(files, "file string").collect()
    return [row["file"] for row in rows]


def contract(session: SparkSession) -> int:
    """Cases of some groups; the number of pairs."""
    chosen = [case for name in ("bindings", "kinds", "truth", "text") for case in GROUPS[name]]
    documents = {number: as_json(case.event) for number, case in enumerate(chosen)}
    rows = [(number, text) for number, text in documents.items() if text is not None]
    events = session.createDataFrame(rows, "number long, document string").repartition(4)
    subscriptions = session.createDataFrame(table_of(chosen))
    found = pairs(match(events, subscriptions, event_id="number", column="document"))
    check(found, {number: chosen[number].event for number, _ in rows}, chosen)
    return len(found)


def stream(session: SparkSession, folder: Path) -> int:
    """A stream against snapshots, which all executors see; the number of matches."""
    (folder / "events").mkdir()
    for file in range(3):
        rows = [json.dumps({"id": file * 10 + place, "x": place}) for place in range(10)]
        (folder / "events" / f"{file}.json").write_text("\n".join(rows))
    snapshots = Snapshots(folder / "snapshots", lambda: {"s": "x < 5", "t": "x = 9"})
    reader = session.readStream.schema("id long, x long").option("maxFilesPerTrigger", 1)
    events = reader.json(str(folder / "events")).repartition(4)
    found = pairs(drained(match(events, snapshots), folder))
    assert found == {
        (file * 10 + x, id)
        for file in range(3)
        for x in range(10)
        for id in ("s", "t")
        if (x < 5 if id == "s" else x == 9)
    }
    return len(found)


def city(session: SparkSession) -> dict[str, Any]:
    """The example with expensive operators; what is learned of calls feeds a second run."""
    for path in (ROOT / "examples" / "city_watch.py", ROOT / "tests/spark/city_operators.py"):
        session.sparkContext.addPyFile(str(path))
    city_watch = import_module("city_watch")
    frames = city_watch.frames(200)
    local = city_watch.city(copies=3)
    expected = set(local.match_batch(frames).pairs())
    rows = [(n, json.dumps({**each.attributes, **each.payloads})) for n, each in enumerate(frames)]
    events = session.createDataFrame(rows, "id int, frame string").repartition(4)
    texts = [(each.id, each.text) for each in local]
    table = session.createDataFrame(texts, "id string, subscription string")
    options: dict[str, Any] = {"column": "frame", "operators": ["city_operators"]}
    found = match(events, table, bindings=True, **options).collect()
    statistics = call_statistics(events, table, **options).cache()
    again = match(events, table, statistics=statistics, **options)
    return {
        "matches": len(expected),
        "right": {(row.event_id, row.subscription_id) for row in found} == expected,
        "again": pairs(again) == expected,
        "bound": sum("p" in json.loads(row.bindings) for row in found),
        "results": {row.call: row.results for row in statistics.collect()},
    }


def disturbed(session: SparkSession) -> dict[str, Any]:
    """A job of some seconds; says ``running`` when it has begun."""

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(0.2)
            yield batch

    engine = tamis.Engine()
    engine.subscribe_many({str(number): f"x = {number}" for number in range(100)})
    ids = session.range(0, PARTITIONS * ROWS, 1, PARTITIONS).mapInArrow(slowly, "id long")
    matches = match(ids.selectExpr("id", "id % 200 AS x"), Index(engine))
    context = session.sparkContext
    tracker, done = context.statusTracker(), threading.Event()
    failed = 0

    def follow() -> None:
        nonlocal failed
        said = False
        while not done.wait(0.05):
            for stage in tracker.getActiveStageIds():
                found = tracker.getStageInfo(stage)
                if found is not None and found.numTasks == PARTITIONS:
                    failed = max(failed, found.numFailedTasks)
                    if found.numCompletedTasks >= 4 and not said:
                        say("running", found.numCompletedTasks)
                        said = True

    follower = threading.Thread(target=follow)
    follower.start()
    rows = matches.collect()
    done.set()
    follower.join()
    found = {(row["event_id"], row["subscription_id"]) for row in rows}
    expected = {(id, str(id % 200)) for id in range(PARTITIONS * ROWS) if id % 200 < 100}
    return {"rows": len(rows), "right": found == expected, "failed": failed}


def main(master: str, packages: str, folder: Path) -> None:
    session = session_of(master, packages, folder)
    say("where", where(session))
    say("contract", contract(session))
    say("stream", stream(session, folder))
    say("city", city(session))
    say("disturbed", disturbed(session))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
