"""Reading N-Triples by a kernel: where the terms are, and which of them are equal.

    <x:a> <x:p> "5"^^<x:t> .\\n         bytes of many documents, one behind the other
    ^---^ ^---^ ^---------^            bounds of each term
    0     1     2                      its number: equal texts have one, over all documents

Only plain lines are read: three terms with blanks between them and a full stop, IRIs in ASCII,
literals without escapes. Each distinct term is then checked once, in Python. A document with
anything else, be it a comment, an escape or a mistake, is left to pyoxigraph. So this accepts
nothing that pyoxigraph would refuse, and most documents cost a nanosecond for each byte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, LOAD, SEED, number_of, put_slot
from tamis.arrays.jit import kernel
from tamis.arrays.string_file import string_arrays
from tamis.arrays.types import Bytes, Flags, Int64s, Offsets
from tamis.errors import EventError, SubscriptionError
from tamis.graphs.reader import named_node
from tamis.graphs.term_syntax import key_of, parse_term
from tamis.model.rdf_terms import RdfLiteral

if TYPE_CHECKING:
    import pyarrow as pa

_SPACE, _TAB, _LINE, _RETURN = 32, 9, 10, 13
_QUOTE, _DOT, _DASH, _COLON, _LESS, _GREATER, _AT, _BACKSLASH, _CARET, _UNDERSCORE = b'".-:<>@\\^_'
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:-[a-zA-Z]{2})?")
"""Tags that are well-formed for certain."""
_REFUSED = np.zeros(256, bool)
"""Bytes that an IRI does not have, or that need a closer look."""
_REFUSED[:33] = True
_REFUSED[127:] = True
_REFUSED[list(b'<>"{}|^`\\')] = True
_WORD = np.zeros(256, bool)
_WORD[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] = True


class ScannedDocuments(NamedTuple):
    """The terms of documents by numbers, three for each triple, and what could not be read."""

    ids: Int64s
    ends: Offsets
    """Where the terms of each document end; of one that was not read, where they would be."""
    keys: list[str]
    """By number."""
    is_read: Flags


def scan_documents(column: pa.LargeStringArray, most: int) -> ScannedDocuments | None:
    """The documents of a column without nulls; those of more than ``most`` triples are not read.
    None if a term is not plain after all."""
    arrays = string_arrays(column)
    offsets, data = arrays["offsets"], arrays["data"]
    bounds, ends, is_read = _scan(data, offsets, most)
    ids, firsts = _number(data, bounds)
    keys = []
    for first in firsts.tolist():
        key = _key(bytes(data[bounds[first, 0] : bounds[first, 1]]).decode())
        if key is None:
            return None
        keys.append(key)
    return ScannedDocuments(ids, ends, keys, is_read)


def _key(text: str) -> str | None:
    """The key of a term; None if it is not certain that the term is valid."""
    named: Any = named_node()
    try:
        if text[0] == "<":
            named(text[1:-1])
            return text[1:-1]
        term = parse_term(text)
        if isinstance(term, RdfLiteral):
            if term.language is not None and not _LANGUAGE.fullmatch(term.language):
                return None
            named(term.datatype)
        return key_of(term)
    except (EventError, SubscriptionError, ValueError):
        return None


@kernel
def _scan(data: Bytes, offsets: Offsets, most: int) -> tuple[Int64s, Offsets, Flags]:
    """The bounds of all terms, where those of each document end, and which were read."""
    bounds = np.empty((1_024, 2), np.int64)
    ends = np.empty(len(offsets) - 1, np.int64)
    is_read = np.empty(len(ends), np.bool_)
    count = 0
    for document in range(len(ends)):
        start = count
        at, end = offsets[document], offsets[document + 1]
        at = _after_blanks(data, at, end, True)
        while 0 <= at < end:
            if count + 3 > len(bounds):
                larger = np.empty((2 * len(bounds), 2), np.int64)
                larger[:count] = bounds[:count]
                bounds = larger
            at = _scan_line(data, at, end, bounds, count)
            count += 3
        is_read[document] = at >= 0 and count - start <= 3 * most
        if not is_read[document]:
            count = start
        ends[document] = count
    return bounds[:count], ends, is_read


@kernel
def _scan_line(data: Bytes, at: int, end: int, bounds: Int64s, count: int) -> int:
    """Write the bounds of three terms; return where the next line begins, or -1."""
    for place in range(3):
        stop = _after_term(data, at, end, place)
        if stop < 0 or stop == end or (data[stop] != _SPACE and data[stop] != _TAB):
            return -1
        bounds[count + place, 0], bounds[count + place, 1] = at, stop
        at = _after_blanks(data, stop, end, False)
    if at == end or data[at] != _DOT:
        return -1
    at = _after_blanks(data, at + 1, end, False)
    if at < end and data[at] != _LINE and data[at] != _RETURN:
        return -1
    return _after_blanks(data, at, end, True)


@kernel
def _after_blanks(data: Bytes, at: int, end: int, lines: bool) -> int:
    """The first byte that is no blank, and no end of a line if these are skipped too."""
    while at < end and (
        data[at] == _SPACE
        or data[at] == _TAB
        or (lines and (data[at] == _LINE or data[at] == _RETURN))
    ):
        at += 1
    return at


@kernel
def _after_term(data: Bytes, at: int, end: int, place: int) -> int:
    """The end of a term that may stand in a place of a triple; -1 if it is not a plain one."""
    if at == end:
        return -1
    if data[at] == _LESS:
        return _after_iri(data, at, end)
    if data[at] == _UNDERSCORE and place != 1:
        if at + 2 >= end or data[at + 1] != _COLON or not _WORD[data[at + 2]]:
            return -1
        at += 2
        while at < end and _WORD[data[at]]:
            at += 1
        return at
    if data[at] != _QUOTE or place != 2:
        return -1
    at += 1
    while at < end and data[at] != _QUOTE:
        if data[at] == _BACKSLASH or data[at] == _LINE or data[at] == _RETURN:
            return -1
        at += 1
    if at == end:
        return -1
    at += 1
    if at + 2 < end and data[at] == _CARET and data[at + 1] == _CARET and data[at + 2] == _LESS:
        return _after_iri(data, at + 2, end)
    if at < end and data[at] == _AT:
        at += 1
        while at < end and (_WORD[data[at]] or data[at] == _DASH):
            at += 1
    return at


@kernel
def _after_iri(data: Bytes, at: int, end: int) -> int:
    at += 1
    while at < end and not _REFUSED[data[at]]:
        at += 1
    return at + 1 if at < end and data[at] == _GREATER else -1


@kernel
def _number(data: Bytes, bounds: Int64s) -> tuple[Int64s, Int64s]:
    """For each term the number of its text, and for each number the first term that has it."""
    size = 16
    while LOAD * size < len(bounds):
        size *= 2
    slots = np.full(size, EMPTY, np.int64)
    ids = np.empty(len(bounds), np.int64)
    firsts = np.empty(len(bounds), np.int64)
    count = 0
    for term in range(len(bounds)):
        start, end = bounds[term]
        hash = SEED
        for at in range(start, end):
            hash = (hash ^ int(data[at])) * 16_777_619 & 0x7FFFFFFF
        at = hash & size - 1
        while slots[at] != EMPTY:
            first = firsts[number_of(slots[at])]
            if slots[at] >> 32 == hash and _same(data, bounds, first, term):
                break
            at = at + 1 & size - 1
        if slots[at] == EMPTY:
            firsts[count] = term
            put_slot(slots, hash, count)
            ids[term] = count
            count += 1
        else:
            ids[term] = number_of(slots[at])
    return ids, firsts[:count]


@kernel
def _same(data: Bytes, bounds: Int64s, one: int, other: int) -> bool:
    """Whether two terms have the same text."""
    start, begin = bounds[one, 0], bounds[other, 0]
    length = bounds[one, 1] - start
    if bounds[other, 1] - begin != length:
        return False
    return bool((data[start : start + length] == data[begin : begin + length]).all())
