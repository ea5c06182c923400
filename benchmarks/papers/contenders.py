"""The algorithms that are compared, each built over a subject and given messages to match.

An algorithm is built in slices that grow eightfold. From what the last ones took, in time of the
processor, follows what the next would take; who would run out of time or memory gives up, and so
does who says that it cannot hold that many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.papers.points import points_of_labels
from benchmarks.papers.subject import Subject, matrix_of, message_of, some_boxes
from tamis.arrays.types import Numbers, Tally
from tamis.engine.registry import ALGORITHMS, index_class
from tamis.errors import TamisError
from tamis.matching.boxes.layout import Boxes
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.published.boxes import BoxTable, Points
from tamis.published.index import TALLY, BoxHits, Index, Size

FIRST_SLICE, GROWTH = 100, 8
MOST_BYTES = 6 << 30
TRIED = 0.05
"""The part of its patience that an algorithm has spent before it may give up: what the first slices
take says little."""

Make = Callable[[BoxTable], Index]


class GaveUpError(Exception):
    """An algorithm that cannot hold so many subscriptions, and why."""


class Contender(Protocol):
    """An algorithm with its subscriptions."""

    build_seconds: float

    @property
    def tally(self) -> Tally:
        """What was done for all events so far."""

    def message(self, subject: Subject, events: int) -> pa.Buffer:
        """The first events of a subject, as they are sent to it."""

    def take(self, message: pa.Buffer) -> Any:
        """Events as it matches them, out of a message."""

    def match(self, events: Any) -> Iterator[BoxHits]:
        """All matches, in chunks."""

    def size(self) -> Size:
        """How large it is."""


@runtime_checkable
class Analysing(Protocol):
    """An index that can prepare itself for matching."""

    def analyse(self) -> None:
        """Prepare."""


class Indexed:
    """A published algorithm over labels."""

    def __init__(self, make: Make, subject: Subject, patience: float) -> None:
        self.table = BoxTable()
        self.index = make(self.table)
        self.build_seconds = self._build(subject, patience) + self._analyse()

    def _build(self, subject: Subject, patience: float) -> float:
        first, size, total, rate = 0, FIRST_SLICE, 0.0, 0.0
        while first < subject.subscriptions:
            last = min(first + size, subject.subscriptions)
            taken = self._add(some_boxes(subject.sides, first, last))
            total, before, rate = total + taken, rate, taken / (last - first)
            left = subject.subscriptions - last
            expected = left * rate * max(1.0, min(rate / before, GROWTH) if before else 1.0)
            held = self.index.size().bytes * (1 + left / last)
            if left and total > TRIED * patience and total + expected > patience:
                raise GaveUpError(f"would take {total + expected:,.0f} s to build")
            if left and held > MOST_BYTES:
                raise GaveUpError(f"would take {held / 1e9:,.0f} GB")
            first, size = last, GROWTH * size
        return total

    def _add(self, sides: Boxes) -> float:
        """Add boxes; return the seconds that the index took, without the table that all share."""
        boxes = self.table.add(sides)
        start = time.process_time()
        try:
            self.index.add(boxes)
        except TamisError as error:
            raise GaveUpError(str(error)) from error
        return time.process_time() - start

    def _analyse(self) -> float:
        """Let an index that analyses its boxes do so now, and not some time during matching."""
        start = time.process_time()
        if isinstance(self.index, Analysing):
            self.index.analyse()
        return time.process_time() - start

    def add_one(self, sides: Boxes) -> Numbers:
        """Add one subscription, to the table and to the index."""
        boxes = self.table.add(sides)
        self.index.add(boxes)
        return boxes

    @property
    def tally(self) -> Tally:
        """What was done for all events so far."""
        return self.index.tally

    def message(self, subject: Subject, events: int) -> pa.Buffer:
        """Labels."""
        return message_of(subject.labels[:events])

    def take(self, message: pa.Buffer) -> Points:
        """Points of labels."""
        return points_of_labels(matrix_of(message))

    def match(self, events: Points) -> Iterator[BoxHits]:
        """All matches, in chunks."""
        return self.index.stab(events)

    def size(self) -> Size:
        """How large it is."""
        return self.index.size()


class Sieved:
    """The sieve over ranks; it counts nothing."""

    def __init__(self, subject: Subject) -> None:
        start = time.process_time()
        self._sieve = BoxSieve(subject.boxes)
        self.build_seconds = time.process_time() - start
        self.tally: Tally = np.zeros(TALLY, np.int64)

    def message(self, subject: Subject, events: int) -> pa.Buffer:
        """Ranks."""
        return message_of(subject.ranks[:events])

    def take(self, message: pa.Buffer) -> NDArray[np.int32]:
        """Ranks."""
        return matrix_of(message)

    def match(self, events: NDArray[np.int32]) -> Iterator[BoxHits]:
        """All matches, in chunks."""
        return (BoxHits(chunk.event, chunk.slot) for chunk in self._sieve.chunks(events))

    def size(self) -> Size:
        """How large it is."""
        return Size(bytes=self._sieve.nbytes)


NAIVE, FAIR, PREFERRED = "naive", "fair_predicate", "equality_preferred"
QUARANTINING, GOUGH, HANSON = "quarantining", "gough", "hanson"
GRYPHON, NEON, SIEVE = "gryphon", "neon", "sieve"

PUBLISHED: dict[str, Make] = {name: index_class(name) for name in ALGORITHMS}
"""The published algorithms, by the names that an engine knows them by."""
ALL = (*PUBLISHED, SIEVE)
"""The names of all that are compared."""


def build(algorithm: str, subject: Subject, patience: float) -> Contender:
    """An algorithm with all subscriptions of a subject."""
    if algorithm == SIEVE:
        return Sieved(subject)
    return Indexed(PUBLISHED[algorithm], subject, patience)
