"""What the demo on Spark shows at its end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.demo import data, stream
from tamis.demo.explained import best_match, near_miss, several_bids, show_explained
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console
    from rich.table import Table

    from tamis.demo.nested_loop import Loop
    from tamis.demo.stream import DemoPlan
    from tamis.engine.engine import Engine
    from tamis.spark import Index
    from tamis.spark.pipeline import BatchReport, Run

_BUSIEST = 8
_SEARCHED, _WATCHERS = 500, 4_000
"""Auctions and subscriptions among which a near miss is sought."""
_TRIED = 50
"""Matches among which one is chosen."""


class Count(NamedTuple):
    """The matches of a version of a subscription, and the first and the last batch of them."""

    id: str
    version: int
    matches: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the pipeline."""

    plan: DemoPlan
    spark: SparkSession
    index: Index
    """The subscriptions at the end."""
    run: Run
    reports: list[BatchReport]
    shares: dict[str, float]
    """Where the time went, in seconds."""
    loop: Loop
    """What matching takes without Tamis."""
    said: list[str]
    """What was reported on the way."""

    @property
    def engine(self) -> Engine:
        """The subscriptions at the end."""
        return self.index.engine

    def matches(self) -> DataFrame:
        """What the pipeline wrote, with the number of the batch."""
        return self.spark.read.parquet(str(self.plan.matches))

    def rejected(self) -> list[tuple[str, int]]:
        """The reasons why events were rejected, and how often."""
        if not self.run.rejected:
            return []
        reason = "split(reason, ' at line')[0] AS reason"
        rejected = self.spark.read.json(str(self.plan.rejected)).selectExpr(reason)
        counted = rejected.groupBy("reason").count()
        return [(reason, count) for reason, count in counted.orderBy("reason").collect()]

    def counts(self) -> list[Count]:
        """The matches of each subscription and version."""
        from pyspark.sql import functions as F  # noqa: N812

        batch = F.col("batch")
        by_version = self.matches().groupBy("subscription_id", "version")
        found = by_version.agg(F.count(F.lit(1)), F.min(batch), F.max(batch)).toArrow()
        columns = (column.to_pylist() for column in found.columns)
        return [Count(*row) for row in zip(*columns)]

    def auctions(self, first: int, last: int) -> list[Event]:
        """Some auctions that can be read, made again from their numbers."""
        rows = stream.documents_of(self.plan, self.spark, first, last).collect()
        return [read_json(document) for _, document in rows if _is_whole(document)]


def _is_whole(document: str) -> bool:
    return document.startswith("{") and document.endswith("}")


def show(out: Console, report: Report, counts: list[Count]) -> None:
    """All of it."""
    _show_throughput(out, report)
    out.print(_times(report))
    _show_loop(out, report)
    _show_rejected(out, report)
    out.print(_busiest(report, counts))
    out.print()
    _show_versions(out, counts)
    for message in report.said:
        out.print(f"[bold]Reported[/bold] {message}\n")
    show_explained(out, "A match", report.engine, best_match(report.engine, _matched(report)))
    show_explained(out, "No match", report.engine, near_miss(report.engine, _missed(report)))
    _show_output(out, report)
    _show_hints(out)


def _show_throughput(out: Console, report: Report) -> None:
    summary = report.run.summary
    seconds = max(summary.busy_seconds, 1e-9)
    pairs = summary.events * len(report.index)
    out.print(
        f"\n[bold]{summary.events:,}[/bold] auctions as JSON against {len(report.index):,} "
        f"subscriptions in {seconds:.0f} s: [bold]{summary.events / seconds:,.0f}[/bold] events/s, "
        f"[bold]{summary.matches / seconds:,.0f}[/bold] matches/s\n"
        f"{summary.matches:,} matches, out of {pairs:,} pairs of an auction and a subscription\n"
    )


def _times(report: Report) -> Table:
    """Where the time went."""
    from rich.table import Table

    events = max(report.run.summary.events, 1)
    whole = sum(report.shares.values()) or 1.0
    table = Table(title="Where the time goes", title_justify="left")
    table.add_column("")
    for name in ("seconds", "share", "µs an event"):
        table.add_column(name, justify="right")
    for what, seconds in report.shares.items():
        cells = (f"{seconds:.2f}", f"{seconds / whole:.0%}", f"{seconds / events * 1e6:.2f}")
        table.add_row(what, *cells)
    return table


def _show_loop(out: Console, report: Report) -> None:
    loop, summary = report.loop, report.run.summary
    hours = loop.hours(summary.events)
    faster = hours * 3600 / max(summary.busy_seconds, 1e-9)
    out.print(
        f"\nA nested-loop join of {loop.auctions:,} of these auctions with the same subscriptions "
        f"took {loop.seconds:.1f} s and found the same {loop.matches:,} pairs. All auctions would "
        f"take it [bold]{_duration(hours)}[/bold]: {faster:,.0f} times as long.\n"
    )


