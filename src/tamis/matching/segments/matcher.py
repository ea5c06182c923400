"""The sieve as a matcher: subscriptions compiled to boxes, in segments that merge as they grow.

    add ──> live ──full──> waiting ──frozen──> segment ─┐
                                               segment ─┴─merged──> segment
                                               ...                  the first ones are the largest

A new subscription goes to the live part (live.py), where the next event finds it. When that is full
another begins, and a thread makes a segment of it, and one of several segments when the later ones
are not much smaller than the one before: there are as many as the logarithm of the number of
subscriptions, and each subscription is merged about as often. Readers never wait: what they look
at is a snapshot (snapshot.py).

Access keys of a segment are chosen by what is known about events when it is made (sample.py). Who
teaches more lets the thread make every segment once more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.distinct import distinct
from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Slots
from tamis.errors import TamisError
from tamis.matching.axes.live import NoRoomError
from tamis.matching.batch import Batch
from tamis.matching.boxes.conjuncts import Conjunct, add_conjuncts
from tamis.matching.boxes.shapes import Shape
from tamis.matching.covers.covers import Cover
from tamis.matching.covers.entrances import divided
from tamis.matching.doors import Door, DoorView, Entry
from tamis.matching.evaluation.entries import CERTAIN
from tamis.matching.evaluation.nodes import EVERY
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.pairs import Hits, hits_of, joined
from tamis.matching.segments.builder import SegmentBuilder
from tamis.matching.segments.freezing import frozen_boxes, frozen_covers
from tamis.matching.segments.live import Live, LiveView
from tamis.matching.segments.merging import TooManyAxesError, merged
from tamis.matching.segments.sample import Sample
from tamis.matching.segments.segment import Segment
from tamis.matching.segments.snapshot import NEVER, DatedSegment, Snapshot
from tamis.matching.segments.statistics import AxisStatistics
from tamis.matching.segments.view import SieveView, pointed
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.model.kinds import Value

LIVE = 4_096
"""Weight of the live part when it is full, and changes after which segments are looked at."""
ASKED = 2_000
"""Questions to the oracle about a live part after which nobody waits until it is full: by then
events have paid for its freezing."""
OFTEN = 0.05
"""Part of all events that may lead to a subscription in vain, before it is worth looking for a
better cover."""
_MOMENT = 5e-5
"""Seconds that who changes something waits while segments are merged."""
_DOOR = "door/"
"""What the names of a door's arrays begin with, in a file."""
_WAITING = 8
"""Live parts that may wait; who adds faster than they are frozen helps."""


