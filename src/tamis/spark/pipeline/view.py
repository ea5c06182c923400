"""A live view of a pipeline in the terminal: the last micro-batches, and where the time goes."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table

from tamis.spark.pipeline.batches import BatchReport

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 10
"""Micro-batches that are shown."""


class View:
    """A table of the last micro-batches, which changes within a ``with`` block."""

    def __init__(self, pipeline: str, console: Console) -> None:
        self._pipeline = pipeline
        self._reports: deque[BatchReport] = deque(maxlen=_SHOWN)
        self._events = self._matches = self._rejected = 0
        self._live = Live(console=console, auto_refresh=False)

    def tell(self, report: BatchReport) -> None:
        """Show a micro-batch."""
        self._reports.append(report)
        self._events += report.events
        self._matches += report.matches
        self._rejected += report.rejected
        self._live.update(self.shown(), refresh=True)

    def shown(self) -> Group:
        """What the terminal shows now."""
        total = f"{self._events:,} events, {self._matches:,} matches, {self._rejected:,} rejected"
        table = Table(title=f"{self._pipeline}: {total}", title_justify="left")
        names = (
            "batch",
            "events",
            "events/s",
            "matches",
            "rejected",
            "seconds",
            "version",
            "behind",
        )
        for name in names:
            table.add_column(name, justify="right")
        for each in self._reports:
            rate = each.events / max(each.seconds, 1e-9)
            behind = "" if each.behind is None else f"{each.behind:,}"
            cells = (each.number, each.events, round(rate), each.matches, each.rejected)
            times = (f"{each.seconds:.2f}", str(each.version), behind)
            table.add_row(*(f"{cell:,}" for cell in cells), *times)
        return Group(table, self._steps())

    def _steps(self) -> Table:
        """The share of each step in the time of the batches shown."""
        times: dict[str, float] = defaultdict(float)
        for report in self._reports:
            for step, seconds in report.times.items():
                times[step] += seconds
            times["Spark"] += max(0.0, report.seconds - sum(report.times.values()))
        whole = sum(times.values()) or 1.0
        table = Table(title="where the time goes", title_justify="left", show_header=False)
        for step, seconds in sorted(times.items(), key=lambda each: -each[1]):
            table.add_row(step, f"{seconds:.2f} s", f"{seconds / whole:.0%}")
        return table

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