def _duration(hours: float) -> str:
    for unit, length in (("days", 24), ("hours", 1)):
        if hours >= 2 * length:
            return f"{hours / length:.0f} {unit}"
    return f"{hours * 60:.0f} minutes"


def _show_rejected(out: Console, report: Report) -> None:
    out.print(f"{report.run.rejected:,} documents were broken on purpose, and set aside:")
    for reason, count in report.rejected():
        out.print(f"  {count:,} × {reason}", markup=False, highlight=False)
    out.print()


def _busiest(report: Report, counts: list[Count]) -> Table:
    from rich.table import Table
    from rich.text import Text

    totals: dict[str, int] = defaultdict(int)
    for count in counts:
        totals[count.id] += count.matches
    table = Table(title="The busiest subscriptions", title_justify="left")
    table.add_column("id", no_wrap=True)
    table.add_column("text")
    table.add_column("matches", justify="right")
    for id in sorted(totals, key=lambda id: -totals[id])[:_BUSIEST]:
        text = report.engine[id].text if id in report.engine else "(removed meanwhile)"
        table.add_row(id, Text(text), f"{totals[id]:,}")
    return table


def _show_versions(out: Console, counts: list[Count]) -> None:
    """How the matches of a subscription changed with it."""
    from rich.table import Table
    from rich.text import Text

    title = f"How {data.STAR} changed while the stream ran"
    table = Table(title=title, title_justify="left")
    table.add_column("version", justify="right")
    table.add_column("text")
    table.add_column("batches", justify="right")
    table.add_column("matches", justify="right")
    table.add_column("a batch", justify="right")
    for count in sorted(count for count in counts if count.id == data.STAR):
        first, last = count.first, count.last
        each = count.matches / (last - first + 1)
        text = Text(str(data.star(count.version).text))
        span = f"{first}–{last}" if last > first else f"{first}"
        table.add_row(f"{count.version}", text, span, f"{count.matches:,}", f"{each:,.0f}")
    if table.row_count:
        out.print(table)
        out.print()


# Matches and near misses to explain: subscriptions on bids, and auctions with several.


def _matched(report: Report) -> Iterator[tuple[Event, str]]:
    rows = report.matches().where("subscription_id LIKE 'bidder-%'").limit(_TRIED).collect()
    for number, id, *_ in rows:
        (event,) = report.auctions(number, number + 1)
        if id in report.engine and several_bids(event):
            yield event, id
            return


def _missed(report: Report) -> Iterator[tuple[Event, str]]:
    watchers: dict[str, list[str]] = defaultdict(list)
    ids: list[Any] = report.engine.slot_ids().to_pylist()
    present = (id for id in ids if id and id.startswith("bidder-"))
    for id in islice(present, _WATCHERS):
        found = re.search(r"bids\.by = '(.+?)'", report.engine[id].text)
        if found:
            watchers[found[1]].append(id)
    for event in report.auctions(0, _SEARCHED):
        if several_bids(event):
            for bidder in event.values(("bids", "by")):
                yield from ((event, id) for id in watchers.get(str(bidder), ()))


def _show_output(out: Console, report: Report) -> None:
    from rich.text import Text

    folder = report.plan.folder
    out.print("[bold]What the stream wrote[/bold]")
    rows = {
        "events": "the auctions, as JSON documents in Parquet",
        "matches": "Parquet: event_id, subscription_id, version, and batch",
        "rejected": "JSON: the events that could not be read, and the faulty subscription",
        "state": "how far the pipeline is, and which batch saw which subscriptions",
        "changes": "the change files, as they were dropped",
        "throughput.svg": "a picture of throughput and latency over time",
        "spark.log": "what Spark said",
    }
    for name, what in rows.items():
        out.print(Text.assemble("  ", (f"{folder / name}", "cyan"), f"  {what}"), soft_wrap=True)
    out.print("Any reader of Parquet sees each match once:")
    for line in (
        "import pandas",
        f'pandas.read_parquet("{report.plan.matches}").subscription_id.value_counts()',
    ):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print()


def _show_hints(out: Console) -> None:
    out.print("[bold]What to try next[/bold]")
    for hint, why in (
        ("tamis demo --subscriptions 1000000 --seconds 180", "ten times the subscriptions"),
        ("tamis demo --in-process", "every test of the language, without Spark"),
        ("tamis pipeline init", "a pipeline of your own"),
        ("python examples/auctions.py", "how to write such a stream"),
        ("python examples/security_alerts.py", "rules over log events"),
    ):
        out.print(f"  [cyan]{hint}[/cyan]  {why}", soft_wrap=True)
    out.print("  docs/pipeline.md tells it from the beginning")
