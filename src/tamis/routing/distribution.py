"""How events are distributed, and how imperfect a merger is, exactly, by arithmetic of boxes.

The attributes of events are taken for independent. A box is cut by another into disjoint boxes, so
that the probability of a union is a sum:

    +---------+        +---+-----+
    |    A    |        | A | A   |     A without B: a piece for each side on which B is narrower
    |   +-----+--+  =  +---+-----+
    |   |     |B |     | A |
    +---+-----+  |     +---+

Definition 1 of PADRES: P(merger and no member) / P(merger). Definition 2 takes only events within
advertisements; where there are none, 0/0 is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from tamis.errors import LimitError
from tamis.model.kinds import Kind
from tamis.model.paths import Path, parse_path
from tamis.predicates.valueset import ValueSet

Sides = Mapping[Path, ValueSet]
MAX_PIECES = 4_096
"""Boxes that one may be cut into; beyond, a merger is made only if it is improbable itself."""


class Distribution(Protocol):
    """How likely the values of attributes are."""

    def presence(self, path: Path) -> float:
        """The share of events that have the attribute."""
        ...

    def share(self, path: Path, values: ValueSet) -> float:
        """Of those, the share whose value is in a set."""
        ...


class UniformIntegers:
    """Integers from 0 on, all as likely: ``UniformIntegers({"price": 100})``; by default all
    events have all attributes."""

    def __init__(self, sizes: Mapping[str, int], presence: float = 1.0) -> None:
        self._sizes = {parse_path(name): size for name, size in sizes.items()}
        self._presence = presence

    def presence(self, path: Path) -> float:
        """The same for all."""
        return self._presence

    def share(self, path: Path, values: ValueSet) -> float:
        """How many of the integers are in a set."""
        size = self._sizes.get(path)
        if size is None:
            raise LimitError(f"nothing is known of how {'.'.join(path)} is distributed")
        return (
            sum(
                _first(high, size) - _first(low, size)
                for low, high in values.ranges.get(Kind.NUMBER, ())
            )
            / size
        )


def _first(cut: tuple[object, ...], size: int) -> int:
    """The first integer at or behind a cut, no less than 0 and no more than the size."""
    if len(cut) == 1:
        return 0 if cut[0] == -1 else size
    value, after = cut[1], cut[2]
    assert isinstance(value, int | float)
    whole = int(value // 1)
    if value != whole or after:
        whole += 1
    return min(max(whole, 0), size)


class Imperfection(NamedTuple):
    """How likely a merger is, and the share of it that no member matches."""

    probability: float
    degree: float


def imperfection(
    merger: Sides,
    members: Sequence[Sides],
    distribution: Distribution,
    advertisements: Sequence[Sides] = (),
) -> Imperfection:
    """The probability and the imperfect degree of a merger."""
    whole = probability([merger], distribution)
    base, wanted = _published(merger, members, distribution, advertisements)
    return Imperfection(whole, _degree(base, probability(wanted, distribution)))


def is_within(
    threshold: float,
    merger: Sides,
    members: Sequence[Sides],
    distribution: Distribution,
    advertisements: Sequence[Sides] = (),
) -> bool:
    """Whether the probability of a merger times its degree is within a threshold.

    Most mergers are so improbable that their members do not matter, or so much more probable than
    all their members together that it does not matter how these overlap.
    """
    whole = probability([merger], distribution)
    if whole <= threshold:
        return True
    base, wanted = _published(merger, members, distribution, advertisements)
    most = sum(probability([each], distribution) for each in wanted)
    if whole * _degree(base, most) > threshold:
        return False
    measured = imperfection(merger, members, distribution, advertisements)
    return measured.probability * measured.degree <= threshold


def _published(
    merger: Sides,
    members: Sequence[Sides],
    distribution: Distribution,
    advertisements: Sequence[Sides],
) -> tuple[float, Sequence[Sides]]:
    """How likely an event that is published matches a merger, and the boxes of those that match a
    member."""
    if not advertisements:
        return probability([merger], distribution), members
    promised = [common for each in advertisements if (common := _common(merger, each)) is not None]
    pairs = [_common(member, each) for member in members for each in promised]
    wanted = [pair for pair in pairs if pair is not None]
    return probability(promised, distribution), wanted


def _degree(base: float, wanted: float) -> float:
    return max(0.0, 1.0 - wanted / base) if base > 0 else 0.0


class _Values(NamedTuple):
    """Values of an attribute, and whether it may be missing."""

    values: ValueSet
    missing: bool


_NOTHING = ValueSet()
_ANY = _Values(_NOTHING.complement(), True)
_Cell = dict[Path, _Values]


def probability(boxes: Sequence[Sides], distribution: Distribution) -> float:
    """The probability that an event is in one of the boxes."""
    total = 0.0
    done: list[Sides] = []
    for box in boxes:
        pieces: list[_Cell] = [{path: _Values(values, False) for path, values in box.items()}]
        for other in done:
            pieces = [rest for piece in pieces for rest in _without(piece, other)]
            if len(pieces) > MAX_PIECES:
                raise LimitError(f"a union of boxes falls into more than {MAX_PIECES:,} pieces")
        total += sum(_mass(piece, distribution) for piece in pieces)
        done.append(box)
    return total


def _without(piece: _Cell, other: Sides) -> list[_Cell]:
    """What of a piece is not in a box, in disjoint pieces."""
    left: list[_Cell] = []
    rest = dict(piece)
    for path, values in other.items():
        own = rest.get(path, _ANY)
        inside = own.values & values
        if inside.is_empty:
            return [piece]
        outside = _Values(own.values & values.complement(), own.missing)
        if outside.missing or not outside.values.is_empty:
            left.append({**rest, path: outside})
        rest[path] = _Values(inside, False)
    return left


def _mass(piece: _Cell, distribution: Distribution) -> float:
    product = 1.0
    for path, (values, missing) in piece.items():
        presence = distribution.presence(path)
        product *= presence * distribution.share(path, values) + missing * (1 - presence)
    return product


def _common(a: Sides, b: Sides) -> dict[Path, ValueSet] | None:
    """The box of what is in both; None if nothing is."""
    found = dict(a)
    for path, values in b.items():
        found[path] = found[path] & values if path in found else values
        if found[path].is_empty:
            return None
    return found
