"""The tests of several segments as those of one.

conjunctions   0 1 2 3       of which 1 is gone      0 · 1 2      number of each in the merged
               0 1                                   3 4          segment
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from tamis.arrays.types import Int32s, Slots
from tamis.matching.tests.column_tests import paths_of
from tamis.matching.tests.conjunctions import Checks, Conjunctions
from tamis.predicates.normal import Literal

Item = TypeVar("Item")

_AT_ONCE, _PAUSE = 200, 2e-5
"""Literals after which other threads get the interpreter, and the seconds that they have to take
it: left to itself a loop keeps it for five milliseconds."""


class LeftChecks(NamedTuple):
    """The tests of a segment without those of the subscriptions that are gone."""

    literals: list[Literal]
    conjunctions: Conjunctions
    number: Int32s
    """What each conjunction becomes among those that are left, or -1."""

    @classmethod
    def of(cls, checks: Checks, slots: Slots | None) -> LeftChecks:
        """What is left of the tests; ``slots`` are the new slots of subscriptions."""
        table = checks.conjunctions
        slot = table.slot if slots is None else slots[table.slot]
        kept = slot >= 0
        counts = np.diff(table.start)
        test = table.test[np.repeat(kept, counts)]
        left = Conjunctions(
            slot[kept],
            np.concatenate(([0], np.cumsum(counts[kept])), dtype=np.int32),
            test,
            table.oracle[kept],
            table.several[kept],
        )
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        return cls(checks.literals, left, number)


def merged_checks(several: Sequence[LeftChecks]) -> Checks:
    """The tests of all; a literal that several segments have is one, one that is not tested any
    more is gone."""
    numbers: dict[Literal, int] = {}
    tests = [_renumbered(left, numbers) for left in several]
    paths = {path for literal in _unhurried(numbers) for path in paths_of(literal)}
    tables = [left.conjunctions for left in several]
    ends = np.cumsum([0, *map(len, tests)])
    starts = [table.start[1:] + end for table, end in zip(tables, ends)]
    table = Conjunctions(
        np.concatenate([table.slot for table in tables]),
        np.concatenate([[0], *starts], dtype=np.int32),
        np.concatenate(tests),
        np.concatenate([table.oracle for table in tables]),
        np.concatenate([table.several for table in tables]),
    )
    return Checks(list(numbers), table, paths)


def _renumbered(left: LeftChecks, numbers: dict[Literal, int]) -> Int32s:
    """The tests, with the numbers that their literals have, or get, among those of all."""
    test = left.conjunctions.test
    used = np.zeros(len(left.literals), np.bool_)
    used[test] = True
    number = np.zeros(len(used), np.int32)
    for old in _unhurried(np.flatnonzero(used)):
        number[old] = numbers.setdefault(left.literals[old], len(numbers))
    return number[test]


def _unhurried(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with pauses for other threads."""
    for count, item in enumerate(items, 1):
        yield item
        if count % _AT_ONCE == 0:
            time.sleep(_PAUSE)
