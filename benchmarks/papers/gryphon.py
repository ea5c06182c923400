"""Gryphon: time and nodes visited against the theorem's bound, space, and its optimisations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from benchmarks.papers.contenders import (
    ALL,
    GRYPHON,
    NAIVE,
    PUBLISHED,
    SIEVE,
    Contender,
    Indexed,
    build,
)
from benchmarks.papers.experiment import Competition, Figure, Paper, Step
from benchmarks.papers.gryphon_variants import PLAIN, SUCCESSORS, VARIANTS
from benchmarks.papers.gryphon_verdicts import bound, verdicts
from benchmarks.papers.measuring import PROCESSING, Effort
from benchmarks.papers.results import Measurement
from benchmarks.papers.subject import Subject
from benchmarks.report import short
from benchmarks.workloads import w4

MATCHES = 8
"""Matches of an event in the series in which they are held constant."""


@dataclass(frozen=True)
class Sizes:
    """How far the figures go."""

    counts: tuple[int, ...]
    gains_at: int
    events: int
    effort: Effort


FULL = Sizes(
    counts=(1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000),
    gains_at=100_000,
    events=2_000,
    effort=Effort(),
)
QUICK = Sizes(
    counts=(1_000, 3_000, 10_000, 30_000),
    gains_at=10_000,
    events=500,
    effort=Effort(repeats=3, seconds=0.03, patience=2),
)


TREES = (PLAIN, SUCCESSORS, GRYPHON)

FIGURES = (
    Figure("time", "Time on W4", source="w4"),
    Figure(
        "visited", "Nodes visited on W4", up="nodes an event", value="visited", source="w4",
        algorithms=TREES,
        curves={"bound of the theorem": bound},
    ),
    Figure("space", "Space on W4", up="edges and successors", value="space", source="w4"),
    Figure("constant", f"Time on W4 with {MATCHES} matches an event"),
    Figure(
        "constant-visited", f"Nodes visited on W4 with {MATCHES} matches an event",
        up="nodes an event", value="visited", source="constant",
        algorithms=TREES,
        curves={"bound of the theorem": bound},
    ),
    Figure("gains", "The optimisations", is_bars=True),
    Figure(
        "gains-visited", "The optimisations", up="nodes an event", value="visited", is_bars=True,
        source="gains",
    ),
)  # fmt: skip


def steps(sizes: Sizes) -> list[Step]:
    """All steps, those on the same subject one behind the other."""
    few = (PLAIN, GRYPHON, NAIVE, SIEVE)
    places = [("w4", n, each) for n in sizes.counts for each in (PLAIN, SUCCESSORS, *ALL)]
    places += [("constant", n, each) for n in sizes.counts for each in few]
    places += [("gains", sizes.gains_at, each) for each in VARIANTS]
    run = partial(run_one, sizes, Competition(sizes.effort))
    return [
        Step((name,), f"{name}, {short(n)}, {each}", partial(run, name, n, each))
        for name, n, each in places
    ]


@lru_cache(maxsize=1)
def subject_of(n: int, events: int, matches: float | None) -> Subject:
    """A subject, kept for the steps that follow on the same one."""
    return Subject.of(w4(n, events, matches))


def run_one(
    sizes: Sizes, competition: Competition, name: str, n: int, algorithm: str
) -> list[Measurement]:
    """One algorithm, or variant of the tree, at one place."""
    subject = subject_of(n, sizes.events, MATCHES if name == "constant" else None)
    about = Measurement(name, algorithm, n, n)
    make: Callable[[Subject, float], Contender] = partial(build, algorithm)
    if algorithm in VARIANTS:
        make = partial(Indexed, partial(PUBLISHED[GRYPHON], **VARIANTS[algorithm]))
    return competition.enter(make, subject, about, {name: PROCESSING}, name)[1]


PAPER = Paper(
    name="gryphon",
    title="Matching Events in a Content-based Subscription System",
    figures=FIGURES,
    steps=steps,
    full=FULL,
    quick=QUICK,
    verdicts=verdicts,
)
