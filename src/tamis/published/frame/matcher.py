"""A published algorithm as a matcher: subscriptions as boxes in labels, in an index that changes.

A change is seen by the next event. Who reads has a view of the state; a change that comes while
there is one goes to a copy of the state, so that views stay what they are, and no reader sees
half of a change. Without views nothing is copied. Changes hold the lock, and who wants a view waits
for the one that goes on.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Numbers
from tamis.errors import LimitError
from tamis.matching.axes.live import NoRoomError
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes.shapes import Shape
from tamis.matching.covers.covers import Cover
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.pairs import Hits
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.model.kinds import Value
from tamis.published.frame.event_types import Types, type_hole, typed
from tamis.published.frame.label_axes import LabelAxes
from tamis.published.frame.loading import PublishedLoad
from tamis.published.frame.new_boxes import (
    CHECKED,
    NOTHING,
    PLAIN,
    BoxesOfMany,
    BoxesOfOne,
    LabelBox,
)
from tamis.published.frame.rebuilding import rebuilt
from tamis.published.frame.refusals import refusals_of
from tamis.published.frame.state import Make, State
from tamis.published.frame.stats import AlgorithmStats, stats_of
from tamis.published.frame.view import PublishedView

CHANGES = 4_096
"""Changes after which it is looked whether most of what is kept is of no use any more."""


class PublishedMatcher(Lockable):
    """Keeps subscriptions in an index; one thread at a time changes it, any number match."""

    def __init__(
        self,
        setting: Setting,
        make: Make,
        types: str,
        state: State | None = None,
    ) -> None:
        super().__init__()
        self.setting = setting
        self._make = make
        self._types = types
        if state is None:
            axes = LabelAxes(TermLines(setting.world.taxonomies), make.takes_comparisons)
            state = State(make, axes, Types(types, setting.event_type))
        self._state = state
        self._views: weakref.WeakSet[PublishedView] = weakref.WeakSet()
        self._changes = 0
        _PUBLISHED.add(self)

    # Changes.

    def __len__(self) -> int:
        return len(self._state.places.slots())

    def add(self, slot: Slot, cover: Cover, gone: Iterable[Slot] = ()) -> None:
        """Take in a subscription, in the place of others."""
        self._change(lambda state: _of_cover(state, slot, cover), gone)

    def add_shape(
        self, slot: Slot, shape: Shape, constants: Sequence[Value], gone: Iterable[Slot] = ()
    ) -> None:
        """Take in a subscription of a shape, in the place of others."""
        self._change(lambda state: _of_shape(state, slot, shape, constants), gone)

    def load(self) -> PublishedLoad:
        """Begin to take in many at once."""
        return PublishedLoad(self, self._state)

    def install(self, load: PublishedLoad, gone: Sequence[Slot]) -> None:
        """Take in what was loaded, in the place of others."""
        self._change(lambda state: load.new(state, np.array(gone, np.int32)), gone)

    def refusals(self, load: PublishedLoad, slots: Numbers) -> dict[Slot, LimitError]:
        """Those of some slots of a load that the index refuses, and why."""
        with self._lock:
            return refusals_of(self._state, slots, load.boxes_of)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions."""
        self._change(lambda state: NOTHING, slots)

    def _change(
        self, make: Callable[[State], BoxesOfOne | BoxesOfMany], gone: Iterable[Slot]
    ) -> None:
        """Take in the boxes that are made for a state, in the place of others; all or nothing."""
        with self._lock:
            if self._views:
                self._replace(self._state.copy())
            try:
                new = make(self._state)
            except NoRoomError:
                self._replace(rebuilt(self._state, self._state.axes.terms))
                new = make(self._state)
            self._state.add(new)
            slots = list(gone)
            if slots:
                self._state.remove(slots)
            self._changes += 1
            if self._changes >= CHANGES:
                self._tidy()

    def _replace(self, state: State) -> None:
        self._state = state
        self._views = weakref.WeakSet()

    def _tidy(self) -> None:
        """Build everything anew if most of what is kept is of no use any more."""
        self._changes = 0
        if self._state.is_mostly_waste(CHANGES):
            with suppress(LimitError):  # in another order an index may refuse the same boxes
                self._replace(rebuilt(self._state, self._state.axes.terms))

    def renumbered(self, slots: NDArray[np.int32], setting: Setting) -> PublishedMatcher:
        """Another matcher with the same subscriptions under other slots; -1 is left out."""
        state = rebuilt(self._state, self._state.axes.terms, slots)
        return PublishedMatcher(setting, self._make, self._types, state)

    def slots_of_terms(self) -> list[Slot]:
        """The subscriptions whose boxes are about the terms of a taxonomy."""
        state = self._state
        about = np.array([axis.key.sort is AxisSort.TERM for axis in state.axes.builders] + [False])
        base = state.types.base()
        found = [np.empty(0, np.int32)]
        for number, part in state.parts.items():
            boxes = part.boxes()
            sides = part.table.sides(boxes)
            asks = about[base[sides.axis]]
            own = np.repeat(boxes, np.diff(sides.start))[asks]
            found.append(state.owners(number, own))
        slots: list[Slot] = np.unique(np.concatenate(found)).tolist()
        return slots

    def recompiled(self, some: Mapping[Slot, Cover], setting: Setting) -> PublishedMatcher:
        """Another matcher with the same subscriptions, some of them compiled anew."""
        slots = np.arange(len(self._state.places), dtype=np.int32)
        slots[list(some)] = -1
        state = rebuilt(self._state, TermLines(setting.world.taxonomies), slots)
        other = PublishedMatcher(setting, self._make, self._types, state)
        load = other.load()
        for slot, cover in some.items():
            load.add(slot, cover)
        load.install()
        return other

    # Matching.

    def match(self, event: Event) -> Hits:
        """The subscriptions that the event matches."""
        return self.view().match(event)

    def view(self) -> PublishedView:
        """What there is now, for many events."""
        with self._lock:
            view = PublishedView(self._state, self.setting)
            self._views.add(view)
            return view

    # What there is.

    def keys(self) -> frozenset[str] | None:
        """The outermost keys of all attributes that subscriptions speak of; None if unknown."""
        state = self._state
        if state.is_crowded:
            return None
        asked: set[Slot] = set()
        for number, part in state.parts.items():
            if number & 1 == CHECKED:
                asked.update(state.owners(number, part.boxes()).tolist())
        others = self.setting.world.keys(map(self.setting.expressions, asked))
        if others is None:
            return None
        found = others | {axis.key.path[0] for axis in state.axes.builders}
        return found | {state.types.path[0]} if state.types.numbers else found

    def stats(self) -> AlgorithmStats:
        """The quantities of the papers."""
        with self._lock:
            return stats_of(self._state)


