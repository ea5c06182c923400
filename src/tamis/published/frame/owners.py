"""Where the boxes of each subscription are: a part, and the first of them there.

    slot      0    1    2    3             parts   0   plain boxes: a stabbed box is a match
    place     0    1   -1   -2                     1   boxes whose conjunctions are tested besides
    first     0    0                               2   plain boxes of event type 1, if each type
                        scattered: 3               ...         has structures of its own

All boxes of a subscription are plain, or none is. They are in one part, linked (indexed_boxes.py),
unless they have several types (those of slot 3, which are listed apart). Slot 2 has none.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.arrays.types import Numbers

NOWHERE, SCATTERED = -1, -2
"""Places of slots without boxes, and of those with boxes in several parts."""

_FEW = 16
"""Slots below which they are looked up one by one."""


class Places:
    """Parts and first boxes by slot."""

    def __init__(self) -> None:
        self.place = np.full(1_024, NOWHERE, np.int32)
        self.first = np.zeros(1_024, np.int32)
        self.scattered: dict[int, list[tuple[int, int]]] = {}
        """Parts and first boxes of slots with several."""

    def __len__(self) -> int:
        return len(self.place)

    def put(self, slot: int, part: int, box: int) -> None:
        """Note where the boxes of a slot begin, in one part or in another one too."""
        if slot >= len(self.place):
            self._make_room(slot + 1)
        place = int(self.place[slot])
        if place == NOWHERE:
            self.place[slot], self.first[slot] = part, box
            return
        if place != SCATTERED:
            self.scattered[slot] = [(place, int(self.first[slot]))]
            self.place[slot] = SCATTERED
        self.scattered[slot].append((part, box))

    def put_many(self, slots: Numbers, part: int, boxes: Numbers) -> None:
        """Do the same for many slots."""
        self._make_room(int(slots.max()) + 1)
        fresh = self.place[slots] == NOWHERE
        self.place[slots[fresh]], self.first[slots[fresh]] = part, boxes[fresh]
        for slot, box in zip(slots[~fresh].tolist(), boxes[~fresh].tolist()):
            self.put(slot, part, box)

    def take(self, slots: Iterable[int]) -> dict[int, Numbers]:
        """Forget slots; return, for each part, the first boxes that they had there."""
        known = [slot for slot in slots if slot < len(self.place)]
        found: dict[int, list[int]] = {}
        if len(known) < _FEW:
            for slot in known:
                place = int(self.place[slot])
                if place >= 0:
                    found.setdefault(place, []).append(int(self.first[slot]))
                self._take_scattered(slot, found)
                self.place[slot] = NOWHERE
            return {part: np.array(boxes, np.int32) for part, boxes in found.items()}
        gone = np.unique(np.array(known, np.int32))
        places, first = self.place[gone], self.first[gone]
        for slot in gone[places == SCATTERED].tolist():
            self._take_scattered(slot, found)
        self.place[gone] = NOWHERE
        return {
            part: np.concatenate((first[places == part], np.array(found.get(part, []), np.int32)))
            for part in {*np.unique(places[places >= 0]).tolist(), *found}
        }

    def _take_scattered(self, slot: int, found: dict[int, list[int]]) -> None:
        for part, box in self.scattered.pop(slot, ()):
            found.setdefault(part, []).append(box)

    def slots(self) -> Numbers:
        """All slots that have boxes."""
        return np.flatnonzero(self.place != NOWHERE).astype(np.int32)

    def _make_room(self, slots: int) -> None:
        count = len(self.place)
        if slots > count:
            more = max(slots - count, count)
            self.place = np.concatenate((self.place, np.full(more, NOWHERE, np.int32)))
            self.first = np.concatenate((self.first, np.zeros(more, np.int32)))

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.place.nbytes + self.first.nbytes
