"""A picture of a pipeline's run: throughput and latency of each micro-batch over time, as SVG.

events/s   ▁▅▆▇▇▆   a bar for each micro-batch, as wide as it took
seconds    ▇▂▂▁▂▂   the same, by steps
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tamis.spark.pipeline import BatchReport

_LEFT, _WIDTH, _HEIGHT, _TOP = 70, 760, 170, 60
_COLOURS = ("#36c", "#e90", "#2a7", "#c35", "#888", "#95c")
_STYLE = "text{font:12px sans-serif;fill:#222}.title{font-size:16px}.axis{stroke:#999}"
_OTHER = "Spark"
"""The time of a micro-batch that is in none of its steps."""


class _Panel(NamedTuple):
    """A diagram: where it is, and what the greatest value is."""

    top: int
    most: float
    seconds: float
    """The length of the time axis."""

    def x(self, seconds: float) -> float:
        return _LEFT + _WIDTH * seconds / self.seconds

    def height(self, value: float) -> float:
        return _HEIGHT * value / self.most

    def bar(self, start: float, length: float, low: float, high: float, colour: str) -> str:
        """A bar from the time ``start`` on, between two values."""
        y = self.top + _HEIGHT - self.height(high)
        width = max(1.0, _WIDTH * length / self.seconds - 1)
        return (
            f"<rect x='{self.x(start):.1f}' y='{y:.1f}' width='{width:.1f}' "
            f"height='{self.height(high - low):.1f}' fill='{colour}'/>"
        )

    def axes(self, title: str, format: str) -> Iterator[str]:
        bottom = self.top + _HEIGHT
        yield f"<text x='{_LEFT}' y='{self.top - 8}'>{escape(title)}</text>"
        for part in range(5):
            y = bottom - _HEIGHT * part / 4
            value = format.format(self.most * part / 4)
            yield f"<line class='axis' x1='{_LEFT}' x2='{_LEFT + _WIDTH}' y1='{y}' y2='{y}'/>"
            yield f"<text x='{_LEFT - 6}' y='{y + 4}' text-anchor='end'>{value}</text>"
        for part in range(9):
            at = self.seconds * part / 8
            x, said = self.x(at), f"{at:.0f} s"
            yield f"<text x='{x:.1f}' y='{bottom + 16}' text-anchor='middle'>{said}</text>"


def picture(title: str, reports: Sequence[BatchReport]) -> str:
    """Throughput and latency of micro-batches over time, as the text of an SVG file."""
    parts = "".join(_drawn(title, reports))
    height = 2 * (_HEIGHT + _TOP) + 80
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_LEFT + _WIDTH + 30} {height}' "
        f"role='img' aria-label='{escape(title)}'><style>{_STYLE}</style>"
        f"<rect width='100%' height='100%' fill='white'/>{parts}</svg>\n"
    )


def _drawn(title: str, reports: Sequence[BatchReport]) -> Iterator[str]:
    begin = min((each.at for each in reports), default=0.0)
    end = max((each.at + each.seconds for each in reports), default=1.0)
    rates = [each.events / max(each.seconds, 1e-9) for each in reports]
    longest = max((each.seconds for each in reports), default=1.0)
    upper = _Panel(_TOP, _round(max(rates, default=1.0)), end - begin)
    lower = _Panel(2 * _TOP + _HEIGHT + 20, _round(longest), end - begin)
    yield f"<text class='title' x='{_LEFT}' y='26'>{escape(title)}</text>"
    yield from upper.axes("Throughput: events a second", "{:,.0f}")
    for report, rate in zip(reports, rates):
        yield upper.bar(report.at - begin, report.seconds, 0, rate, _COLOURS[0])
    yield from _versions(upper, begin, reports)
    yield from lower.axes(
        "Latency: seconds from the beginning of a micro-batch to its end", "{:.2f}"
    )
    steps = [*dict.fromkeys(step for report in reports for step in report.times), _OTHER]
    colours = {step: _COLOURS[n % len(_COLOURS)] for n, step in enumerate(steps)}
    for report in reports:
        yield from _stacked(lower, report, begin, colours)
    for number, (step, colour) in enumerate(colours.items()):
        x, y = _LEFT + 125 * number, lower.top + _HEIGHT + 34
        yield f"<rect x='{x}' y='{y}' width='10' height='10' fill='{colour}'/>"
        yield f"<text x='{x + 14}' y='{y + 9}'>{escape(step)}</text>"


def _stacked(
    panel: _Panel, report: BatchReport, begin: float, colours: dict[str, str]
) -> Iterator[str]:
    """The steps of a micro-batch, one on another."""
    times = dict(report.times)
    times[_OTHER] = max(0.0, report.seconds - sum(times.values()))
    low = 0.0
    for step, seconds in times.items():
        yield panel.bar(report.at - begin, report.seconds, low, low + seconds, colours[step])
        low += seconds


def _versions(panel: _Panel, begin: float, reports: Sequence[BatchReport]) -> Iterator[str]:
    """The micro-batches that see another version of the subscriptions than the one before."""
    before = None
    for report in reports:
        if report.version != before:
            x, y = panel.x(report.at - begin), panel.top
            said = f"subscriptions version {report.version}" if before is None else report.version
            yield f"<path d='M{x:.1f} {y}v14' stroke='{_COLOURS[3]}'/>"
            yield f"<text x='{x + 3:.1f}' y='{y + 11}'>{said}</text>"
        before = report.version


def _round(value: float) -> float:
    """The next number above that has one digit."""
    digit = 10.0 ** (len(f"{max(value, 1e-9):.0f}") - 1) if value >= 1 else 0.1
    return digit * (int(value / digit) + 1)
