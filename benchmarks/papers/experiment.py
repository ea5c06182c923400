"""What a paper's experiments are made of: steps that measure, figures that show, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.papers.contenders import Contender, GaveUpError
from benchmarks.papers.measuring import Effort, measure
from benchmarks.papers.results import TIME, Measurement, Results
from benchmarks.papers.subject import Subject
from benchmarks.papers.verdicts import Verdict


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

    @property
    def measured(self) -> str:
        """The name of its measurements."""
        return self.source or self.name

    def value_of(self, row: Measurement) -> float:
        """What is drawn of a measurement; 0 if it has none such."""
        return float(getattr(row, self.value) or 0)


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


class Competition:
    """Algorithms that are built and measured; who gave up is not asked again about more."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._gave_up: dict[tuple[str, str], Measurement] = {}
        """Who gave up in which series, where, and why."""

    def enter(
        self,
        make: Callable[[], Contender],
        subject: Subject,
        about: Measurement,
        figures: Mapping[str, str],
        series: str,
    ) -> tuple[Contender | None, list[Measurement]]:
        """Build an algorithm and measure it, for each figure in its way."""
        before = self._gave_up.get((series, about.algorithm))
        contender, reason = None, before.note if before else ""
        if before is None or about.subscriptions < before.subscriptions:
            try:
                contender = make()
            except GaveUpError as error:
                reason = str(error).partition(": ")[0]
                self._gave_up[series, about.algorithm] = replace(about, note=reason)
        if contender is None:
            return None, [replace(about, figure=figure, note=reason) for figure in figures]
        return contender, measure(contender, subject, self.effort, about, figures)
