"""Run the experiments of a paper: measure, keep CSV files and pictures, fill in its page.

benchmarks/results/papers/full-2026-01-31T1200/lesubscribe.json     machine, versions, date
                                               lesubscribe-9a.csv   measurements
                                               lesubscribe-9a.svg   picture
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.harness import use_one_core
from benchmarks.papers import pages, results
from benchmarks.papers.experiment import Paper, keep_what_is_there
from benchmarks.papers.results import Results
from benchmarks.report import RESULTS, Run, begin_run, caption, complain, end_run

DOCS = Path(__file__).parents[2] / "docs" / "papers"

Progress = Callable[[int, int, str], None]
"""Told how many steps are done, of how many, and what comes next."""


def paper_of(name: str) -> Paper:
    """The experiments of a paper."""
    paper: Paper = import_module(f"benchmarks.papers.{name}").PAPER
    return paper


def measure(paper: Paper, sizes: Any, progress: Progress, only: Collection[str] = ()) -> Results:
    """Run all steps, or those that some of the figures need."""
    needed = {figure.measured for figure in paper.figures if not only or figure.name in only}
    steps = [step for step in paper.steps(sizes) if needed & set(step.measured)]
    found = Results()
    keep_what_is_there()
    try:
        for done, step in enumerate(steps):
            progress(done, len(steps), step.about)
            found.rows += step.run()
    finally:
        gc.unfreeze()
    progress(len(steps), len(steps), "")
    return found


def run_paper(
    paper: Paper,
    progress: Progress,
    *,
    quick: bool = False,
    only: Collection[str] = (),
    core: int | None = None,
    folder: Path | None = None,
) -> tuple[Results, Run, Path]:
    """Measure and keep what was measured; return that, the machine, and where it is kept."""
    run = begin_run(quick, use_one_core(core))
    found = measure(paper, paper.quick if quick else paper.full, progress, only)
    end_run(run)
    kind = "quick" if quick else "full"
    folder = folder or RESULTS / "papers" / f"{kind}-{run.date.replace(':', '')}"
    keep(paper, found, run, folder)
    return found, run, folder


def keep(paper: Paper, found: Results, run: Run, folder: Path) -> None:
    """Write a CSV file and a picture for each figure, and a file about the machine."""
    run.save(folder / f"{paper.name}.json")
    for name in found.names():
        results.save(found.of(name), folder / f"{paper.name}-{name}.csv")
    draw(paper, found, folder)


def kept(paper: Paper, folder: Path) -> tuple[Results, Run]:
    """What ``keep`` wrote."""
    names = dict.fromkeys(figure.measured for figure in paper.figures)
    files = (folder / f"{paper.name}-{name}.csv" for name in names)
    rows = [row for file in files if file.exists() for row in results.load(file)]
    return Results(rows), Run.load(folder / f"{paper.name}.json")


def draw(paper: Paper, found: Results, folder: Path) -> None:
    """Write the pictures, if there is something to draw with."""
    if find_spec("matplotlib") is None:
        complain("no pictures: matplotlib is not installed (it comes with the extra 'dev')")
        return
    from benchmarks.papers import pictures

    for figure in paper.figures:
        if found.of(figure.measured):
            pictures.draw(figure, found, folder / pages.picture_name(paper, figure))


def write_page(paper: Paper, found: Results, run: Run, docs: Path = DOCS) -> Path:
    """Fill in the page of a paper, and put the pictures beside it."""
    page = docs / f"{paper.name}.md"
    blocks = pages.blocks_of(paper, found, caption(run))
    page.write_text(pages.fill(page.read_text("utf-8"), blocks), "utf-8")
    draw(paper, found, docs)
    return page


def verdict_table(paper: Paper, found: Results) -> Table:
    """The verdicts for a terminal."""
    table = Table("claim", "paper", "measured", "verdict", title=paper.title, show_lines=True)
    colours = {True: "green", False: "red", None: "dim"}
    for verdict in paper.verdicts(found):
        colour = colours[verdict.holds]
        cells = verdict.claim, verdict.theirs, verdict.ours
        table.add_row(*cells, f"[{colour}]{verdict.word}[/]")
    return table
