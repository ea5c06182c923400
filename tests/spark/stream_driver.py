"""A stream as a program of its own, which tests stop and kill: events × changing subscriptions.

    python stream_driver.py FOLDER

FOLDER has ``events`` (files of JSON) and ``changes``; matches go to ``found``. Each file of events
is one micro-batch. It ends when all of them are done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from tamis.spark import Snapshots, match, session_builder, watch


def main(folder: Path) -> None:
    builder = session_builder("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    reader = session.readStream.schema("id long, x long").option("maxFilesPerTrigger", 1)
    events = reader.json(str(folder / "events")).repartition(2)
    with Snapshots.from_changes(folder / "snapshots", folder / "changes", every=0.1) as snapshots:
        writer = match(events, snapshots, keep=["x"]).writeStream.format("parquet")
        writer = writer.option("path", str(folder / "found"))
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        print("started", flush=True)
        watch(query, snapshots=snapshots, console=Console(file=sys.stdout, width=200))
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
