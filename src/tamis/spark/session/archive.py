"""An archive of Spark's classes, which halves the start of a session.

At the start of a session, Java spends most of the time loading, checking and compiling the same
classes again. Java can save them at the end of a run, and map them at the start of the next: as an
AOT cache from version 25 on, as a class-data archive before. ``prepare`` does such a run, once per
installation, and ``session_builder`` uses the archive if there is one. Java ignores an archive of
another Spark or another Java, so a stale one does no harm.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tamis.errors import StorageError
from tamis.spark.session.java import ensure_java, writable_folder

_SILENT = "-Xlog:disable"
_FLAGS = {  # by the suffix of a file: what writes it, what reads it
    ".aot": ("-XX:AOTCacheOutput=", "-XX:AOTCache="),
    ".jsa": ("-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
}
_FIRST_WITH_AOT = 25


def archive_options() -> str | None:
    """The Java options that use the archive; None if there is no archive."""
    for suffix, (_, reads) in _FLAGS.items():
        path = _archive(suffix)
        if path.exists():
            return f"{_SILENT} {reads}{path}"
    return None


def prepare() -> Path:
    """Create the archive, unless it exists; takes about 40 seconds and 180 MB of disk."""
    suffix = ".aot" if _java_version() >= _FIRST_WITH_AOT else ".jsa"
    path = _archive(suffix)
    if path.exists():
        return path
    written = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        _archived_run(f"{_SILENT} {_FLAGS[suffix][0]}{written}")
        if not written.exists():
            raise StorageError(f"Java did not write a class archive to {path.parent}")
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
    return path


def _archive(suffix: str) -> Path:
    import pyspark

    key = f"{pyspark.__version__} {pyspark.__file__} {ensure_java()}"
    name = hashlib.sha256(key.encode()).hexdigest()[:12]
    return writable_folder() / f"spark-{name}{suffix}"


def _java_version() -> int:
    java = Path(ensure_java()) / "bin" / "java"
    command = [str(java), "-XshowSettings:properties", "-version"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    version = next(line for line in shown.splitlines() if "java.specification.version" in line)
    return int(version.split("=")[1])


def _archived_run(options: str) -> None:
    """Run a typical session, then end Java, which writes the archive."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from tamis.spark.session.session import session_builder

    builder = session_builder("local[1]").config("spark.driver.extraJavaOptions", options)
    session: Any = builder.config("spark.log.level", "ERROR").getOrCreate()
    gateway: Any = SparkContext._gateway
    with tempfile.TemporaryDirectory() as folder:
        _exercise(session, Path(folder))
    SparkSession.stop(session)
    gateway.shutdown()
    gateway.proc.stdin.close()  # makes Java exit
    gateway.proc.wait()


def _exercise(session: Any, folder: Path) -> None:
    from tamis.engine.engine import Engine
    from tamis.spark.match import match

    engine = Engine()
    engine.subscribe("a < 5 and b = '1'", id="s")
    events = session.range(100).selectExpr("id", "id % 10 as a", "string(id) as b")
    events.write.parquet(str(folder / "events"))
    match(events, engine).orderBy("event_id").collect()
    stream = session.readStream.schema(events.schema).parquet(str(folder / "events"))
    query = (
        match(stream, engine)
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start(str(folder / "matches"), format="parquet")
    )
    query.awaitTermination()
    session.read.parquet(str(folder / "matches")).count()
