"""Le Subscribe, section 4: figures 9 to 11, one addition, the factor of naive, tiny domains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from benchmarks.papers.contenders import (
    ALL,
    Contender,
    Indexed,
    build,
)
from benchmarks.papers.engine_additions import subscribe_steps
from benchmarks.papers.event_types import type_steps
from benchmarks.papers.experiment import Competition, Figure, Paper, Step
from benchmarks.papers.lesubscribe_verdicts import verdicts
from benchmarks.papers.measuring import (
    EXECUTION,
    LEAST,
    PROCESSING,
    Effort,
    measure_additions,
)
from benchmarks.papers.results import ADDITION, Measurement
from benchmarks.papers.subject import Subject
from benchmarks.report import short
from benchmarks.workloads import le_subscribe


@dataclass(frozen=True)
class Sizes:
    """How far the figures go."""

    counts: tuple[int, ...]
    """Subscriptions in figures 9 and 11; additions are measured at the greatest."""
    shares: tuple[float, ...]
    """p in figure 10."""
    shares_at: int
    naive_at: int
    tiny: tuple[int, ...]
    domains: tuple[int, ...]
    """Values of each string, from which on equality is selective or not."""
    domains_at: int
    types: tuple[int, ...]
    types_at: int
    engine_at: int
    """Subscriptions of an engine to which others are added."""
    added: int
    events: int
    effort: Effort


FULL = Sizes(
    counts=(30, 1_000, 10_000, 100_000, 400_000, 800_000, 3_200_000),
    shares=(0.0, 0.25, 0.5, 0.75, 1.0),
    shares_at=800_000,
    naive_at=400_000,
    tiny=(10_000, 100_000, 800_000),
    domains=(1, 2, 3, 10, 200),
    domains_at=100_000,
    types=(1, 8, 64),
    types_at=20_000,
    engine_at=3_200_000,
    added=4_000,
    events=2_000,
    effort=Effort(),
)
QUICK = Sizes(
    counts=(30, 1_000, 10_000, 50_000),
    shares=(0.0, 0.5, 1.0),
    shares_at=20_000,
    naive_at=50_000,
    tiny=(1_000, 50_000),
    domains=(1, 3, 200),
    domains_at=20_000,
    types=(1, 8),
    types_at=2_000,
    engine_at=20_000,
    added=400,
    events=500,
    effort=Effort(repeats=3, seconds=0.03, patience=2),
)

FIGURES = (
    Figure("9a", "Figure 9a: processing time, W1"),
    Figure("9b", "Figure 9b: execution time, W1"),
    Figure("10", "Figure 10: against the share of equality", "p", is_share=True),
    Figure("11", "Figure 11: equality only, W3"),
    Figure("addition", "One addition, W1", up=ADDITION, is_bars=True),
    Figure("subscribe", "One addition through an engine, W1", up=ADDITION, is_bars=True),
    Figure("naive", "Naive and the others on the same events, W1", is_bars=True),
    Figure("tiny", "Three values for each string, W1-tiny"),
    Figure("domains", "Against the values of each string", "values"),
    Figure("types", "Several event types, W1", "event types"),
)


def steps(sizes: Sizes) -> list[Step]:
    """All steps, those on the same subject one behind the other."""
    bench = Bench(sizes)
    w1, tiny = Settings("W1"), Settings("W1-tiny", values=3)
    made = [
        *(step for n in sizes.counts for step in bench.compared(w1, n)),
        *bench.steps("naive", w1, sizes.naive_at, LEAST),
    ]
    for p in sizes.shares:
        made += bench.steps("10", Settings(f"p = {p:g}", p), sizes.shares_at, x=p)
    for n in sizes.counts:
        made += bench.steps("11", Settings("W3", 1.0), n)
    for n in sizes.tiny:
        made += bench.steps("tiny", tiny, n)
    for values in sizes.domains:
        settings = Settings(f"{values} values", values=values)
        made += bench.steps("domains", settings, sizes.domains_at, x=values)
    made += type_steps(sizes.types, sizes.types_at, sizes.events, sizes.effort)
    return made + subscribe_steps(sizes.engine_at, sizes.added, sizes.effort)


class Settings(NamedTuple):
    """A series of workloads that differ in the number of subscriptions only."""

    name: str
    p: float = 0.5
    values: int = 200


@lru_cache(maxsize=1)
def subject_of(settings: Settings, n: int, events: int, aside: int) -> Subject:
    """A subject, kept for the steps that follow on the same one."""
    return Subject.of(le_subscribe(n + aside, events, settings.p, settings.values), aside)


class Bench:
    """The steps of one run."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._competition = Competition(sizes.effort)

    def compared(self, settings: Settings, n: int) -> list[Step]:
        """Figures 9a and 9b; with the greatest number of subscriptions, also additions."""
        aside = self._sizes.added if n == max(self._sizes.counts) else 0
        measured = ("9a", "9b", "addition") if aside else ("9a", "9b")
        return [
            Step(
                measured,
                f"{settings.name}, {short(n)}, {algorithm}",
                partial(self._compare, settings, n, algorithm, aside),
            )
            for algorithm in ALL
        ]

    def _compare(self, settings: Settings, n: int, algorithm: str, aside: int) -> list[Measurement]:
        subject = subject_of(settings, n, self._sizes.events, aside)
        about = Measurement("9a", algorithm, n, n)
        figures = {"9a": PROCESSING, "9b": EXECUTION}
        contender, rows = self._enter(settings, subject, about, figures)
        addition = Measurement("addition", algorithm, n, n, ADDITION, note=rows[0].note)
        if aside and isinstance(contender, Indexed):
            rows.append(measure_additions(contender, subject, self._sizes.effort, addition))
        elif aside and contender is None:
            rows.append(addition)
        return rows

    def steps(
        self,
        figure: str,
        settings: Settings,
        n: int,
        events: int | None = None,
        x: float | None = None,
    ) -> list[Step]:
        """All algorithms at one place of a figure that has processing time only."""
        return [
            Step(
                (figure,),
                f"{settings.name}, {short(n)}, {algorithm}",
                partial(self._process, figure, settings, algorithm, n, events, x),
            )
            for algorithm in ALL
        ]

    def _process(
        self,
        figure: str,
        settings: Settings,
        algorithm: str,
        n: int,
        events: int | None,
        x: float | None,
    ) -> list[Measurement]:
        subject = subject_of(settings, n, events or self._sizes.events, 0)
        about = Measurement(figure, algorithm, n, n if x is None else x)
        return self._enter(settings, subject, about, {figure: PROCESSING})[1]

    def _enter(
        self, settings: Settings, subject: Subject, about: Measurement, figures: dict[str, str]
    ) -> tuple[Contender | None, list[Measurement]]:
        make = partial(build, about.algorithm)
        return self._competition.enter(make, subject, about, figures, settings.name)


PAPER = Paper(
    name="lesubscribe",
    title="Efficient Matching for Content-based Publish/Subscribe Systems",
    figures=FIGURES,
    steps=steps,
    full=FULL,
    quick=QUICK,
    verdicts=verdicts,
)
