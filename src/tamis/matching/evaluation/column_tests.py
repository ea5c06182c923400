"""Tests that are no intervals of any axis, on many points at once: each test on all points that
boxes could not exclude, by Arrow's own functions.

    requests (test, point)              tests
    title like '%oak%t_ble'    0 5 9    like: points 0, 5, 9, …
    title matches '…'          5 7      matches: points 5, 7
    a < b                      5        a < b: point 5
    a * 2 > b                  0 5      a * 2 > b: point 0

A test that no function of Arrow decides on these columns (timestamps of two units, say) stays open:
the oracle decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays.arrow_types import decoded, is_text, large_strings
from tamis.arrays.distinct import distinct
from tamis.arrays.types import Int32s, Truths
from tamis.matching.axes.axis import Axis, AxisKey
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.covers.leaves import is_of_two_attributes
from tamis.matching.evaluation.column_arithmetic import (
    arithmetic_verdicts,
    compared_numbers,
    numbers_of_array,
)
from tamis.matching.lines.forms import fold_all
from tamis.matching.points.of_columns import present_rows, row_values
from tamis.matching.points.of_events import Points
from tamis.model.kinds import kind_of
from tamis.model.paths import Path
from tamis.predicates.expression import Comparison, Contains, TextTest
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Attribute, operands_within
from tamis.predicates.texts import fold, is_like, like_to_regex
from tamis.predicates.truth import contains, holds

_OF_STRINGS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def paths_of(literal: Literal) -> list[Path]:
    """The attributes whose bound values a test looks at."""
    node = literal.predicate
    if isinstance(node, Contains):
        return []
    within = (term for side in node.operands() for term in operands_within(side))
    return [term.path for term in within if isinstance(term, Attribute)]


_MANY = 4_096
"""Points whose texts are taken for one test alone."""
_HELD = 65_536
"""Points whose texts are held at once for all tests."""


class Texts:
    """Tests on texts, most of them for a few points only: what they share is done once."""

    def __init__(self, number: Int32s, points: Points) -> None:
        self._number = number
        self._points = points
        self._strings: dict[Path, Any] = {}
        self._spans: list[tuple[int, int, bool]] = []
        self._truths: list[Any] = []

    def add(self, node: TextTest, positive: bool, begin: int, end: int) -> None:
        """Let a test say something of the points from one place to another."""
        path = node.attribute.path
        if self._points.strings(path) is None:
            return
        if end - begin > _MANY or len(self._number) > _HELD:
            strings = self._taken(path, begin, end)
        else:
            if path not in self._strings:
                self._strings[path] = self._taken(path, 0, len(self._number))
            strings = self._strings[path].slice(begin, end - begin)
        self._truths.append(_text_found(node, strings))
        self._spans.append((begin, end, positive))

    def _taken(self, path: Path, begin: int, end: int) -> Any:
        leaf = self._points.values[path][self._number[begin:end]]
        return self._points.strings(path).take(pa.array(leaf, mask=leaf < 0))

    def write(self, said: Truths) -> None:
        """Write down what they have said; of what is no string they say nothing."""
        if not self._spans:
            return
        truth = pa.concat_arrays(self._truths)
        known: Any = truth.is_valid().to_numpy(zero_copy_only=False)
        values: Any = truth.fill_null(False).to_numpy(zero_copy_only=False)
        begins, ends, positive = (np.array(each) for each in zip(*self._spans))
        count = ends - begins
        within = np.arange(len(truth)) - np.repeat(np.cumsum(count) - count, count)
        said[np.repeat(begins, count) + within] = known & (values == np.repeat(positive, count))


def evaluate_test(literal: Literal, number: Int32s, points: Points, batch: Batch) -> Truths:
    """What a test says of some points."""
    node, positive = literal
    if isinstance(node, Contains):
        return _contains_verdicts(node, positive, number, points, batch)
    assert isinstance(node, Comparison)
    if not is_of_two_attributes(node):
        return arithmetic_verdicts(node, positive, number, points)
    return _comparison_verdicts(node, positive, number, points)


FEW = 8
"""Texts up to which it takes longer to compile a ``like`` pattern than to look at each (20 µs and
1 µs: 3,000 × ``x like 'order-%-i-j'`` on 500 events)."""


def _text_found(node: TextTest, strings: Any) -> Any:
    pattern = str(node.pattern.value)
    if node.operator == "like":
        if len(strings) <= FEW:
            found = (
                None if text is None else is_like(text, pattern, ignore_case=node.ignore_case)
                for text in strings.to_pylist()
            )
            return pa.array(found, pa.bool_())
        return pc.match_substring_regex(
            strings, like_to_regex(pattern), ignore_case=node.ignore_case
        )
    if node.operator == "matches":
        return pc.match_substring_regex(strings, pattern, ignore_case=node.ignore_case)
    if node.ignore_case:
        strings, pattern = fold_all(large_strings(strings)), fold(pattern)
    tests = {
        "starts with": pc.starts_with,
        "ends with": pc.ends_with,
        "contains text": pc.match_substring,
    }
    return tests[node.operator](strings, pattern)


def _contains_verdicts(
    node: Contains, positive: bool, number: Int32s, points: Points, batch: Batch
) -> Truths:
    """What a test of a whole set of values says: nothing is true of a missing attribute."""
    rows = number if points.row is None else points.row[number]
    path, value = node.attribute.path, node.value.value
    if batch.table is None:
        events = {row: batch.event(row) for row in distinct(rows).tolist()}
        owned: Any = [row for row, event in events.items() if contains(node, event.values(path))]
        there: Any = [row for row, event in events.items() if event.present(path)]
    else:
        axis, rank = _single(path, value)
        found = [owner[axis.ranks(array) == rank] for owner, array in row_values(batch.table, path)]
        owned = np.concatenate([np.empty(0, np.int64), *found])
        there = np.flatnonzero(present_rows(batch.table, path))
    said = np.isin(rows, owned)
    return _verdicts(said if positive else np.isin(rows, there) & ~said)


def _verdicts(truth: Any) -> Truths:
    found: Truths = np.asarray(truth).astype(np.int8)
    return found


def _single(path: Path, value: Any) -> tuple[Axis, int]:
    """An axis on which one value has a rank of its own."""
    builder = AxisBuilder(AxisKey(path, AxisSort.CONTAINED))
    for line in builder.lines:
        if line.kind == kind_of(value):
            line.add(value, False)
            line.add(value, True)
    axis, _ = builder.finish()
    return axis, axis.rank(value)


def _comparison_verdicts(
    node: Comparison, positive: bool, number: Int32s, points: Points
) -> Truths:
    assert isinstance(node.left, Attribute)
    assert isinstance(node.right, Attribute)
    left, right = node.left.path, node.right.path
    ours, theirs = points.values[left][number], points.values[right][number]
    found = np.zeros(len(number), np.int8)
    bound = np.flatnonzero((ours >= 0) & (theirs >= 0))
    if not len(bound):
        return found
    first, second = points.leaves[left], points.leaves[right]
    if isinstance(first, list) or isinstance(second, list):
        first, second = (
            each if isinstance(each, list) else each.to_pylist() for each in (first, second)
        )
        truths = (
            holds(first[i], node.operator, second[j], ignore_case=node.ignore_case)
            for i, j in zip(ours[bound].tolist(), theirs[bound].tolist())
        )
        found[bound] = [truth == int(positive) for truth in truths]
        return found
    found[bound] = _compared(
        node, positive, _taken(first, ours[bound]), _taken(second, theirs[bound])
    )
    return found


def _taken(leaves: Any, index: Int32s) -> Any:
    return decoded(leaves).take(pa.array(index))


def _compared(node: Comparison, positive: bool, ours: Any, theirs: Any) -> Truths:
    """Two columns without nulls held against each other."""
    if is_text(ours.type) and is_text(theirs.type):
        ours, theirs = large_strings(ours), large_strings(theirs)
        if node.ignore_case:
            ours, theirs = fold_all(ours), fold_all(theirs)
        truth = _OF_STRINGS[node.operator](ours, theirs).to_numpy(zero_copy_only=False)
        return _verdicts(truth == positive)
    first, second = numbers_of_array(ours), numbers_of_array(theirs)
    return compared_numbers(node.operator, positive, first, second)
