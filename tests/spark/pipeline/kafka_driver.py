"""A pipeline from topic to topic, as a program of its own; it runs until a signal stops it.

    python kafka_driver.py FOLDER BROKER [--once] [--check]

Events come from ``events``, subscriptions from the compacted topic ``rules``, matches go to
``matches`` and broken events to ``rejected``. With ``--check``, says first what is wrong with another
pipeline.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tamis.spark import session_builder
from tamis.spark.pipeline import EventForm, EventSource, Kafka, Pipeline, SubscriptionSource
from tests.jars import SPARK_KAFKA, jars

PER_BATCH = "maxOffsetsPerTrigger"


def main(folder: Path, broker: str, *flags: str) -> None:
    builder = session_builder("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.jars", ",".join(jars(SPARK_KAFKA)))
    session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    servers = {"kafka.bootstrap.servers": broker}
    source = {**servers, "subscribe": "events", PER_BATCH: "4000"}
    pipeline = Pipeline(
        EventSource("kafka", options=source),
        SubscriptionSource("kafka", options={**servers, "subscribe": "rules"}),
        [Kafka("matches", servers)],
        str(folder / "state"),
        events=EventForm(keep=("offset",)),
        rejected_events=Kafka("rejected", servers),
    )
    if "--check" in flags:
        absent = {**servers, "subscribe": "event"}
        nobody = {"kafka.bootstrap.servers": "127.0.0.1:1"}
        wrong = Pipeline(
            EventSource("kafka", options=absent),
            SubscriptionSource("kafka", options={**servers, "subscribe": "rule"}),
            [Kafka("matches", nobody)],
            "s3a://nowhere/state",
        )
        for problem in wrong.check(session):
            print(f"problem: {problem}", flush=True)
    print("started", flush=True)
    run = pipeline.run(
        session, once="--once" in flags, told=lambda report: print(report, flush=True)
    )
    print(run.summary, flush=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
