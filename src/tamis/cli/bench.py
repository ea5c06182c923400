"""``tamis bench``: the experiments of the papers, run from a checkout of the repository."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from tamis.console import UsageError, console, progress_bar, say

_OTHERS = {
    "python -m benchmarks": "parsing, taxonomies, relations and matching",
    "python -m benchmarks.sieve": "matching",
    "python -m benchmarks.taxonomy": "taxonomies",
    "python -m benchmarks.spark": "matching on Spark",
}
"""Benchmarks that are run in another way."""


def bench(context: typer.Context) -> None:
    """Measure, on this machine, what the papers claim and what this documentation says.

    Without a command, lists what there is. The benchmarks are in the repository, not in the
    package.
    """
    if context.invoked_subcommand is not None:
        return
    catalogue = _module("catalogue")
    width = max(map(len, [*_OTHERS, *_commands(catalogue.PAPERS)]))
    for command, about in {**_commands(catalogue.PAPERS), **_OTHERS}.items():
        typer.echo(f"{command:{width}}  {about}")


def _commands(papers: Mapping[str, str]) -> dict[str, str]:
    return {f"tamis bench papers --only {name}": about for name, about in papers.items()}


def papers(
    only: Annotated[
        list[str] | None, typer.Option("--only", help="One paper; may be repeated.")
    ] = None,
    figures: Annotated[
        list[str] | None, typer.Option("--figure", help="One figure; may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer subscriptions: a minute for each paper.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for measurements and pictures."),
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--show", help="Folder of a former run, to look at without measuring."),
    ] = None,
    docs: Annotated[
        bool, typer.Option("--docs", help="Write the results into the pages of docs/papers.")
    ] = False,
    core: Annotated[
        int | None, typer.Option("--core", min=0, help="The core to stay on (the last one).")
    ] = None,
) -> None:
    """Run the experiments of the papers, and hold what they claim against what is measured.

    Every algorithm is held against a plain scan before a time is taken. Measurements go to CSV
    files, with a picture for each figure. All of it takes a quarter of an hour on one core.
    """
    if docs and (quick or figures):
        raise UsageError("--docs needs a full run: leave out --quick and --figure")
    names = list(_module("catalogue").PAPERS)
    unknown = [name for name in only or [] if name not in names]
    if unknown:
        raise UsageError(f"unknown paper '{unknown[0]}'; there are {', '.join(names)}")
    run = _module("run")
    chosen = [run.paper_of(name) for name in only or names]
    _check_figures(chosen, figures or [])
    for paper in chosen:
        if again is not None:
            found, machine = run.kept(paper, again)
        else:
            with progress_bar(visible=sys.stderr.isatty()) as progress:
                found, machine, folder = run.run_paper(
                    paper,
                    _follower(progress, paper.name),
                    quick=quick,
                    only=figures or (),
                    core=core,
                    folder=output,
                )
            say(f"{paper.name}: measurements and pictures in {folder}")
        console().print(run.verdict_table(paper, found))
        if docs:
            say(f"{paper.name}: written into {run.write_page(paper, found, machine)}")


def _check_figures(papers: list[Any], figures: list[str]) -> None:
    there = {figure.name for paper in papers for figure in paper.figures}
    unknown = [name for name in figures if name not in there]
    if unknown:
        raise UsageError(f"unknown figure '{unknown[0]}'; there are {', '.join(sorted(there))}")


def _follower(progress: Any, name: str) -> Callable[[int, int, str], None]:
    """What tells a progress bar of each step."""
    task = progress.add_task(name, total=None)

    def follow(done: int, total: int, about: str) -> None:
        progress.update(task, completed=done, total=total, description=f"{name}: {about}")

    return follow


EXAMPLES = (
    "tamis bench papers --only lesubscribe --quick",
    "tamis bench papers --only gryphon --figure space",
    "tamis bench papers --docs",
)


def checkout(package: Path) -> Path:
    """The checkout that a package lies in; the benchmarks are nowhere else."""
    root = package.parents[1]
    if not (root / "benchmarks" / "papers").is_dir():
        raise UsageError(
            "the benchmarks are not part of the installed package: clone the repository, "
            "run 'make install' there, and then .venv/bin/tamis bench"
        )
    return root


def _module(name: str) -> Any:
    """A module of the benchmarks of the papers."""
    import tamis

    root = str(checkout(Path(tamis.__file__).parent))
    if root not in sys.path:
        sys.path.insert(0, root)
    return import_module(f"benchmarks.papers.{name}")
