"""A segment: some subscriptions as boxes, immutable once built.

    events ──axes──> points ──plain─────> matches
                        └─────residual──> candidates ──oracle──> matches

Subscriptions whose boxes say all that they say are in ``plain``: a stabbed box is a match. The
others are in ``residual``: a stabbed box is a candidate, on which the oracle decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.axes import Axis, AxisKey, Ranks
from tamis.matching.boxrows import BoxRows
from tamis.matching.jit import announce_compilation
from tamis.matching.sides import Axes
from tamis.matching.sieve.kernels import fill_matches
from tamis.matching.sieve.matcher import BoxSieve
from tamis.matching.terms import TermLine
from tamis.predicates.normal import NormalForm


class Stabbed(NamedTuple):
    """Points and the slots of the boxes that they stab; certain ones are matches."""

    point: NDArray[np.int32]
    slot: NDArray[np.int32]
    certain: bool


class Segment:
    """Boxes in the rank space of some axes."""

    def __init__(self, axes: Sequence[Axis], plain: BoxSieve, residual: BoxSieve) -> None:
        self.axes = list(axes)
        self.plain = plain
        self.residual = residual

    def stab(self, points: Ranks, limit: int | None = None) -> Iterator[Stabbed]:
        """The slots of the boxes that the points stab, in chunks of bounded size.

        Each pair of a point and a slot comes once. The ``limit`` is one of certain slots for each
        point.
        """
        for chunk in self.plain.chunks(points, limit):
            yield Stabbed(chunk.event, chunk.slot, True)
        for chunk in self.residual.chunks(points):
            yield Stabbed(chunk.event, chunk.slot, False)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The segment as named flat arrays."""
        parts = {f"axes/{number}/": axis.arrays() for number, axis in enumerate(self.axes)}
        parts |= {"plain/": self.plain.to_arrays(), "residual/": self.residual.to_arrays()}
        return {
            prefix + part + name: array
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }

    def header(self) -> list[Any]:
        """What the arrays do not tell: path and sort of each axis."""
        return [[list(axis.key.path), axis.key.sort] for axis in self.axes]

    @classmethod
    def from_arrays(
        cls,
        header: list[Any],
        arrays: Mapping[str, NDArray[Any]],
        prefix: str,
        terms: TermLine | None,
    ) -> Segment:
        """The segment of ``arrays`` and ``header``."""
        by_axis: dict[str, dict[str, NDArray[Any]]] = {}
        for name in arrays:
            if name.startswith(prefix):
                part, _, field = name[len(prefix) :].partition("/")
                if part == "axes":
                    part, _, field = field.partition("/")
                by_axis.setdefault(part, {})[field] = arrays[name]
        axes = [
            Axis.from_arrays(AxisKey(tuple(path), sort), by_axis.get(str(number), {}), "", terms)
            for number, (path, sort) in enumerate(header)
        ]
        plain = BoxSieve.from_arrays(by_axis["plain"])
        return cls(axes, plain, BoxSieve.from_arrays(by_axis["residual"]))

    def slots(self) -> NDArray[np.int32]:
        """The slots of all boxes."""
        both = [self.plain.arrays.slot, self.residual.arrays.slot]
        return np.unique(np.concatenate([np.where(slot < 0, ~slot, slot) for slot in both]))

    @cached_property
    def most_slot(self) -> int:
        """The greatest slot, or -1."""
        return int(self.slots().max(initial=-1))

    @property
    def nbytes(self) -> int:
        """Memory of the boxes."""
        return self.plain.nbytes + self.residual.nbytes


class SegmentBuilder:
    """A segment that is still taking in subscriptions."""

    def __init__(self, terms: TermLine | None) -> None:
        self.axes = Axes(terms)
        self.plain = BoxRows()
        self.residual = BoxRows()

    def add(self, slot: int, form: NormalForm) -> None:
        """Take in one subscription."""
        compiled = [self.axes.boxes(conjunction) for conjunction in form.conjunctions]
        exact = all(exact for _, exact in compiled)
        rows = self.plain if exact else self.residual
        for boxes, _ in compiled:
            for box in boxes:
                rows.add(slot, box)

    def finish(self) -> Segment:
        """Sort cuts, resolve ranks, build the sieves."""
        _announce_once()
        finished = [builder.finish() for builder in self.axes.builders]
        axes = [axis for axis, _ in finished]
        positions = [found for _, found in finished]
        plain = BoxSieve(self.plain.resolve(axes, positions))
        return Segment(axes, plain, BoxSieve(self.residual.resolve(axes, positions)))


@cache
def _announce_once() -> None:
    announce_compilation(fill_matches)
