"""Results in the pages of docs/papers: what is between two marks is written by a run.

    <!-- results: 9a -->
    picture and tables of figure 9a
    <!-- end -->

Everything else in a page is written by hand. ``results: verdicts`` is the table of claims,
``results: run`` says when and on what machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.papers.experiment import Figure, Paper
from benchmarks.papers.results import Measurement, Results
from benchmarks.papers.verdicts import Verdict
from benchmarks.report import number, short

COUNTS = (
    ("matches", "matches"),
    ("evaluated", "predicates evaluated"),
    ("sums", "sums"),
    ("comparisons", "comparisons"),
    ("visited", "nodes visited"),
    ("predicates", "predicates stored"),
    ("nodes", "nodes"),
    ("edges", "edges"),
    ("successors", "successors"),
)
"""Counts that a table shows if any algorithm has them."""

LAST = "Each at the last place that it reached; counts are for an event:\n\n"

_BLOCK = r"(<!-- results: {name} -->\n).*?(<!-- end -->)"


def fill(page: str, blocks: Mapping[str, str]) -> str:
    """A page with other results between its marks; a block whose marks it lacks is an error."""
    for name, text in blocks.items():
        found = re.search(_BLOCK.format(name=re.escape(name)), page, re.DOTALL)
        if not found:
            raise ValueError(f"the page has no place for '{name}'")
        page = f"{page[: found.start()]}{found[1]}{text}\n{found[2]}{page[found.end() :]}"
    return page


def blocks_of(paper: Paper, results: Results, caption: str) -> dict[str, str]:
    """The text between the marks of a page, for all that was measured."""
    made = {"run": caption, "verdicts": verdict_table(paper.verdicts(results))}
    for figure in paper.figures:
        if results.of(figure.measured):
            made[figure.name] = figure_block(paper, figure, results)
    return made


def figure_block(paper: Paper, figure: Figure, results: Results) -> str:
    """The picture of a figure, its values, the counts at its greatest x, and who is missing."""
    rows = results.of(figure.measured)
    parts = [f"![{figure.title}]({picture_name(paper, figure)})"]
    if not figure.is_bars:
        parts.append(value_table(figure, rows))
    if figure.value == "best":
        parts += [count_table(figure, rows), notes(figure, rows)]
    return "\n\n".join(part for part in parts if part)


def picture_name(paper: Paper, figure: Figure) -> str:
    """The file of a figure's picture."""
    return f"{paper.name}-{figure.name}.svg"


def place_of(figure: Figure, x: float) -> str:
    """A place on the axis of a figure."""
    return f"{x:g}" if figure.is_share else short(int(x))


def value_table(figure: Figure, rows: Sequence[Measurement]) -> str:
    """What the picture draws: a line for each place, a column for each algorithm."""
    values = {(row.x, row.algorithm): figure.value_of(row) for row in rows}
    drawn = {name for (_, name), value in values.items() if value}
    names = [name for name in dict.fromkeys(row.algorithm for row in rows) if name in drawn]
    lines = [[figure.across, *names, *figure.curves]]
    for x in sorted({row.x for row in rows}):
        cells = [number(values[x, name]) if values.get((x, name)) else "–" for name in names]
        curves = [number(curve(x)) for curve in figure.curves.values()]
        lines.append([place_of(figure, x), *cells, *curves])
    return f"In {figure.up}:\n\n{markdown(lines)}"


def count_table(figure: Figure, rows: Sequence[Measurement]) -> str:
    """Each algorithm at the greatest x that it reached: time, spread, counts, memory."""
    last: dict[str, Measurement] = {}
    for row in sorted(rows, key=lambda row: row.x):
        if row.best is not None:
            last[row.algorithm] = row
    shown = [
        (name, title) for name, title in COUNTS if any(getattr(r, name) for r in last.values())
    ]
    heads = ["algorithm", figure.across, "time", "spread", *(title for _, title in shown)]
    has_size = any(row.bytes for row in last.values())
    lines = [[*heads, *(["bytes each", "build"] * has_size)]]
    for row in last.values():
        cells = [number(getattr(row, name)) if getattr(row, name) else "" for name, _ in shown]
        lines.append(
            [
                row.algorithm,
                place_of(figure, row.x),
                f"{number(row.best or 0)} {row.unit}",
                f"{number(row.best or 0)}–{number(row.worst or 0)}",
                *cells,
                *([number(row.bytes / row.subscriptions) if row.bytes else ""] * has_size),
                *([f"{number(row.build_seconds)} s"] * has_size),
            ]
        )
    return f"{LAST if shown else ''}{markdown(lines)}"


def notes(figure: Figure, rows: Sequence[Measurement]) -> str:
    """Who could not go how far, and why; and what else there is to say."""
    told: dict[tuple[str, bool], Measurement] = {}
    for row in sorted(rows, key=lambda row: -row.x):
        if row.note:
            told[row.algorithm, row.best is None] = row
    reached = {row.algorithm for row in rows if row.best is not None}
    lines = []
    for (name, is_gone), row in told.items():
        where = f" from {place_of(figure, row.x)} on" if is_gone and name in reached else ""
        lines.append(f"- {name}{where}: {row.note}")
    return "\n".join(lines)


def verdict_table(verdicts: Iterable[Verdict]) -> str:
    """Claims, what the paper says, what was measured, and whether that agrees."""
    heads = ["claim", "paper", "measured", "verdict", "why"]
    rows = [[v.claim, v.theirs, v.ours, v.word, v.why] for v in verdicts]
    return markdown([heads, *rows])


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table whose first line is its head."""
    head, *rest = lines
    rows = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
