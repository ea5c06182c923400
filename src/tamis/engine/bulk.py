"""Taking in many subscriptions at once: texts by their templates, constants as columns.

    rows ──ids──────────────────────────> block ──> Arrow, checked for repetition
      └──texts──templates──> literals ──> block ──> boxes of one shape, a column at a time
                    ├──of a few rows────> block ──> the same, predicate by predicate
                    └──no shape─────────> block ──> boxes one by one

Rows go through in blocks, so that what Python makes of them is soon let go. A ``BlockReader`` needs
nothing of an engine but its settings, so blocks can be read in other processes and sent; ``Bulk``
takes them in. Nothing of the engine is changed before all rows have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.arrays.sharing import collection_paused
from tamis.arrays.string_table import StringTable, without_rows
from tamis.engine.conjunctions import Conjunctions, ConjunctReader
from tamis.engine.constants import columns_of, contradictory, filtered
from tamis.engine.reader import Remark, SubscriptionReader
from tamis.engine.rows import EXISTS, REPEATED, Rejected, Row, Subscription
from tamis.engine.shapes import ShapedTemplate
from tamis.errors import DuplicateIdError, TamisError
from tamis.language.template import Template
from tamis.matching.boxes.shapes import Column, Shape
from tamis.matching.capabilities import LoadsConjuncts, LoadsShapes, Refuses, capability
from tamis.matching.covers.covers import Cover
from tamis.matching.protocol import Load
from tamis.matching.setting import Slot

BLOCK = 100_000
_FEW = 16
"""Rows of a template that are taken in predicate by predicate, together with other templates."""


class Group(NamedTuple):
    """Those of a block that have one shape: their places, and the constants as columns."""

    shape: Shape
    places: NDArray[np.int32]
    columns: list[Column]


class TemplateRows(NamedTuple):
    """The rows of a block that have one template: their places and their literals."""

    template: Template
    conjunctions: list[list[ShapedTemplate]] | None
    """Its predicates, if it was put together from those."""
    places: list[int]
    literals: list[list[str]]


class Block(NamedTuple):
    """What was read of some rows; a place is a position among those that were taken."""

    ids: pa.LargeStringArray
    texts: pa.LargeStringArray
    rows: list[int]  # their numbers
    groups: list[Group]
    conjunctions: Conjunctions
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
            with collection_paused():
                read = self.read(block)
            yield read

    def read(self, rows: Iterable[Row]) -> Block:
        """One block of rows."""
        taken: list[tuple[Row, str]] = []
        known: dict[int, TemplateRows] = {}
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
                template = None if split is None else reader.templates.template(split)
                group = known.get(id(template))
                if group is None and template is not None:
                    group = self._rows_of(template)
                    if group is not None:
                        known[id(template)] = group
                if split is not None and group is not None:
                    group.places.append(place)
                    group.literals.append(split.literals)
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
        groups, conjunctions = self._grouped(known.values(), singles)
        return Block(
            pa.array([row.id for row, _ in taken], pa.large_string()),
            pa.array([text for _, text in taken], pa.large_string()),
            [row.number for row, _ in taken],
            groups,
            conjunctions,
            singles,
            others,
            rejected,
            remarks,
        )

    def _rows_of(self, template: Template) -> TemplateRows | None:
        """Room for the rows of a template, if it has a shape, or its predicates have."""
        conjunctions = self._reader.shapes.conjunctions(template)
        if conjunctions is None and self._reader.shapes.of(template) is None:
            return None
        return TemplateRows(template, conjunctions, [], [])

    def _grouped(
        self, known: Iterable[TemplateRows], singles: dict[int, Cover | None]
    ) -> tuple[list[Group], Conjunctions]:
        """The rows of templates: those of a shape that many have, and the others by their
        predicates. Rows whose constants no column can hold go to the singles."""
        groups = []
        conjuncts = ConjunctReader()
        for template, conjunctions, places, literals in known:
            if conjunctions is not None and (len(places) < _FEW or len(conjunctions) > 1):
                conjuncts.add(conjunctions, places, literals)
                continue
            shape = self._reader.shapes.of(template)
            columns = columns_of(template, literals)
            if columns is None or shape is None:
                singles |= dict.fromkeys(places)
            else:
                groups.append(Group(shape, np.array(places, np.int32), columns))
        return groups, conjuncts.finished(singles)


class Bulk:
    """One bulk load: blocks on their way into an engine."""

    def __init__(self, reader: SubscriptionReader, load: Load, first: Slot, collect: bool) -> None:
        self._reader = reader
        self._load = load
        self._shapes = capability(load, LoadsShapes)
        self._conjuncts = capability(load, LoadsConjuncts)
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
        singles |= dict.fromkeys(self._take_conjunctions(block.conjunctions, first))
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
        columns = shape.completed_columns(columns)
        crossed = contradictory(shape, columns, len(places))
        alone: list[int] = places[crossed].tolist()
        if alone:
            columns = [filtered(column, ~crossed) for column in columns]
            places = places[~crossed]
        if len(places) and not self._shapes.add_shape(shape, places + np.int32(first), columns):
            alone += places.tolist()
        return alone

    def _take_conjunctions(self, conjunctions: Conjunctions, first: Slot) -> list[int]:
        """The same of conjunctions by their predicates."""
        places, conjuncts = conjunctions
        if self._conjuncts is None:
            return list(places.tolist())
        left = self._conjuncts.add_conjuncts(places + np.int32(first), conjuncts)
        return list(places[left].tolist())

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
