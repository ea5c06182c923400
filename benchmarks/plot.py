"""A picture of a run: ``python -m benchmarks.plot RESULTS.json OUT.png`` (or .svg, .pdf).

Left: what was measured, as a part of its floor (for ratios the other way round), so that a bar
within 1 keeps it; a mark shows the aim. Right: time for an event as subscriptions grow.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Row, Run, number, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"aim": "#2a7f62", "ok": "#7fb685", "missed": "#c8553d"}
LINES = {"scan": "#888888", "match_batch": "#c8553d", "core": "#2a7f62"}


def part_of_floor(row: Row, value: float) -> float:
    """How much of what is allowed a value takes; 1 is the floor."""
    assert row.must is not None
    return row.must / value if row.more else value / row.must


def draw_floors(axes: Axes, rows: list[Row]) -> None:
    """Bars of what was measured, on a logarithmic scale, against the line of the floor."""
    places = range(len(rows))
    parts = [part_of_floor(row, row.value) for row in rows]
    axes.barh(places, parts, color=[COLOURS[row.verdict] for row in rows], height=0.7)
    for place, (row, part) in enumerate(zip(rows, parts)):
        sign = "≥" if row.more else "≤"
        label = f" {number(row.value)} {row.unit} (must {sign} {number(row.must or 0)})"
        axes.text(max(part, 1.0) * 1.06, place, label, va="center", fontsize=8)
        if row.aim is not None:
            aim = part_of_floor(row, row.aim)
            axes.plot([aim, aim], [place - 0.35, place + 0.35], color="black", linewidth=1.5)
    axes.axvline(1.0, color="black", linestyle="--", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(min(0.05, *parts) * 0.8 if parts else 0.05, max(1.0, *parts, 1.0) * 12)
    labels = [f"{row.figure}\n{short(row.subscriptions)}, {row.through}" for row in rows]
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("part of what is allowed (dashed: floor; black mark: aim)")
    axes.set_title("Measured against floors", fontsize=11)


def draw_growth(axes: Axes, rows: list[Row]) -> None:
    """A line for each path, with the spread of the repeats."""
    for path, colour in LINES.items():
        mine = sorted((row for row in rows if row.through == path), key=lambda r: r.subscriptions)
        if mine:
            counts = [row.subscriptions for row in mine]
            axes.plot(counts, [r.value for r in mine], marker="o", color=colour, label=path)
            low, high = [r.low for r in mine], [r.high for r in mine]
            axes.fill_between(counts, low, high, color=colour, alpha=0.2)
    counts = sorted({row.subscriptions for row in rows})
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(counts, [short(count) for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("subscriptions")
    axes.set_ylabel("µs an event")
    axes.set_title("W2: growth", fontsize=11)
    axes.grid(alpha=0.3)
    if rows:
        axes.legend(frameon=False, fontsize=9)


def plot(run: Run, path: Path) -> None:
    """Write the picture of a run."""
    from matplotlib.figure import Figure

    floors = [row for row in run.rows if row.must is not None]
    growth = [row for row in run.rows if row.figure in ("W2, growth", "W2 at 10M, time")]
    figure = Figure(figsize=(14, max(4.0, 0.5 * len(floors) + 1.2)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    draw_floors(left, floors)
    draw_growth(right, growth)
    kind = "quick run" if run.quick else "full run"
    commit, machine = run.versions["tamis"], run.machine
    title = f"{kind}, {run.date} UTC, {machine['processor']}, one core, Tamis {commit}"
    figure.suptitle(title, fontsize=9)
    figure.savefig(path, dpi=130)


def main(arguments: list[str] | None = None) -> None:
    """Read a run, write a picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot")
    parser.add_argument("results", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args(arguments)
    plot(Run.load(options.results), options.picture)


if __name__ == "__main__":
    main()
