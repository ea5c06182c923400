"""``tamis demo``: a stream of auctions on Spark, or a smaller one in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.console import UsageError, console

if TYPE_CHECKING:
    from rich.console import Console

    from tamis.demo.stream import DemoPlan

EXAMPLES = (
    "tamis demo",
    "tamis demo --events 5000000 --seconds 180 --output demo",
    "tamis demo --in-process",
    "tamis demo --in-process --events 200 --subscriptions 35 --seed 7",
    "tamis demo --in-process --events 100 --save auctions",
    "tamis demo --broker",
)

_ON_SPARK = (2_000_000, 100_000)
_IN_PROCESS = (3_000, 300)
"""Events and subscriptions."""
_SECONDS = 75.0
_STOPPED = 130


def demo(
    events: Annotated[
        int | None,
        typer.Option(
            "--events", min=1, help="Auctions to match (2,000,000; 3,000 in this process)."
        ),
    ] = None,
    subscriptions: Annotated[
        int | None,
        typer.Option(
            "--subscriptions",
            min=1,
            help="Subscriptions to match them against (100,000; 300 in this process).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same data.")] = 0,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", min=1, help="It ends so long after the start at the latest (75 on Spark)."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Folder for everything that the stream writes."),
    ] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Without Spark: fewer events, one by one.")
    ] = False,
    broker: Annotated[
        bool, typer.Option("--broker", help="A broker with a publisher and three subscribers.")
    ] = False,
    port: Annotated[int, typer.Option("--port", help="Port of the broker, with --broker.")] = 8080,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", help="Folder for the data, with --in-process, for the other commands."
        ),
    ] = None,
) -> None:
    """Match generated auctions on Spark, as JSON documents, while the subscriptions change.

    Shows the throughput of each micro-batch, where the time goes, what a nested-loop join would
    take, which documents were broken, the busiest subscriptions, what a change of a subscription
    did, and why one auction matches and another does not.

    With [bold]--in-process[/bold] it needs no Spark, and the subscriptions use every test on
    attributes between them: regular expressions, networks, arithmetic and the like.

    With [bold]--broker[/bold] it starts [bold]tamis serve[/bold], publishes auctions to it, and
    receives what matches in three ways: server-sent events, a webhook, long poll. It runs until you
    press Ctrl-C; open the console meanwhile.
    """
    if broker:
        from tamis.demo.broker import run_broker

        run_broker(seconds, port, seed)
        return
    if in_process:
        if output is not None:
            raise UsageError("--output is for the demo on Spark; with --in-process it is --save")
        from tamis.demo.in_process import run_in_process

        given = (events or _IN_PROCESS[0], subscriptions or _IN_PROCESS[1])
        run_in_process(*given, seed, save)
        return
    if save is not None:
        raise UsageError("--save is for --in-process; on Spark it is --output")
    from tamis.demo.session import require_spark, terminable
    from tamis.demo.stream import DemoPlan, make_folders

    require_spark()
    with terminable():
        folder = _temporary() if output is None else output
        given = (events or _ON_SPARK[0], subscriptions or _ON_SPARK[1])
        plan = DemoPlan(*given, time.monotonic() + (seconds or _SECONDS), seed, folder.absolute())
        make_folders(plan)
        _on_spark(plan)


def _temporary() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="tamis-demo-"))


def _on_spark(plan: DemoPlan) -> None:
    from tamis.demo import data, nested_loop, report, session, shares, stream
    from tamis.demo.picture import picture

    err = console(stderr=True)
    with session.messages(err) as said, ExitStack() as stack:
        with _step(err, f"{plan.subscriptions:,} subscriptions, generated and compiled"):
            subscriptions = data.Subscriptions(plan.subscriptions, plan.seed)
            index = stream.compiled(subscriptions.first)
            stream.write_subscriptions(plan, subscriptions.first)
        with _step(err, "Spark, started"):
            spark = stack.enter_context(session.session(plan.log))
        with _step(err, f"{plan.events:,} auctions, generated as JSON documents"):
            stream.write_documents(plan, spark)
        with _step(err, "Python workers, started"):
            stream.warm_up(plan, spark, index)
        said.clear()
        with stream.Changes(subscriptions, plan.changes, err):
            ended = stream.run(plan, spark, err)
        title = f"{ended.run.summary.events:,} auctions, {plan.subscriptions:,} subscriptions"
        plan.picture.write_text(picture(title, ended.reports), "utf-8")
        if ended.run.summary.stopped and not ended.late:
            err.print(f"what it wrote is in {plan.matches}", soft_wrap=True, markup=False)
            raise typer.Exit(_STOPPED)
        with _step(err, "the same by a nested-loop join, on a slice"):
            loop = nested_loop.measured(plan, spark, index, subscriptions.first)
        with _step(err, "the ways of a document, timed"):
            spent = shares.shares(ended.reports, shares.passes(plan, spark))
        latest = stream.latest_index(plan)
        found = report.Report(plan, spark, latest, ended.run, ended.reports, spent, loop, said)
        with _step(err, "the matches, read back and counted"):
            counts = found.counts()
        report.show(console(), found, counts)


@contextmanager
def _step(out: Console, what: str) -> Iterator[None]:
    """Say what is done, and how long it took."""
    started = time.monotonic()
    with out.status(what):
        yield
    out.print(f"{what}: {time.monotonic() - started:.1f} s")
