"""What a scan of documents finds at the paths that are asked for, as rows of numbers.

    {"shop": "x", "items": [{"price": 3}, {"price": 2.5}]}       asked: shop, items.price

    head                        slot   first      second
    shop         STRING           0    where      length
    items        OBJECT, listed   0
    items.price  INTEGER          0    3
    items        OBJECT, listed   0
    items.price  DECIMAL          1    25         -1

The *slot* of a token is where it stands: of an outermost path the number of its document, of any
other the number of the object around it, counted over all documents (the *entry*). A list is a
sequence of entries in one slot, and lists in lists are one list: a binding chooses an element at
every depth anyway. A list without elements is a token EMPTY.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.hash_table import EMPTY as NO_KEY
from tamis.arrays.hash_table import number_of
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Bytes, Int64s, Numbers, Offsets

EMPTY, INTEGER, UNSIGNED, DECIMAL, DOUBLE, SINGLE = range(6)
BOOLEAN, STRING, ESCAPED, BINARY, INSTANT, OBJECT = range(6, 12)
"""Kinds of tokens. UNSIGNED are integers from 2^63 on, less 2^63; DECIMAL is ``first * 10 **
second``; DOUBLE and SINGLE have the bits of a float of 64 and of 32 bits; INSTANT has microseconds
since 1970; ESCAPED is a string of JSON with backslashes."""
LISTED = 128
"""The bit of the head that says that a token is an element of a list."""
HEAD, SLOT, FIRST, SECOND = range(4)

Tokens = Int64s
"""Rows of head (``node << 8 | listed | kind``), slot, and two numbers of the kind."""

Grouped = Int64s
"""The tokens of each node together, field by field: kinds, slots, and the two numbers."""
IN_LISTS = LISTED << 24
"""The bit of the kinds of a node that says that some of its tokens are elements of lists."""

READ, BLANK, ASIDE = range(3)
"""What became of a document: read, nothing there, or left to the plain reader, which is never wrong
and says what is wrong."""

_PRIME = 0x01000193
_LOW = (1 << 31) - 1


@kernel
def byte_at(data: Bytes, at: int) -> int:
    """A byte as an integer of 64 bits, with which one can reckon."""
    byte: int = np.int64(data[at])  # type: ignore[assignment]
    return byte


@kernel
def next_hash(hash: int, byte: int) -> int:
    """The hash of a key with one more byte: FNV-1a in 31 bits."""
    return ((hash ^ byte) * _PRIME) & _LOW


@kernel
def child_of(
    node: int,
    hash: int,
    data: Bytes,
    start: int,
    stop: int,
    table: Buckets,
    parents: Numbers,
    key_offsets: Offsets,
    key_bytes: Bytes,
) -> int:
    """The node below another by its key; -1 if nobody asks for it."""
    mixed = (hash + node * 0x9E3779B1) & _LOW
    mask = len(table) - 1
    at = mixed & mask
    while table[at] != NO_KEY:
        if table[at] >> 32 == mixed:
            child = number_of(table[at])
            first = key_offsets[child]
            if parents[child] == node and key_offsets[child + 1] - first == stop - start:
                same = True
                for i in range(stop - start):
                    if key_bytes[first + i] != data[start + i]:
                        same = False
                        break
                if same:
                    return child
        at = at + 1 & mask
    return -1


@kernel
def grown(array: Int64s) -> Int64s:
    """The same rows with as much room again."""
    larger = np.empty((2 * array.shape[0], array.shape[1]), np.int64)
    larger[: array.shape[0]] = array
    return larger


@kernel
def undo(tokens: Tokens, start: int, stop: int, counts: Int64s) -> None:
    """Take back the entries of a document that is not read after all."""
    for i in range(start, stop):
        if tokens[i, HEAD] & 127 != EMPTY:
            counts[tokens[i, HEAD] >> 8] -= 1


@kernel
def is_utf8(data: Bytes, start: int, stop: int) -> bool:
    """Whether bytes are valid UTF-8: the shortest forms only, and no surrogates."""
    every = 0
    for i in range(start, stop):
        every |= data[i]
    if every < 0x80:
        return True
    at = start
    while at < stop:
        length = character_length(data, at, stop)
        if length == 0:
            return False
        at += length
    return True


@kernel
def character_length(data: Bytes, at: int, stop: int) -> int:
    """The bytes of the character at a place; 0 if there is none."""
    byte = data[at]
    if byte < 0x80:
        return 1
    if byte < 0xC2 or byte > 0xF4:
        return 0
    length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    if at + length > stop:
        return 0
    for i in range(1, length):
        if data[at + i] & 0xC0 != 0x80:
            return 0
    second = data[at + 1]
    if (byte == 0xE0 and second < 0xA0) or (byte == 0xED and second > 0x9F):
        return 0
    if (byte == 0xF0 and second < 0x90) or (byte == 0xF4 and second > 0x8F):
        return 0
    return length


@kernel
def group_tokens(tokens: Tokens, starts: Offsets, kinds: Int64s) -> Grouped:
    """The tokens of each node behind one another, in their order; ``starts`` become where those of
    each node begin, ``kinds`` a bit for each kind that it has."""
    for i in range(len(tokens)):
        starts[(tokens[i, HEAD] >> 8) + 1] += 1
    for node in range(1, len(starts)):
        starts[node] += starts[node - 1]
    place = starts[:-1].copy()
    grouped = np.empty((4, len(tokens)), np.int64)
    for i in range(len(tokens)):
        head = tokens[i, HEAD]
        at = place[head >> 8]
        place[head >> 8] += 1
        kinds[head >> 8] |= 1 << (head & 127) | (head & LISTED) << 24
        grouped[HEAD, at] = head & 127
        grouped[SLOT, at] = tokens[i, SLOT]
        grouped[FIRST, at] = tokens[i, FIRST]
        grouped[SECOND, at] = tokens[i, SECOND]
    return grouped


@kernel
def copy_strings(
    data: Bytes, tokens: Grouped, places: Int64s, offsets: Offsets, copied: Bytes
) -> int:
    """Copy strings behind one another, each to its place; offsets become where they begin. The
    number of bytes that they take."""
    used = 0
    place = 0
    for i in range(len(places)):
        while place <= places[i]:
            offsets[place] = used
            place += 1
        start, length = tokens[FIRST, i], tokens[SECOND, i]
        if tokens[HEAD, i] == ESCAPED:
            used = _unescaped(data, start, start + length, copied, used)
        else:
            for j in range(length):
                copied[used + j] = data[start + j]
            used += length
    while place < len(offsets):
        offsets[place] = used
        place += 1
    return used


@kernel
def hex_value(data: Bytes, at: int) -> int:
    """The number that four hexadecimal digits stand for; -1 if they are not four."""
    found = 0
    for i in range(at, at + 4):
        digit = byte_at(data, i)
        if 48 <= digit <= 57:
            found = found * 16 + digit - 48
        elif 97 <= digit | 32 <= 102:
            found = found * 16 + (digit | 32) - 87
        else:
            return -1
    return found


@kernel
def _unescaped(data: Bytes, at: int, stop: int, copied: Bytes, used: int) -> int:
    """Copy a string of JSON without its backslashes; the scan has found it to be valid."""
    while at < stop:
        byte = data[at]
        if byte != 92:
            copied[used] = byte
            at, used = at + 1, used + 1
            continue
        kind = data[at + 1]
        at += 2
        if kind == 117:
            point = hex_value(data, at)
            at += 4
            if 0xD800 <= point < 0xDC00:
                point = 0x10000 + (point - 0xD800) * 1024 + hex_value(data, at + 2) - 0xDC00
                at += 6
            used = _encoded(point, copied, used)
            continue
        if kind == 98:
            kind = 8
        elif kind == 102:
            kind = 12
        elif kind == 110:
            kind = 10
        elif kind == 114:
            kind = 13
        elif kind == 116:
            kind = 9
        copied[used] = kind
        used += 1
    return used


@kernel
def _encoded(point: int, copied: Bytes, used: int) -> int:
    """Write a code point as UTF-8."""
    if point < 0x80:
        copied[used] = point
        return used + 1
    if point < 0x800:
        copied[used] = 0xC0 | point >> 6
        copied[used + 1] = 0x80 | point & 63
        return used + 2
    if point < 0x10000:
        copied[used] = 0xE0 | point >> 12
        copied[used + 1] = 0x80 | point >> 6 & 63
        copied[used + 2] = 0x80 | point & 63
        return used + 3
    copied[used] = 0xF0 | point >> 18
    copied[used + 1] = 0x80 | point >> 12 & 63
    copied[used + 2] = 0x80 | point >> 6 & 63
    copied[used + 3] = 0x80 | point & 63
    return used + 4
