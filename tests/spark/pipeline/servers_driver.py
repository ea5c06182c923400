"""A pipeline that keeps its state in S3 and writes to S3, PostgreSQL and a web service.

    python servers_driver.py FOLDER S3_ADDRESS JDBC_URL WEBHOOK_URL

FOLDER has ``events``; subscriptions are change files in S3. It ends when all files are done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tamis.spark import session_builder
from tamis.spark.pipeline import EventSource, Jdbc, Parquet, Pipeline, SubscriptionSource, Webhook
from tests.jars import POSTGRESQL, S3A, jars


def main(folder: Path, s3: str, database: str, hook: str) -> None:
    builder = session_builder("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.jars", ",".join([*jars(S3A), *jars(POSTGRESQL)]))
    settings = {
        "endpoint": s3,
        "endpoint.region": "us-east-1",
        "access.key": "tests",
        "secret.key": "tests",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "change.detection.mode": "none",
    }
    for name, value in settings.items():
        builder = builder.config(f"spark.hadoop.fs.s3a.{name}", value)
    session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    pipeline = Pipeline(
        EventSource("json", str(folder / "events"), options={"maxFilesPerTrigger": "1"}),
        SubscriptionSource(changes="s3a://tamis/changes"),
        [
            Parquet("s3a://tamis/matches"),
            Jdbc(database, "matches", "tamis"),
            Webhook(hook, rows=7),
        ],
        "s3a://tamis/state",
        name="servers",
    )
    print("started", flush=True)
    run = pipeline.run(session, once=True, told=lambda report: print(report, flush=True))
    print(run.summary, flush=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
