"""A segment that is still taking in subscriptions: boxes by references to cuts, until it is
finished."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays.jit import announce_compilation
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.boxes.compiler import BoxCompiler, CompiledCondition
from tamis.matching.boxes.layout import Boxes
from tamis.matching.boxes.unresolved import BoxRows
from tamis.matching.covers.covers import Cover
from tamis.matching.evaluation.building import FinishedAxes, FormulaBuilder
from tamis.matching.evaluation.entries import CERTAIN, Entries
from tamis.matching.evaluation.evaluation import Evaluation
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.matching.segments.content_sieve import ContentSieve, Expectations
from tamis.matching.segments.segment import Segment
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.kernels import fill_matches


class SegmentBuilder:
    """A segment that is still taking in subscriptions."""

    def __init__(self, terms: TermLines = NO_TERMS) -> None:
        self.axes = BoxCompiler(terms)
        self.plain = BoxRows()
        self._checked = BoxRows()
        self._sought: list[BoxRows] = []
        self._formulas = FormulaBuilder(self.axes)
        self._entries: list[tuple[int, int, bool]] = []

    def add(self, slot: int, cover: Cover) -> None:
        """Take in one subscription."""
        compiled = self.axes.compile_all(cover.conditions)
        if compiled.is_plain:
            for each in compiled.parts:
                self.plain.add(slot, each.sides)
            return
        certain = [
            condition.whole and each.says_all
            for each, condition in zip(compiled.parts, cover.conditions, strict=True)
        ]
        node = CERTAIN if all(certain) else self._formulas.add(cover.formula)
        for each, is_certain in zip(compiled.parts, certain, strict=True):
            entry = slot, CERTAIN if is_certain else node, len(certain) > 1
            self._add_condition(each, entry)

    def _add_condition(self, compiled: CompiledCondition, entry: tuple[int, int, bool]) -> None:
        number = len(self._entries)
        self._entries.append(entry)
        if compiled.found is None:
            self._checked.add(number, compiled.sides)
            return
        axis, things = compiled.found
        while len(self._sought) <= axis:
            self._sought.append(BoxRows())
        self._sought[axis].add(number, [*compiled.sides, things])

    def finish(self, statistics: Expectations | None = None) -> Segment:
        """Sort cuts, resolve ranks, build the sieves."""
        announce_compilation(fill_matches)
        axes, positions = _finished(self.axes.builders)
        found, places = _finished(self.axes.found)
        known = None if statistics is None else statistics(axes)
        plain = BoxSieve(self.plain.resolve(axes, positions), known)
        checked = BoxSieve(self._checked.resolve(axes, positions), known)
        sought = []
        for number, axis in enumerate(found):
            rows = self._sought[number] if number < len(self._sought) else BoxRows()
            boxes: Boxes = rows.resolve([*axes, axis], [*positions, places[number]])
            sought.append(ContentSieve.of(axis, boxes, axes, statistics))
        evaluation = self._evaluation((axes, positions), (found, places))
        return Segment(axes, plain, checked, sought, evaluation)

    def _evaluation(self, axes: FinishedAxes, found: FinishedAxes) -> Evaluation:
        slot, node, several = zip(*self._entries) if self._entries else ((),) * 3
        nodes = np.array(node, np.int32)
        open_ = nodes != CERTAIN
        graph, nodes[open_] = self._formulas.finish(nodes[open_], axes, found)
        entries = Entries(np.array(slot, np.int32), nodes, np.array(several, bool))
        return Evaluation(entries, graph, list(self._formulas.literals))


def _finished(builders: Sequence[AxisBuilder]) -> FinishedAxes:
    finished = [builder.finish() for builder in builders]
    return [axis for axis, _ in finished], [positions for _, positions in finished]
