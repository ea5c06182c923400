"""Two runs side by side, noise told from change: ``python -m benchmarks.compare A.json B.json``.

A row has changed if B is away from A by more than the repeats of either run are from each other,
and by more than a fiftieth. The exit code is 1 if anything got worse, 2 if nothing can be compared.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.report import Row, Run, number, short

LEAST = 1.02
"""A factor that is never more than noise."""
WORDS = {False: ("slower", "faster"), True: ("larger", "smaller")}


class Change(NamedTuple):
    """One figure in both runs; ``factor`` above 1 means that the second is worse."""

    before: Row
    after: Row
    factor: float
    noise: float

    @property
    def is_worse(self) -> bool:
        """Whether the second run is worse by more than noise."""
        return self.factor > self.noise

    @property
    def is_better(self) -> bool:
        """Whether the second run is better by more than noise."""
        return self.factor < 1 / self.noise

    @property
    def verdict(self) -> str:
        """One word; none for noise."""
        worse, better = WORDS["bytes" in self.after.unit]
        return worse if self.is_worse else better if self.is_better else ""


def compare(before: Run, after: Run) -> list[Change]:
    """The figures that both runs have, of as many subscriptions and through the same path."""
    former = {row.key: row for row in before.rows}
    return [
        _change(former[row.key], row)
        for row in after.rows
        if row.key in former and former[row.key].unit == row.unit
    ]


def _change(before: Row, after: Row) -> Change:
    factor = before.value / after.value if after.more else after.value / before.value
    noise = max(LEAST, *(row.high / row.low for row in (before, after)))
    return Change(before, after, factor, noise)


def alone(before: Run, after: Run) -> list[str]:
    """What only one of the runs has."""
    sides = {"first": before, "second": after}
    compared = {change.after.key for change in compare(before, after)}
    return [
        f"only in the {side}: {row.figure}, {short(row.subscriptions)}, {row.through}"
        for side, run in sides.items()
        for row in run.rows
        if row.key not in compared
    ]


def show(changes: list[Change]) -> Table:
    """The changes as a table."""
    table = Table("figure", "subscriptions", "through", "before", "after", "ratio", "noise", "")
    for change in changes:
        before, after = change.before, change.after
        table.add_row(
            after.figure,
            short(after.subscriptions),
            after.through,
            f"{number(before.value)} {before.unit}",
            f"{number(after.value)} {after.unit}",
            f"{after.value / before.value:.2f}",
            f"± {change.noise - 1:.0%}",
            change.verdict,
        )
    return table


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    before, after = Run.load(options.before), Run.load(options.after)
    changes = compare(before, after)
    console = Console()
    Console(width=max(console.width, 120)).print(show(changes))
    for line in alone(before, after):
        print(line)
    for what in ("processor", "cores"):
        if before.machine.get(what) != after.machine.get(what):
            print(f"different machines: {before.machine.get(what)}, {after.machine.get(what)}")
    if not changes:
        print("the runs have no figure in common", file=sys.stderr)
        return 2
    return 1 if any(change.is_worse for change in changes) else 0


if __name__ == "__main__":
    sys.exit(main())
