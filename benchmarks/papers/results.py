"""What was measured.

A measurement is a row of a CSV file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

TIME, ADDITION = "µs an event", "µs an addition"


@dataclass(frozen=True)
class Measurement:
    """One algorithm at one place of a figure; counts are for an event."""

    figure: str
    algorithm: str
    subscriptions: int
    x: float
    """The place on the figure's axis."""
    unit: str = TIME
    best: float | None = None
    """None: not measured, and the note says why."""
    worst: float | None = None
    events: int = 0
    matches: float = 0.0
    evaluated: float = 0.0
    sums: float = 0.0
    comparisons: float = 0.0
    visited: float = 0.0
    build_seconds: float = 0.0
    predicates: int = 0
    nodes: int = 0
    edges: int = 0
    successors: int = 0
    bytes: int = 0
    note: str = ""

    @property
    def space(self) -> int:
        """What the paper on Gryphon calls space."""
        return self.edges + self.successors


class Results:
    """The measurements of a run, and a way to find them."""

    def __init__(self, rows: Iterable[Measurement] = ()) -> None:
        self.rows = list(rows)

    def of(self, figure: str) -> list[Measurement]:
        """All of a figure."""
        return [row for row in self.rows if row.figure == figure]

    def names(self) -> list[str]:
        """The names of all measurements."""
        return list(dict.fromkeys(row.figure for row in self.rows))

    def line(self, figure: str, algorithm: str) -> list[Measurement]:
        """One algorithm in a figure where it was measured, from left to right."""
        found = (row for row in self.of(figure) if row.algorithm == algorithm)
        return sorted((row for row in found if row.best is not None), key=lambda row: row.x)

    def at(self, figure: str, algorithm: str, x: float) -> Measurement | None:
        """One place of a line."""
        return next((row for row in self.line(figure, algorithm) if row.x == x), None)

    def last(self, figure: str, *algorithms: str) -> list[Measurement]:
        """Several algorithms at the greatest x where all of them were measured."""
        lines = [{row.x: row for row in self.line(figure, each)} for each in algorithms]
        common = set.intersection(*(set(line) for line in lines)) if lines else set()
        return [line[max(common)] for line in lines] if common else []


def save(rows: Sequence[Measurement], path: Path) -> None:
    """Write a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in fields(Measurement)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def load(path: Path) -> list[Measurement]:
    """Read a CSV file that ``save`` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [_read(row) for row in csv.DictReader(file)]


def _read(row: dict[str, str]) -> Measurement:
    readers: dict[str, Any] = {"int": int, "float": float, "str": str}
    found: dict[str, Any] = {}
    for field in fields(Measurement):
        kind, text = str(field.type), row[field.name]
        optional = kind.endswith(" | None")
        if optional and not text:
            found[field.name] = None
        else:
            found[field.name] = readers[kind.removesuffix(" | None")](text)
    return Measurement(**found)
