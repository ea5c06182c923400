"""Pairs of an event's row and a subscription's slot: what every matcher gives, and how they are
made distinct and limited.

    row      0    0    2    2
    slot     7    9    7    4
    answer   ·    ·    ·    {?d: 120}, or why nobody can tell
    open     no   yes  no   no

Most pairs come from boxes and say no more than that they match. The answer is there where the
oracle was asked: with the substitution that it found, or with the reason why a pair is incomplete.
Open pairs are undecided: what they need is expensive, so that it is done for many of them together
(``LeafKinds.defers``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.distinct import distinct
from tamis.arrays.jit import kernel
from tamis.arrays.types import Answers, Flags
from tamis.bindings.evaluation import Answer
from tamis.predicates.truth import FAILED


class Pairs(NamedTuple):
    """Rows of events and slots of subscriptions that match."""

    row: NDArray[np.int32]
    slot: NDArray[np.int32]
    answer: Answers | None = None
    """What the oracle said of each; None if it was not asked, or had nothing to say."""
    open: Flags | None = None
    """Which pairs are undecided; None if all are decided."""

    def shifted(self, rows: int) -> Pairs:
        """The same pairs, as many rows further on."""
        return self._replace(row=self.row + rows) if rows else self

    def take(self, kept: NDArray[Any]) -> Pairs:
        """Some of the pairs, by a mask or by their places."""
        if kept.dtype == np.bool_ and kept.all():
            return self
        answer = None if self.answer is None else self.answer[kept]
        open_ = None if self.open is None else self.open[kept]
        return Pairs(self.row[kept], self.slot[kept], answer, open_)

    def failed(self) -> NDArray[np.bool_]:
        """Which pairs are incomplete: no match, but perhaps one if nothing had failed."""
        if self.answer is None:
            return np.zeros(len(self.row), bool)
        return np.array([each is not None and each.truth == FAILED for each in self.answer], bool)


class Hits(NamedTuple):
    """What one event matches."""

    slots: Sequence[int]
    answers: Mapping[int, Answer] = {}
    """What the oracle has to say besides: solutions, and of slots that are incomplete why."""
    open: Sequence[int] = ()
    """Slots that are undecided."""


def joined(several: Sequence[Pairs]) -> Pairs:
    """Pairs of several chunks, one behind the other."""
    if len(several) == 1:
        return several[0]
    nothing = np.empty(0, np.int32)
    row = np.concatenate([nothing, *(pairs.row for pairs in several)])
    slot = np.concatenate([nothing, *(pairs.slot for pairs in several)])
    open_ = None
    if any(pairs.open is not None for pairs in several):
        flags = (
            np.zeros(len(each.row), bool) if each.open is None else each.open for each in several
        )
        open_ = np.concatenate(list(flags))
    if all(pairs.answer is None for pairs in several):
        return Pairs(row, slot, None, open_)
    answers = [
        np.full(len(pairs.row), None) if pairs.answer is None else pairs.answer for pairs in several
    ]
    return Pairs(row, slot, np.concatenate(answers), open_)


def distinct_pairs(several: Sequence[Pairs]) -> Pairs:
    """Pairs by ascending row, each once; one that matches in one way is not incomplete or open."""
    pairs = joined(several)
    keys = pairs.row.astype(np.int64) << 32 | pairs.slot
    if pairs.answer is None and pairs.open is None:
        keys = distinct(keys)
        return Pairs((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32))
    order = np.lexsort(
        (pairs.failed() if pairs.open is None else pairs.failed() | pairs.open, keys)
    )
    ordered = keys[order]
    first = np.ones(len(order), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return pairs.take(order[first])


def limited(found: Iterable[Pairs], rows: int, limit: int | None) -> Iterator[Pairs]:
    """Pairs without those beyond a limit for each row; incomplete and open ones do not count."""
    if limit is None:
        yield from found
        return
    taken = np.zeros(rows, np.int32)
    for pairs in found:
        if pairs.answer is None and pairs.open is None:
            yield pairs.take(mark_within(pairs.row, taken, limit))
            continue
        kept = pairs.failed() if pairs.open is None else pairs.failed() | pairs.open
        matching = np.flatnonzero(~kept)
        kept[matching] = mark_within(pairs.row[matching], taken, limit)
        yield pairs.take(kept)


def hits_of(pairs: Pairs) -> Hits:
    """What the pairs of one event say."""
    if pairs.open is not None:
        found = hits_of(pairs.take(~pairs.open)._replace(open=None))
        return found._replace(open=pairs.slot[pairs.open].tolist())
    if pairs.answer is None:
        return Hits(pairs.slot.tolist())
    said = zip(pairs.slot.tolist(), pairs.answer)
    answers = {slot: answer for slot, answer in said if answer is not None}
    return Hits(pairs.take(~pairs.failed()).slot.tolist(), answers)


@kernel
def mark_first(
    row: NDArray[np.int32], slot: NDArray[np.int32], stamp: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Mark the first of the points of a row that stab a slot; rows ascend over all calls."""
    first = np.empty(len(row), np.bool_)
    for i in range(len(row)):
        first[i] = stamp[slot[i]] != row[i]
        stamp[slot[i]] = row[i]
    return first


@kernel
def mark_within(row: NDArray[np.int32], taken: NDArray[np.int32], limit: int) -> NDArray[np.bool_]:
    """Mark the pairs that a limit for each row leaves, and count them."""
    within = np.empty(len(row), np.bool_)
    for i in range(len(row)):
        within[i] = taken[row[i]] < limit
        taken[row[i]] += within[i]
    return within
