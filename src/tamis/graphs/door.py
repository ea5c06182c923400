"""The door of patterns: subscriptions that a graph leads to, whatever the attributes.

    graph ──pattern index──> entries ──attributes beside it──┬── a match, with its bindings
                                                              └── open: calls, more patterns

An entry is a pattern without which a condition of its subscription is not true. Where the rest of
the subscription is about attributes alone, the door decides: they are tried on the event, and the
bindings are those of the pattern. All else stays open. Entries have numbers of their own, because a
subscription may have several.

A removal is a matter of the snapshot (``Snapshot.died``); entries leave the index later, many at
once. When most numbers belong to entries that have left, the others are numbered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Int8s, Int32s, Slots
from tamis.bindings.evaluation import BLANK, Answer, Trial, World
from tamis.bindings.needs import needs_of
from tamis.graphs.documents import DocumentColumn
from tamis.graphs.index import PatternIndex
from tamis.graphs.matches import GraphMatches, IndexView
from tamis.graphs.publications import fits
from tamis.graphs.storage import arrays_of_index, index_of_arrays
from tamis.matching.batch import Batch
from tamis.matching.doors import Door, DoorPairs, Entry
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.pairs import Pairs, distinct_pairs, joined
from tamis.model.rdf_terms import value_of_term
from tamis.predicates.expression import And, Expression, Pattern, all_of
from tamis.predicates.truth import FAILED, TRUE

_OPEN, _TESTED, _WHOLE = range(3)
"""What is left when a graph has the pattern of an entry: more than attributes, these, nothing."""
_SHARED = 4
"""Added to that, where boxes find the subscription too."""
_ROWS = 4_096
"""Graphs that are encoded at a time."""
_GONE = 1_024
"""Removed subscriptions, at least, after which their entries leave the index."""


class PatternDoor(Lockable):
    """Entries in an index of patterns; one thread at a time changes it, any number read views."""

    def __init__(
        self,
        world: World,
        expressions: Callable[[int], Expression],
        fallbacks: Fallbacks,
        index: type[PatternIndex] = PatternIndex,
    ) -> None:
        super().__init__()
        self._world = world
        self._expressions = expressions
        self._fallbacks = fallbacks
        self._index = index(world.limits)
        self._slot: Slots = np.empty(64, np.int32)
        self._kind: Int8s = np.empty(64, np.int8)
        self._count = 0
        self._gone: list[int] = []
        self._view: PatternDoorView | None = None

    def __len__(self) -> int:
        return len(self._index)

    def add(self, entries: Sequence[Entry]) -> None:
        """Take in subscriptions, one or many."""
        with self._lock:
            first = self._count
            patterns: dict[int, Pattern] = {}
            for number, entry in enumerate(entries, first):
                assert isinstance(entry.leaf, Pattern)
                patterns[number] = entry.leaf
            self._index.add_many(patterns)
            self._make_room(first + len(entries))
            self._slot[first : first + len(entries)] = [entry.slot for entry in entries]
            self._kind[first : first + len(entries)] = list(map(_kind_of, entries))
            self._count += len(entries)
            self._view = None

    def _make_room(self, count: int) -> None:
        """Have arrays for so many entries; views keep those that they have."""
        if count > len(self._slot):
            self._slot = np.resize(self._slot, 2 * count)
            self._kind = np.resize(self._kind, 2 * count)

    def remove(self, slots: Iterable[int]) -> None:
        """Forget subscriptions, when they have become many."""
        with self._lock:
            self._gone += slots
            if len(self._gone) > max(_GONE, len(self) // 8):
                self._drop(np.isin(self._slot[: self._count], self._gone))
                self._gone = []
                self._view = None

    def _drop(self, gone: Flags) -> None:
        """Take entries out of the index."""
        there = self._index.holds(np.arange(self._count))
        self._index.remove(np.flatnonzero(gone & there))
        if self._count > 2 * len(self) + _GONE:
            self._index, kept = self._index.compacted()
            self._slot, self._kind = self._slot[kept], self._kind[kept]
            self._count = len(kept)

    def view(self) -> PatternDoorView:
        """What there is now."""
        with self._lock:
            if self._view is None:
                self._view = PatternDoorView(
                    self._index.view(self._world.taxonomies.default),
                    self._slot[: self._count],
                    self._kind[: self._count],
                    self._world,
                    self._expressions,
                    self._fallbacks,
                )
            return self._view

    # Copies.

    def renumbered(self, slots: Int32s, other: Door) -> None:
        """Give another door all entries under other slots; -1 is left out."""
        assert isinstance(other, PatternDoor)
        with self._lock:
            other.restore(self.arrays())
        with other._lock:
            other._slot = slots[other._slot].astype(np.int32)
            other._drop(other._slot < 0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as flat arrays."""
        with self._lock:
            return {
                **arrays_of_index(self._index),
                "slot": self._slot[: self._count].copy(),
                "kind": self._kind[: self._count].copy(),
            }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take in what ``arrays`` gave, which may lie in a file."""
        with self._lock:
            self._index = index_of_arrays(arrays, self._world.limits, type(self._index))
            self._slot, self._kind = arrays["slot"], arrays["kind"]
            self._count = len(self._slot)
            self._view = None

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self._index.nbytes + self._slot.nbytes + self._kind.nbytes


class PatternDoorView(NamedTuple):
    """The entries of one moment."""

    patterns: IndexView
    slot: Slots
    """By the number of an entry."""
    kind: Int8s
    world: World
    expressions: Callable[[int], Expression]
    fallbacks: Fallbacks

    def slots(self) -> Slots:
        """The subscriptions that enter here, each once, ascending."""
        found: Slots = np.unique(self.slot)
        return found[found >= 0]

    def decides(self, slots: Slots) -> Flags:
        """Which of some of its slots are patterns and nothing else."""
        return np.isin(slots, self.slot[self.kind == _WHOLE])

    def match(self, batch: Batch) -> DoorPairs:
        """The subscriptions whose patterns the graphs of events have."""
        if batch.table is not None and batch.graphs is None:
            return DoorPairs(joined([]), np.zeros(0, bool))
        several: list[Pairs] = []
        shared = [np.empty(0, np.int32)]
        for start, part in batch.parts(_ROWS):
            found = _Found(self, part)
            several.append(found.pairs().shifted(start))
            shared += found.shared
        pairs = distinct_pairs(several)
        return DoorPairs(pairs, np.isin(pairs.slot, np.concatenate(shared)))


class _Found:
    """What the graphs of some events lead to."""

    def __init__(self, view: PatternDoorView, batch: Batch) -> None:
        self._view = view
        self._batch = batch
        self._trials: dict[int, Trial] = {}
        self.shared: list[Slots] = []
        """The subscriptions among the pairs that boxes find too."""

    def pairs(self) -> Pairs:
        """The pairs that match, and those that are open."""
        patterns = self._view.patterns
        encoder = patterns.encoder()
        large: list[int] = []
        if isinstance(self._batch.graphs, DocumentColumn):
            rows, publications = self._batch.graphs.encode(encoder)
        else:
            small: list[int] = []
            for row, event in enumerate(self._batch.events()):
                if event.graph is not None and fits(event.graph):
                    encoder.add(event.graph)
                    small.append(row)
                elif event.graph is not None:
                    large.append(row)
            rows, publications = np.array(small, np.int32), encoder.finish()
        matches = patterns.match(publications)
        found = [self._decided(rows, matches)] if len(matches.row) else []
        return joined([*found, *map(self._all_open, large)])

    def _all_open(self, row: int) -> Pairs:
        """All entries, for a graph with more terms than the index can number."""
        view = self._view
        view.fallbacks.count("a graph with more terms than the index can number", 1)
        self.shared.append(view.slot[view.kind >= _SHARED])
        return _open(row, view.slots())

    def _decided(self, rows: Int32s, matches: GraphMatches) -> Pairs:
        """What is said of the pairs that the index has found."""
        row, slot = rows[matches.row], self._view.slot[matches.number]
        kind = self._view.kind[matches.number]
        self.shared.append(slot[kind >= _SHARED])
        kind = kind & ~_SHARED
        kept, open_ = np.ones(len(row), bool), (kind == _OPEN) | matches.exceeded
        said = np.empty(len(row), np.object_)
        for pair in range(len(row)):
            if kind[pair] != _WHOLE:
                truth = self._truth_of_attributes(int(row[pair]), int(slot[pair]))
                kept[pair] = truth in (TRUE, FAILED)
                open_[pair] |= truth == FAILED
            if kept[pair] and not open_[pair]:
                said[pair] = self._answer(matches, pair, int(slot[pair]))
        return Pairs(row, slot, said, open_).take(kept)

    def _truth_of_attributes(self, row: int, slot: int) -> int:
        """What is true of the parts of a subscription that are about attributes alone."""
        expression = self._view.expressions(slot)
        trial = self._trials.get(row)
        if trial is None:
            trial = self._trials[row] = Trial(self._batch.event(row), self._view.world)
        return trial.truth_of(all_of(*_plain_parts(expression)))

    def _answer(self, matches: GraphMatches, pair: int, slot: int) -> Answer | None:
        pattern = next(_patterns(self._view.expressions(slot)))
        return IndexAnswer(pattern, matches, pair) if matches.sizes[pair] else None  # type: ignore[return-value]  # it is like one


class IndexAnswer:
    """An ``Answer`` whose solution is looked up when somebody asks for it."""

    __slots__ = ("_matches", "_pair", "_pattern")
    truth = TRUE
    reason = ""

    def __init__(self, pattern: Pattern, matches: GraphMatches, pair: int) -> None:
        self._pattern = pattern
        self._matches = matches
        self._pair = pair

    @property
    def solution(self) -> dict[str, Any]:
        """Values of the variables."""
        terms = next(self._matches.solutions(self._pair), ())
        names = (variable.name for variable in self._pattern.variables())
        return {
            name: value_of_term(term) for name, term in zip(names, terms) if not BLANK.match(name)
        }

    @property
    def says_more(self) -> bool:
        """Whether there are values."""
        return bool(self.solution)


def _open(row: int, slots: Slots) -> Pairs:
    """Open pairs of one row."""
    return Pairs(np.full(len(slots), row, np.int32), slots, None, np.ones(len(slots), bool))


def _parts(expression: Expression) -> tuple[Expression, ...]:
    return expression.parts if isinstance(expression, And) else (expression,)


def _plain_parts(expression: Expression) -> Iterator[Expression]:
    return (part for part in _parts(expression) if needs_of(part).is_plain)


def _patterns(expression: Expression) -> Iterator[Pattern]:
    return (part for part in _parts(expression) if isinstance(part, Pattern))


def _kind_of(entry: Entry) -> int:
    """What is left of a subscription when its pattern is there."""
    others = [part for part in _parts(entry.expression) if part is not entry.leaf]
    if len(others) == len(_parts(entry.expression)) or not all(
        needs_of(part).is_plain for part in others
    ):
        kind = _OPEN
    else:
        kind = _TESTED if others else _WHOLE
    return kind + _SHARED * entry.shared
