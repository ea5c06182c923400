"""Variants, Spark's and Parquet's binary form of JSON, scanned for the paths that are asked for.

    value      object: header, count, ids of keys, offsets, values
               list:   header, count, offsets, values
               other:  header, bytes
    metadata   header, count, offsets, the keys by their ids

Counts take one byte or four, ids and offsets one to four, as headers say. The scan goes through
every value, so that it refuses what ``model/events/variant_events.py`` refuses: that is left to the
reader there, which says what is wrong.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.documents.path_index import PathTables
from tamis.arrays.documents.tokens import (
    ASIDE,
    BINARY,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    EMPTY,
    FIRST,
    HEAD,
    INSTANT,
    INTEGER,
    LISTED,
    OBJECT,
    READ,
    SECOND,
    SINGLE,
    SLOT,
    STRING,
    UNSIGNED,
    Tokens,
    byte_at,
    child_of,
    grown,
    is_utf8,
    next_hash,
    undo,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Int8s, Int64s, Offsets, Rows
from tamis.model.limits import MAX_DEPTH

_NODE, _IN, _FROM, _LIST, _INNER, _NEXT, _COUNT, _IDS, _ID_SIZE, _OFFSETS, _SIZE, _VALUES = range(
    12
)
"""A container on the stack: its node, the slot of what is in it, where its tokens begin, whether it
is a list, and in another one; the child that comes next, how many there are, and where and how wide
ids and offsets are, and where values begin."""
_NULL, _WRONG = -2, -1
"""In the place of a kind."""
_DAY = 86_400_000_000
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The years 1 to 9999 in microseconds."""


@kernel
def scan_variants(
    data: Bytes,
    offsets: Offsets,
    keys: Bytes,
    key_places: Offsets,
    rows: Rows,
    paths: PathTables,
    limits: Int64s,
    tokens: Tokens,
    counts: Int64s,
    status: Int8s,
) -> tuple[Tokens, int]:
    """The tokens of some variants, and how many; ``data`` has the values, ``keys`` the metadata.
    ``limits`` are those of bytes in a document, values in it, and bytes in a string."""
    stack = np.empty((MAX_DEPTH + 3, 12), np.int64)
    hashes = np.empty((64, 3), np.int64)
    last = -1
    known = -1
    used = 0
    read = 0
    for i in range(len(rows)):
        row = rows[i]
        if last < 0 or not _is_same(keys, key_places, row, last):
            known, hashes = _dictionary(keys, key_places[row], key_places[row + 1], hashes)
            last = row
        elif known >= 0:  # the same keys elsewhere
            _move(hashes, known, key_places[row] - key_places[last])
            last = row
        start, stop = offsets[row], offsets[row + 1]
        code = ASIDE
        end = used
        if known >= 0 and stop - start <= limits[0]:
            code, tokens, end = _document(
                data, start, stop, keys, hashes, known, paths, limits, tokens, used, counts, read,
                stack,
            )  # fmt: skip
        status[i] = code
        if code == READ:
            used = end
            read += 1
        else:
            undo(tokens, used, end, counts)
    return tokens, used


@kernel
def _is_same(keys: Bytes, places: Offsets, row: int, other: int) -> bool:
    """Whether two rows have the same metadata, as most have."""
    length = places[row + 1] - places[row]
    if places[other + 1] - places[other] != length:
        return False
    ours, theirs = places[row], places[other]
    for i in range(length):  # noqa: SIM110  (Numba compiles no generators)
        if keys[ours + i] != keys[theirs + i]:
            return False
    return True


@kernel
def _move(hashes: Int64s, count: int, by: int) -> None:
    for i in range(count):
        hashes[i, 1] += by
        hashes[i, 2] += by


@kernel
def _whole(data: Bytes, at: int, size: int) -> int:
    """An unsigned number of some bytes, the lowest first."""
    found = 0
    for i in range(size):
        found |= byte_at(data, at + i) << 8 * i
    return found


@kernel
def _signed(data: Bytes, at: int, size: int) -> int:
    """A signed number of one to eight bytes, the lowest first."""
    found = 0
    for i in range(size - 1):
        found |= byte_at(data, at + i) << 8 * i
    top = byte_at(data, at + size - 1)
    if top >= 128:
        top -= 256
    return found | top << 8 * (size - 1)


