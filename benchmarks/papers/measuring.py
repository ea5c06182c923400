"""Times and counts of one algorithm on one subject, after its matches were found right.

processing   a message comes in, its events are matched, the matches are there in chunks
execution    the same, and the matches go out as one list for each event
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness import in_turns
from benchmarks.papers.contenders import Contender, Indexed
from benchmarks.papers.results import Measurement
from benchmarks.papers.subject import CHECKED, Subject, lists_of, reply_of, sides_of, some_boxes
from benchmarks.report import number
from tamis.matching.boxes.layout import Boxes
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, VISITED

LEAST = 64
"""Events of a repeat: as many as there are sets of six attributes."""
SLOW = 0.02
"""Seconds an event from which on an algorithm gets only those events that are checked."""

PROCESSING, EXECUTION = "processing", "execution"


@dataclass(frozen=True)
class Effort:
    """How much time a measurement may take."""

    repeats: int = 5
    seconds: float = 0.15
    """For the events of one repeat; who is slower gets fewer of them."""
    patience: float = 30.0
    """For building; who would take longer gives up."""


def process(contender: Contender, message: pa.Buffer) -> int:
    """Match the events of a message; return the number of matches."""
    return sum(len(chunk.box) for chunk in contender.match(contender.take(message)))


def execute(contender: Contender, message: pa.Buffer, events: int) -> pa.Buffer:
    """Match the events of a message and answer it."""
    return reply_of(list(contender.match(contender.take(message))), events)


def check(contender: Contender, subject: Subject, expected: Sequence[NDArray[np.int32]]) -> None:
    """Raise unless the first events match what the reference scan says."""
    message = contender.message(subject, CHECKED)
    found = lists_of(execute(contender, message, len(expected)))
    for event, (ours, right) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(ours, right, f"event {event} of {subject.name}")


def measure(
    contender: Contender,
    subject: Subject,
    effort: Effort,
    about: Measurement,
    figures: Mapping[str, str],
) -> list[Measurement]:
    """Times and counts for each figure, in the way that it says."""
    check(contender, subject, subject.expected)
    events = _affordable(contender, subject, effort)
    message = contender.message(subject, events)
    before = contender.tally.copy()
    matches = process(contender, message)
    assert matches == subject.matches[:events].sum(), f"{about.algorithm} differs from the sieve"
    done = (contender.tally - before) / events
    counted = replace(
        about,
        events=events,
        matches=matches / events,
        evaluated=float(done[EVALUATED]),
        sums=float(done[SUMS]),
        comparisons=float(done[COMPARISONS]),
        visited=float(done[VISITED]),
        build_seconds=contender.build_seconds,
        **contender.size()._asdict(),
    )
    runs: dict[str, Callable[[], object]] = {
        PROCESSING: partial(process, contender, message),
        EXECUTION: partial(execute, contender, message, events),
    }
    timings = in_turns({name: runs[way] for name, way in figures.items()}, effort.repeats)
    each = 1e6 / events
    return [
        replace(counted, figure=name, best=timing.best * each, worst=timing.worst * each)
        for name, timing in timings.items()
    ]


def _affordable(contender: Contender, subject: Subject, effort: Effort) -> int:
    """As many events as a repeat has time for."""
    message = contender.message(subject, CHECKED)
    start = time.process_time()
    process(contender, message)
    each = (time.process_time() - start) / CHECKED
    least = LEAST if each < SLOW else CHECKED
    return min(len(subject.labels), max(least, int(effort.seconds / max(each, 1e-7))))


def measure_additions(
    contender: Indexed, subject: Subject, effort: Effort, about: Measurement
) -> Measurement:
    """What one addition takes: the mean of each of several rounds.

    The arrays have just the room for what was added at once, and double with the first addition
    that finds them full, once in as many; the note tells what that took.
    """
    aside = sides_of(subject.aside)
    ones = [some_boxes(aside, place, place + 1) for place in range(len(subject.aside.owner))]
    seconds = [_seconds(contender, one) for one in ones]
    check(contender, subject, subject.expected_aside)
    return of_rounds(seconds, effort, about)


def of_rounds(seconds: Sequence[float], effort: Effort, about: Measurement) -> Measurement:
    """The mean of each of several rounds of additions, but for the first, which is a warm-up."""
    _, *rounds = np.array_split(np.array(seconds) * 1e6, effort.repeats + 1)
    means = [float(part.mean()) for part in rounds]
    note = f"slowest {number(max(seconds) * 1e3)} ms"
    return replace(about, best=min(means), worst=max(means), note=note)


def _seconds(contender: Indexed, one: Boxes) -> float:
    start = time.perf_counter()
    contender.add_one(one)
    return time.perf_counter() - start
