"""Taking in many subscriptions at once: texts by their templates, constants as columns.

    rows ──ids──────────────────────────> block ──> Arrow, checked for repetition
      └──texts──templates──> literals ──> block ──> boxes of one shape, a column at a time
                    └──no shape─────────> block ──> boxes one by one

Rows go through in blocks, so that what Python makes of them is soon let go. A ``BlockReader`` needs
nothing of an engine but its settings, so blocks can be read in other processes and sent; ``Bulk``
takes them in. Nothing of the engine is changed before all rows have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamis.arrays.string_table import StringTable, without_rows
from tamis.engine.reader import Remark, SubscriptionReader
from tamis.engine.rows import EXISTS, REPEATED, Rejected, Row, Subscription
from tamis.errors import DuplicateIdError, TamisError
from tamis.language.cursor import negative_value, timestamp_value
from tamis.language.lexer import string_value
from tamis.language.template import Split, Template
from tamis.matching.boxes.shapes import Column, Shape
from tamis.matching.capabilities import LoadsShapes, Refuses, capability
from tamis.matching.covers.covers import Cover
from tamis.matching.protocol import Load
from tamis.matching.setting import Slot
from tamis.predicates.operands import Constant

BLOCK = 100_000
_EXACT = 15
"""Digits that a double holds for certain."""


class Group(NamedTuple):
    """Those of a block that have one shape: their places, and the constants as columns."""

    shape: Shape
    places: NDArray[np.int32]
    columns: list[Column]


class Block(NamedTuple):
    """What was read of some rows; a place is a position among those that were taken."""

    ids: pa.LargeStringArray
    texts: pa.LargeStringArray
    rows: list[int]  # their numbers
    groups: list[Group]
    singles: dict[int, Cover | None]  # those without a shape; None is not read yet
    others: dict[int, Subscription]  # those with metadata, or disabled
    rejected: list[Rejected]
    remarks: list[Remark]


class BlockReader:
    """Reads rows into blocks; faulty ones raise, or are collected."""

    def __init__(self, reader: SubscriptionReader, collect: bool) -> None:
        self._reader = reader
        self._collect = collect

    def blocks(self, rows: Iterable[Row]) -> Iterator[Block]:
        """All rows, in blocks."""
        iterator = iter(rows)
        while block := list(islice(iterator, BLOCK)):
            yield self.read(block)

    def read(self, rows: Iterable[Row]) -> Block:
        """One block of rows."""
        taken: list[tuple[Row, str]] = []
        literals: dict[int, tuple[Template, list[int], list[list[str]]]] = {}
        singles: dict[int, Cover | None] = {}
        others: dict[int, Subscription] = {}
        rejected: list[Rejected] = []
        remarks: list[Remark] = []
        reader = self._reader
        for row in rows:
            place = len(taken)
            try:
                reader.check_id(row.id)
                split = reader.split(row)
                template = None if split is None else self._shaped(split)
                if split is not None and template is not None:
                    group = literals.setdefault(id(template), (template, [], []))
                    group[1].append(place)
                    group[2].append(split.literals)
                    taken.append((row, row.source))
                else:
                    new = reader.read(row, split)
                    if new.subscription.metadata or not new.subscription.enabled:
                        others[place] = new.subscription
                    if new.subscription.enabled:
                        singles[place] = new.cover
                    remarks += new.remarks
                    taken.append((row, new.text))
            except TamisError as error:
                rejected.append(Rejected.of(row, error, collect=self._collect))
        groups = []
        for template, places, constants in literals.values():
            shape, columns = reader.shapes.of(template), _columns(template, constants)
            if columns is None or shape is None:
                singles |= dict.fromkeys(places)
            else:
                groups.append(Group(shape, np.array(places, np.int32), columns))
        return Block(
            pa.array([row.id for row, _ in taken], pa.large_string()),
            pa.array([text for _, text in taken], pa.large_string()),
            [row.number for row, _ in taken],
            groups,
            singles,
            others,
            rejected,
            remarks,
        )

    def _shaped(self, split: Split) -> Template | None:
        """The template of a text, if it has a shape."""
        template = self._reader.templates.template(split)
        if template is None or self._reader.shapes.of(template) is None:
            return None
        return template


class Bulk:
    """One bulk load: blocks on their way into an engine."""

    def __init__(self, reader: SubscriptionReader, load: Load, first: Slot, collect: bool) -> None:
        self._reader = reader
        self._load = load
        self._shapes = capability(load, LoadsShapes)
        self._first = first
        self._collect = collect
        self._ids: list[pa.LargeStringArray] = []
        self._texts: list[pa.LargeStringArray] = []
        self._rows: list[int] = []
        self.others: dict[Slot, Subscription] = {}
        self.rejected: list[Rejected] = []
        self.remarks: list[Remark] = []
        self.gone: set[Slot] = set()
        """Slots that were given to rows which turned out to be faulty."""

    @property
    def disabled(self) -> set[Slot]:
        """Slots of disabled subscriptions, which the matcher does not have."""
        return {slot for slot, new in self.others.items() if not new.enabled}

    def take(self, block: Block) -> None:
        """Compile the subscriptions of a block; their slots follow one another."""
        first = self._first + len(self._rows)
        self._ids.append(block.ids)
        self._texts.append(block.texts)
        self._rows += block.rows
        self.rejected += block.rejected
        self.remarks += block.remarks
        self.others |= {first + place: new for place, new in block.others.items()}
        singles = dict(block.singles)
        for group in block.groups:
            singles |= dict.fromkeys(self._take_group(group, first))
        for place, cover in singles.items():
            row = Row(block.rows[place], block.ids[place].as_py(), block.texts[place].as_py())
            try:
                if cover is None:
                    prepared = self._reader.read(row)
                    self.remarks += prepared.remarks
                    cover = prepared.cover
                self._load.add(first + place, cover)
            except TamisError as error:
                self.rejected.append(Rejected.of(row, error, collect=self._collect))
                self.gone.add(first + place)

    def _take_group(self, group: Group, first: Slot) -> list[int]:
        """Compile the columns of a group; return the places that must be compiled one by one."""
        shape, places, columns = group
        if self._shapes is None:
            return list(places.tolist())
        crossed = _crossed(shape, columns, len(places))
        alone: list[int] = places[crossed].tolist()
        if alone:
            columns = [_filtered(column, ~crossed) for column in columns]
            places = places[~crossed]
        if len(places) and not self._shapes.add_shape(shape, places + np.int32(first), columns):
            alone += places.tolist()
        return alone

    def check_ids(self, existing: Callable[[pa.LargeStringArray], Iterable[int]]) -> None:
        """Reject the rows whose ids stand in an earlier row, or exist already."""
        ids = self.ids()
        first = StringTable(ids).rows(ids)
        earlier = np.flatnonzero(first != np.arange(len(ids))).tolist()
        for faulty, said in ((earlier, REPEATED), (existing(ids), EXISTS)):
            for index in faulty:
                slot = self._first + index
                if slot not in self.gone:
                    row = Row(self._rows[index], ids[index].as_py(), None)
                    error = DuplicateIdError(said.format(row.id))
                    self.rejected.append(Rejected.of(row, error, collect=self._collect))
                    self.gone.add(slot)

    def check_refusals(self) -> None:
        """Reject the rows that the matcher refuses, if faulty rows are collected."""
        load = capability(self._load, Refuses)
        if load is None or not self._collect:
            return
        ids = self.ids()
        for slot, error in load.refusals(self.gone).items():
            index = slot - self._first
            row = Row(self._rows[index], ids[index].as_py(), None)
            self.rejected.append(Rejected.of(row, error, collect=True))
            self.gone.add(slot)

    def ids(self) -> pa.LargeStringArray:
        """The ids of all slots, null for faulty rows."""
        ids = _joined(self._ids)
        if not self.gone:
            return ids
        faulty = np.zeros(len(ids), bool)
        faulty[[slot - self._first for slot in self.gone]] = True
        return without_rows(ids, faulty)

    def taken_ids(self) -> list[str]:
        """The ids of the rows that are not faulty."""
        return [id for id in self.ids().to_pylist() if id is not None]

    def texts(self) -> pa.LargeStringArray:
        """The texts of all slots."""
        return _joined(self._texts)


def _joined(arrays: Sequence[pa.LargeStringArray]) -> pa.LargeStringArray:
    return pa.concat_arrays(arrays) if arrays else pa.array([], pa.large_string())


def _columns(template: Template, literals: Sequence[Sequence[str]]) -> list[Column] | None:
    """The constants of many rows; None if one of them is no constant that a column can hold."""
    try:
        return [_column(convert, texts) for convert, texts in zip(template.convert, zip(*literals))]
    except (TamisError, ValueError, pa.ArrowException):
        return None


def _column(convert: Callable[[str], Any], texts: Sequence[str]) -> Column:
    """The values of literals of one sort."""
    if convert is string_value:
        if any("\\" in text or text[0] in text[1:-1] or text[0] in "rR" for text in texts):
            return pa.array([string_value(text) for text in texts], pa.large_string())
        return pa.array([text[1:-1] for text in texts], pa.large_string())
    if convert is timestamp_value:
        return [timestamp_value(text) for text in texts]
    if max(map(len, texts)) > _EXACT:
        return [Constant(convert(text)).value for text in texts]
    strings = pa.array(texts, pa.string())
    whole = all(map(str.isdigit, texts))
    numbers = strings.cast(pa.int64() if whole else pa.float64()).to_numpy()
    if not np.isfinite(numbers).all():
        raise ValueError("a constant must be finite")
    return -numbers if convert is negative_value else numbers


def _crossed(shape: Shape, columns: Sequence[Column], rows: int) -> NDArray[np.bool_]:
    """The rows whose lower end lies above the upper one, so that they never match."""
    crossed = np.zeros(rows, bool)
    for low, high in shape.crossing:
        ours, theirs = columns[low], columns[high]
        if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
            crossed |= ours > theirs
        elif isinstance(ours, pa.Array) and isinstance(theirs, pa.Array):
            crossed |= pc.greater(ours, theirs).to_numpy(zero_copy_only=False)
        else:
            pairs = zip(_listed(ours), _listed(theirs), strict=True)
            crossed |= np.fromiter((a > b for a, b in pairs), bool, rows)
    return crossed


def _listed(column: Column) -> list[Any]:
    if isinstance(column, list):
        return column
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return values


def _filtered(column: Column, kept: NDArray[np.bool_]) -> Column:
    if isinstance(column, list):
        return [value for value, keep in zip(column, kept.tolist()) if keep]
    return column[kept] if isinstance(column, np.ndarray) else column.filter(pa.array(kept))
