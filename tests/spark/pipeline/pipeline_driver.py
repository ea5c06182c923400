"""A pipeline as a program of its own, which tests stop and kill.

    python pipeline_driver.py FOLDER [SETTING=VALUE …]

FOLDER has ``events`` (files of JSON documents, each a micro-batch) and ``changes``; matches go to
``found`` and ``found-json``, broken documents to ``rejected``. It ends when all files are done.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from tamis.spark import session_builder
from tamis.spark.pipeline import (
    EventForm,
    EventSource,
    Json,
    Parquet,
    Pipeline,
    SubscriptionSource,
)


def main(folder: Path, *settings: str) -> None:
    builder = session_builder().config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 2).master("local[2]")
    for setting in settings:
        builder = builder.config(*setting.split("=", 1))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    pipeline = Pipeline(
        EventSource("json", str(folder / "events"), options={"maxFilesPerTrigger": "1"}),
        SubscriptionSource(changes=str(folder / "changes")),
        {
            "parquet": Parquet(str(folder / "found")),
            "json": Json(str(folder / "found-json")),
        },
        (folder / "state").as_uri(),
        events=EventForm(
            id="coalesce(CAST(get_json_object(document, '$.id') AS LONG), -1)",
        ),
        rejected_events=Json(str(folder / "rejected")),
    )
    logging.getLogger("tamis").addHandler(logging.StreamHandler(sys.stdout))
    print("started", flush=True)
    try:
        run = pipeline.run(session, once=True, told=lambda report: print(report, flush=True))
    except Exception as error:
        print(f"failed: {error!r}, by {error.__cause__!r}", flush=True)
        raise
    print(run.summary, flush=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
