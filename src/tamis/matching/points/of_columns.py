"""Points from Arrow's columns, a column at a time, with lists taken apart by their offsets.

An array stands for rows, and a row for *alternatives*: one if no list is on the way to an axis,
else one for each element. A struct has the combinations of its fields' alternatives:

    items: [{color: red, size: [1, 2]}, {color: blue, size: []}]     3 alternatives of one row
        items.color   red   red   blue
        items.size    1     2     -1        (an empty list binds nothing)

Columns that no axis asks for are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from tamis.arrays.arrow_types import is_encoded, storage, storage_type, valid_rows
from tamis.arrays.distinct import distinct
from tamis.arrays.types import Flags, Ranks, Rows
from tamis.matching.axes.axis import Axis
from tamis.matching.points.of_events import MAX_POINTS, Points
from tamis.model.events.arrow_events import check_columns, is_list
from tamis.model.paths import Path

MAX_ALTERNATIVES = 1 << 20
"""Points of one batch; a batch with more is taken in halves."""


class TooManyPointsError(Exception):
    """A batch has too many points to hold at once, or one event too many to try."""


class UnsupportedTypeError(Exception):
    """Columns that only the reader of events takes apart, or refuses: maps, encoded structs, and
    what Arrow finds to be invalid."""


class PathTree:
    """The paths of the axes, by their keys."""

    def __init__(self) -> None:
        self.axes: list[int] = []
        self.children: dict[str, PathTree] = {}
        self.valued: Path | None = None
        """The path, if the values themselves are asked for; then their array is kept."""
        self.leaves: Any = None

    @staticmethod
    def of(axes: Sequence[Axis], valued: Sequence[Path] = ()) -> PathTree:
        """The tree of all axes but those of presence, and of attributes with their values."""
        root = PathTree()
        for number, axis in enumerate(axes):
            if not axis.key.sort.is_presence:
                root.node(axis.key.path).axes.append(number)
        for path in valued:
            root.node(path).valued = path
        return root

    def node(self, path: Path) -> PathTree:
        """The node of a path, which is made if need be."""
        found = self
        for key in path:
            found = found.children.setdefault(key, PathTree())
        return found


Columns = dict[int | Path, Ranks]
"""Ranks by the number of their axis, and numbers of leaves by their path."""


_NO_ROWS: Rows = np.empty(0, np.int64)


class Alternatives:
    """The columns of alternatives; ``row`` ascends and has every row, None if each has one."""

    def __init__(self, count: int, row: Rows | None, ranks: Columns, left: Rows = _NO_ROWS) -> None:
        self.count = count
        self.row = row
        self.ranks = ranks
        self.left = left
        """Rows that have more alternatives than are made of them."""

    def take(self, index: Rows) -> Columns:
        """The ranks of some alternatives."""
        return {axis: ranks[index] for axis, ranks in self.ranks.items()}


def arrow_points(
    batch: pa.RecordBatch, axes: Sequence[Axis], valued: Sequence[Path] = ()
) -> Points:
    """The points of a batch, with the values of some attributes."""
    check_columns(batch.schema.names, batch.schema.types)
    try:
        return _points(batch, axes, valued)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = f"Arrow cannot read its columns ({type(error).__name__})"
        raise UnsupportedTypeError(reason) from error  # the reader says what is wrong, and where


def _points(batch: pa.RecordBatch, axes: Sequence[Axis], valued: Sequence[Path]) -> Points:
    columns: Any = batch.columns
    tree = PathTree.of(axes, valued)
    found = _fields(batch.schema.names, columns, batch.num_rows, tree, axes)
    left = distinct(found.left)
    if found.row is not None:
        if len(found.row) > MAX_ALTERNATIVES:
            raise TooManyPointsError
        if len(left):
            kept = np.flatnonzero(~np.isin(found.row, left))
            found = Alternatives(found.count, found.row[kept], found.take(kept))
    total = batch.num_rows if found.row is None else len(found.row)
    ranks = np.full((total, len(axes)), -1, np.int32, order="F")
    unbound = np.full(total, -1, np.int32)
    values = {path: found.ranks.get(path, unbound) for path in valued}
    for number, column in found.ranks.items():
        if isinstance(number, int):
            ranks[:, number] = column
    for number, axis in enumerate(axes):
        if axis.key.sort.is_presence:
            missing = (~present_rows(batch, axis.key.path)).astype(np.int32)
            ranks[:, number] = missing if found.row is None else missing[found.row]
    leaves = {path: tree.node(path).leaves for path in valued}
    return Points(ranks, found.row, left.tolist(), values, leaves)


def _opened(array: Any) -> Any:
    """An array without extension types, unless only the reader of events takes it apart."""
    array = storage(array)
    kind = array.type
    encoded = is_encoded(kind) and types.is_nested(kind.value_type)
    if encoded or types.is_map(kind) or types.is_union(kind):
        raise UnsupportedTypeError(f"columns of {kind}")
    return array


def _owners(array: Any) -> Rows:
    """The row of each element of an array of lists; a null list has none."""
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(array)), lengths.astype(np.int64))


def _alternatives(array: Any, node: PathTree, axes: Sequence[Axis]) -> Alternatives:
    """The alternatives of each row, on the axes at and below a node."""
    array = _opened(array)
    if types.is_struct(array.type):
        return _fields(_names(array), _flat(array), len(array), node, axes)
    if is_list(array.type):
        return _elements(array, node, axes)
    columns: Columns = _ranked(array, node.axes, axes)
    if node.valued is not None:
        node.leaves = array
        index = np.arange(len(array), dtype=np.int32)
        columns[node.valued] = np.where(valid_rows(array), index, np.int32(-1))
    return Alternatives(len(array), None, columns)


def _ranked(array: Any, numbers: Sequence[int], axes: Sequence[Axis]) -> Columns:
    """The ranks of a column on some axes; of one that is mostly nulls, only the rest is looked at,
    for an event of a wide rule base has a few of hundreds of attributes."""
    kind = array.type
    plain = types.is_primitive(kind) or types.is_string(kind) or types.is_large_string(kind)
    if not plain or 2 * array.null_count < len(array):
        return {number: axes[number].ranks(array) for number in numbers}
    rows = np.flatnonzero(valid_rows(array))
    present = array.drop_null()
    found: Columns = {}
    for number in numbers:
        found[number] = np.full(len(array), -1, np.int32)
        found[number][rows] = axes[number].ranks(present)
    return found


def _names(array: Any) -> list[str]:
    """The names of the fields of an array of structs."""
    return [field.name for field in array.type]


def _flat(array: Any) -> Sequence[Any]:
    """The fields of an array of structs, null where the struct is.

    Of runs under a null struct Arrow makes an invalid array, so those are left to the reader.
    """
    kinds = (storage_type(field.type) for field in array.type)
    if array.null_count and any(map(types.is_run_end_encoded, kinds)):
        raise UnsupportedTypeError(f"columns of {array.type}")
    fields: Sequence[Any] = array.flatten()
    return fields


def _fields(
    names: Sequence[str], arrays: Sequence[Any], rows: int, node: PathTree, axes: Sequence[Axis]
) -> Alternatives:
    """The combinations of the alternatives of those fields that an axis asks for."""
    whole = Alternatives(rows, None, {})
    for name, array in zip(names, arrays, strict=True):
        if name in node.children:
            whole = _combined(whole, _alternatives(array, node.children[name], axes))
    return whole


def _elements(array: Any, node: PathTree, axes: Sequence[Axis]) -> Alternatives:
    """The alternatives of a list's elements; an empty list has one, which binds nothing."""
    values = array.flatten()
    owner = _owners(array)
    inner = _alternatives(values, node, axes)
    element = np.arange(len(values)) if inner.row is None else inner.row
    valid = valid_rows(values)
    if not valid.all():  # Arrow filters no strings of views, but ranks can always be
        kept = np.flatnonzero(valid[element])
        element, inner.ranks = element[kept], inner.take(kept)
    row = owner[element]
    empty = np.flatnonzero(np.bincount(row, minlength=len(array)) == 0)
    left = owner[inner.left] if len(inner.left) else _NO_ROWS
    if len(empty) == 0 and len(row) == len(array):
        return Alternatives(len(array), None, inner.ranks, left)
    many = np.flatnonzero(np.bincount(row, minlength=len(array)) > MAX_POINTS)
    every = np.concatenate((row, empty))
    order = np.argsort(every, kind="stable")
    nothing = np.full(len(empty), -1, np.int32)
    ranks = {axis: np.concatenate((found, nothing))[order] for axis, found in inner.ranks.items()}
    return Alternatives(len(array), every[order], ranks, np.concatenate((left, many)))


