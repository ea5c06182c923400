"""What the oracle says of pairs that boxes leave undecided.

Subscriptions with calls or patterns stay open here: their kinds of leaves decide for many pairs at
once (doors.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.bindings.evaluation import Answer, Trial
from tamis.matching.batch import Batch
from tamis.matching.pairs import Hits, Pairs, joined
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.predicates.truth import FAILED, TRUE


def answered(pairs: Pairs, batch: Batch, setting: Setting) -> Pairs:
    """Those of some pairs that the oracle finds to match, or cannot tell; and the open ones."""
    if setting.leaves is None or not len(pairs.row):
        return _asked(pairs, batch, setting)
    open_ = setting.leaves.defers(pairs.slot)
    if open_.all():
        return pairs._replace(open=open_)
    deferred = pairs.take(open_)._replace(open=np.ones(open_.sum(), bool))
    return joined([deferred, _asked(pairs.take(~open_), batch, setting)])


def _asked(pairs: Pairs, batch: Batch, setting: Setting) -> Pairs:
    """Those of some pairs that the oracle finds to match, or cannot tell."""
    answers = np.empty(len(pairs.row), np.object_)
    kept = np.zeros(len(pairs.row), bool)
    trial: Trial | None = None
    last = -1
    for place, (row, slot) in enumerate(zip(pairs.row.tolist(), pairs.slot.tolist())):
        if trial is None or row != last:
            trial, last = Trial(batch.event(row), setting.world), row
        answer = trial.answer(setting.expressions(slot))
        if answer.truth in (TRUE, FAILED):
            kept[place] = True
            answers[place] = answer if answer.says_more else None
    found = pairs.take(kept)
    said = answers[kept]
    return found if all(each is None for each in said) else found._replace(answer=said)


def asked_hits(event: Event, slots: Iterable[Slot], setting: Setting) -> Hits:
    """Those of some subscriptions that the oracle finds one event to match, or cannot tell; and
    the open ones."""
    deferred: list[Slot] = []
    if setting.leaves is not None:
        every = np.fromiter(slots, np.int32)
        open_ = setting.leaves.defers(every)
        deferred, slots = every[open_].tolist(), every[~open_].tolist()
    trial = Trial(event, setting.world)
    found: list[Slot] = []
    answers: dict[Slot, Answer] = {}
    for slot in slots:
        answer = trial.answer(setting.expressions(slot))
        if answer.truth == TRUE:
            found.append(slot)
        if answer.says_more:
            answers[slot] = answer
    return Hits(found, answers, deferred)
