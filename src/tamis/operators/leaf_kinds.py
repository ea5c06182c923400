"""Kinds of leaves: who evaluates what a formula asks about.

A room brings a kind by saying which leaves it takes, what one costs, and how to evaluate many at
once. The decider asks the kinds in turn; the last one, plain parts, takes all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Int32s, Truths
from tamis.bindings.calls import argument_values, numbered_variables, read_result, variable_columns
from tamis.bindings.evaluation import Trial, World
from tamis.bindings.substitution import Rows
from tamis.graphs.index import PatternIndex
from tamis.graphs.publications import fits
from tamis.model.events.event import Event
from tamis.operators.formulas import filtered_call
from tamis.operators.guarded import GuardedOperators
from tamis.operators.residues import Residues
from tamis.predicates.expression import Call, Expression, Pattern
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN

_CHEAP = 1e-9
_UNMEASURED = 1e-5
_OF_A_CONSTRAINT = 3e-5
"""Seconds; a constraint is tried on rows in Python."""
_OF_A_PATTERN = 5e-5
"""Seconds; a pattern is looked up in one graph, in Python."""


class Cost(NamedTuple):
    """Seconds for one evaluation, and for what all leaves of a group share on an event."""

    each: float
    setup: float = 0.0
    group: object = None
    """What has the set-up; None for nothing."""


class Results(NamedTuple):
    """What came out of some evaluations."""

    truth: Truths
    rows: dict[int, Rows]
    """By place, where there is more to say than a truth."""
    calls: int = 0
    """Operator calls that it took."""


class Sight:
    """What kinds see: the events of some rows, and the leaves by number."""

    def __init__(
        self, events: Sequence[Event], leaves: Sequence[Expression], trial: Callable[[int], Trial]
    ) -> None:
        self.events = np.empty(len(events), np.object_)
        self.events[:] = events
        self.leaves = leaves
        self.trial = trial
        """The trial of a row."""
        self.made: dict[tuple[int, int], Rows] = {}
        """What calls with variables gave, by row and leaf."""


class LeafKind(Protocol):
    """A kind of leaves."""

    name: str

    def takes(self, node: Expression) -> bool:
        """Whether it evaluates such a leaf."""

    def cost(self, node: Expression) -> Cost:
        """What a leaf costs now."""

    def evaluate(self, leaf: Int32s, row: Int32s, sight: Sight) -> Results:
        """The results of leaves, by number, on rows, place by place; calls are of one operator."""


class CallLeaves(Lockable):
    """Operator calls: those of one operator are handed over together."""

    name = "calls"

    def __init__(self, operators: GuardedOperators, most_rows: int) -> None:
        super().__init__()
        self._operators = operators
        self._most_rows = most_rows
        self._arguments = np.empty(0, np.object_)  # by leaf, from its first call on
        self._known = np.zeros(0, np.bool_)
        self._columns: dict[int, list[int]] = {}  # of those with variables

    def takes(self, node: Expression) -> bool:
        """Whether it is a call."""
        return isinstance(node, Call)

    def cost(self, node: Expression) -> Cost:
        """The declared or measured seconds."""
        assert isinstance(node, Call)
        guarded = self._operators[node.name]
        prepare = guarded.operator.prepare
        return Cost(guarded.cost or _UNMEASURED, guarded.prepare_cost if prepare else 0, prepare)

    def evaluate(self, leaf: Int32s, row: Int32s, sight: Sight) -> Results:
        """The results of calls of one operator."""
        arguments = self._learned_arguments(leaf, sight.leaves)
        if not self._has_columns(leaf):
            found = self._called(leaf, row, arguments, sight)
            for place, rows in found.rows.items():
                if rows.problem:
                    sight.made[int(row[place]), int(leaf[place])] = rows
            return found
        keys = list(zip(row.tolist(), leaf.tolist()))
        new = np.array([key not in sight.made for key in keys], bool)
        calls = 0
        if new.any():
            found = self._called(leaf[new], row[new], arguments, sight)
            calls = found.calls
            for place, number in enumerate(np.flatnonzero(new).tolist()):
                given = found.rows.get(place)
                sight.made[keys[number]] = given or Rows((), int(found.truth[place]))
        every = {place: sight.made[key] for place, key in enumerate(keys)}
        truth = np.array([rows.truth for rows in every.values()], np.int8)
        return Results(truth, every, calls)

    def _called(
        self, leaf: Int32s, row: Int32s, arguments: NDArray[np.object_], sight: Sight
    ) -> Results:
        first = sight.leaves[leaf[0]]
        assert isinstance(first, Call)
        guarded = self._operators[first.name]
        given: Any
        if guarded.operator.batch == "table":
            rows_, event = distinct(row)
            leaves, argument = distinct(leaf)
            several = arguments[leaves].tolist()
            given = guarded.call_table(sight.events[rows_].tolist(), several, event, argument)
            if isinstance(given, np.ndarray):
                if given.dtype == np.bool_ and not self._has_columns(leaf):
                    return Results(given.astype(np.int8), {}, len(given))
                given = given.tolist()
        else:
            given = guarded.call_many(sight.events[row].tolist(), arguments[leaf].tolist())
        if set(map(type, given)) == {bool} and not self._has_columns(leaf):
            return Results(np.frombuffer(bytes(given), np.int8).copy(), {}, len(given))
        rows = {
            place: read_result(raw, self._columns.get(number, []), self._most_rows)
            for place, (raw, number) in enumerate(zip(given, leaf.tolist()))
        }
        truth = np.array([each.truth for each in rows.values()], np.int8)
        return Results(truth, rows, len(given))

    def _has_columns(self, leaf: Int32s) -> bool:
        """Whether any of some leaves has variables."""
        return bool(self._columns) and not self._columns.keys().isdisjoint(leaf.tolist())

    def _learned_arguments(self, leaf: Int32s, leaves: Sequence[Expression]) -> NDArray[np.object_]:
        """By leaf, the arguments as operators get them, of some leaves at least; several threads
        may ask."""
        with self._lock:
            if len(leaves) > len(self._arguments):
                more = np.empty(2 * len(leaves) - len(self._arguments), np.object_)
                self._arguments = np.concatenate((self._arguments, more))
                self._known = np.concatenate((self._known, np.zeros(len(more), np.bool_)))
            for number in set(leaf[~self._known[leaf]].tolist()):
                node = leaves[number]
                assert isinstance(node, Call)
                columns = variable_columns(numbered_variables(node)[1])
                if columns:
                    self._columns[number] = columns
                self._arguments[number] = argument_values(node)
                self._known[number] = True
            return self._arguments


def distinct(numbers: Int32s) -> tuple[Int32s, Int32s]:
    """Distinct numbers from 0 on, ascending, and the place of each number among them."""
    seen, places = np.zeros(int(numbers.max()) + 1, np.bool_), np.empty(len(numbers), np.int32)
    write_places(numbers, seen, places)
    return np.flatnonzero(seen).astype(np.int32), places


@kernel
def write_places(numbers: Int32s, seen: Flags, places: Int32s) -> None:
    """Write which numbers there are, and the place of each among them."""
    for number in numbers:
        seen[number] = True
    place = np.empty(len(seen), np.int32)
    count = 0
    for number in range(len(seen)):
        place[number] = count
        count += seen[number]
    for n in range(len(numbers)):
        places[n] = place[numbers[n]]


class FilteredLeaves:
    """Calls with constraints on their variables: the call is made once, whatever is asked of it."""

    name = "filtered calls"

    def __init__(self, calls: CallLeaves, residues: Residues) -> None:
        self._calls = calls
        self._residues = residues

    def takes(self, node: Expression) -> bool:
        """Whether it is a call with constraints."""
        return filtered_call(node) is not None

    def cost(self, node: Expression) -> Cost:
        """The call is the set-up that all leaves about it share."""
        call = filtered_call(node)
        assert call is not None
        each, setup, _ = self._calls.cost(call)
        return Cost(_OF_A_CONSTRAINT, each + setup, self._residues.number_of(call))

    def evaluate(self, leaf: Int32s, row: Int32s, sight: Sight) -> Results:
        """The truths of filtered calls of one operator."""
        call = np.array(self._residues.call_of, np.int32)[leaf]
        key = np.unique(row.astype(np.int64) << 32 | call)
        made = self._calls.evaluate(
            (key & 0xFFFFFFFF).astype(np.int32), (key >> 32).astype(np.int32), sight
        )
        pairs = zip(leaf.tolist(), row.tolist())
        found = [sight.trial(other).truth_of(sight.leaves[one]) for one, other in pairs]
        return Results(np.array(found, np.int8), {}, made.calls)


class PatternLeaves:
    """Graph patterns: all that are asked for about some graphs are looked up at once."""

    name = "patterns"

    def __init__(self, world: World) -> None:
        self._index = PatternIndex(world.limits)
        self._taxonomy = world.taxonomies.default

    def takes(self, node: Expression) -> bool:
        """Whether it is a pattern."""
        return isinstance(node, Pattern)

    def cost(self, node: Expression) -> Cost:
        """A guess."""
        return Cost(_OF_A_PATTERN)

    def evaluate(self, leaf: Int32s, row: Int32s, sight: Sight) -> Results:
        """The truths; what the index cannot tell, the oracle does."""
        self._learn(leaf, sight.leaves)
        truth = np.full(len(leaf), FALSE, np.int8)
        rows, place = np.unique(row, return_inverse=True)
        events = sight.events[rows].tolist()
        lacking = np.array([event.graph is None for event in events], bool)
        small = [event.graph or () if fits(event.graph or ()) else () for event in events]
        truth[lacking[place]] = UNKNOWN
        view = self._index.view(self._taxonomy)
        found = view.match_graphs(small)
        keys = found.row.astype(np.int64) << 32 | found.number
        asked = place.astype(np.int64) << 32 | leaf
        truth[np.isin(asked, keys) & ~lacking[place]] = TRUE
        large = np.array([not fits(event.graph or ()) for event in events], bool)
        untold = np.isin(asked, keys[found.exceeded]) | large[place]
        for at in np.flatnonzero(untold).tolist():
            truth[at] = sight.trial(int(row[at])).truth_of(sight.leaves[leaf[at]])
        return Results(truth, {})

    def _learn(self, leaf: Int32s, leaves: Sequence[Expression]) -> None:
        new = np.unique(leaf[~self._index.holds(leaf.astype(np.int64))]).tolist()
        patterns = {number: leaves[number] for number in new}
        self._index.add_new({n: each for n, each in patterns.items() if isinstance(each, Pattern)})


class PlainLeaves:
    """Parts that speak of attributes alone; they cost next to nothing."""

    name = "attributes"

    def takes(self, node: Expression) -> bool:
        """Whatever is left."""
        return True

    def cost(self, node: Expression) -> Cost:
        """Next to nothing."""
        return Cost(_CHEAP)

    def evaluate(self, leaf: Int32s, row: Int32s, sight: Sight) -> Results:
        """The truths of plain parts."""
        pairs = zip(leaf.tolist(), row.tolist())
        found = [sight.trial(other).truth_of(sight.leaves[one]) for one, other in pairs]
        return Results(np.array(found, np.int8), {})
