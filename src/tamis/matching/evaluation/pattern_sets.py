"""Regular expressions of one attribute that are tried together.

A pattern in which no text must occur is tried on every event that has its attribute. RE2 tries a
set of patterns in one pass over a text: 200 of them take 1.4 µs, and 37 µs one after the other
(texts of 120 characters). RE2 refuses a set that needs too much memory when it is compiled, never
later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays.distinct import distinct
from tamis.arrays.sharing import lazy
from tamis.arrays.types import Int64s
from tamis.matching.covers.required_texts import required_by_regex
from tamis.matching.points.of_events import Points
from tamis.model.paths import Path
from tamis.predicates.expression import TextTest
from tamis.predicates.normal import Literal
from tamis.predicates.texts import compile_set

FEW = 8
"""Patterns up to which it does not pay to try them together."""
_MOST = 200
"""Patterns of one set."""


class PatternSet:
    """Tests of one attribute by regular expressions, given by their numbers, ascending."""

    def __init__(self, path: Path, tests: Sequence[int], literals: Sequence[Literal]) -> None:
        self.path = path
        self.tests = np.array(tests, np.int64)
        self._numbers = list(tests)
        self._nodes = [literals[test].predicate for test in tests]

    @lazy
    def _set(self) -> Any:
        """The compiled set; None if it would take too much memory."""
        first = self._nodes[0]
        assert isinstance(first, TextTest)
        patterns = [str(node.pattern.value) for node in self._nodes if isinstance(node, TextTest)]
        return compile_set(patterns, ignore_case=first.ignore_case)

    def pays(self, tests: Int64s) -> bool:
        """Whether so many tests of each text are wanted that it pays to make all of them."""
        wanted = np.isin(tests, self.tests)
        count = int(wanted.sum())
        if count <= FEW:
            return False
        most = int(np.bincount(np.searchsorted(self.tests, tests[wanted])).max())
        return count > FEW * most and self._set is not None

    def found_in(self, text: str) -> list[int]:
        """The tests that find their pattern in a text."""
        return [self._numbers[place] for place in self._set.Match(text) or ()]

    def found(self, keys: Int64s, points: Points) -> tuple[Int64s, Int64s]:
        """Of the points of some tests, given as test << 32 | point: those that have a text, and
        the tests of all points that find their pattern, given as the others are."""
        rows = distinct(keys & 0xFFFFFFFF)
        strings = points.strings(self.path)
        if strings is None:
            return rows[:0], rows[:0]
        leaf = points.values[self.path][rows]
        rows, leaf = rows[leaf >= 0], leaf[leaf >= 0]
        texts = strings.take(pa.array(leaf)).to_pylist()
        known = np.array([text is not None for text in texts], bool)
        hits = (
            test << 32 | row
            for row, text in zip(rows.tolist(), texts)
            if text is not None
            for test in self.found_in(text)
        )
        return rows[known], np.fromiter(hits, np.int64)


def _is_sought(node: TextTest) -> bool:
    """Whether a text leads to a pattern."""
    return bool(required_by_regex(str(node.pattern.value)).texts)


def pattern_sets(literals: Sequence[Literal]) -> Iterator[PatternSet]:
    """The sets of the tests that no text leads to, where an attribute has more than a few."""
    groups: dict[tuple[Path, bool], list[int]] = {}
    for number, (node, _) in enumerate(literals):
        if isinstance(node, TextTest) and node.operator == "matches" and not _is_sought(node):
            groups.setdefault((node.attribute.path, node.ignore_case), []).append(number)
    for (path, _), tests in groups.items():
        if len(tests) > FEW:
            for first in range(0, len(tests), _MOST):
                yield PatternSet(path, tests[first : first + _MOST], literals)
