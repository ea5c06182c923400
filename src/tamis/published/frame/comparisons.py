"""Attribute against attribute, for indexes that take comparisons of two attributes as predicates.

    bid > reserve and item = 'oak'

    axis                 label of an event             side
    item (string)        that of its value             that of 'oak'
    bid > reserve        1 if it is true, else 0       1

An index that takes them has ``takes_comparisons``, and is told by ``compare`` which axes they are.
For all others the oracle decides on comparisons when boxes were stabbed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.matching.axes.axis import AxisKey, known_interval
from tamis.matching.axes.live import LiveAxis
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.boxes.compiler import BoxCompiler, CompiledCondition
from tamis.matching.covers.leaves import is_of_two_attributes
from tamis.matching.evaluation.column_tests import evaluate_test, paths_of
from tamis.matching.lines.line import Ranking
from tamis.matching.lines.taxonomy import NO_TERMS
from tamis.matching.points.of_columns import UnsupportedTypeError
from tamis.matching.points.of_events import Points
from tamis.model.events.event import Event, single_value
from tamis.model.kinds import Value
from tamis.predicates.expression import Comparison
from tamis.predicates.normal import Literal
from tamis.predicates.truth import OPEN, holds

_TRUE = known_interval(1, 1, 2)


class ComparisonAxis(LiveAxis):
    """The axis of a comparison; no value of an attribute has a label there by itself."""

    def __init__(self, key: AxisKey, literal: Literal) -> None:
        super().__init__(key, NO_TERMS)
        self.literal = literal
        self.left, self.right = paths_of(literal)

    def rank(self, value: Value) -> int:
        """None."""
        return -1

    def ranking(self) -> tuple[Ranking, Collection[type]]:
        """No types of values have labels."""
        return Ranking(self.rank), ()

    def ranks(self, array: Any) -> NDArray[np.int32]:
        """None."""
        return np.full(len(array), -1, np.int32)

    @property
    def comparison(self) -> str:
        """The operator, with its negation."""
        node, positive = self.literal
        assert isinstance(node, Comparison)
        return node.operator if positive else f"not {node.operator}"

    def label(self, event: Event) -> int:
        """The label of an event without lists."""
        node, positive = self.literal
        assert isinstance(node, Comparison)
        ours, theirs = (single_value(event.attributes, path) for path in (self.left, self.right))
        truth = holds(ours, node.operator, theirs, ignore_case=node.ignore_case)
        return int(truth == int(positive))


def with_comparisons(
    compiled: CompiledCondition, axes: BoxCompiler, compared: dict[AxisKey, Literal]
) -> CompiledCondition:
    """A condition with the comparisons that are left as sides, noted by the keys of their axes."""
    sides, tests = [], []
    for test in compiled.left:
        number = None
        if isinstance(test.predicate, Comparison) and is_of_two_attributes(test.predicate):
            words = str(test.predicate) if test.positive else f"not {test.predicate}"
            key = AxisKey(paths_of(test)[0], AxisSort.COMPARED, words)
            compared[key] = test
            number = axes.number(key)
        if number is None:
            tests.append(test)
        else:
            sides.append([(number, *_TRUE)])
    every = [*compiled.sides, *sides]
    return compiled._replace(sides=every, left=tuple(tests))


def write_labels(points: Points, batch: Batch, axes: Mapping[int, ComparisonAxis]) -> None:
    """Write the labels of points on axes of comparisons; raise if columns cannot tell them."""
    every = np.arange(len(points.ranks), dtype=np.int32)
    for number, axis in axes.items():
        said = evaluate_test(axis.literal, every, points, batch)
        if (said == OPEN).any():
            raise UnsupportedTypeError("columns of values that only the oracle compares")
        points.ranks[:, number] = said