@kernel
def _dictionary(keys: Bytes, at: int, stop: int, hashes: Int64s) -> tuple[int, Int64s]:
    """The number of keys of a metadata, -1 if it is broken; of each its hash, begin and end."""
    if at >= stop or keys[at] & 15 != 1:
        return -1, hashes
    size = (byte_at(keys, at) >> 6) + 1
    if at + 1 + size > stop:
        return -1, hashes
    count = _whole(keys, at + 1, size)
    places = at + 1 + size
    begin = places + (count + 1) * size
    if begin > stop:
        return -1, hashes
    while len(hashes) < count:
        hashes = grown(hashes)
    for i in range(count):
        first = begin + _whole(keys, places + i * size, size)
        end = begin + _whole(keys, places + (i + 1) * size, size)
        if first > end or end > stop or not is_utf8(keys, first, end):
            return -1, hashes
        hash = 0
        for j in range(first, end):
            hash = next_hash(hash, byte_at(keys, j))
        hashes[i, 0], hashes[i, 1], hashes[i, 2] = hash, first, end
    return count, hashes


@kernel
def _document(
    data: Bytes,
    at: int,
    stop: int,
    keys: Bytes,
    hashes: Int64s,
    known: int,
    paths: PathTables,
    limits: Int64s,
    tokens: Tokens,
    used: int,
    counts: Int64s,
    number: int,
    stack: Int64s,
) -> tuple[int, Tokens, int]:
    """What became of a variant, and its tokens behind the others."""
    if at >= stop or data[at] & 3 != 2 or not _open(data, at, stop, stack, 0):
        return ASIDE, tokens, used
    stack[0, _NODE], stack[0, _IN], stack[0, _FROM] = 0, number, used
    depth = 0
    values = 0
    while True:
        child = stack[depth, _NEXT]
        if child == stack[depth, _COUNT]:
            if stack[depth, _LIST] and stack[depth, _NODE] >= 0 and used == stack[depth, _FROM]:
                if stack[depth, _INNER]:
                    return ASIDE, tokens, used
                if used == len(tokens):
                    tokens = grown(tokens)
                tokens[used, HEAD] = stack[depth, _NODE] << 8 | LISTED | EMPTY
                tokens[used, SLOT] = stack[depth, _IN]
                used += 1
            if depth == 0:
                return READ, tokens, used
            depth -= 1
            continue
        stack[depth, _NEXT] += 1
        values += 1
        if values > limits[1] or depth + 1 > MAX_DEPTH:
            return ASIDE, tokens, used
        size = stack[depth, _SIZE]
        at = stack[depth, _VALUES] + _whole(data, stack[depth, _OFFSETS] + child * size, size)
        if at >= stop:
            return ASIDE, tokens, used
        node, slot, listed = stack[depth, _NODE], stack[depth, _IN], LISTED
        if not stack[depth, _LIST]:
            listed = 0
            size = stack[depth, _ID_SIZE]
            key = _whole(data, stack[depth, _IDS] + child * size, size)
            if key >= known or not _follows(data, stack[depth], child, keys, hashes):
                return ASIDE, tokens, used
            if node >= 0:
                node = child_of(
                    node,
                    hashes[key, 0],
                    keys,
                    hashes[key, 1],
                    hashes[key, 2],
                    paths.table,
                    paths.parents,
                    paths.key_offsets,
                    paths.key_bytes,
                )
        if used == len(tokens):
            tokens = grown(tokens)
        basic = data[at] & 3
        kind, first, second = OBJECT, 0, 0
        if basic >= 2:
            depth += 1
            if not _open(data, at, stop, stack, depth):
                return ASIDE, tokens, used
            stack[depth, _NODE], stack[depth, _IN] = node, slot
            stack[depth, _FROM], stack[depth, _INNER] = used, listed
            if basic == 3 or node < 0:
                continue
            stack[depth, _IN] = counts[node]
        else:
            kind, first, second = _scalar(data, at, stop, limits[2])
            if kind == _NULL:
                continue
            if kind < 0:
                return ASIDE, tokens, used
        if node >= 0:
            if not paths.asked[node]:
                kind = OBJECT  # what is below it is missing
            tokens[used, HEAD] = node << 8 | listed | kind
            tokens[used, SLOT] = slot
            tokens[used, FIRST] = first
            tokens[used, SECOND] = second
            counts[node] += 1
            used += 1


