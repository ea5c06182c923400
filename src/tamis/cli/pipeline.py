"""``tamis pipeline``: run a pipeline from a TOML file, check it, or begin one."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tamis.console import UsageError, console, say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.spark.pipeline import BatchReport, Configuration

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="TOML file of a pipeline.")]
_NAME = "pipeline.toml"
WRONG_USAGE = 2


def pipeline() -> None:
    """Match a stream of events on Spark, and write each match once to where it is needed."""


def run(
    file: FileArgument,
    once: Annotated[
        bool, typer.Option("--once", help="End when all events that are there are done.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each batch.")] = False,
    view: Annotated[
        bool, typer.Option("--view", help="A table that changes, instead of lines.")
    ] = False,
    metrics: Annotated[
        int | None,
        typer.Option("--metrics", min=0, max=65535, help="Serve metrics for Prometheus here."),
    ] = None,
) -> None:
    """Run a pipeline until it is stopped.

    SIGTERM and Ctrl-C finish the running batch. When you start it again, it continues where it
    stopped; after a crash, too: nothing is lost, and nothing is written twice.
    """
    configuration = _read(file)
    from tamis.spark.pipeline import PipelineError
    from tamis.spark.pipeline.metrics import Metrics
    from tamis.spark.pipeline.view import View

    out = console(stderr=True)
    with ExitStack() as stack:
        tellers: list[Callable[[BatchReport], None]] = []
        if metrics is not None:
            tellers.append(stack.enter_context(Metrics(configuration.pipeline.name, metrics)).tell)
        session = _session(configuration)
        stack.callback(session.stop)
        if view:
            tellers.append(stack.enter_context(View(configuration.pipeline.name, out)).tell)
        elif not quiet:
            tellers.append(lambda report: out.print(str(report), markup=False, soft_wrap=True))

        def tell(report: BatchReport) -> None:
            for each in tellers:
                each(report)

        try:
            found = configuration.pipeline.run(session, once=once, told=tell)
        except PipelineError as error:
            _fail([f"{file}: {each}" for each in error.problems])
    rejected = f", {found.rejected:,} events rejected" if found.rejected else ""
    out.print(f"{found.summary}{rejected}", markup=False, soft_wrap=True)


def check(
    file: FileArgument,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not start Spark: check only the file.")
    ] = False,
) -> None:
    """Find every mistake in a pipeline before it runs.

    Checks the file, and then with Spark: libraries, columns, databases, and every subscription.
    """
    configuration = _read(file)
    if not offline:
        _check_with_spark(file, configuration)
    say(f"{file}: all is well")


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path(_NAME),
) -> None:
    """Write a pipeline with every key explained, to begin with."""
    from tamis.spark.pipeline.template import TEMPLATE

    try:
        with open(file, "x", encoding="utf-8") as target:
            target.write(TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"{file} exists: name another file") from error
    say(f"{file}: edit it, then run 'tamis pipeline check {file}'")


COMMANDS: Mapping[Callable[..., None], tuple[str, ...]] = {
    run: (
        "tamis pipeline run pipeline.toml",
        "tamis pipeline run pipeline.toml --once",
        "tamis pipeline run pipeline.toml --view --metrics 9090",
    ),
    check: ("tamis pipeline check pipeline.toml", "tamis pipeline check pipeline.toml --offline"),
    init: ("tamis pipeline init", "tamis pipeline init alerts.toml"),
}


def _read(file: Path) -> Configuration:
    from tamis.demo.session import require_spark

    require_spark()
    from tamis.spark.pipeline import PipelineError, read_configuration

    sys.path.insert(0, str(file.absolute().parent))  # functions of the pipeline's own
    try:
        return read_configuration(file)
    except PipelineError as error:
        _fail(error.problems)


def _check_with_spark(file: Path, configuration: Configuration) -> None:
    session = _session(configuration)
    try:
        problems = [f"{file}: {each}" for each in configuration.pipeline.check(session)]
        if not problems:
            problems = [f"{file}: {each}" for each in configuration.pipeline.try_out(session)]
    finally:
        session.stop()
    if problems:
        _fail(problems)


def _fail(problems: list[str]) -> NoReturn:
    for problem in problems:
        say(problem)
    raise typer.Exit(WRONG_USAGE)


def _session(configuration: Configuration) -> SparkSession:
    from tamis.spark import session_builder

    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # errors are told once
    builder = session_builder().appName(configuration.pipeline.name)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for name, value in {"spark.master": "local[*]", **configuration.spark}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
