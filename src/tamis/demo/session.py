"""A quiet Spark session for the demo: what the user sees is ours, what Spark says is in a file."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.errors import MissingExtraError, TamisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

_WITHOUT = "'tamis demo --in-process' needs no Spark"

_SETTINGS = {
    "spark.app.name": "tamis demo",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def require_spark() -> None:
    """Raise if PySpark or Java is missing, with all remedies."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    try:
        from tamis.spark.session.java import ensure_java

        ensure_java()
    except MissingExtraError as error:
        raise MissingExtraError(f"{error}; {_WITHOUT}") from error


@contextmanager
def session(log: Path) -> Iterator[SparkSession]:
    """A session on all cores of this machine; the output of its processes goes to a file."""
    from tamis.spark import session_builder

    builder = session_builder("local[*]")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    with _told(log, "Spark did not start"), _output_to(log), _deferred() as asked:
        spark = builder.getOrCreate()
    try:
        if asked:
            raise KeyboardInterrupt
        with _told(log, "the stream failed"):
            yield spark
    finally:
        spark.stop()


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Let processes that are started within write to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with open(log, "ab") as file:
        for number in kept:
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for number, former in kept.items():
            os.dup2(former, number)
            os.close(former)


@contextmanager
def _told(log: Path, what: str) -> Iterator[None]:
    """Turn Spark's errors into one line and the place of the rest."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TamisError(f"{what}: {reason}; all of it is in {log}; {_WITHOUT}") from error


@contextmanager
def _deferred() -> Iterator[list[int]]:
    """Keep signals for later: a Java that is interrupted while it starts would stay forever."""
    asked: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    former = {each: signal.signal(each, lambda *_: asked.append(1)) for each in signals}
    try:
        yield asked
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM do within what Ctrl-C does."""
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


class _Messages(logging.Handler):
    def __init__(self, out: Console) -> None:
        super().__init__()
        self._out = out
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        self.kept.append(message)
        self._out.print(message, style="yellow", markup=False)


@contextmanager
def messages(out: Console) -> Iterator[list[str]]:
    """Show what the library reports within, and keep it."""
    log = logging.getLogger("tamis")
    handler = _Messages(out)
    log.addHandler(handler)
    try:
        yield handler.kept
    finally:
        log.removeHandler(handler)