class SieveMatcher(Lockable):
    """Keeps subscriptions in segments; one thread at a time changes it, any number match."""

    def __init__(self, setting: Setting, sample: Sample | None = None) -> None:
        super().__init__()
        self._setting = setting
        self._sample = Sample() if sample is None else sample
        self._terms = TermLines(setting.world.taxonomies)
        self._live = Live(self._terms)
        self._door: Door | None = None
        """What finds subscriptions that boxes do not, from the first of these on."""
        nobody = np.full(1_024, NEVER)
        self._snapshot = Snapshot((), (self._live.view(),), 0, 0, nobody)
        self._view = SieveView(self._snapshot, setting)
        """Of the last snapshot that one event was matched against."""
        self._changes = 0
        self._worker: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._compiled = _FrozenLives((), [])

    def __len__(self) -> int:
        now = self._everything()
        slots = [np.empty(0, np.int32), *(each.segment.slots() for each in now.segments)]
        if now.door is not None:
            slots.append(now.door.slots())
        found = distinct(np.concatenate(slots))
        return int((now.died[found] > now.epoch).sum())

    # Changes.

    def add(self, slot: Slot, cover: Cover, gone: Iterable[Slot] = ()) -> None:
        """Take in a subscription, in the place of others."""
        cover, entries = divided(slot, cover, self._setting.leaves)
        with self._lock:
            segments = []
            try:
                self._live.add(slot, cover)
            except NoRoomError:
                segments.append(frozen_covers({slot: cover}, self._terms))
                self._rotate()
            self._publish(slot, gone, segments, entries)
        self._give_way()

    def add_shape(
        self, slot: Slot, shape: Shape, constants: Sequence[Value], gone: Iterable[Slot] = ()
    ) -> None:
        """Take in a subscription of a shape, in the place of others."""
        with self._lock:
            try:
                self._live.add_shape(slot, shape, constants)
            except NoRoomError:
                self._rotate()
                self._live.add_shape(slot, shape, constants)
            self._publish(slot, gone)
        self._give_way()

    def load(self) -> SieveLoad:
        """Begin to take in many at once, as a segment of their own."""
        return SieveLoad(self, self._terms)

    def install(
        self, segment: Segment, gone: Iterable[Slot] = (), entries: Sequence[Entry] = ()
    ) -> None:
        """Let events see a segment and entries of a door, and not see others."""
        with self._lock:
            most = max([segment.most_slot, *(each.slot for each in entries)])
            self._publish(most, gone, [segment] if segment.boxes else [], entries)
            if self._snapshot.due_to_merge() is not None:
                self._wake()

    def learn(self, sample: Sequence[Batch]) -> None:
        """Let access keys be chosen anew, in the background, for events like these."""
        with self._lock:
            self._sample.learn(sample)
            self._wake()

    def often_evaluated(self, sample: Sequence[Batch]) -> list[Slot]:
        """The conjunctions that many of these events lead to, only to be evaluated."""
        now = self._everything()
        found = [np.empty(0, np.int32)]
        for each in now.segments:
            slot, node, _ = each.segment.evaluation.entries
            counts, points = np.zeros(len(slot), np.int64), 0
            for batch in sample if len(slot) else ():
                for _, piece, own in pointed(batch, each.segment.axes, each.segment.valued):
                    points += len(own.ranks)
                    counts += np.bincount(each.segment.met(own, piece)[1], minlength=len(slot))
            open_ = np.flatnonzero((counts > OFTEN * points) & (node != CERTAIN) & (node >= 0))
            found.append(slot[open_[each.segment.evaluation.nodes.kind[node[open_]] == EVERY]])
        often = distinct(np.concatenate(found))
        slots: list[Slot] = often[now.died[often] > now.epoch].tolist()
        return slots

    def statistics(self) -> AxisStatistics | None:
        """What is known about events; None if that is nothing."""
        return self._sample.expected()

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions."""
        with self._lock:
            self._publish(-1, slots)
        self._give_way()

    def _give_way(self) -> None:
        """Let the thread that merges go on for a moment, if there is one.

        It lets the GIL go at every step, and gets it back from a busy thread only after the switch
        interval: freezing a live part would take a second, not twenty milliseconds, while events
        try one live part after the other.
        """
        if self._worker is not None:
            time.sleep(_MOMENT)

    def _publish(
        self,
        slot: Slot,
        gone: Iterable[Slot],
        segments: Iterable[Segment] = (),
        entries: Sequence[Entry] = (),
    ) -> None:
        """Let readers see what is live, with slots up to one perhaps new, and new segments and
        entries, but not what is gone; all in one step."""
        now = self._snapshot
        died, epoch, last = now.died, now.epoch, now.last
        if slot >= len(died):
            died = np.full(max(len(died) + len(died) // 4, slot + 1), NEVER)
            died[: len(now.died)] = now.died
        gone = list(gone)
        if gone:
            epoch = last = epoch + len(gone)
            died[gone] = epoch
        lives = now.lives
        if self._live.boxes != lives[-1].boxes:
            lives = (*lives[:-1], self._live.view())
        aged = now.segments
        for segment in segments:
            aged = (*aged, DatedSegment(segment, now.epoch, learned=self._sample.times))
        self._snapshot = Snapshot(aged, lives, epoch, last, died, self._changed_door(entries, gone))
        self._changes += 1
        if self._live.weight >= LIVE:
            self._rotate()
        elif self._changes >= LIVE:
            self._wake()

    def _changed_door(self, entries: Sequence[Entry], gone: Sequence[Slot]) -> DoorView | None:
        """The view of the door, with entries that are new and perhaps without what is gone."""
        if entries and self._door is None:
            assert self._setting.leaves is not None  # or nothing would enter there
            self._door = self._setting.leaves.door()
        if self._door is None:
            return None
        if entries:
            self._door.add(entries)
        if gone:
            self._door.remove(gone)
        return self._door.view()

    def _rotate(self) -> None:
        """Let the live part wait to become a segment, and begin another."""
        view = self._live.view()
        self._live = Live(self._terms)
        now = self._snapshot
        self._snapshot = now._replace(lives=(*now.lives[:-1], view, self._live.view()))
        self._wake()
        if len(self._snapshot.lives) > _WAITING:
            self._freeze(self._snapshot.lives[0])

    # The background.

    def _wake(self) -> None:
        self._changes = 0
        if self._worker is None or not self._worker.is_alive():  # as after a fork
            self._worker = threading.Thread(target=self._work, name="tamis-merging")
            self._worker.start()

    def _work(self) -> None:
        try:
            while self._step():
                pass
        except BaseException as error:
            self._failure = error
            self._worker = None
            raise

    def _step(self) -> bool:
        """Freeze a live part, or merge some segments; False if nothing is left to do."""
        with self._lock:
            now = self._snapshot
            several = None
            if len(now.lives) == 1:
                several = (
                    now.due_to_merge()
                    or now.due_to_tidy()
                    or now.due_to_relearn(self._sample.times)
                )
            if len(now.lives) == 1 and several is None:
                self._worker = None
                return False
        if several is None:
            self._freeze(now.lives[0])
        else:
            self._merge(now, several)
        return True

    def _freeze(self, view: LiveView) -> None:
        """Make a segment of a live part."""
        now, learned = self._snapshot, self._sample.times
        segments = self._frozen(view, now, self.statistics())
        aged = tuple(DatedSegment(segment, now.epoch, learned=learned) for segment in segments)
        for each in aged:
            each.segment.warm_up()
        with self._lock:
            then = self._snapshot
            lives = tuple(each for each in then.lives if each is not view)
            if len(lives) < len(then.lives):  # or else somebody was faster
                self._snapshot = then._replace(segments=(*then.segments, *aged), lives=lives)

    def _frozen(
        self, view: LiveView, now: Snapshot, expected: AxisStatistics | None = None
    ) -> list[Segment]:
        """A live part as a segment, or two if they have many axes."""
        slot, asks = view.slot, view.asks
        left = now.died[slot] > now.epoch
        found = []
        if (left & ~asks).any():
            found.append(frozen_boxes(view, left & ~asks, self._terms, expected))
        if (left & asks).any():
            others = distinct(slot[left & asks]).tolist()
            covers = {slot: view.covers[slot] for slot in others}
            found.append(frozen_covers(covers, self._terms, expected))
        if len(found) < 2:
            return found
        try:
            return [merged(found, None, expected)]
        except TooManyAxesError:
            return found

    def _merge(self, now: Snapshot, several: slice) -> None:
        """Make one segment of some neighbours."""
        parts, learned = now.segments[several], self._sample.times
        slots = np.arange(len(now.died), dtype=np.int32)
        slots[now.died <= now.epoch] = -1
        try:
            whole = merged([each.segment for each in parts], slots, self.statistics())
            whole.warm_up()
            found = [DatedSegment(whole, now.epoch, learned=learned)] if whole.boxes else []
        except TooManyAxesError:
            found = [each._replace(apart=True) for each in parts]
        with self._lock:
            then = self._snapshot
            before, after = then.segments[: several.start], then.segments[several.stop :]
            self._snapshot = then._replace(segments=(*before, *found, *after))

    def settle(self, timeout: float | None = None) -> None:
        """Wait until everything is in segments, and these are merged."""
        with self._lock:
            if self._live.boxes:
                self._rotate()
            self._wake()
            worker = self._worker
        if worker is not None:
            worker.join(timeout)
            if worker.is_alive():
                raise TimeoutError(f"segments are still being merged after {timeout} seconds")
        failure, self._failure = self._failure, None
        if failure is not None:
            raise TamisError(f"merging failed: {failure}") from failure

    def renumbered(self, slots: NDArray[np.int32], setting: Setting) -> SieveMatcher:
        """Another matcher with the same subscriptions under other slots; -1 is left out."""
        other = SieveMatcher(setting, self._sample)
        expected = self.statistics()
        for segment in self.segments():
            other.install(merged([segment], slots, expected))
        other._take_door(self, slots)
        return other

    def _take_door(self, other: SieveMatcher, slots: NDArray[np.int32]) -> None:
        """Let events see the entries of another matcher's door, under other slots."""
        with self._lock:
            if other._door is not None and self._setting.leaves is not None:
                self._door = self._setting.leaves.door()
                other._door.renumbered(slots, self._door)
                self._publish(int(slots.max(initial=-1)), ())

    def slots_of_terms(self) -> list[Slot]:
        """The subscriptions whose boxes are about the terms of a taxonomy."""
        now = self._everything()
        several = [each.segment.slots_of_terms() for each in now.segments]
        found = distinct(np.concatenate([np.empty(0, np.int32), *several]))
        slots: list[Slot] = found[now.died[found] > now.epoch].tolist()
        return slots

    def recompiled(self, some: Mapping[Slot, Cover], setting: Setting) -> SieveMatcher:
        """Another matcher with the same subscriptions, some of them compiled anew."""
        now = self._everything()
        slots = np.arange(len(now.died), dtype=np.int32)
        slots[now.died <= now.epoch] = -1
        slots[list(some)] = -1
        other = SieveMatcher(setting, self._sample)
        expected = self.statistics()
        for each in now.segments:
            left = merged([each.segment], slots, expected)
            if left.boxes:
                other.install(left)
        other._take_door(self, slots)
        load = other.load()
        for slot, cover in some.items():
            load.add(slot, cover)
        load.install()
        return other

    # Matching.

    def segments(self) -> list[Segment]:
        """All segments, those of the live parts as well."""
        return [each.segment for each in self._everything().segments]

    def keys(self) -> frozenset[str] | None:
        """The outermost keys of all attributes; None if any may matter."""
        paths = self.view().paths()
        return None if paths is None else frozenset(path[0] for path in paths)

    def _everything(self) -> Snapshot:
        """The snapshot with segments in the place of live parts."""
        now = self._snapshot
        found = self._compiled
        same = len(found.lives) == len(now.lives)
        if not same or any(ours is not theirs for ours, theirs in zip(found.lives, now.lives)):
            segments = [each for view in now.lives for each in self._frozen(view, now)]
            found = _FrozenLives(
                now.lives, [DatedSegment(segment, now.epoch) for segment in segments]
            )
            self._compiled = found
        return now._replace(segments=(*now.segments, *found.segments), lives=())

    def match(self, event: Event) -> Hits:
        """The subscriptions that the event matches."""
        now, view = self._snapshot, self._view
        if view.snapshot is not now:
            view = self._view = SieveView(now, self._setting)
        if event.multiple and view.has_long_lists(event):
            return hits_of(joined([*self.view().match_batch(Batch([event]), None)]))
        found = view.match(event)
        if now.lives[0].asked[0] >= ASKED:
            self._freeze_soon(now)
        return found

    def _freeze_soon(self, now: Snapshot) -> None:
        """Let the first live part, which has cost events much, become a segment; but who reads
        does not wait for somebody who changes something."""
        if len(now.lives) == 1 and self._lock.acquire(blocking=False):
            try:
                if self._snapshot.lives[-1].asked is now.lives[0].asked:
                    self._rotate()
            finally:
                self._lock.release()
        self._give_way()

    def view(self) -> SieveView:
        """What there is now, for many events."""
        return SieveView(self._everything(), self._setting, self._sample.see)

    # Files.

    def arrays(self) -> tuple[list[Any], dict[str, NDArray[Any]]]:
        """A header and flat arrays of all segments; removed subscriptions are in them still."""
        header, arrays = [], {}
        for number, segment in enumerate(self.segments()):
            header.append(segment.header())
            arrays.update(segment.arrays(f"segments/{number}/"))
        with self._lock:
            found = {} if self._door is None else self._door.arrays()
        arrays.update({_DOOR + name: array for name, array in found.items()})
        return header, arrays

    def restore(
        self, header: list[Any], arrays: Mapping[str, NDArray[Any]], removed: Iterable[Slot]
    ) -> None:
        """Take in the segments of ``arrays``."""
        with self._lock:
            for number, part in enumerate(header):
                segment = Segment.from_arrays(part, arrays, f"segments/{number}/", self._terms)
                self._publish(segment.most_slot, (), [segment])
            found = {name.removeprefix(_DOOR): arrays[name] for name in _names(arrays, _DOOR)}
            if found and self._setting.leaves is not None:
                self._door = self._setting.leaves.door()
                self._door.restore(found)
                self._publish(int(self._door.view().slots().max(initial=-1)), ())
            self.remove(removed)