@kernel
def _follows(data: Bytes, frame: Int64s, child: int, keys: Bytes, hashes: Int64s) -> bool:
    """Whether a key of an object comes after the one before it in order, so that none is twice."""
    if child == 0:
        return True
    size = frame[_ID_SIZE]
    ours = _whole(data, frame[_IDS] + child * size, size)
    other = _whole(data, frame[_IDS] + (child - 1) * size, size)
    a, b = hashes[other, 1], hashes[ours, 1]
    while a < hashes[other, 2] and b < hashes[ours, 2]:
        if keys[a] != keys[b]:
            return bool(byte_at(keys, a) < byte_at(keys, b))
        a, b = a + 1, b + 1
    return bool(a == hashes[other, 2] and b < hashes[ours, 2])


@kernel
def _open(data: Bytes, at: int, stop: int, stack: Int64s, depth: int) -> bool:
    """Put an object or a list on the stack; False if it does not fit into the document."""
    header = byte_at(data, at) >> 2
    is_list = data[at] & 3 == 3
    size = (header & 3) + 1
    id_size = 0 if is_list else (header >> 2 & 3) + 1
    large = header >> 2 & 1 if is_list else header >> 4 & 1
    width = 4 if large else 1
    if at + 1 + width > stop:
        return False
    count = _whole(data, at + 1, width)
    ids = at + 1 + width
    places = ids + count * id_size
    stack[depth, _VALUES] = places + (count + 1) * size
    if stack[depth, _VALUES] > stop:
        return False
    stack[depth, _LIST] = is_list
    stack[depth, _INNER] = 0
    stack[depth, _NEXT], stack[depth, _COUNT] = 0, count
    stack[depth, _IDS], stack[depth, _ID_SIZE] = ids, id_size
    stack[depth, _OFFSETS], stack[depth, _SIZE] = places, size
    return True


@kernel
def _scalar(data: Bytes, at: int, stop: int, longest: int) -> tuple[int, int, int]:
    """The kind of a value and its two numbers."""
    header = byte_at(data, at) >> 2
    room = stop - at - 1
    at += 1
    if data[at - 1] & 3 == 1:  # a short string
        if header > room or header > longest or not is_utf8(data, at, at + header):
            return _WRONG, 0, 0
        return STRING, at, header
    if header == 0:
        return _NULL, 0, 0
    if header <= 2:
        return BOOLEAN, 2 - header, 0
    if header <= 6:
        size = 1 << (header - 3)
        return (INTEGER, _signed(data, at, size), 0) if room >= size else (_WRONG, 0, 0)
    if header == 14:
        return (SINGLE, _whole(data, at, 4), 0) if room >= 4 else (_WRONG, 0, 0)
    if header == 7:
        return (DOUBLE, _signed(data, at, 8), 0) if room >= 8 else (_WRONG, 0, 0)
    if header <= 10:
        size = 4 << (header - 8)
        if room < 1 + size:
            return _WRONG, 0, 0
        return _decimal(data, at + 1, size, byte_at(data, at))
    if header == 11 and room >= 4:
        return _instant(_signed(data, at, 4) * _DAY)
    if (header == 12 or header == 13) and room >= 8:
        return _instant(_signed(data, at, 8))
    if (header == 18 or header == 19) and room >= 8 and _signed(data, at, 8) % 1000 == 0:
        return _instant(_signed(data, at, 8) // 1000)
    if (header == 15 or header == 16) and room >= 4:
        length = _whole(data, at, 4)
        if length > room - 4 or length > longest:
            return _WRONG, 0, 0
        if header == 15:
            return BINARY, at + 4, length
        if is_utf8(data, at + 4, at + 4 + length):
            return STRING, at + 4, length
    return _WRONG, 0, 0  # single nanoseconds among them


@kernel
def _instant(microseconds: int) -> tuple[int, int, int]:
    if _EARLIEST <= microseconds < _LATEST:
        return INSTANT, microseconds, 0
    return _WRONG, 0, 0


@kernel
def _decimal(data: Bytes, at: int, size: int, scale: int) -> tuple[int, int, int]:
    """A decimal that has an integer of 64 bits in it; one that is whole becomes an integer."""
    low = _signed(data, at, min(size, 8))
    if size == 16:
        high = _signed(data, at + 8, 8)
        if scale == 0 and high == 0 and low < 0:
            return UNSIGNED, (low + 1) + 9_223_372_036_854_775_807, 0
        if high != (-1 if low < 0 else 0):
            return _WRONG, 0, 0
    for power in range(scale):
        if low % 10:
            return (DECIMAL, low, power - scale) if scale <= 38 else (_WRONG, 0, 0)
        low //= 10
    return INTEGER, low, 0
