"""Subscriptions over history: what would have matched, how often and when.

events of a year ──match──> by subscription and day ──> totals, a report with plots
the same ──match with the subscriptions as they are──> what a change would add and take away
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.errors import TamisError
from tamis.spark.columns import EVENT_ID, SUBSCRIPTION_ID, check_events, quoted
from tamis.spark.index.index import Index
from tamis.spark.match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WIDTH, _HEIGHT, _LINE = 720, 160, 28
_SHOWN = 100
"""Subscriptions that a report shows, the busiest first."""


class History(NamedTuple):
    """The matches of a subscription over history."""

    subscription: Any
    matches: int
    periods: dict[datetime, int]
    """Matches by the beginning of the period; those without a match are not there."""
    added: int = 0
    """Matches that the subscriptions before did not have."""
    lost: int = 0
    """Matches that only these had."""


class Backtest(NamedTuple):
    """What would have matched."""

    matches: DataFrame
    """The matches, with the column of the time."""
    events: int
    every: str
    periods: list[datetime]
    """The beginnings of all periods with events, ascending."""
    histories: list[History]
    """One for each subscription, the busiest first; also for those that matched nothing."""
    compared: bool
    """Whether there were subscriptions before."""

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write an HTML page with the figures and their plots; it needs nothing else."""
        Path(path).write_text("".join(_page(self)), "utf-8")


def backtest(
    events: DataFrame,
    subscriptions: Any,
    *,
    at: str,
    every: str = "1 day",
    before: Any = None,
    event_id: str = "id",
    **options: Any,
) -> Backtest:
    """Match subscriptions against past events and count their matches by time.

    ``at`` is the events' column of timestamps, ``every`` the length of a period (``"1 hour"``).
    Give the subscriptions that are in use in ``before`` to learn what changed ones, under the same
    ids, would add and take away. The options are those of ``match``.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import TimestampNTZType, TimestampType

    check_events(events, [event_id, at])
    if events.isStreaming:
        raise TamisError("a backtest is over a table of events, not over a stream")
    kind = events.schema[at].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise TamisError(f"column {at!r} is of type {kind.simpleString()}: it must be a timestamp")
    if hasattr(subscriptions, "mapInArrow"):
        subscriptions = Index.of(subscriptions)
    period = F.window(quoted(at), every)["start"].alias("period")
    told = events.groupBy(period).count().toArrow().to_pylist()
    found = match(events, subscriptions, event_id=event_id, keep=[at], **options)
    counted = found.groupBy(SUBSCRIPTION_ID, period).count().toArrow().to_pylist()
    added: dict[Any, int] = {}
    lost: dict[Any, int] = {}
    if before is not None:
        past = match(events, before, event_id=event_id, keep=[at], **options)
        added, lost = _beyond(found, past), _beyond(past, found)
    by_id: defaultdict[Any, dict[datetime, int]] = defaultdict(dict)
    for row in counted:
        by_id[row[SUBSCRIPTION_ID]][row["period"]] = row["count"]
    ids = [*by_id, *added, *lost]
    if isinstance(subscriptions, Index):
        ids += subscriptions.columns[SUBSCRIPTION_ID].to_pylist()
    histories = [
        History(id, sum(by_id[id].values()), by_id[id], added.get(id, 0), lost.get(id, 0))
        for id in dict.fromkeys(ids)
    ]
    histories.sort(key=lambda each: (-each.matches, -each.lost))
    starts = sorted(row["period"] for row in told if row["period"] is not None)
    total = sum(row["count"] for row in told)
    return Backtest(found, total, every, starts, histories, before is not None)


def _beyond(ours: DataFrame, theirs: DataFrame) -> dict[Any, int]:
    """How many pairs of each subscription only the first result has."""
    pair = [EVENT_ID, SUBSCRIPTION_ID]
    alone = ours.join(theirs.select(*pair), pair, "left_anti")
    return {row[0]: row[1] for row in alone.groupBy(SUBSCRIPTION_ID).count().collect()}


# The report.

_STYLE = (
    "body{font:15px sans-serif;margin:2em;max-width:60em}table{border-collapse:collapse}"
    "td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:right}"
    "td:first-child,th:first-child{text-align:left}rect{fill:#36c}"
)


def _page(found: Backtest) -> Iterator[str]:
    total = sum(each.matches for each in found.histories)
    silent = sum(not each.matches for each in found.histories)
    yield f"<!doctype html><meta charset='utf-8'><title>Backtest</title><style>{_STYLE}</style>"
    yield "<h1>Backtest</h1>"
    yield f"<p>{found.events:,} events, {len(found.histories):,} subscriptions, {total:,} matches. "
    yield f"Subscriptions without any match: {silent:,}.</p>"
    if found.periods:
        yield f"<p>Matches in each period of {escape(found.every)}, from {found.periods[0]} to "
        yield f"{found.periods[-1]}:</p>"
        sums = [
            sum(each.periods.get(start, 0) for each in found.histories) for start in found.periods
        ]
        yield _bars(sums, _WIDTH, _HEIGHT)
    yield "<table><tr><th>subscription<th>matches<th>of all events"
    yield "<th>added<th>lost" if found.compared else ""
    yield "<th>busiest period<th>over time</tr>"
    for each in found.histories[:_SHOWN]:
        yield from _row(found, each)
    yield "</table>"
    if len(found.histories) > _SHOWN:
        yield f"<p>and {len(found.histories) - _SHOWN:,} more</p>"


def _row(found: Backtest, history: History) -> Iterator[str]:
    share = history.matches / max(found.events, 1)
    yield f"<tr><td>{escape(str(history.subscription))}<td>{history.matches:,}<td>{share:.2%}"
    if found.compared:
        yield f"<td>{history.added:,}<td>{history.lost:,}"
    busiest = max(history.periods, key=lambda each: history.periods[each], default=None)
    yield "<td>" + ("" if busiest is None else f"{busiest}: {history.periods[busiest]:,}")
    counts = [history.periods.get(start, 0) for start in found.periods]
    yield f"<td>{_bars(counts, _WIDTH // 3, _LINE)}</tr>"


def _bars(counts: Sequence[int], width: int, height: int) -> str:
    """A bar for each count, as SVG; many periods are put together, so that bars can be seen."""
    size = -(-len(counts) // width) or 1
    sums = [sum(counts[at : at + size]) for at in range(0, len(counts), size)]
    most, step = max(sums, default=0) or 1, width / max(len(sums), 1)
    bars = "".join(
        f"<rect x='{n * step:.1f}' y='{height - height * count / most:.1f}'"
        f" width='{max(step - 0.5, 0.5):.1f}' height='{height * count / most:.1f}'/>"
        for n, count in enumerate(sums)
        if count
    )
    label = f"from {min(sums, default=0):,} to {most:,}"
    return (
        f"<svg viewBox='0 0 {width} {height}' width='{width}' height='{height}' role='img'"
        f" aria-label='{label}'><title>{label}</title>{bars}</svg>"
    )
