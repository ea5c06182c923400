"""Results of a run: rows with floors and verdicts, kept as JSON, shown as tables.

measured ± spread    ours: the best of the repeats; low and high: the best and the worst
must, aim            a floor that a release keeps, and what we would like
verdict              aim | ok | missed
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

import tamis

RESULTS = Path(__file__).parent / "results"
HEADINGS = ("figure", "subscriptions", "through", "measured", "spread", "must", "aim", "verdict")


@dataclass(frozen=True)
class Row:
    """One figure; ``low`` and ``high`` are the least and the greatest of the repeats."""

    figure: str
    subscriptions: int
    through: str
    unit: str
    value: float
    low: float
    high: float
    must: float | None = None
    aim: float | None = None
    more: bool = False
    """Whether more is better."""

    @property
    def verdict(self) -> str:
        """Whether the floor is kept, and the aim reached."""
        if self.must is None:
            return ""
        if not self._reaches(self.must):
            return "missed"
        return "aim" if self.aim is not None and self._reaches(self.aim) else "ok"

    def _reaches(self, bound: float) -> bool:
        return self.value >= bound if self.more else self.value <= bound

    @property
    def key(self) -> tuple[str, int, str]:
        """What makes two rows of different runs the same figure."""
        return self.figure, self.subscriptions, self.through

    def cells(self) -> list[str]:
        """The row as a table shows it."""
        sign = "≥" if self.more else "≤"
        return [
            self.figure,
            short(self.subscriptions),
            self.through,
            f"{number(self.value)} {self.unit}",
            "" if self.low == self.high else f"{number(self.low)}–{number(self.high)}",
            "" if self.must is None else f"{sign} {number(self.must)}",
            "" if self.aim is None else f"{sign} {number(self.aim)}",
            self.verdict,
        ]


@dataclass
class Run:
    """All rows of a run, and on what they were measured."""

    machine: dict[str, Any]
    versions: dict[str, str]
    date: str
    quick: bool
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Figures that were not measured, and why."""

    def save(self, path: Path) -> None:
        """Write the run as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> Run:
        """Read a run that ``save`` wrote."""
        found = json.loads(path.read_text())
        found["rows"] = [Row(**row) for row in found["rows"]]
        return Run(**found)

    def default_path(self, bench: str = "sieve") -> Path:
        """Where the run is kept unless told otherwise."""
        kind = "quick" if self.quick else "full"
        return RESULTS / f"{bench}-{kind}-{self.date.replace(':', '')}.json"


def begin_run(quick: bool, core: int | None) -> Run:
    """A run without rows, on this machine, now."""
    machine = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "core used": core,
        "memory GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.release()}",
        "load before": _load(),
    }
    versions = {name: version(name) for name in ("numba", "numpy", "pyarrow")}
    versions = {"python": platform.python_version(), "tamis": _commit(), **versions}
    return Run(machine, versions, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M"), quick)


def end_run(run: Run) -> None:
    """Note how busy the machine was."""
    run.machine["load after"] = _load()


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """The commit of the code that is measured, with + if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+"]
    source = Path(tamis.__file__).parent
    found = subprocess.run(command, cwd=source, capture_output=True, text=True)
    return found.stdout.strip() or f"{tamis.__version__} in {source}"


def number(value: float) -> str:
    """Three digits that count, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def short(count: int) -> str:
    """10k, 1M, 3.2M."""
    if count >= 1_000_000 and count % 100_000 == 0:
        return f"{count / 1_000_000:g}M"
    return f"{count // 1_000}k" if count % 1_000 == 0 else f"{count:,}"


def rich_table(run: Run) -> Table:
    """The rows for a terminal."""
    table = Table(*HEADINGS, title=caption(run))
    colours = {"missed": "red", "ok": "yellow", "aim": "green", "": ""}
    for row in run.rows:
        *cells, verdict = row.cells()
        colour = colours[verdict]
        table.add_row(*cells, f"[{colour}]{verdict}[/]" if colour else verdict)
    return table


def markdown_table(run: Run) -> str:
    """The rows for a page."""
    lines: Iterable[Iterable[str]] = (HEADINGS, ["---"] * len(HEADINGS))
    lines = [*lines, *(row.cells() for row in run.rows)]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    notes = [f"- {figure}: not measured, {why}" for figure, why in run.skipped.items()]
    return "\n\n".join([caption(run), table, *(["\n".join(notes)] if notes else [])])


def caption(run: Run) -> str:
    """Machine, date and versions in a sentence."""
    machine, versions = run.machine, run.versions
    count = machine["cores"]
    cores = f"{count} cores" if machine["core used"] is None else f"one of {count} cores"
    load = f"load {machine['load before']} before, {machine.get('load after')} after"
    return (
        f"{run.date} UTC, {machine['processor']}, {cores}, "
        f"{machine['memory GB']} GB, {load}; Python {versions['python']}, "
        f"Numba {versions['numba']}, NumPy {versions['numpy']}, Arrow {versions['pyarrow']}, "
        f"Tamis {versions['tamis']}"
    )


def complain(message: str) -> None:
    """Say what was left out, where a table on standard output is not disturbed."""
    print(message, file=sys.stderr, flush=True)
