"""Which subscriptions with patterns are worth asking the oracle about, told by the pattern index.

A subscription that is a pattern, or a conjunction with one, is true only of events whose graph has
the pattern. Where a matcher leaves an event and many such subscriptions undecided, the gate asks
the index once for the event and passes on those whose pattern is there. What is a pattern
and nothing else is decided here, with its bindings.

The gate learns of a subscription when a matcher first asks about it. Slots are given out once, so
it need not hear of removals: nobody asks about those slots any more. When slots are numbered again,
there is another gate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays.sharing import Bounded, Lockable, lazy
from tamis.arrays.types import Flags, Int8s, Int32s, Slots
from tamis.bindings.evaluation import BLANK, Answer, World
from tamis.errors import LimitError
from tamis.graphs.index import PatternIndex
from tamis.graphs.matches import GraphMatches
from tamis.matching.batch import Batch
from tamis.matching.pairs import Pairs, joined
from tamis.matching.setting import Expressions
from tamis.model.events.event import Event
from tamis.model.rdf_terms import RdfTriple, value_of_term
from tamis.predicates.expression import And, Expression, Pattern
from tamis.predicates.truth import TRUE

_UNSEEN, _OPEN, _GATED, _BARE = range(4)
"""What is known of a slot: nothing; it has no pattern that it needs; it needs one; it is one."""
_KEPT = 64
"""Graphs whose answers are kept."""
_MANY = 1_000
"""New subscriptions from which on they become a segment at once."""


class PatternGate(Lockable):
    """Knows the patterns of the subscriptions of one matcher."""

    def __init__(self, world: World, expressions: Expressions) -> None:
        super().__init__()
        self._world = world
        self._expressions = expressions
        self._kinds: Int8s = np.zeros(1_024, np.int8)
        self._known: Bounded[int, tuple[frozenset[RdfTriple], int, _Answers]] = Bounded(_KEPT)
        """What the index said of the last graphs, by their identities, and when."""

    def possible(self, batch: Batch, row: Int32s, slot: Slots) -> Flags:
        """Which of some pairs can match, for all that the graphs of the events tell."""
        kinds = self._kinds_of(slot)
        possible: Flags = kinds == _OPEN
        left = np.flatnonzero(~possible)
        left = left[np.argsort(row[left], kind="stable")]
        starts = np.flatnonzero(np.diff(row[left], prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(left)]):
            own = left[start:stop]
            graph = None if batch.table is not None else batch.event(int(row[own[0]])).graph
            possible[own] = self._found(graph, kinds[own], slot[own])
        return possible

    def _found(self, graph: frozenset[RdfTriple] | None, kinds: Int8s, slots: Slots) -> Flags:
        """Which of some subscriptions that need a pattern can match with a graph."""
        if graph is None:  # what is more than a pattern may have failing parts
            more: Flags = kinds != _BARE
            return more
        try:
            return self._answers(graph).found(slots)
        except LimitError:  # a graph too large for the index
            return np.ones(len(slots), bool)

    def narrowed(self, pairs: Pairs, batch: Batch) -> tuple[Pairs, Pairs]:
        """Those of some open pairs that somebody else must decide, and those that match."""
        pairs = pairs.take(np.argsort(pairs.row, kind="stable"))
        nothing = pairs.take(np.empty(0, np.int64))
        left, found = [nothing], [nothing._replace(open=None)]
        starts = np.flatnonzero(np.diff(pairs.row, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(pairs.row)]):
            row = int(pairs.row[start])
            asked, known = self.decided(batch.event(row), pairs.slot[start:stop])
            left.append(_open(row, asked))
            if known:
                said = np.empty(len(known), np.object_)
                said[:] = [answer if answer.says_more else None for answer in known.values()]
                slots = np.array(list(known), np.int32)
                found.append(Pairs(np.full(len(slots), row, np.int32), slots, said))
        return joined(left), joined(found)

    def decided(self, event: Event, slots: Slots) -> tuple[Slots, dict[int, Answer]]:
        """The subscriptions that are left for the oracle, and what is decided of others; those
        that are in neither are not true of the event."""
        kinds = self._kinds_of(slots)
        if (kinds == _OPEN).all():
            return slots, {}
        if event.graph is None:
            return slots[kinds != _BARE], {}
        try:
            answers = self._answers(event.graph)
        except LimitError:  # a graph too large for the index
            return slots, {}
        found = answers.found(slots)
        asked = (kinds == _OPEN) | (found & ((kinds == _GATED) | answers.exceeded(slots)))
        bare = slots[found & (kinds == _BARE) & ~asked]
        return slots[asked], {slot: self._answer(answers, slot) for slot in bare.tolist()}

    @lazy
    def _index(self) -> PatternIndex:
        return PatternIndex(self._world.limits)

    def _kinds_of(self, slots: Slots) -> Int8s:
        most = int(slots.max(initial=-1))
        if most >= len(self._kinds):
            with self._lock:
                larger = np.zeros(2 * (most + 1), np.int8)
                larger[: len(self._kinds)] = self._kinds
                self._kinds = larger
        kinds = self._kinds[slots]
        if (kinds == _UNSEEN).any():
            self._learn(np.unique(slots[kinds == _UNSEEN]).tolist())
            kinds = self._kinds[slots]
        return kinds

    def _learn(self, slots: list[int]) -> None:
        with self._lock:
            new: dict[int, Pattern] = {}
            kinds = {}
            for slot in slots:
                if self._kinds[slot] != _UNSEEN:
                    continue
                expression = self._expressions(slot)
                pattern = needed_pattern(expression)
                kinds[slot] = _OPEN
                if pattern is not None:
                    new[slot] = pattern
                    kinds[slot] = _BARE if pattern is expression else _GATED
            if len(new) >= _MANY:
                self._index.add_many(new)
            else:
                for slot, pattern in new.items():
                    self._index.add(slot, pattern)
            for slot, kind in kinds.items():
                self._kinds[slot] = kind

    def _answers(self, graph: frozenset[RdfTriple]) -> _Answers:
        """What the index says of a graph; matchers ask for one event several times."""
        size = len(self._index)
        last = self._known.get(id(graph))
        if last is not None and last[0] is graph and last[1] == size:
            return last[2]
        view = self._index.view(self._world.taxonomies.default)
        answers = _Answers(view.match_graphs([graph]), len(self._kinds))
        self._known[id(graph)] = graph, size, answers
        return answers

    def _answer(self, answers: _Answers, slot: int) -> Answer:
        pattern = self._expressions(slot)
        assert isinstance(pattern, Pattern)
        names = [variable.name for variable in pattern.variables()]
        values: Any = map(value_of_term, next(answers.matches.solutions(answers.pair[slot]), ()))
        solution = {name: value for name, value in zip(names, values) if not BLANK.match(name)}
        return Answer(TRUE, solution)


def _open(row: int, slots: Slots) -> Pairs:
    """Open pairs of one row."""
    return Pairs(np.full(len(slots), row, np.int32), slots, None, np.ones(len(slots), bool))


class _Answers:
    """The patterns that one graph has, by slot."""

    def __init__(self, matches: GraphMatches, size: int) -> None:
        numbers = matches.number.tolist()
        self.matches = matches
        self.pair = {number: pair for pair, number in enumerate(numbers)}
        self._found: Flags = np.zeros(max([size, *(number + 1 for number in numbers)]), bool)
        self._found[numbers] = True
        self._exceeded = set(matches.number[matches.exceeded].tolist())

    def found(self, slots: Slots) -> Flags:
        """Whether the graph has the pattern of each, or nobody can tell."""
        found: Flags = self._found[np.minimum(slots, len(self._found) - 1)]
        return found & (slots < len(self._found))

    def exceeded(self, slots: Slots) -> Flags:
        """Whether nobody can tell."""
        if not self._exceeded:
            return np.zeros(len(slots), bool)
        return np.isin(slots, list(self._exceeded))


def needed_pattern(expression: Expression) -> Pattern | None:
    """A pattern without which an expression is not true, the one with the most triples."""
    if isinstance(expression, Pattern):
        return expression
    if not isinstance(expression, And):
        return None
    patterns = [part for part in expression.parts if isinstance(part, Pattern)]
    return max(patterns, key=lambda each: len(each.triples), default=None)
