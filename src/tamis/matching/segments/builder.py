"""A segment that is still taking in subscriptions: boxes by references to cuts, until it is
finished."""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import announce_compilation
from tamis.matching.boxes.compiler import BoxCompiler, CompiledConjunction
from tamis.matching.boxes.layout import Boxes
from tamis.matching.boxes.unresolved import LAST, BoxRows
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.matching.points.contents import ContentAxis
from tamis.matching.segments.segment import ContentSieve, Expectations, Segment
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.kernels import fill_matches
from tamis.matching.tests.conjunctions import Checks, Conjunctions
from tamis.predicates.normal import Literal, NormalForm


class SegmentBuilder:
    """A segment that is still taking in subscriptions."""

    def __init__(self, terms: TermLines = NO_TERMS) -> None:
        self.axes = BoxCompiler(terms)
        self.plain = BoxRows()
        self._checked = BoxRows()
        self._sought: list[BoxRows] = []
        self._literals: dict[Literal, int] = {}
        self._conjunctions: list[tuple[int, list[int], bool, bool]] = []

    def add(self, slot: int, form: NormalForm) -> None:
        """Take in one subscription."""
        compiled = self.axes.compile_all(form.conjunctions)
        for each in compiled.parts:
            if compiled.is_plain:
                for box in each.boxes:
                    self.plain.add(slot, box)
            else:
                self._add_conjunction(slot, each, len(compiled.parts) > 1)

    def _add_conjunction(self, slot: int, compiled: CompiledConjunction, several: bool) -> None:
        number = len(self._conjunctions)
        literals = self._literals
        tests = [literals.setdefault(test, len(literals)) for test in compiled.tests]
        self._conjunctions.append((slot, tests, compiled.oracle, several))
        rows, side = self._checked, []
        if compiled.sought is not None:
            axis, interval = compiled.sought
            while len(self._sought) <= axis:
                self._sought.append(BoxRows())
            rows, side = self._sought[axis], [(LAST, interval)]
        for box in compiled.boxes:
            rows.add(number, [*box, *side])

    def finish(self, statistics: Expectations | None = None) -> Segment:
        """Sort cuts, resolve ranks, build the sieves."""
        announce_compilation(fill_matches)
        finished = [builder.finish() for builder in self.axes.builders]
        axes = [axis for axis, _ in finished]
        positions = [found for _, found in finished]
        known = None if statistics is None else statistics(axes)
        plain = BoxSieve(self.plain.resolve(axes, positions), known)
        checked = BoxSieve(self._checked.resolve(axes, positions), known)
        sought = []
        for builder, rows in zip(self.axes.found, self._sought, strict=True):
            axis, found = builder.finish()
            boxes: Boxes = rows.resolve([*axes, axis], [*positions, found])
            known = None if statistics is None else statistics([*axes, axis])
            sought.append(ContentSieve(ContentAxis(axis), BoxSieve(boxes, known)))
        checks = Checks(list(self._literals), self._table())
        return Segment(axes, plain, checked, sought, checks)

    def _table(self) -> Conjunctions:
        slots, tests, oracle, several = (
            zip(*self._conjunctions) if self._conjunctions else ([],) * 4
        )
        start = np.cumsum([0, *map(len, tests)])
        return Conjunctions(
            np.array(slots, np.int32),
            start.astype(np.int32),
            np.array([test for each in tests for test in each], np.int32),
            np.array(oracle, bool),
            np.array(several, bool),
        )
