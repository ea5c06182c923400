"""What a paper's experiments are made of: steps that measure, figures that show, verdicts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.papers.contenders import Contender, GaveUpError
from benchmarks.papers.measuring import Effort, check, measure
from benchmarks.papers.results import TIME, Measurement, Results
from benchmarks.papers.subject import Subject
from benchmarks.papers.verdicts import Verdict

FEW = 20
"""Subscriptions with which an algorithm is tried first."""


class Step(NamedTuple):
    """One algorithm at one place of some figures."""

    measured: tuple[str, ...]
    """The names of its measurements."""
    about: str
    run: Callable[[], list[Measurement]]


class Figure(NamedTuple):
    """A picture and its tables; the default is time on logarithmic axes."""

    name: str
    title: str
    across: str = "subscriptions"
    up: str = TIME
    value: str = "best"
    """The field of a measurement that is drawn."""
    is_bars: bool = False
    """Bars for each algorithm at the greatest x, instead of lines."""
    is_share: bool = False
    """Whether x is a share, from 0 to 1."""
    curves: Mapping[str, Callable[[float], float]] = {}
    """Other lines, such as a bound."""
    source: str = ""
    """The measurements that are drawn, if they have another name than the figure."""
    algorithms: tuple[str, ...] = ()
    """Those that are drawn; none: all."""

    @property
    def measured(self) -> str:
        """The name of its measurements."""
        return self.source or self.name

    def value_of(self, row: Measurement) -> float:
        """What is drawn of a measurement; 0 if it has none such, or is not drawn."""
        is_drawn = row.best is not None and row.algorithm in (self.algorithms or [row.algorithm])
        return float(getattr(row, self.value)) if is_drawn else 0.0


class Paper(NamedTuple):
    """All experiments of a paper."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    steps: Callable[[Any], list[Step]]
    """The steps for certain sizes."""
    full: Any
    quick: Any
    verdicts: Callable[[Results], list[Verdict]]


def keep_what_is_there() -> None:
    """Spare what lives on, such as compiled kernels, from the collection before each time, which
    else takes longer than most of what is timed."""
    gc.collect()
    gc.freeze()


class Competition:
    """Algorithms that are built and measured; who gave up is not asked again about more."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._warm: set[str] = set()
        """The algorithms whose kernels are compiled."""
        self._gave_up: dict[tuple[str, str], Measurement] = {}
        """Who gave up in which series, where, and why."""

    def enter(
        self,
        make: Callable[[Subject, float], Contender],
        subject: Subject,
        about: Measurement,
        figures: Mapping[str, str],
        series: str,
    ) -> tuple[Contender | None, list[Measurement]]:
        """Build an algorithm and measure it, for each figure in its way.

        It is made of a subject and the seconds that it may take.
        """
        self._warm_up(make, subject, about.algorithm)
        before = self._gave_up.get((series, about.algorithm))
        contender, reason = None, before.note if before else ""
        if before is None or about.subscriptions < before.subscriptions:
            try:
                contender = make(subject, self.effort.patience)
            except GaveUpError as error:
                reason = str(error).partition(": ")[0]
                self._gave_up[series, about.algorithm] = replace(about, note=reason)
        if contender is None:
            return None, [replace(about, figure=figure, note=reason) for figure in figures]
        return contender, measure(contender, subject, self.effort, about, figures)

    def _warm_up(
        self, make: Callable[[Subject, float], Contender], subject: Subject, algorithm: str
    ) -> None:
        """Let an algorithm compile what it needs, with few subscriptions."""
        if algorithm not in self._warm:
            self._warm.add(algorithm)
            few = subject.beginning(FEW)
            check(make(few, float("inf")), few, few.expected)
            keep_what_is_there()
