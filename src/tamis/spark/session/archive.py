"""An archive of Spark's classes, from which sessions start in half of the time.

Most of the start of a session is Java loading, checking and compiling classes, always the same
ones. Java can write them down at the end of a run and map them at the start of others: as an AOT
cache from version 25 on, as a class-data archive before. This does such a run, once for an
installation; ``session_builder`` uses what it finds. Java ignores an archive that does not fit, of
another Spark or another Java, so a stale one only saves nothing.
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
    """The options of Java that use the archive; None if there is none."""
    for suffix, (_, reads) in _FLAGS.items():
        path = _archive(suffix)
        if path.exists():
            return f"{_SILENT} {reads}{path}"
    return None


def prepare() -> Path:
    """Make the archive, unless there is one; takes about 40 seconds and 180 MB of disk."""
    suffix = ".aot" if _java_version() >= _FIRST_WITH_AOT else ".jsa"
    path = _archive(suffix)
    if path.exists():
        return path
    written = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        _archived_run(f"{_SILENT} {_FLAGS[suffix][0]}{written}")
        if not written.exists():
            raise StorageError(f"Java wrote no archive of classes into {path.parent}")
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
    """Do what sessions do, and end Java, which then writes the archive."""
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
    gateway.proc.stdin.close()  # upon which Java ends
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
