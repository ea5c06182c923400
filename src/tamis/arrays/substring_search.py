"""Which of many substrings stand in which texts: all of them in one pass over the bytes.

Each pattern is represented by one *window*: 8, 4, 2 or 1 of its bytes, as many as it has, and of
its windows the one that the fewest patterns share. The windows of one width are keys of a hash
table; the text is read byte by byte, the last bytes held in a register as a number, and looked up:

    pattern   …rocking chair…       text   an old rocking chair
    window       cking ch                        cking ch       → the pattern, compared as a whole
                 ^ shift 2

    filter    two bits of one word for each key; almost all places of a text end here, in the
              cache of a core
    table     key → group, open addressing; by a hash of which the filter knows all bits, and in two
              arrays of eight and four bytes, where ``key_table`` takes sixteen
    groups    patterns with this window, and where in them it stands

The obvious automaton (Aho and Corasick) takes one step a byte too, but each step waits for the one
before and, with a hundred thousand patterns, for memory. Its merit, that no set of patterns makes
it slow, is kept as far as can be by the choice of rare windows; only patterns that repeat one and
the same window must be compared one by one, and each at most until it is found.

UTF-8 is read as bytes: no character's bytes stand within those of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.arrow_buffers import frozen, string_buffers
from tamis.arrays.jit import addresses, array_at, brief, kernel
from tamis.arrays.key_table import GOLDEN
from tamis.arrays.sharing import lazy
from tamis.arrays.types import Addresses, Bytes, Int32s, Offsets, UInt64s

WIDTHS = (8, 4, 2, 1)
_MOST_WINDOWS = 64
"""Windows of a pattern that are considered."""
_ROOM = 16
"""Bits of the filter for each window."""
_CHUNK = 1 << 16
_ONE = 256
"""Patterns that a buffer for one text holds."""
EMPTY = -1


class Windows(NamedTuple):
    """The patterns that have a window of one width."""

    width: int
    largest: int  # patterns of one group
    filter: UInt64s
    keys: UInt64s
    group: Int32s  # of each slot of the table; EMPTY if it is free
    start: Int32s  # of each group, and the end of the last
    pattern: Int32s
    shift: Int32s


class SubstringSearch:
    """Finds patterns, distinct and not empty, by their numbers."""

    def __init__(self, patterns: Any) -> None:
        self.offsets, data = string_buffers(patterns)
        self.data = frozen(np.append(data, np.zeros(8, np.uint8)), np.uint8)
        length = np.diff(self.offsets)
        self.windows = []
        for width, above in zip(WIDTHS, (1 << 62, *WIDTHS)):
            members = np.flatnonzero((length >= width) & (length < above)).astype(np.int32)
            if len(members):
                self.windows.append(self._windows(width, members))

    def _windows(self, width: int, members: Int32s) -> Windows:
        shift = np.empty(len(members), np.int32)
        keys = np.empty(len(members), np.uint64)
        with np.errstate(over="ignore"):
            _choose_windows(self.offsets, self.data, members, width, shift, keys)
        order = np.argsort(keys, kind="stable")
        distinct, first = np.unique(keys[order], return_index=True)
        bits = max(10, int(len(distinct) * _ROOM - 1).bit_length())
        found = np.zeros(1 << (bits - 6), np.uint64)
        slots = 1 << max(4, int(2 * len(distinct) - 1).bit_length())
        table, group = np.zeros(slots, np.uint64), np.full(slots, EMPTY, np.int32)
        with np.errstate(over="ignore"):
            _fill_table(distinct, found, table, group)
        start = np.append(first, len(order)).astype(np.int32)
        ordered = members[order], shift[order]
        arrays = (found, table, group, start, *ordered)
        largest = int(np.diff(start).max())
        return Windows(width, largest, *(frozen(array, array.dtype) for array in arrays))

    def pairs(self, texts: Any) -> Iterator[tuple[Int32s, Int32s]]:
        """Rows of texts (large strings) and numbers of the patterns in them, each pair once."""
        return self._pairs(Texts(*string_buffers(texts)))

    def patterns(self, text: str) -> Int32s:
        """The numbers of the patterns in one text."""
        data = np.frombuffer(text.encode(), np.uint8)
        found = np.empty(_ONE, np.int32)
        count = _find_in_one(data, self.places, found)
        if count >= 0:
            return found[:count]
        texts = Texts(frozen((0, len(data)), np.int64), data)
        return np.concatenate([found for _, found in self._pairs(texts)])

    @lazy
    def places(self) -> Addresses:
        """The patterns, and the arrays of all windows, by their addresses."""
        places = [(len(self.windows), 0), *addresses((self.offsets, self.data)).tolist()]
        for windows in self.windows:
            places.append((windows.width, 0))
            places += addresses(windows[2:]).tolist()
        return np.array(places, np.int64)

    def _pairs(self, texts: Texts) -> Iterator[tuple[Int32s, Int32s]]:
        own, rows = Texts(self.offsets, self.data), len(texts.offsets) - 1
        stamp = np.full(len(self.offsets) - 1, -1, np.int32)
        for windows in self.windows:
            size = max(min(_CHUNK, len(texts.data)), windows.largest)  # a group fits in any case
            cursor = np.zeros(2, np.int64)
            while cursor[0] < rows:
                row, pattern = np.empty(size, np.int32), np.empty(size, np.int32)
                with np.errstate(over="ignore"):
                    count = _find(texts, own, windows, stamp, cursor, row, pattern)
                yield row[:count], pattern[:count]


class SearchTable:
    """Several searches, made in the texts of one event by one call."""

    def __init__(self, searches: Sequence[SubstringSearch]) -> None:
        self._searches = searches  # which keep what the addresses are about
        places = [search.places for search in searches]
        self._places = np.concatenate([np.empty((0, 2), np.int64), *places])
        self._start = np.cumsum([0, *map(len, places)])

    def find(self, searches: Sequence[int], texts: Sequence[str]) -> Iterator[tuple[int, Int32s]]:
        """Make searches, by their numbers, each in its text: the texts, by their places, in which
        something is found, and the numbers of the patterns."""
        encoded = [text.encode() for text in texts]
        ends = np.array([[*accumulate(map(len, encoded))], searches], np.int64)
        data = np.frombuffer(b"".join(encoded), np.uint8)
        found, count = np.empty(_ONE, np.int32), np.empty(len(texts), np.int32)
        if not _find_in_several(data, ends, self._start, self._places, found, count):
            for place, search in enumerate(searches):
                yield place, self._searches[search].patterns(texts[place])
            return
        begin = 0
        for place, many in enumerate(count.tolist()):
            if many:
                yield place, found[begin : begin + many]
                begin += many


class Texts(NamedTuple):
    """Strings as Arrow has them."""

    offsets: Offsets
    data: Bytes


@kernel(allocates=False)
def _key(data: Bytes, start: int, width: int) -> np.uint64:
    """Some bytes as a number, the first one lowest."""
    key = np.uint64(0)
    for i in range(width):
        key |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return key


@kernel(allocates=False)
def _mixed(key: np.uint64) -> np.uint64:
    """A key whose bits are mixed."""
    mixed = (key ^ key >> np.uint64(29)) * GOLDEN
    return mixed ^ mixed >> np.uint64(32)


@kernel(allocates=False)
def _hash(key: np.uint64, size: int) -> int:
    """The hash of a key, below a power of two."""
    return int(np.int64(_mixed(key) & np.uint64(size - 1)))


@kernel(allocates=False)
def _bits(mixed: np.uint64) -> np.uint64:
    """The two bits of a mixed key in its word of the filter."""
    one, other = mixed >> np.uint64(52), mixed >> np.uint64(58)
    return np.uint64(1) << (one & np.uint64(63)) | np.uint64(1) << other


@kernel
def _choose_windows(
    offsets: Offsets, data: Bytes, members: Int32s, width: int, shift: Int32s, keys: UInt64s
) -> None:
    """Of each pattern the window that the fewest share, by counts that collide at times."""
    size = 1 << 20
    counts = np.zeros(size, np.int32)
    for m in members:
        last = min(offsets[m + 1] - width, offsets[m] + _MOST_WINDOWS - 1)
        for start in range(offsets[m], last + 1):
            counts[_hash(_key(data, start, width), size)] += 1
    for i in range(len(members)):
        m = members[i]
        last = min(offsets[m + 1] - width, offsets[m] + _MOST_WINDOWS - 1)
        best = np.int64(1) << 40
        for start in range(offsets[m], last + 1):
            key = _key(data, start, width)
            count = counts[_hash(key, size)]
            if count < best:
                best, shift[i], keys[i] = count, start - offsets[m], key


@kernel(allocates=False)
def _fill_table(keys: UInt64s, found: UInt64s, table: UInt64s, group: Int32s) -> None:
    slots = len(table)
    for g in range(len(keys)):
        found[_hash(keys[g], len(found))] |= _bits(_mixed(keys[g]))
        slot = _hash(keys[g], slots)
        while group[slot] != EMPTY:
            slot = (slot + 1) & (slots - 1)
        table[slot], group[slot] = keys[g], g


@kernel(allocates=False)
def _find(
    texts: Texts,
    patterns: Texts,
    windows: Windows,
    stamp: Int32s,
    cursor: Offsets,
    row: Int32s,
    pattern: Int32s,
) -> int:
    """Fill the buffers from the cursor (row, and byte within it) on; return how many pairs."""
    offsets, data = texts
    width, found = windows.width, windows.filter
    words, slots = np.uint64(len(found) - 1), len(windows.keys)
    top = np.uint64(8 * (width - 1))
    count = 0
    for r in range(cursor[0], len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        at = start + cursor[1]
        cursor[1] = 0
        if stop - at < width:
            continue
        key = _key(data, at, width - 1) << np.uint64(8)
        for i in range(at, stop - width + 1):
            key = key >> np.uint64(8) | np.uint64(data[np.uint64(i + width - 1)]) << top
            mixed = _mixed(key)
            bits = _bits(mixed)
            if found[mixed & words] & bits != bits:  # unsigned indices are not asked for their sign
                continue
            slot = _hash(key, slots)
            while windows.group[slot] != EMPTY and windows.keys[slot] != key:
                slot = (slot + 1) & (slots - 1)
            g = windows.group[slot]
            if g == EMPTY:
                continue
            if count + windows.start[g + 1] - windows.start[g] > len(row):
                cursor[0], cursor[1] = r, i - start
                return count
            for j in range(windows.start[g], windows.start[g + 1]):
                p = windows.pattern[j]
                if stamp[p] != r and _stands(data, i - windows.shift[j], start, stop, patterns, p):
                    stamp[p] = r
                    row[count], pattern[count] = r, p
                    count += 1
    cursor[0] = len(offsets) - 1
    return count


@brief
def _find_in_one(data: Bytes, places: Addresses, out: Int32s) -> int:
    """Write the patterns that stand in one text, each once; return how many, or -1 if they are
    too many for the buffer."""
    own = Texts(array_at(places[1], np.int64), array_at(places[2], np.uint8))
    count = 0
    for w in range(places[0, 0]):
        at = 3 + 7 * w
        width = places[at, 0]
        found, keys = array_at(places[at + 1], np.uint64), array_at(places[at + 2], np.uint64)
        group, start = array_at(places[at + 3], np.int32), array_at(places[at + 4], np.int32)
        pattern, shift = array_at(places[at + 5], np.int32), array_at(places[at + 6], np.int32)
        if len(data) < width:
            continue
        words, top = np.uint64(len(found) - 1), np.uint64(8 * (width - 1))
        key = _key(data, 0, width - 1) << np.uint64(8)
        for i in range(len(data) - width + 1):
            key = key >> np.uint64(8) | np.uint64(data[i + width - 1]) << top
            mixed = _mixed(key)
            bits = _bits(mixed)
            if found[mixed & words] & bits != bits:
                continue
            slot = _hash(key, len(keys))
            while group[slot] != EMPTY and keys[slot] != key:
                slot = (slot + 1) & (len(keys) - 1)
            g = group[slot]
            if g == EMPTY:
                continue
            for j in range(start[g], start[g + 1]):
                p = pattern[j]
                if _stands(data, i - shift[j], 0, len(data), own, p) and p not in out[:count]:
                    if count == len(out):
                        return -1
                    out[count] = p
                    count += 1
    return count


@brief
def _find_in_several(
    data: Bytes, ends: Offsets, start: Offsets, places: Addresses, out: Int32s, count: Int32s
) -> bool:
    """Make searches in texts that stand one behind the other, given where each text ends and which
    search it is for; return whether there was room for all that was found."""
    begin = total = 0
    for i in range(len(count)):
        end, search = ends[0, i], ends[1, i]
        own = places[start[search] : start[search + 1]]
        found = _find_in_one(data[begin:end], own, out[total:])
        if found < 0:
            return False
        count[i] = found
        begin, total = end, total + found
    return True


@kernel(allocates=False)
def _stands(data: Bytes, at: int, start: int, stop: int, patterns: Texts, p: int) -> bool:
    """Whether pattern p stands at a place of a text."""
    first, last = patterns.offsets[p], patterns.offsets[p + 1]
    if at < start or at + last - first > stop:
        return False
    i = np.int64(0)
    while i < last - first and data[at + i] == patterns.data[first + i]:
        i += 1
    return bool(i == last - first)