def _names(arrays: Mapping[str, Any], prefix: str) -> list[str]:
    return [name for name in arrays if name.startswith(prefix)]


class SieveLoad:
    """Subscriptions on their way into a segment of their own."""

    def __init__(self, matcher: SieveMatcher, terms: TermLines) -> None:
        self._matcher = matcher
        self._builder = SegmentBuilder(terms)
        self._entries: list[Entry] = []

    def add(self, slot: Slot, cover: Cover) -> None:
        """Take in one subscription."""
        cover, entries = divided(slot, cover, self._matcher._setting.leaves)
        self._entries += entries
        self._builder.add(slot, cover)

    def add_shape(self, shape: Shape, slots: NDArray[np.int32], columns: Sequence[Any]) -> bool:
        """Take in many subscriptions of one shape."""
        return shape.add(self._builder.axes, self._builder.plain, slots, columns)

    def add_conjuncts(self, slots: Slots, conjuncts: Sequence[Conjunct]) -> Flags:
        """Take in many conjunctions by their predicates."""
        return add_conjuncts(self._builder.axes, self._builder.plain, slots, conjuncts)

    def install(self, gone: Iterable[Slot] = ()) -> None:
        """Compile the segment, and let events see it, in the place of others."""
        segment = self._builder.finish(self._matcher.statistics())
        self._matcher.install(segment, gone, self._entries)


class _FrozenLives(NamedTuple):
    """Live parts, and the segments that a batch needs instead of them."""

    lives: tuple[LiveView, ...]
    segments: list[DatedSegment]
