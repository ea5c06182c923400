"""Tokens as Arrow's columns: one column for each outermost key, structs and lists where they are.

A column has one type. Documents in which a path has another kind of value than in most (a string
among numbers, an object among strings) are not made columns of here: they are *odd*, and who calls
takes them by themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays.arrow_buffers import strings_from
from tamis.arrays.documents.path_index import PathIndex
from tamis.arrays.documents.tokens import (
    BINARY,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    EMPTY,
    ESCAPED,
    FIRST,
    HEAD,
    IN_LISTS,
    INSTANT,
    INTEGER,
    OBJECT,
    SECOND,
    SINGLE,
    SLOT,
    STRING,
    UNSIGNED,
    Grouped,
    Tokens,
    copy_strings,
    group_tokens,
)
from tamis.arrays.types import Bytes, Flags, Float64s, Int64s

_NUMBERS = (INTEGER, UNSIGNED, DECIMAL, DOUBLE, SINGLE)
_TEXTS = (STRING, ESCAPED)
_GROUPS: tuple[tuple[int, ...], ...] = (
    _NUMBERS,
    _TEXTS,
    (BOOLEAN,),
    (BINARY,),
    (INSTANT,),
    (OBJECT,),
)
"""Kinds that may stand in one column."""
_EXACT = 1 << 53
"""Up to here a float holds every integer."""
_POWERS = 10.0 ** np.arange(23)
"""Powers of ten that are exact."""


class _Node(NamedTuple):
    """The tokens at one path."""

    tokens: Grouped
    kinds: int
    """A bit for each kind."""

    @property
    def is_list(self) -> bool:
        return bool(self.kinds & (IN_LISTS | 1 << EMPTY))

    def entries(self) -> Grouped:
        """The tokens that are values."""
        if not self.kinds & 1 << EMPTY:
            return self.tokens
        return np.ascontiguousarray(self.tokens[:, self.tokens[HEAD] != EMPTY])


class TokenColumns:
    """The tokens of documents, by path."""

    def __init__(self, tokens: Tokens, paths: PathIndex, data: Bytes, documents: int) -> None:
        self._paths = paths
        self._data = data
        self._documents = documents
        starts, kinds = np.zeros(len(paths) + 1, np.int64), np.zeros(len(paths), np.int64)
        grouped = group_tokens(tokens, starts, kinds)
        self._nodes = [
            _Node(grouped[:, start:stop], found) if stop > start else None
            for start, stop, found in zip(starts, starts[1:], kinds.tolist())
        ]

    def odd(self) -> Flags:
        """Which documents do not fit into columns together with the others."""
        odd = np.zeros(self._documents, bool)
        self._mark(0, np.arange(self._documents), odd)
        return odd

    def _mark(self, parent: int, documents: Int64s, odd: Flags) -> None:
        """Mark the odd documents at and below a node, by the documents of its entries."""
        for child in self._paths.children[parent].values():
            node = self._nodes[child]
            if node is None:
                continue
            mixed = not _is_one(node.kinds & ~(IN_LISTS | 1 << EMPTY))
            if mixed or self._paths.children[child]:
                entries = node.entries()
                owners = documents[entries[SLOT]]
                if mixed:
                    _mark_odd(entries, owners, odd)
                self._mark(child, owners, odd)

    def table(self) -> pa.RecordBatch:
        """The columns; no document may be odd."""
        arrays: dict[str, Any] = {}
        for name, child in self._paths.children[0].items():
            array = self._array(child, self._documents, None)
            if array is not None:
                arrays[name] = array
        if not arrays:  # a batch has as many rows as a column of it
            arrays = {next(iter(self._paths.children[0]), ""): pa.nulls(self._documents)}
        return pa.record_batch(list(arrays.values()), names=list(arrays))

    def _array(self, number: int, length: int, places: Int64s | None) -> Any:
        """What stands at a node, for each of so many places; ``places`` are those of the parent's
        entries, None if each has its own."""
        node = self._nodes[number]
        if node is None:
            return None
        at = node.tokens[SLOT]
        if places is not None:
            at = places[at]
        valid = np.zeros(length, bool)
        valid[at] = True
        if not node.is_list:
            return self._values(number, node.tokens, at, valid)
        entries = node.entries()
        count = entries.shape[1]
        values = self._values(number, entries, np.arange(count), np.ones(count, bool))
        owners = entries[SLOT] if places is None else places[entries[SLOT]]
        offsets = np.zeros(length + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=length), out=offsets[1:])
        kind = pa.large_list(values.type)
        buffers = [_bits(valid), pa.py_buffer(offsets.data)]
        return pa.Array.from_buffers(kind, length, buffers, children=[values])

    def _values(self, number: int, tokens: Grouped, at: Int64s, valid: Flags) -> Any:
        """An array with the values of tokens at their places."""
        length = len(valid)
        if not tokens.shape[1]:
            return pa.nulls(length)
        first = int(tokens[HEAD, 0])
        if first in _TEXTS or first == BINARY:
            return self._strings(tokens, at, valid, first == BINARY)
        if first == OBJECT:
            return self._struct(number, at, valid)
        if first == BOOLEAN:
            return _spread(tokens[FIRST] != 0, at, valid)
        if first == INSTANT:
            return _spread(tokens[FIRST], at, valid).cast(pa.timestamp("us", "UTC"))
        return _spread(_numbers(tokens), at, valid)

    def _strings(self, tokens: Grouped, at: Int64s, valid: Flags, binary: bool) -> Any:
        offsets = np.empty(len(valid) + 1, np.int64)
        copied = np.empty(int(tokens[SECOND].sum()), np.uint8)
        used = copy_strings(self._data, tokens, at, offsets, copied)
        found = strings_from(offsets, copied[:used], valid)
        return found.cast(pa.large_binary()) if binary else found

    def _struct(self, number: int, at: Int64s, valid: Flags) -> Any:
        arrays: dict[str, Any] = {}
        for name, child in self._paths.children[number].items():
            array = self._array(child, len(valid), at)
            if array is not None:
                arrays[name] = array
        kind = pa.struct([(name, array.type) for name, array in arrays.items()])
        children = list(arrays.values())
        return pa.Array.from_buffers(kind, len(valid), [_bits(valid)], children=children)


def _is_one(bits: int) -> bool:
    return bits & bits - 1 == 0


def _mark_odd(tokens: Grouped, documents: Int64s, odd: Flags) -> None:
    """Mark the documents whose values fit no column with those of most others."""
    kinds = tokens[HEAD]
    counts = np.bincount(kinds[~odd[documents]], minlength=OBJECT + 1)
    group = max(_GROUPS, key=lambda kinds: sum(counts[each] for each in kinds))
    odd[documents[~np.isin(kinds, group)]] = True
    if group is not _NUMBERS:
        return
    value, whole, wide = tokens[FIRST], kinds == INTEGER, kinds == UNSIGNED
    exact = ~whole | _is_exact(value)
    fits = (whole, exact & ~wide, wide | (whole & (value >= 0)))
    others = ~odd[documents]
    best: Flags = max(fits, key=lambda each: int((each & others).sum()))
    odd[documents[~best]] = True


def _is_exact(value: Int64s) -> Flags:
    """Which integers a float holds."""
    return (value >= -_EXACT) & (value <= _EXACT)


def _numbers(tokens: Grouped) -> Any:
    """Numbers of one type: signed, unsigned or floats."""
    kinds, value = tokens[HEAD], tokens[FIRST]
    if (kinds == INTEGER).all():
        return value
    wide = kinds == UNSIGNED
    if wide.any():
        return np.where(wide, value.astype(np.uint64) + np.uint64(1 << 63), value.astype(np.uint64))
    found = value.astype(np.float64)
    bits = kinds == DOUBLE
    found[bits] = value[bits].view(np.float64)
    half = kinds == SINGLE
    found[half] = value[half].astype(np.uint32).view(np.float32)
    decimals = kinds == DECIMAL
    if decimals.any():
        found[decimals] = _decimals(value[decimals], tokens[SECOND][decimals])
    return found


def _decimals(mantissa: Int64s, exponent: Int64s) -> Float64s:
    """The nearest floats. Products and quotients of exact floats are; the rest Arrow reads."""
    easy = _is_exact(mantissa) & (np.abs(exponent) < len(_POWERS))
    power = _POWERS[np.where(easy, np.abs(exponent), 0)]
    base = mantissa.astype(np.float64)
    found: Float64s = np.where(exponent < 0, base / power, base * power)
    hard = np.flatnonzero(~easy)
    if len(hard):
        digits = pa.array(mantissa[hard]).cast(pa.string())
        powers = pa.array(exponent[hard]).cast(pa.string())
        texts: Any = pc.call_function("binary_join_element_wise", [digits, powers, "e"])
        found[hard] = texts.cast(pa.float64()).to_numpy()
    return found


def _spread(values: Any, at: Int64s, valid: Flags) -> Any:
    """An array with the values at their places."""
    if len(at) == len(valid):
        return pa.array(values)
    found = np.zeros(len(valid), values.dtype)
    found[at] = values
    return pa.array(found, mask=~valid)


def _bits(valid: Flags) -> Any:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").data)