def _combined(ours: Alternatives, theirs: Alternatives) -> Alternatives:
    """Every alternative of a row in the one with every alternative of it in the other."""
    lost = np.concatenate((ours.left, theirs.left))
    if theirs.row is None and ours.row is None:
        return Alternatives(ours.count, None, {**ours.ranks, **theirs.ranks}, lost)
    if theirs.row is None:
        return _combined(theirs, ours)
    if ours.row is None:
        both = {**ours.take(theirs.row), **theirs.ranks}
        return Alternatives(theirs.count, theirs.row, both, lost)
    own = np.bincount(ours.row, minlength=ours.count)
    other = np.bincount(theirs.row, minlength=ours.count)
    first, second = np.cumsum(own) - own, np.cumsum(other) - other
    many = np.flatnonzero(own * other > MAX_POINTS)
    own[many] = other[many] = 1
    count = own * other
    total = int(count.sum())
    if total > MAX_ALTERNATIVES:
        raise TooManyPointsError
    row = np.repeat(np.arange(ours.count), count)
    within = np.arange(total) - (np.cumsum(count) - count)[row]
    left, right = first[row] + within // other[row], second[row] + within % other[row]
    both = {**ours.take(left), **theirs.take(right)}
    return Alternatives(ours.count, row, both, np.concatenate((lost, many)))


