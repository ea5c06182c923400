"""Many subscriptions at once: constants as columns, labels for all of them in one step.

    rows ──> sides by references to constants (unresolved.py) ──> constants, each once ──> labels
                                                               └──────────> sides in labels

Nothing of the matcher is changed before ``install``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tamis.arrays.types import Int32s, Numbers
from tamis.errors import LimitError
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.axes.live import LiveAxis
from tamis.matching.boxes.compiler import MAX_AXES, BoxCompiler, CompiledCondition
from tamis.matching.boxes.shapes import Shape
from tamis.matching.boxes.unresolved import BoxRows
from tamis.matching.covers.covers import Condition, Cover
from tamis.matching.setting import Slot
from tamis.model.paths import Path
from tamis.predicates.normal import Literal
from tamis.published.frame.comparisons import with_comparisons
from tamis.published.frame.event_types import names_of, type_hole, typed
from tamis.published.frame.label_axes import normalise_sides
from tamis.published.frame.new_boxes import BoxesOfMany, TypedBoxes
from tamis.published.frame.state import State

if TYPE_CHECKING:
    from tamis.published.frame.matcher import PublishedMatcher


class BulkAxes(BoxCompiler):
    """Axes that collect constants, as long as there is room for them among those there are."""

    most_found = 0

    def __init__(self, state: State) -> None:
        super().__init__(state.axes.terms)
        self.compared: dict[AxisKey, Literal] = {}
        """The comparisons that have axes, or may have."""
        self._compares = state.make.takes_comparisons
        self._known = {axis.key for axis in state.axes.builders}
        self._room = MAX_AXES - len(self._known)

    def number(self, key: AxisKey) -> int | None:
        """The number of an axis, which is made if need be; None if there is no room for more."""
        if key not in self._numbers and key not in self._known:
            if not self._room:
                return None
            self._room -= 1
        return super().number(key)

    def compile(self, condition: Condition) -> CompiledCondition:
        """The boxes of a condition, and what they do not say."""
        compiled = super().compile(condition)
        return with_comparisons(compiled, self, self.compared) if self._compares else compiled


class UnlabelledBoxes:
    """Boxes as they come in, by numbers of their own, which have slots and types."""

    def __init__(self) -> None:
        self.rows = BoxRows()
        self._count = 0
        self._slots: list[Numbers] = []
        self._types: list[tuple[Sequence[str | None], Numbers]] = []

    def add(self, slot: Slot, type: str | None, condition: CompiledCondition) -> None:
        """Take in the boxes of one condition."""
        self.rows.add(self._count, condition.sides)
        self._append(np.array([slot], np.int32), [type], np.zeros(1, np.int32))

    def add_shape(
        self, axes: BoxCompiler, shape: Shape, slots: Numbers, columns: Sequence[Any], path: Path
    ) -> bool:
        """Take in the boxes of many subscriptions of one shape; False if there is no room."""
        numbers = np.arange(self._count, self._count + len(slots), dtype=np.int32)
        if not shape.add(axes, self.rows, numbers, columns):
            return False
        hole = type_hole(shape, path)
        if hole is None:
            self._append(slots, [None], np.zeros(len(slots), np.int32))
        else:
            found: Any = pa.array(columns[hole], pa.large_string()).dictionary_encode()
            which = found.indices.to_numpy().astype(np.int32)
            self._append(slots, found.dictionary.to_pylist(), which)
        return True

    def _append(self, slots: Numbers, names: Sequence[str | None], which: Numbers) -> None:
        self._slots.append(slots)
        self._types.append((names, which))
        self._count += len(slots)

    @property
    def slots(self) -> Numbers:
        """By number."""
        return np.concatenate([np.empty(0, np.int32), *self._slots])

    def boxes(
        self, axes: Sequence[LiveAxis], numbers: Numbers, positions: Any, state: State
    ) -> TypedBoxes:
        """The boxes in labels; their slots own them."""
        boxes = self.rows.resolved(axes, positions, np.int64)
        normalise_sides(axes, boxes.axis, boxes.low, boxes.high)
        slot = self.slots[boxes.owner]
        type = names_of(self._types, state.types)[boxes.owner]
        return TypedBoxes(boxes._replace(axis=numbers[boxes.axis], owner=slot), type, slot)


class PublishedLoad:
    """Subscriptions on their way into a published matcher."""

    def __init__(self, matcher: PublishedMatcher, state: State) -> None:
        self._matcher = matcher
        self._path = state.types.path
        self._axes = BulkAxes(state)
        self._plain, self._checked = UnlabelledBoxes(), UnlabelledBoxes()

    def add(self, slot: Slot, cover: Cover) -> None:
        """Take in one subscription."""
        both = [typed(condition, self._path) for condition in cover.conditions]
        compiled, is_plain = self._axes.compile_all(rest for _, rest in both)
        boxes = self._plain if is_plain else self._checked
        for (type, _), each in zip(both, compiled, strict=True):
            boxes.add(slot, type, each)

    def add_shape(self, shape: Shape, slots: Int32s, columns: Sequence[Any]) -> bool:
        """Take in many subscriptions of one shape."""
        return self._plain.add_shape(self._axes, shape, slots, columns, self._path)

    def install(self, gone: Iterable[Slot] = ()) -> None:
        """Let events see them, in the place of others."""
        self._matcher.install(self, list(gone))

    def refusals(self, gone: Iterable[Slot] = ()) -> dict[Slot, LimitError]:
        """Those slots that ``install`` would fail for, and why: with these gone too, it does not.

        Nothing is changed. It takes longer than ``install``: ask when that has failed.
        """
        every = np.unique(np.concatenate((self._plain.slots, self._checked.slots))).astype(np.int32)
        return self._matcher.refusals(self, np.setdiff1d(every, np.array(list(gone), np.int32)))

    def boxes_of(self, state: State, slots: Numbers) -> BoxesOfMany:
        """The boxes of some slots, in labels of a state, which gets constants and types."""
        every = np.concatenate((self._plain.slots, self._checked.slots))
        return self.new(state, np.setdiff1d(every, slots).astype(np.int32))

    def new(self, state: State, gone: Numbers) -> BoxesOfMany:
        """The boxes in labels, without those of some slots; constants and types are given to the
        state."""
        state.axes.compared |= self._axes.compared
        axes = [_live_axis(builder, state) for builder in self._axes.builders]
        numbers = np.array([state.axes.number(axis.key) for axis in axes], np.int32)
        positions = [
            [own.take_in(line) for own, line in zip(axis.lines, each.lines, strict=True)]
            for each, axis in zip(self._axes.builders, axes)
        ]
        plain, checked = (
            _left(boxes.boxes(axes, numbers, positions, state), gone)
            for boxes in (self._plain, self._checked)
        )
        return BoxesOfMany(plain, checked)


def _live_axis(builder: AxisBuilder, state: State) -> LiveAxis:
    number = state.axes.number(builder.key)
    assert number is not None  # there was room when it was asked for
    axis: LiveAxis = state.axes.builders[number]
    if not all(line.gaps_alike for line in builder.lines):
        axis.tell_gaps()
    return axis


def _left(new: TypedBoxes, gone: Numbers) -> TypedBoxes:
    """The boxes without those of some slots, with sides in the order of their axes."""
    if len(gone):
        new = new.select(~np.isin(new.slot, gone))
    return new._replace(boxes=new.boxes.sorted_by_axis())
