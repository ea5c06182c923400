"""The demo without Spark: generated auctions against generated subscriptions, in this process."""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.console import UsageError, console, progress_bar
from tamis.demo import auctions
from tamis.demo.explained import best_match, near_miss, several_bids, show_explained
from tamis.engine.engine import Engine
from tamis.model.events.event import Event
from tamis.model.limits import Limits

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_BUSIEST = 10
_SEARCHED = 200
"""Auctions among which the explained ones are sought."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of matching: the events, how often each subscription matched, and how long."""

    engine: Engine
    events: Sequence[Event]
    matched: Sequence[frozenset[str]]
    seconds: float

    @property
    def counts(self) -> Counter[str]:
        """The matches of each subscription."""
        return Counter(id for ids in self.matched for id in ids)


def run_in_process(events: int, subscriptions: int, seed: int, save: Path | None) -> None:
    """Match, and show what came of it."""
    whole_language = Limits(costly=math.inf)
    engine = Engine(taxonomy=auctions.TAXONOMY, limits=whole_language)
    engine.subscribe_many(auctions.subscriptions(subscriptions, seed))
    generated = list(auctions.events(events, seed))
    if save is not None:
        _save(save, generated, engine)
    run = _match(engine, [Event(event) for event in generated])
    out = console()
    out.print(f"[bold]{events:,} auctions, {subscriptions:,} subscriptions[/bold]\n")
    out.print(_table(run))
    _show_throughput(out, run)
    matched = ((event, id) for event, id, matches in _interesting(run) if matches)
    show_explained(out, "A match", engine, best_match(engine, matched))
    others = ((event, id) for event, id, matches in _interesting(run) if not matches)
    show_explained(out, "No match", engine, near_miss(engine, others))
    _show_hints(out, save)


def _match(engine: Engine, events: Sequence[Event]) -> Run:
    started = time.perf_counter()
    matched = []
    with progress_bar(visible=sys.stderr.isatty()) as progress:
        for event in progress.track(events, description="matching"):
            matched.append(frozenset(engine.match(event)))
    return Run(engine, events, matched, time.perf_counter() - started)


def _table(run: Run) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="The busiest subscriptions", title_justify="left")
    table.add_column("id", no_wrap=True)
    table.add_column("text")
    table.add_column("matches", justify="right")
    for id, count in run.counts.most_common(_BUSIEST):
        table.add_row(id, Text(run.engine[id].text), f"{count:,}")
    return table


def _show_throughput(out: Console, run: Run) -> None:
    tried = len(run.events) * len(run.engine)
    out.print(
        f"{run.counts.total():,} matches in {run.seconds:.1f} s: "
        f"[bold]{len(run.events) / run.seconds:,.0f}[/bold] events/s, "
        f"[bold]{tried / run.seconds:,.0f}[/bold] evaluations/s\n"
    )


def _interesting(run: Run) -> Iterator[tuple[Event, str, bool]]:
    """Auctions with several bids, and subscriptions with several clauses on the bids."""
    ids = [each.id for each in run.engine if each.text.count("bids.") > 1]
    for event, matched in zip(run.events[:_SEARCHED], run.matched, strict=False):
        if several_bids(event):
            yield from ((event, id, id in matched) for id in ids)


def _show_hints(out: Console, saved: Path | None) -> None:
    from rich.text import Text

    out.print("[bold]What to try next[/bold]")
    hints = [EXPLAIN_HINT]
    if saved is None:
        hints.append("tamis demo --in-process --save auctions")
    folder = saved or Path("auctions")
    files = f"-s {folder}/subscriptions.ndjson -t {folder}/taxonomy.json"
    hints.append(f"tamis match {folder}/events.parquet {files} --limit 5")
    hints.append(f"tamis explain {folder}/events.parquet {files} --id dealer-1")
    for hint in hints:
        out.print(Text(f"  {hint}", style="cyan"), soft_wrap=True)


EXPLAIN_HINT = (
    """tamis explain '{"bids": [{"by": "ada", "amount": 9}, {"by": "ben", "amount": 4}]}' """
    """--subscription "bids.by = 'ben' and bids.amount > 5" """.strip()
)


def _save(folder: Path, events: Sequence[dict[str, Any]], engine: Engine) -> None:
    """Write the data in the forms that the other commands read."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{"id": each.id, "subscription": each.text} for each in engine]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    batch = pa.RecordBatch.from_struct_array(pa.array(events))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "subscriptions.ndjson").write_text(lines, "utf-8")
        (folder / "taxonomy.json").write_text(json.dumps(auctions.TAXONOMY, indent=1), "utf-8")
        parquet.write_table(pa.Table.from_batches([batch]), folder / "events.parquet")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {(error.strerror or '').lower()}") from error
