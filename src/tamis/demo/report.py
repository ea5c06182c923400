"""What the demo on Spark shows at its end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.demo import data
from tamis.demo.explained import best_match, near_miss, several_bids, show_explained
from tamis.model.events.event import Event
from tamis.model.events.readers import read_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console
    from rich.table import Table

    from tamis.demo.stream import DemoPlan
    from tamis.engine.engine import Engine
    from tamis.spark import Index, Summary

_BUSIEST = 8
_SEARCHED, _WATCHERS = 500, 4_000
"""Auctions and subscriptions among which a near miss is sought."""
_TRIED = 50
"""Matches among which one is chosen."""


class Count(NamedTuple):
    """The matches of a version of a subscription, and the first and the last auction of them."""

    id: str
    version: int
    matches: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the stream."""

    plan: DemoPlan
    spark: SparkSession
    index: Index
    """The subscriptions at the end."""
    summary: Summary
    said: list[str]
    """What was reported on the way."""

    @property
    def engine(self) -> Engine:
        """The subscriptions at the end."""
        return self.index.engine

    def matches(self) -> DataFrame:
        """The sink's files, read as only Spark can: without those of unfinished batches."""
        return self.spark.read.parquet(str(self.plan.matches))

    def counts(self) -> list[Count]:
        """The matches of each subscription and version."""
        from pyspark.sql import functions as F  # noqa: N812

        event = F.col("event_id")
        by_version = self.matches().groupBy("subscription_id", "version")
        found = by_version.agg(F.count(F.lit(1)), F.min(event), F.max(event)).toArrow()
        columns = (column.to_pylist() for column in found.columns)
        return [Count(*row) for row in zip(*columns)]

    def auctions(self, first: int, last: int) -> list[Event]:
        """Some auctions, made again from their numbers."""
        numbers = self.spark.range(first, last).selectExpr("id AS n")
        return list(read_events(data.auctions(numbers, self.plan.seed).toArrow()))


def show(out: Console, report: Report, counts: list[Count]) -> None:
    """All of it."""
    _show_throughput(out, report)
    out.print(_busiest(report, counts))
    out.print()
    _show_versions(out, report, counts)
    for message in report.said:
        out.print(f"[bold]Reported[/bold] {message}\n")
    show_explained(out, "A match", report.engine, best_match(report.engine, _matched(report)))
    show_explained(out, "No match", report.engine, near_miss(report.engine, _missed(report)))
    _show_output(out, report)
    _show_hints(out)


def _show_throughput(out: Console, report: Report) -> None:
    summary = report.summary
    seconds = max(summary.busy_seconds, 1e-9)
    pairs = summary.events * len(report.index)
    out.print(
        f"\n[bold]{summary.events:,}[/bold] auctions against {len(report.index):,} subscriptions "
        f"in {seconds:.0f} s: [bold]{summary.events / seconds:,.0f}[/bold] events/s, "
        f"[bold]{summary.matches / seconds:,.0f}[/bold] matches/s\n"
        f"{summary.matches:,} matches, out of {pairs:,} pairs of an auction and a subscription\n"
    )


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


def _show_versions(out: Console, report: Report, counts: list[Count]) -> None:
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
        first, last = count.first // report.plan.batch, count.last // report.plan.batch
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
    for number, id, _ in rows:
        (event,) = report.auctions(number, number + 1)
        if id in report.engine and several_bids(event):
            yield event, id
            return


def _missed(report: Report) -> Iterator[tuple[Event, str]]:
    watchers: dict[str, list[str]] = defaultdict(list)
    ids: list[Any] = report.engine.slot_ids().to_pylist()
    present = (id for id in ids if id.startswith("bidder-") and id in report.engine)
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
        "matches": "Parquet: event_id, subscription_id, version",
        "checkpoint": "how far the stream is, so that it goes on from there",
        "snapshots": "the compiled subscriptions, and which batch saw which",
        "changes": "the change files, as they were dropped",
        "spark.log": "what Spark said",
    }
    for name, what in rows.items():
        out.print(Text.assemble("  ", (f"{folder / name}", "cyan"), f"  {what}"), soft_wrap=True)
    out.print("Read the matches through Spark, which leaves out what an unfinished batch wrote:")
    for line in (
        "from tamis.spark import session_builder",
        "spark = session_builder().getOrCreate()",
        f'spark.read.parquet("{report.plan.matches}").groupBy("subscription_id").count().show()',
    ):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print()


def _show_hints(out: Console) -> None:
    out.print("[bold]What to try next[/bold]")
    for hint, why in (
        ("tamis demo --subscriptions 1000000 --seconds 180", "ten times the subscriptions"),
        ("tamis demo --in-process", "every test of the language, without Spark"),
        ("python examples/auctions.py", "how to write such a stream"),
        ("python examples/security_alerts.py", "rules over log events"),
    ):
        out.print(f"  [cyan]{hint}[/cyan]  {why}", soft_wrap=True)
    out.print("  docs/spark.md tells it from the beginning")