def _of_cover(state: State, slot: Slot, cover: Cover) -> BoxesOfOne:
    """The boxes of the conditions of a subscription."""
    axes = state.axes
    both = [typed(condition, state.types.path) for condition in cover.conditions]
    compiled, is_plain = axes.compile_all(rest for _, rest in both)
    found: list[LabelBox] = []
    for (type, _), each in zip(both, compiled, strict=True):
        boxes = [
            [axes.normalised((axis, *axes.builders[axis].interval(side))) for axis, *side in box]
            for box in each.boxes
        ]
        if boxes:
            number = state.types.number(type)
            whole = (box for box in boxes if all(low <= high for _, low, high in box))
            found += (LabelBox(number, box, slot) for box in whole)
    return BoxesOfOne(slot, found, PLAIN if is_plain else CHECKED)


def _of_shape(state: State, slot: Slot, shape: Shape, constants: Sequence[Value]) -> BoxesOfOne:
    """The boxes of a shape."""
    axes = state.axes
    plan = axes.plans.of(shape)
    boxes = [
        list(map(axes.normalised, zip(box[::3], box[1::3], box[2::3])))
        for box in plan.boxes(constants)
    ]
    hole = type_hole(shape, state.types.path)
    number = state.types.number(None if hole is None else str(constants[hole]))
    kind = PLAIN if plan.is_whole else CHECKED
    return BoxesOfOne(slot, [LabelBox(number, box, slot) for box in boxes], kind)


_PUBLISHED: weakref.WeakSet[PublishedMatcher] = weakref.WeakSet()
_FORKING = threading.RLock()
_held: list[threading.RLock] = []


def _before_fork() -> None:
    """Let no thread be in the middle of a change, which the forked process would see."""
    _FORKING.acquire()
    for matcher in list(_PUBLISHED):
        matcher._lock.acquire()
        _held.append(matcher._lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    global _FORKING
    _held.clear()  # the locks of matchers are others now (sharing.py)
    _FORKING = threading.RLock()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
)
