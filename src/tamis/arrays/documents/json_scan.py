"""JSON documents, scanned for the paths that are asked for.

One pass over the bytes checks the whole document, by the rules of ``model/events/json_events.py``,
and notes tokens at the asked paths. What the reader there would refuse is left to it (ASIDE), and
so is what is rare and hard to get right: keys with backslashes, numbers of more than 18 digits.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.documents.path_index import PathTables
from tamis.arrays.documents.tokens import (
    ASIDE,
    BLANK,
    BOOLEAN,
    DECIMAL,
    EMPTY,
    ESCAPED,
    FIRST,
    HEAD,
    INTEGER,
    LISTED,
    OBJECT,
    READ,
    SECOND,
    SLOT,
    STRING,
    UNSIGNED,
    Tokens,
    byte_at,
    character_length,
    child_of,
    grown,
    hex_value,
    next_hash,
    undo,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Int8s, Int64s, Offsets, Rows
from tamis.model.limits import MAX_DEPTH

_NODE, _IN, _FROM, _LIST, _INNER = range(5)
"""A container on the stack: its node, the slot of what is in it, where its key hashes or its tokens
begin, whether it is a list, and whether that is in another list."""
_FIRST_KEY, _KEY, _FIRST_ITEM, _VALUE, _AFTER = range(5)
_LONGEST = 18
"""Digits that always fit 64 bits."""
_GREATEST, _LEAST = 300, -340
"""Exponents within which every number is finite."""
_CONSTANTS = (b"true", b"false", b"null")
_FEW = 24
"""Keys that are compared each with each."""


@kernel
def scan_json(
    data: Bytes,
    offsets: Offsets,
    rows: Rows,
    paths: PathTables,
    limits: Int64s,
    tokens: Tokens,
    counts: Int64s,
    status: Int8s,
) -> tuple[Tokens, int]:
    """The tokens of some documents, and how many; ``limits`` are those of bytes in a document,
    values in it, and bytes in a string."""
    stack = np.empty((MAX_DEPTH + 3, 5), np.int64)
    hashes = np.empty((64, 1), np.int64)
    used = 0
    read = 0
    for i in range(len(rows)):
        start, stop = offsets[rows[i]], offsets[rows[i] + 1]
        code = ASIDE
        end = used
        if stop - start <= limits[0]:
            code, tokens, end, hashes = _document(
                data, start, stop, paths, limits, tokens, used, counts, read, stack, hashes
            )
        status[i] = code
        if code == READ:
            used = end
            read += 1
        else:
            undo(tokens, used, end, counts)
    return tokens, used


@kernel
def _space(data: Bytes, at: int, stop: int) -> int:
    """The first place that is not white space."""
    while at < stop and (data[at] == 32 or 9 <= data[at] <= 10 or data[at] == 13):
        at += 1
    return at


@kernel
def _document(
    data: Bytes,
    at: int,
    stop: int,
    paths: PathTables,
    limits: Int64s,
    tokens: Tokens,
    used: int,
    counts: Int64s,
    number: int,
    stack: Int64s,
    hashes: Int64s,
) -> tuple[int, Tokens, int, Int64s]:
    """What became of a document, and its tokens behind the others."""
    if stop - at >= 3 and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF:
        at += 3
    at = _space(data, at, stop)
    if at == stop:
        return BLANK, tokens, used, hashes
    if data[at] != 123:
        return ASIDE, tokens, used, hashes
    at += 1
    depth = 0
    stack[0, _NODE], stack[0, _IN], stack[0, _FROM], stack[0, _LIST] = 0, number, 0, 0
    values = 0
    hashed = 0
    node, slot, listed = -1, 0, 0
    state = _FIRST_KEY
    while True:
        at = _space(data, at, stop)
        if at >= stop:
            return ASIDE, tokens, used, hashes
        byte = data[at]
        closed = False
        if state == _AFTER:
            if byte == 44:
                state = _VALUE if stack[depth, _LIST] else _KEY
                at += 1
                if state == _KEY:
                    continue
                node, slot, listed = stack[depth, _NODE], stack[depth, _IN], LISTED
                at = _space(data, at, stop)
                if at >= stop:
                    return ASIDE, tokens, used, hashes
                byte = data[at]
            elif byte == (93 if stack[depth, _LIST] else 125):
                closed = True
            else:
                return ASIDE, tokens, used, hashes
        elif state == _FIRST_ITEM:
            if byte == 93:
                closed = True
            node, slot, listed = stack[depth, _NODE], stack[depth, _IN], LISTED
        elif state != _VALUE:
            if byte == 125 and state == _FIRST_KEY:
                closed = True
            elif byte != 34:
                return ASIDE, tokens, used, hashes
            else:
                end, hash = _key(data, at + 1, stop)
                if end < 0:
                    return ASIDE, tokens, used, hashes
                if hashed == len(hashes):
                    hashes = grown(hashes)
                hashes[hashed, 0] = hash
                hashed += 1
                node, slot, listed = -1, stack[depth, _IN], 0
                if stack[depth, _NODE] >= 0:
                    node = child_of(
                        stack[depth, _NODE],
                        hash,
                        data,
                        at + 1,
                        end,
                        paths.table,
                        paths.parents,
                        paths.key_offsets,
                        paths.key_bytes,
                    )
                at = _space(data, end + 1, stop)
                if at >= stop or data[at] != 58:
                    return ASIDE, tokens, used, hashes
                at += 1
                state = _VALUE
                continue
        if closed:
            at += 1
            begin = stack[depth, _FROM]
            if stack[depth, _LIST]:
                if stack[depth, _NODE] >= 0 and used == begin:  # without an element
                    if stack[depth, _INNER]:
                        return ASIDE, tokens, used, hashes
                    if used == len(tokens):
                        tokens = grown(tokens)
                    tokens[used, HEAD] = stack[depth, _NODE] << 8 | LISTED | EMPTY
                    tokens[used, SLOT] = stack[depth, _IN]
                    used += 1
            else:
                if _has_twice(hashes[begin:hashed, 0]):
                    return ASIDE, tokens, used, hashes
                hashed = begin
            depth -= 1
            if depth < 0:
                at = _space(data, at, stop)
                return (READ if at == stop else ASIDE), tokens, used, hashes
            state = _AFTER
            continue
        # A value of some node, or of none (-1) that anybody asks for.
        values += 1
        if values > limits[1] or depth + 1 > MAX_DEPTH:
            return ASIDE, tokens, used, hashes
        if used == len(tokens):
            tokens = grown(tokens)
        kind, first, second = -1, 0, 0
        if byte == 123 or byte == 91:
            depth += 1
            at += 1
            is_list = byte == 91
            stack[depth, _NODE] = node
            stack[depth, _LIST] = is_list
            stack[depth, _INNER] = listed
            stack[depth, _IN] = slot
            stack[depth, _FROM] = used if is_list else hashed
            state = _FIRST_ITEM if is_list else _FIRST_KEY
            if is_list or node < 0:
                continue
            stack[depth, _IN] = counts[node]
            kind = OBJECT
        elif byte == 34:
            end, escaped = _string(data, at + 1, stop)
            if end < 0 or end - at > limits[2]:
                return ASIDE, tokens, used, hashes
            kind, first, second = ESCAPED if escaped else STRING, at + 1, end - at - 1
            at = end + 1
            state = _AFTER
        elif byte == 45 or 48 <= byte <= 57:
            at, kind, first, second = _number(data, at, stop)
            if at < 0:
                return ASIDE, tokens, used, hashes
            state = _AFTER
        else:
            length = _constant(data, at, stop)
            if length == 0:
                return ASIDE, tokens, used, hashes
            at += length
            state = _AFTER
            if byte == 110:
                continue  # a null is a missing attribute
            kind, first = BOOLEAN, 1 if byte == 116 else 0
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
def _key(data: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Where a key ends, -1 if it is none or has a backslash; and its hash."""
    hash = 0
    while at < stop:
        byte = data[at]
        if byte == 34:
            return at, hash
        if byte < 32 or byte == 92:
            return -1, 0
        length = 1
        if byte >= 0x80:
            length = character_length(data, at, stop)
            if length == 0:
                return -1, 0
        for i in range(at, at + length):
            hash = next_hash(hash, byte_at(data, i))
        at += length
    return -1, 0


