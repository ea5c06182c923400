"""Workloads in published matchers, without texts and ids: constants as columns, pairs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.workloads import BETWEEN, EQUAL, GREATER, LESS, Workload
from tamis import Expression, Published, all_of, attr
from tamis.matching.batch import Batch
from tamis.matching.protocol import Load, Matcher, Setting
from tamis.matching.shapes import Shape, shape_of
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS
from tamis.model.taxonomies import NO_TAXONOMIES

SETTING = Setting(NO_TAXONOMIES, LIMITS, lambda event, slot: False)


def loaded(published: Published, workload: Workload, types: Sequence[str] | None = None) -> Matcher:
    """A matcher with the subscriptions of a workload; each has a type, if they are given."""
    matcher = published(SETTING)
    load = matcher.load()
    add_workload(load, workload, types)
    load.install()
    return matcher


def add_workload(load: Load, workload: Workload, types: Sequence[str] | None = None) -> None:
    """Take in the conjunctions of a workload, those with the same attributes and operators as
    columns; ``in`` and ``!=`` are not among them."""
    p = workload.predicates
    start = np.searchsorted(p.conjunction, np.arange(len(workload.slot) + 1))
    width = len(workload.universes)
    signature = np.zeros((len(workload.slot), width), np.uint8)
    signature[p.conjunction, p.attribute] = p.operator + 1
    order = np.lexsort(signature.T)
    ends = np.flatnonzero((np.diff(signature[order], axis=0) != 0).any(axis=1)) + 1
    for own in np.split(order, ends):
        first = range(start[own[0]], start[own[0] + 1])
        places = start[own][:, None] + np.arange(len(first))
        tests = [(int(p.attribute[i]), int(p.operator[i])) for i in first]
        columns: list[Any] = []
        for column, (attribute, operator) in enumerate(tests):
            for value in range(2 if operator == BETWEEN else 1):
                index = p.value[places[:, column], value]
                columns.append(_column(workload, attribute, index))
        if types is not None:
            columns.append(pa.array([types[number] for number in own], pa.large_string()))
        shape = _shape(workload, tests, types is not None)
        assert load.add_shape(shape, workload.slot[own].astype(np.int32), columns)


def _column(workload: Workload, attribute: int, index: NDArray[np.int64]) -> Any:
    universe = workload.universes[attribute]
    if isinstance(universe, range):
        return index.astype(np.int64)
    return pa.array(universe, pa.large_string()).take(index)


def _shape(workload: Workload, tests: Sequence[tuple[int, int]], is_typed: bool) -> Shape:
    kinds = []
    for attribute, operator in tests:
        number = isinstance(workload.universes[attribute], range)
        kinds += [Kind.NUMBER if number else Kind.STRING] * (2 if operator == BETWEEN else 1)
    if is_typed:
        kinds.append(Kind.STRING)

    def fill(values: Sequence[Any]) -> Expression:
        left = iter(values)
        parts = [_predicate(attribute, operator, left) for attribute, operator in tests]
        if is_typed:
            parts.append(attr("event_type") == next(left))
        return all_of(*parts)

    shape = shape_of(fill, kinds)
    assert shape is not None
    return shape


def _predicate(attribute: int, operator: int, left: Any) -> Expression:
    subject: Any = attr(f"a{attribute}")
    first = next(left)
    tests = {EQUAL: subject == first, LESS: subject < first, GREATER: subject > first}
    found: Expression = (
        tests[operator] if operator != BETWEEN else subject.between(first, next(left))
    )
    return found


def count_pairs(matcher: Matcher, events: pa.Table) -> int:
    """How many pairs the events of a table make; they are handed over as chunks, and let go."""
    view = matcher.view()
    batches = events.combine_chunks().to_batches()
    return sum(
        len(pairs.row) for batch in batches for pairs in view.match_batch(Batch(batch), None)
    )
