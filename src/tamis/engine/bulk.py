"""Taking in many subscriptions at once: texts by their templates, constants as columns.

    rows ──ids───────────────────────────────────> Arrow, checked for repetition
      └──texts──templates──> literals ──columns──> boxes of one shape, a column at a time
                    └──no shape────> expressions ──> boxes one by one

Rows go through in blocks, so that what Python makes of them is soon let go. Nothing of the engine
is changed before all rows have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamis.engine.subscription import (
    EXISTS,
    REPEATED,
    Rejected,
    Row,
    Subscription,
    SubscriptionReader,
)
from tamis.errors import DuplicateIdError, SubscriptionError, TamisError
from tamis.language.cursor import negative_value, timestamp_value
from tamis.language.lexer import number_value, string_value
from tamis.language.template import Template
from tamis.matching.protocol import Load, Slot
from tamis.matching.shapes import Column, Shape, shape_of
from tamis.matching.string_table import StringTable
from tamis.model.kinds import Kind
from tamis.predicates.terms import Constant

BLOCK = 100_000
_KINDS: dict[Callable[[str], Any], Kind] = {
    number_value: Kind.NUMBER,
    negative_value: Kind.NUMBER,
    string_value: Kind.STRING,
    timestamp_value: Kind.TIMESTAMP,
}
_EXACT = 15
"""Digits that a double holds for certain."""

Check = Callable[[Row], Subscription]


class Group:
    """The rows of a block that have one template."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.slots: list[Slot] = []
        self.rows: list[Row] = []
        self.literals: list[list[str]] = []


class Taken(NamedTuple):
    """What a bulk load has read: by slot, from the first one on."""

    ids: list[str]
    texts: list[str]
    others: dict[Slot, Subscription]  # those with metadata, or disabled
    rows: list[int]


class Bulk:
    """One bulk load."""

    def __init__(
        self, reader: SubscriptionReader, load: Load, first: Slot, check: Check, collect: bool
    ) -> None:
        self._reader = reader
        self._load = load
        self._first = first
        self._check = check
        self._collect = collect
        self._shapes: dict[int, tuple[Template, Shape | None]] = {}
        self.taken = Taken([], [], {}, [])
        self.rejected: list[Rejected] = []
        self.gone: set[Slot] = set()
        """Slots that were given to rows which turned out to be faulty."""

    def read(self, rows: Iterable[Row]) -> None:
        """Read all rows; errors are raised, or collected."""
        iterator = iter(rows)
        while block := list(islice(iterator, BLOCK)):
            groups: dict[int, Group] = {}
            for row in block:
                try:
                    self._read(row, groups)
                except TamisError as error:
                    self._reject(row, error)
            for group in groups.values():
                self._add_group(group)

    def _reject(self, row: Row, error: TamisError) -> None:
        if not self._collect:
            raise SubscriptionError(f"row {row.number}, id {row.id!r}: {error}") from error
        self.rejected.append(Rejected(row.number, row.id, error))

    def _read(self, row: Row, groups: dict[int, Group]) -> None:
        plain = type(row.source) is str and row.metadata is None and row.enabled is True
        if plain and self._load.takes_shapes:
            self._reader.check_id(row.id)
            found = self._reader.templates.recognise(row.source)
            if found is not None and self._shape(found[0]) is not None:
                template, literals = found
                group = groups.get(id(template))
                if group is None:
                    group = groups[id(template)] = Group(template)
                group.slots.append(self._take(row, row.source))
                group.rows.append(row)
                group.literals.append(literals)
                return
        new = self._check(row)
        slot = self._take(row, new.text)
        if new.metadata or not new.enabled:
            self.taken.others[slot] = new
        if new.enabled:
            self._load.add(slot, new.expression)

    def _take(self, row: Row, text: str) -> Slot:
        slot = self._first + len(self.taken.ids)
        self.taken.ids.append(row.id)
        self.taken.texts.append(text)
        self.taken.rows.append(row.number)
        return slot

    def _shape(self, template: Template) -> Shape | None:
        known = self._shapes.get(id(template))
        if known is None:

            def fill(values: Sequence[Any]) -> Any:
                return template.build([Constant(value) for value in values])

            shape = shape_of(fill, [_KINDS[convert] for convert in template.convert])
            known = self._shapes[id(template)] = (template, shape)
        return known[1]

    def _add_group(self, group: Group) -> None:
        """Compile the rows of a template as columns; one by one where that cannot be."""
        shape = self._shape(group.template)
        assert shape is not None
        try:
            columns = [
                _column(convert, texts)
                for convert, texts in zip(group.template.convert, zip(*group.literals))
            ]
        except (TamisError, ValueError, pa.ArrowException):
            crossed = np.ones(len(group.rows), bool)
        else:
            crossed = _crossed(shape, columns, len(group.rows))
            slots = np.array(group.slots, np.int32)
            if crossed.any():
                columns = [_filtered(column, ~crossed) for column in columns]
                slots = slots[~crossed]
            if len(slots) and not self._load.add_shape(shape, slots, columns):
                crossed[:] = True
        for index in np.flatnonzero(crossed).tolist():
            row = group.rows[index]
            try:
                self._load.add(group.slots[index], self._check(row).expression)
            except TamisError as error:
                self._reject(row, error)
                self._withdraw(group.slots[index])

    def _withdraw(self, slot: Slot) -> None:
        self.taken.ids[slot - self._first] = f"\x00{slot}"  # no id that anyone asks for
        self.gone.add(slot)

    def check_ids(self, existing: Callable[[pa.LargeStringArray], Iterable[int]]) -> None:
        """Reject the rows whose ids stand in an earlier row, or exist already."""
        ids = pa.array(self.taken.ids, pa.large_string())
        first = StringTable(ids).rows(ids)
        earlier = np.flatnonzero(first != np.arange(len(ids))).tolist()
        for faulty, said in ((earlier, REPEATED), (existing(ids), EXISTS)):
            for index in faulty:
                id, slot = self.taken.ids[index], self._first + index
                if slot not in self.gone:
                    row = Row(self.taken.rows[index], id, None)
                    self._reject(row, DuplicateIdError(said.format(id)))
                    self._withdraw(slot)

    def columns(self) -> tuple[StringTable, pa.LargeStringArray]:
        """The ids, with a table to find them, and the texts of all rows."""
        ids = StringTable(pa.array(self.taken.ids, pa.large_string()))
        return ids, pa.array(self.taken.texts, pa.large_string())


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
    for low, high in shape.crossing():
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
