"""Terms of a tree as brackets in one order, in which a term can be added anywhere at once.

    furniture ( chair ( throne ( ) ) table ( ) )  regalia ( )

A term is below another if its opening end lies between the ends of the other. Ends stand in blocks
of up to 256, and the blocks have an order of their own:

    block        0              2              1            the rank of block 2 is 1
    content      ( ( ( . .      ) ) ( . .      ) ) ( . .

    place of an end    block · 256 + where in it it stands
    label of an end    rank of its block · 256 + where in it it stands

Labels are in the order of the ends. A new term moves the ends behind it in its block; a block that
gets full is split, and the ranks of those behind it grow by one. So at worst 256 places change, and
a rank for each 128 ends: some microseconds at a million terms. The textbook's labels have gaps
between them, which what comes in between halves; when one is used up, many labels are renumbered at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

BLOCK = 256
_FILLED = 192
"""Ends in a block to begin with."""


class GrowingArray:
    """An array that grows at its end; ``now`` is what it holds, and can be written to."""

    def __init__(self, content: NDArray[Any]) -> None:
        self._size = len(content)
        self._room = _with_room(content, self._size // 8)

    @property
    def now(self) -> NDArray[Any]:
        """A view, up to the next growth."""
        return self._room[: self._size]

    def item(self, at: int) -> int:
        """One element of it, as Python has integers."""
        return int(self._room.item(at))

    def extend(self, more: ArrayLike) -> None:
        """Append some elements."""
        new = np.asarray(more, self._room.dtype)
        end = self._size + len(new)
        if end > len(self._room):
            self._room = _with_room(self.now, end)
        self._room[self._size : end] = new
        self._size = end

    def copy(self) -> GrowingArray:
        """Another one with the same content."""
        return GrowingArray(self.now)

    def __len__(self) -> int:
        return self._size


def _with_room(content: NDArray[Any], more: int) -> NDArray[Any]:
    """A copy with room for more behind it."""
    room = np.empty((len(content) + more, *content.shape[1:]), content.dtype)
    room[: len(content)] = content
    return room


class Nesting:
    """The ends of all terms: term t opens with end 2 t and closes with end 2 t + 1."""

    def __init__(self, opens: Integers, closes: Integers) -> None:
        count = 2 * len(opens)
        terms = np.arange(0, count, 2, dtype=np.int32)
        block, at = np.divmod(np.arange(count, dtype=np.int32), np.int32(_FILLED))
        blocks = int(block[-1]) + 1 if count else 1
        content = np.zeros((blocks, BLOCK), np.int32)
        content[block[opens], at[opens]] = terms
        content[block[closes], at[closes]] = terms + 1
        places = np.empty(count, np.int32)
        places[0::2] = block[opens] * BLOCK + at[opens]
        places[1::2] = block[closes] * BLOCK + at[closes]
        self.places = GrowingArray(places)
        self.ranks = GrowingArray(np.arange(blocks, dtype=np.int32))
        self._content = GrowingArray(content)
        self._filled = GrowingArray(np.bincount(block, minlength=blocks))

    def add(self, parent: int) -> None:
        """Put the next term, as the first, into another; into none if that is -1."""
        place = self.places.item(2 * parent) + 1 if parent >= 0 else 0
        block, at = divmod(place, BLOCK)  # the first block stays the first, and none is full
        filled = self._filled.item(block)
        row = self._content.now[block]
        behind = row[at:filled].copy()
        end = len(self.places)
        row[at : at + 2] = end, end + 1
        row[at + 2 : filled + 2] = behind
        self.places.now[behind] += 2
        self.places.extend((place, place + 1))
        self._filled.now[block] = filled + 2
        if filled + 2 > BLOCK - 2:
            self._split(block)

    def _split(self, block: int) -> None:
        """Let the second half of a block become the block behind it."""
        half = BLOCK // 2
        filled, number = self._filled.item(block), len(self._filled)
        row = np.zeros((1, BLOCK), np.int32)
        moved = self._content.now[block, half:filled]
        row[0, : len(moved)] = moved
        self.places.now[moved] = number * BLOCK + np.arange(len(moved), dtype=np.int32)
        rank = self.ranks.item(block)
        self.ranks.now[self.ranks.now > rank] += 1
        self.ranks.extend([rank + 1])
        self._filled.now[block] = half
        self._filled.extend([len(moved)])
        self._content.extend(row)

    def label(self, end: int) -> int:
        """The label of one end."""
        block, at = divmod(self.places.item(end), BLOCK)
        return self.ranks.item(block) * BLOCK + at

    def labels(self, ends: Integers | slice) -> Longs:
        """The labels of some ends."""
        place = self.places.now[ends]
        ranks = self.ranks.now[place >> 8].astype(np.int64)
        found: Longs = (ranks << 8) | (place & 255)
        return found

    def copy(self) -> Nesting:
        """Another one, that changes on its own."""
        other = Nesting.__new__(Nesting)
        for name, array in vars(self).items():
            setattr(other, name, array.copy())
        return other


def parents_first(parents: Sequence[Sequence[int]]) -> list[int]:
    """All terms, each behind its parents, those of one parent in the order of their numbers; terms
    of a cycle, and what is below them, are left out."""
    waiting = [len(above) for above in parents]
    parent = np.fromiter(chain.from_iterable(parents), np.int64)
    child = np.repeat(np.arange(len(parents)), waiting)
    children = child[np.argsort(parent, kind="stable")].tolist()
    start = np.cumsum(np.bincount(parent + 1, minlength=len(parents) + 1)).tolist()
    found = [term for term, count in enumerate(waiting) if not count]
    for term in found:  # which grows meanwhile
        for below in children[start[term] : start[term + 1]]:
            waiting[below] -= 1
            if not waiting[below]:
                found.append(below)
    return found


def brackets(first: Sequence[int], order: Sequence[int]) -> tuple[Integers, Integers]:
    """Where each term opens and closes, below its first parent (-1: below none); siblings are in
    the given order, in which parents come first."""
    size = [2] * (len(first) + 1)  # and, at -1, that of everything
    for term in reversed(order):
        size[first[term]] += size[term]
    opens = [0] * len(first)
    cursor = [0] * (len(first) + 1)
    for term in order:
        above = first[term]
        at = opens[term] = cursor[above]
        cursor[above] = at + size[term]
        cursor[term] = at + 1
    begin = np.array(opens, np.int32)
    return begin, begin + np.array(size[:-1], np.int32) - 1