@kernel
def _string(data: Bytes, at: int, stop: int) -> tuple[int, bool]:
    """Where a string ends, -1 if it is none; and whether it has a backslash."""
    escaped = False
    while at < stop:
        byte = data[at]
        if byte == 34:
            return at, escaped
        if byte < 32:
            return -1, False
        if byte == 92:
            escaped = True
            length = _escape(data, at, stop)
        elif byte >= 0x80:
            length = character_length(data, at, stop)
        else:
            length = 1
        if length == 0:
            return -1, False
        at += length
    return -1, False


@kernel
def _escape(data: Bytes, at: int, stop: int) -> int:
    """The length of what a backslash begins; 0 if it is nothing, or half of a character."""
    if at + 1 >= stop:
        return 0
    kind = data[at + 1]
    if kind == 117:
        if at + 6 > stop:
            return 0
        point = hex_value(data, at + 2)
        if point < 0 or 0xDC00 <= point < 0xE000:
            return 0
        if point < 0xD800 or point >= 0xE000:
            return 6
        if at + 12 > stop or data[at + 6] != 92 or data[at + 7] != 117:
            return 0
        return 12 if 0xDC00 <= hex_value(data, at + 8) < 0xE000 else 0
    for each in (34, 92, 47, 98, 102, 110, 114, 116):
        if kind == each:
            return 2
    return 0


