"""The keys of subscriptions, a block at a time.

    city = □0 and price < □1     city   3 9 3 1      first and last cell of the values that each row
                                        3 9 3 1      allows there, found by the distinct constants
    rows 0 1 2 3  ──>  keys      (city, 3) (city, 9) (city, 3) (city, 1)

A condition takes its keys from the first axis on which it has any. A subscription has the keys of
all its conditions, and ``ALWAYS`` alone if one of them has none. Most conditions come as columns of
constants (engine/bulk.py); of the others the cover tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Int64s
from tamis.engine.bulk import Block
from tamis.engine.reader import SubscriptionReader
from tamis.engine.rows import Row
from tamis.errors import TamisError
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes.shapes import Column, End, Shape
from tamis.matching.covers.covers import Cover
from tamis.model.kinds import Kind
from tamis.predicates.valueset import GREATEST, LEAST, Cut
from tamis.spark.shards.axes import MOST_KEYS, KeyAxis

ALWAYS, NOWHERE = -1, -2
"""The key of what every event may match, and the home of what no event matches."""
_CELL = 32
_SORTS = {
    Kind.NUMBER: AxisSort.NUMBER,
    Kind.STRING: AxisSort.STRING,
    Kind.TIMESTAMP: AxisSort.TIMESTAMP,
}


def key_of(axis: int, cell: int) -> int:
    """The key of a cell of the axis with a number."""
    return axis << _CELL | cell


def place_of(key: int) -> tuple[int, int]:
    """The number of a key's axis, and its cell."""
    return key >> _CELL, key & (1 << _CELL) - 1


class Keys(NamedTuple):
    """The keys of the rows of a block: those of row i are ``key[start[i]:start[i + 1]]``."""

    start: Int64s
    key: Int64s

    def homes(self) -> Int64s:
        """The first key of each row; ``NOWHERE`` if it has none, as what never matches."""
        has = np.diff(self.start) > 0
        homes = np.full(len(has), NOWHERE)
        homes[has] = self.key[self.start[:-1][has]]
        return homes


def keys_of(block: Block, axes: Sequence[KeyAxis], reader: SubscriptionReader) -> Keys:
    """The keys of the rows of a block."""
    gathered = _RowKeys(axes)
    for shape, places, columns in block.groups:
        gathered.add_rows(places, [(shape, np.arange(len(places)), columns)])
    places, conjuncts = block.conjunctions
    gathered.add_rows(places, conjuncts)
    for place, cover in block.singles.items():
        gathered.add_cover(place, _cover(block, place, reader) if cover is None else cover)
    return gathered.finished(len(block.rows))


def _cover(block: Block, place: int, reader: SubscriptionReader) -> Cover | None:
    """The cover of a row whose constants no column can hold; None if it is faulty."""
    row = Row(block.rows[place], block.ids[place].as_py(), block.texts[place].as_py())
    try:
        return reader.read(row).cover
    except TamisError:
        return None  # whoever compiles it says why


class _RowKeys:
    """Rows and their keys, as they are found."""

    def __init__(self, axes: Sequence[KeyAxis]) -> None:
        self._axes = axes
        self._rows: list[Any] = []
        self._keys: list[Any] = []

    def add_cover(self, row: int, cover: Cover | None) -> None:
        for condition in () if cover is None else cover.conditions:
            keys = [ALWAYS]
            for number, axis in enumerate(self._axes):
                cells = axis.cells_of(condition)
                if cells:
                    keys = [key_of(number, cell) for cell in cells]
                    break
            self._rows.append(np.full(len(keys), row))
            self._keys.append(np.array(keys))

    def add_rows(self, rows: Any, conjuncts: Sequence[tuple[Shape, Any, Sequence[Column]]]) -> None:
        """Take in conditions, each with its row; a conjunct is a part of some of them."""
        left = np.ones(len(rows), bool)
        for number, axis in enumerate(self._axes):
            wanted = AxisKey(axis.path, _SORTS[axis.kind])
            for shape, some, columns in conjuncts:
                for side in shape.sides:
                    if side.axis == wanted and left[some].any():
                        cells = _cells(axis, side.ranges, columns, len(some))
                        several = np.sum([last - first + 1 for first, last in cells], axis=0)
                        own = left[some] & (several <= MOST_KEYS)
                        own &= np.all([last >= first for first, last in cells], axis=0)
                        self._add_cells(number, rows[some], own, cells)
                        left[some[own]] = False
        self._rows.append(np.asarray(rows)[left])
        self._keys.append(np.full(int(left.sum()), ALWAYS))

    def _add_cells(
        self, number: int, rows: Any, own: Any, cells: list[tuple[Int64s, Int64s]]
    ) -> None:
        for first, last in cells:
            count = np.where(own, last - first + 1, 0)
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            self._rows.append(np.repeat(rows, count))
            self._keys.append(key_of(number, 0) + np.repeat(first, count) + within)

    def finished(self, count: int) -> Keys:
        """The keys by row, each once; of a row with ``ALWAYS`` that alone."""
        rows = np.concatenate([np.empty(0, np.int64), *self._rows]).astype(np.int64)
        keys = np.concatenate([np.empty(0, np.int64), *self._keys]).astype(np.int64)
        always = np.zeros(count, bool)
        always[rows[keys == ALWAYS]] = True
        kept = ~always[rows] | (keys == ALWAYS)
        rows, keys = rows[kept], keys[kept]
        order = np.lexsort((keys, rows))
        rows, keys = rows[order], keys[order]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
        start = np.concatenate(([0], np.cumsum(np.bincount(rows[new], minlength=count))))
        return Keys(start.astype(np.int64), keys[new])


def _cells(
    axis: KeyAxis, ranges: Sequence[tuple[End, End]], columns: Sequence[Column], count: int
) -> list[tuple[Int64s, Int64s]]:
    """For each range of a side, the first and the last cell in each row."""
    found = []
    for low, high in ranges:
        first = _cell(axis.first, low, LEAST, columns, count)
        found.append((first, _cell(axis.last, high, GREATEST, columns, count)))
    return found


def _cell(
    find: Callable[[Cut], int], end: End, limit: Cut, columns: Sequence[Column], count: int
) -> Int64s:
    """The cell of an end of a range in each row."""
    if end.hole is None:
        return np.full(count, find(limit))
    values, place = _distinct(columns[end.hole])
    cells = [0 if value is None else find((0, value, int(end.after))) for value in values]
    found: Int64s = np.array(cells, np.int64)[place]
    return found


def _distinct(column: Column) -> tuple[list[Any], Any]:
    """The distinct constants of a column, and the place of each row's own among them."""
    if isinstance(column, np.ndarray):
        values, place = np.unique(column, return_inverse=True)
        return values.tolist(), place
    if isinstance(column, list):
        return column, np.arange(len(column))
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
