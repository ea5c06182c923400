"""A live view of a pipeline in the terminal: the last micro-batches, where the time goes, and which
subscriptions cost most."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table

from tamis.spark.pipeline.batches import BatchReport
from tamis.spark.pipeline.versions import Expensive

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 10
"""Micro-batches that are shown."""
_NAMED = 3
"""Expensive access keys, and subscriptions without one, that are shown."""


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
        return Group(table, self._steps(), *self._expensive())

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

    def _expensive(self) -> Iterator[Table]:
        """What subscriptions cost by access key, those without one below."""
        found = self._reports[-1].expensive if self._reports else Expensive()
        if not found.by_key:
            return
        below = ", ".join(str(each) for each in found.unserved[:_NAMED])
        more = ", …" if found.unserved_count > _NAMED else ""
        without = f"without an access key: {found.unserved_count:,}"
        without += f" ({below}{more})" if below else ""
        table = Table(
            title="the most expensive subscriptions", title_justify="left",
            caption=without, caption_justify="left",
        )  # fmt: skip
        table.add_column("access key")
        table.add_column("subscriptions", justify="right")
        table.add_column("ns an event", justify="right")
        for each in found.by_key[:_NAMED]:
            table.add_row(each.access_key, f"{each.subscriptions:,}", f"{each.nanoseconds:,.0f}")
        yield table

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