def present_rows(batch: pa.RecordBatch, path: Path) -> Flags:
    """Which rows have anything at a path."""
    columns: Any = batch.columns
    return _present_field(batch.schema.names, columns, batch.num_rows, path)


def _present_field(names: Sequence[str], arrays: Sequence[Any], rows: int, path: Path) -> Flags:
    for name, array in zip(names, arrays, strict=True):
        if name == path[0]:
            return _present(array, path[1:])
    return np.zeros(rows, bool)


def _present(array: Any, path: Path) -> Flags:
    """Whether there is anything at the path below each row of an array."""
    array = _opened(array)
    if not path:
        return valid_rows(array)
    if types.is_struct(array.type):
        return _present_field(_names(array), _flat(array), len(array), path)
    if is_list(array.type):
        owner = _owners(array)[_present(array.flatten(), path)]
        return np.bincount(owner, minlength=len(array)) > 0
    return np.zeros(len(array), bool)


def row_values(batch: pa.RecordBatch, path: Path) -> Iterator[tuple[Rows, Any]]:
    """All values of an attribute, whatever lists they are in: arrays, and whose they are."""
    columns: Any = batch.columns
    for name, array in zip(batch.schema.names, columns, strict=True):
        if name == path[0]:
            yield from _values(array, path[1:], np.arange(batch.num_rows))


def _values(array: Any, path: Path, owner: Rows) -> Iterator[tuple[Rows, Any]]:
    array = _opened(array)
    if types.is_struct(array.type):
        names = _names(array)
        if path and path[0] in names:
            yield from _values(_flat(array)[names.index(path[0])], path[1:], owner)
    elif is_list(array.type):
        yield from _values(array.flatten(), path, owner[_owners(array)])
    elif not path:
        yield owner, array
