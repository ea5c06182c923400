"""What is learned of calls: how often each is true, and how many an event makes.

The chance of a call is its share of true results, where old ones fade. One that was never made is
given the chance of its operator, and that one a third: ``PRIOR`` results are made up for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Float64s, Int32s, Truths
from tamis.predicates.truth import FAILED, TRUE

PRIOR = 2.0
"""Results that the prior of a call counts for."""
MEMORY = 1_000.0
"""Results beyond which old ones fade by halves."""
_UNKNOWN = 1 / 3


@kernel
def note_results(seen: Float64s, true: Float64s, leaf: Int32s, truth: Truths) -> tuple[int, int]:
    """Count results by leaf, old ones fading; how many there are, and how many are true."""
    count = count_true = 0
    for place in range(len(leaf)):
        if truth[place] == FAILED:
            continue
        n, is_true = leaf[place], truth[place] == TRUE
        seen[n] += 1
        true[n] += is_true
        count += 1
        count_true += is_true
        if seen[n] > MEMORY:
            seen[n] /= 2
            true[n] /= 2
    return count, count_true


class Estimates(Lockable):
    """Counts by leaf and by operator, both numbered from 0."""

    def __init__(self) -> None:
        super().__init__()
        self._seen, self._true = np.zeros(64), np.zeros(64)
        self._all_seen, self._all_true = np.zeros(8), np.zeros(8)
        self.noted = 0
        """Results that were noted in all."""

    def note(self, leaf: Int32s, operator: int, truth: Truths) -> None:
        """Note results of leaves of one operator; those that failed say nothing."""
        with self._lock:
            self._grow(int(leaf.max(initial=0)), operator)
            seen, true = note_results(self._seen, self._true, leaf, truth)
            self.noted += seen
            self._all_seen[operator] += seen
            self._all_true[operator] += true
            while self._all_seen[operator] > MEMORY:
                self._all_seen[operator] /= 2
                self._all_true[operator] /= 2

    def _grow(self, leaf: int, operator: int) -> None:
        if leaf >= len(self._seen):
            more = np.zeros(2 * leaf + 1 - len(self._seen))
            self._seen = np.concatenate((self._seen, more))
            self._true = np.concatenate((self._true, more))
        if operator >= len(self._all_seen):
            more = np.zeros(2 * operator + 1 - len(self._all_seen))
            self._all_seen = np.concatenate((self._all_seen, more))
            self._all_true = np.concatenate((self._all_true, more))

    def chance(self, leaf: Int32s, operator: Int32s) -> Float64s:
        """The chance of each of some leaves, of these operators, to be true."""
        with self._lock:
            self._grow(int(leaf.max(initial=0)), int(operator.max(initial=0)))
            of_all = (self._all_true + PRIOR * _UNKNOWN) / (self._all_seen + PRIOR)
            prior = of_all[operator]
            chance: Float64s = (self._true[leaf] + PRIOR * prior) / (self._seen[leaf] + PRIOR)
        return np.clip(chance, 0.001, 0.999)

    def seen(self, leaf: int) -> float:
        """How many results a leaf's chance rests on."""
        return float(self._seen[leaf]) if leaf < len(self._seen) else 0.0

    def to_json(self, names: list[str]) -> dict[str, Any]:
        """What is known of leaves, given by name."""
        with self._lock:
            count = min(len(names), len(self._seen))
            known = np.flatnonzero(self._seen[:count]).tolist()
            return {
                names[n]: [round(float(self._true[n]), 3), round(float(self._seen[n]), 3)]
                for n in known
            }

    def restore(self, known: Mapping[str, Any], leaf: int, operator: int, name: str) -> None:
        """Take over what ``to_json`` gave of a leaf, if it is there."""
        if name in known:
            with self._lock:
                self._grow(leaf, operator)
                self._true[leaf], self._seen[leaf] = map(float, known[name])
