"""Pictures of figures, as small SVG files; matplotlib comes with the extra "dev"."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.papers.experiment import Figure
from benchmarks.papers.results import Results
from benchmarks.report import number, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    *("#888888", "#c8553d", "#e09f3e", "#3a6ea5", "#9b5de5", "#8d6a4f"),
    *("#2a9d8f", "#d45087", "#6c9a2e", "#4cc9f0", "#b08968", "#5c677d"),
)
OURS = "#1b4332"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # letters stay letters: a tenth of the size
    "svg.hashsalt": "tamis",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],
}
NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))
"""About a picture."""


def colours_of(names: list[str]) -> dict[str, str]:
    """The same colour for the same algorithm in all figures of a paper."""
    others = [name for name in names if name != "sieve"]
    found = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(others)}
    return {**found, "sieve": OURS}


def draw_lines(axes: Axes, figure: Figure, results: Results, colours: dict[str, str]) -> None:
    """A line for each algorithm, with the spread of its repeats."""
    for name, colour in colours.items():
        line = [row for row in results.line(figure.measured, name) if figure.value_of(row)]
        if not line:
            continue
        xs = [row.x for row in line]
        axes.plot(xs, [figure.value_of(row) for row in line], "o-", color=colour, label=name, ms=3)
        if figure.value == "best":
            low, high = [row.best or 0 for row in line], [row.worst or 0 for row in line]
            axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
    places = sorted({row.x for row in results.of(figure.measured)})
    for name, curve in figure.curves.items():
        axes.plot(places, [curve(x) for x in places], "k--", linewidth=1, label=name)
    if not figure.is_share:
        axes.set_xscale("log")
        axes.set_xticks(places, [short(int(place)) for place in places], fontsize=8)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.up)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def draw_bars(axes: Axes, figure: Figure, results: Results, colours: dict[str, str]) -> None:
    """A bar for each algorithm, at the greatest x that it reached."""
    lines = [results.line(figure.measured, name) for name in colours]
    rows = [line[-1] for line in lines if line and figure.value_of(line[-1])]
    places = range(len(rows))
    heights = [figure.value_of(row) for row in rows]
    axes.barh(places, heights, color=[colours[row.algorithm] for row in rows], height=0.65)
    for place, value in enumerate(heights):
        axes.text(value * 1.05, place, number(value), va="center", fontsize=8)
    axes.set_yticks(places, [row.algorithm for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(heights, default=1) / 3, max(heights, default=1) * 4)
    axes.minorticks_off()
    axes.set_xlabel(figure.up)


def draw(figure: Figure, results: Results, path: Path) -> None:
    """Write the picture of a figure."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    names = list(dict.fromkeys(row.algorithm for row in results.rows))
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(7, 2.6 if figure.is_bars else 4), layout="constrained")
        axes = canvas.subplots()
        part = draw_bars if figure.is_bars else draw_lines
        part(axes, figure, results, colours_of(names))
        axes.set_title(figure.title, fontsize=10)
        text = StringIO()
        canvas.savefig(text, format="svg", metadata=NOTHING)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(shortened(text.getvalue()), "utf-8")


def shortened(svg: str) -> str:
    """The same picture with places to a tenth of a point, and without indentation."""
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"(\d\.\d)\d{5}\b", r"\1", svg))
