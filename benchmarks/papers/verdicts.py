"""What a measurement says of a paper's claim, and how that is told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.papers.results import Measurement
from benchmarks.report import number, short


class Verdict(NamedTuple):
    """A claim of a paper against what was measured."""

    claim: str
    theirs: str
    ours: str
    holds: bool | None
    """None: not measured."""
    why: str

    @property
    def word(self) -> str:
        """The verdict in a word or three."""
        return "not measured" if self.holds is None else "holds" if self.holds else "does not hold"


def best(row: Measurement) -> float:
    """The time of what was measured."""
    assert row.best is not None
    return row.best


def operations(row: Measurement) -> float:
    """All that an algorithm counts."""
    return row.evaluated + row.sums + row.comparisons + row.visited


def descends(rows: Sequence[Measurement]) -> bool:
    """Whether times fall from row to row."""
    return all(best(a) > best(b) for a, b in pairwise(rows))


def times(rows: Sequence[Measurement]) -> str:
    """The times of several algorithms at one place."""
    each = ", ".join(f"{row.algorithm} {number(best(row))}" for row in rows)
    return f"{each} µs at {short(rows[0].subscriptions)}"


def not_measured(claim: str, theirs: str) -> Verdict:
    """A claim about which there is nothing to say."""
    return Verdict(claim, theirs, "", None, "")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The power of x with which y grows, fitted on logarithms."""
    x, y = np.log(np.array(points).T)
    return float(np.polyfit(x, y, 1)[0])
