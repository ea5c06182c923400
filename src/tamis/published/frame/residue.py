"""What boxes do not say: the conjunctions that are tested when one of their boxes is stabbed.

They stand in one table, with room for more, and go through the tests that all matchers share
(column_tests.py). What is left of removed ones goes when everything is built anew (rebuilding.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.arrays.types import Numbers
from tamis.matching.tests.column_tests import paths_of
from tamis.matching.tests.conjunctions import Checks, Conjunctions
from tamis.predicates.normal import Literal
from tamis.published.boxes import grown


class Residue:
    """Conjunctions by number."""

    def __init__(self) -> None:
        self.checks = Checks([], Conjunctions.none())
        self.literals: dict[Literal, int] = {}
        self.count = 0
        """Conjunctions, with those that were removed."""
        self.removed = 0
        self._tests = 0

    def add(self, slot: int, tests: Iterable[Literal], oracle: bool, several: bool) -> int:
        """Take in a conjunction; return its number."""
        numbers = [self._number(test) for test in tests]
        number, end = self.count, self._tests + len(numbers)
        slots, start, test, asks, others = self.checks.conjunctions
        table = Conjunctions(
            grown(slots, number + 1),
            grown(start, number + 2),
            grown(test, end),
            grown(asks, number + 1),
            grown(others, number + 1),
        )
        table.slot[number], table.start[number + 1] = slot, end
        table.test[self._tests : end] = numbers
        table.oracle[number], table.several[number] = oracle, several
        self.checks.conjunctions = table
        self.count, self._tests = number + 1, end
        return number

    def _number(self, test: Literal) -> int:
        number = self.literals.get(test)
        if number is None:
            number = self.literals[test] = len(self.checks.literals)
            self.checks.literals.append(test)
            self.checks.paths = sorted({*self.checks.paths, *paths_of(test)})
        return number

    def slots(self, numbers: Numbers) -> Numbers:
        """The slots of conjunctions."""
        return self.checks.conjunctions.slot[numbers]

    def copied(self, number: int, other: Residue, slot: int) -> int:
        """Put a conjunction into another table, under a slot; return its number there."""
        table = self.checks.conjunctions
        own = table.test[table.start[number] : table.start[number + 1]].tolist()
        tests = [self.checks.literals[test] for test in own]
        return other.add(slot, tests, bool(table.oracle[number]), bool(table.several[number]))

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return sum(array.nbytes for array in self.checks.conjunctions)
