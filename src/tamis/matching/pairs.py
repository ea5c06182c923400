"""Pairs of an event's row and a subscription's slot: what every matcher gives, and how they are
made distinct, limited and decided.

    row      0    0    2    2
    slot     7    9    7    4
    answer   ·    ·    ·    {?d: 120}, or why nobody can tell

Most pairs come from boxes and say no more than that they match. The answer is there where the
oracle was asked: with the substitution that it found, or with the reason why a pair is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Answers
from tamis.bindings.evaluation import Answer, Trial, World
from tamis.matching.batch import Batch
from tamis.matching.setting import Expressions, Slot
from tamis.model.events.event import Event
from tamis.predicates.truth import FAILED, TRUE


class Pairs(NamedTuple):
    """Rows of events and slots of subscriptions that match."""

    row: NDArray[np.int32]
    slot: NDArray[np.int32]
    answer: Answers | None = None
    """What the oracle said of each; None if it was not asked, or had nothing to say."""

    def shifted(self, rows: int) -> Pairs:
        """The same pairs, as many rows further on."""
        return self._replace(row=self.row + rows) if rows else self

    def take(self, kept: NDArray[Any]) -> Pairs:
        """Some of the pairs, by a mask or by their places."""
        answer = None if self.answer is None else self.answer[kept]
        return Pairs(self.row[kept], self.slot[kept], answer)

    def failed(self) -> NDArray[np.bool_]:
        """Which pairs are incomplete: no match, but perhaps one if nothing had failed."""
        if self.answer is None:
            return np.zeros(len(self.row), bool)
        return np.array([each is not None and each.truth == FAILED for each in self.answer], bool)


class Hits(NamedTuple):
    """What one event matches."""

    slots: list[Slot]
    answers: Mapping[Slot, Answer] = {}
    """What the oracle has to say besides: solutions, and of slots that are incomplete why."""


def joined(several: Sequence[Pairs]) -> Pairs:
    """Pairs of several chunks, one behind the other."""
    nothing = np.empty(0, np.int32)
    row = np.concatenate([nothing, *(pairs.row for pairs in several)])
    slot = np.concatenate([nothing, *(pairs.slot for pairs in several)])
    if all(pairs.answer is None for pairs in several):
        return Pairs(row, slot)
    answers = [
        np.full(len(pairs.row), None) if pairs.answer is None else pairs.answer for pairs in several
    ]
    return Pairs(row, slot, np.concatenate(answers))


def distinct(several: Sequence[Pairs]) -> Pairs:
    """Pairs by ascending row, each once; one that matches in one way is not incomplete."""
    pairs = joined(several)
    keys = pairs.row.astype(np.int64) << 32 | pairs.slot
    if pairs.answer is None:
        keys = np.unique(keys)
        return Pairs((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32))
    order = np.lexsort((pairs.failed(), keys))
    ordered = keys[order]
    first = np.ones(len(order), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return pairs.take(order[first])


def limited(found: Iterable[Pairs], rows: int, limit: int | None) -> Iterator[Pairs]:
    """Pairs without those beyond a limit for each row; incomplete ones do not count."""
    if limit is None:
        yield from found
        return
    taken = np.zeros(rows, np.int32)
    for pairs in found:
        if pairs.answer is None:
            yield pairs.take(mark_within(pairs.row, taken, limit))
            continue
        kept = pairs.failed()
        matching = np.flatnonzero(~kept)
        kept[matching] = mark_within(pairs.row[matching], taken, limit)
        yield pairs.take(kept)


def answered(pairs: Pairs, batch: Batch, expressions: Expressions, world: World) -> Pairs:
    """Those of some pairs that the oracle finds to match, or cannot tell."""
    answers = np.empty(len(pairs.row), np.object_)
    kept = np.zeros(len(pairs.row), bool)
    trial: Trial | None = None
    last = -1
    for place, (row, slot) in enumerate(zip(pairs.row.tolist(), pairs.slot.tolist())):
        if trial is None or row != last:
            trial, last = Trial(batch.event(row), world), row
        answer = trial.answer(expressions(slot))
        if answer.truth in (TRUE, FAILED):
            kept[place] = True
            answers[place] = answer if answer.says_more else None
    found = pairs.take(kept)
    said = answers[kept]
    return found if all(each is None for each in said) else found._replace(answer=said)


def hits_of(pairs: Pairs) -> Hits:
    """What the pairs of one event say."""
    if pairs.answer is None:
        return Hits(pairs.slot.tolist())
    said = zip(pairs.slot.tolist(), pairs.answer)
    answers = {slot: answer for slot, answer in said if answer is not None}
    return Hits(pairs.take(~pairs.failed()).slot.tolist(), answers)


def asked_hits(event: Event, slots: Iterable[Slot], expressions: Expressions, world: World) -> Hits:
    """Those of some subscriptions that the oracle finds one event to match, or cannot tell."""
    trial = Trial(event, world)
    found: list[Slot] = []
    answers: dict[Slot, Answer] = {}
    for slot in slots:
        answer = trial.answer(expressions(slot))
        if answer.truth == TRUE:
            found.append(slot)
        if answer.says_more:
            answers[slot] = answer
    return Hits(found, answers)


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