@kernel
def _constant(data: Bytes, at: int, stop: int) -> int:
    """The length of true, false or null; 0 if it is none of them."""
    for word in _CONSTANTS:
        if stop - at >= len(word) and data[at] == word[0]:
            for i in range(len(word)):
                if data[at + i] != word[i]:
                    return 0
            return len(word)
    return 0


@kernel
def _number(data: Bytes, at: int, stop: int) -> tuple[int, int, int, int]:
    """Where a number ends, -1 if it is none or too long; its kind and its two numbers."""
    negative = data[at] == 45
    if negative:
        at += 1
    begin = at
    mantissa = 0
    exponent = 0
    digits = 0
    whole = True
    while at < stop and 48 <= data[at] <= 57:
        if digits or data[at] != 48:
            digits += 1
            if digits > _LONGEST:
                return _long_integer(data, begin, stop, negative)
            mantissa = mantissa * 10 + byte_at(data, at) - 48
        at += 1
    if at == begin or (data[begin] == 48 and at > begin + 1):
        return -1, 0, 0, 0
    if at < stop and data[at] == 46:
        whole = False
        point = at + 1
        at = point
        while at < stop and 48 <= data[at] <= 57:
            if digits or data[at] != 48:
                digits += 1
                if digits > _LONGEST:
                    return -1, 0, 0, 0
            mantissa = mantissa * 10 + byte_at(data, at) - 48
            at += 1
        if at == point:
            return -1, 0, 0, 0
        exponent = point - at
    if at < stop and data[at] | 32 == 101:
        whole = False
        at += 1
        minus = at < stop and data[at] == 45
        if at < stop and (data[at] == 45 or data[at] == 43):
            at += 1
        begin = at
        power = 0
        while at < stop and 48 <= data[at] <= 57:
            power = power * 10 + byte_at(data, at) - 48 if power < 10_000 else power
            at += 1
        if at == begin:
            return -1, 0, 0, 0
        exponent += -power if minus else power
    if negative:
        mantissa = -mantissa
    if whole:
        return at, INTEGER, mantissa, 0
    if digits + exponent > _GREATEST or exponent < _LEAST:
        return -1, 0, 0, 0
    return at, DECIMAL, mantissa, exponent


@kernel
def _long_integer(data: Bytes, at: int, stop: int, negative: bool) -> tuple[int, int, int, int]:
    """The same of an integer that has more digits than always fit."""
    high = 0
    low = 0
    digits = 0
    while at < stop and 48 <= data[at] <= 57:
        digits += 1
        if digits > 20:
            return -1, 0, 0, 0
        if digits <= 10:
            high = high * 10 + byte_at(data, at) - 48
        else:
            low = low * 10 + byte_at(data, at) - 48
        at += 1
    if at < stop and (data[at] == 46 or data[at] | 32 == 101):
        return -1, 0, 0, 0
    if digits == 19:  # at most 9999999999 * 10^9 + 999999999
        if high < 9_223_372_036 or (high == 9_223_372_036 and low <= 854_775_807):
            whole = high * 1_000_000_000 + low
            return at, INTEGER, -whole if negative else whole, 0
        if negative:
            return -1, 0, 0, 0
        rest = (high - 9_223_372_036) * 1_000_000_000 + low - 854_775_808
        return at, UNSIGNED, rest, 0
    if negative or high > 1_844_674_407 or (high == 1_844_674_407 and low > 3_709_551_615):
        return -1, 0, 0, 0
    rest = (high - 922_337_204) * 10_000_000_000 + low + 3_145_224_192
    return at, UNSIGNED, rest, 0


@kernel
def _has_twice(hashes: Int64s) -> bool:
    """Whether a number stands twice among some."""
    if len(hashes) <= _FEW:
        for i in range(len(hashes)):
            for j in range(i):
                if hashes[i] == hashes[j]:
                    return True
        return False
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())
