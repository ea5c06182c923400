"""Operator calls on one event: each equivalent call is made once.

Two calls are the same if one becomes the other by a one-to-one renaming of variables, and the
operator sees the same elements of lists: ``p(?a, ?b)`` is ``p(?x, ?y)``, but not ``p(?z, ?z)``.

An operator is called as ``function(event, *arguments)``: constants come as Python values,
quantities as they are, variables as None. Without variables it returns True, False, or None for
unknown. With variables it returns rows, one value for each variable in order (a bare value if
there is one), or None for unknown. Whatever it raises makes the call FAILED, with a reason.

How calls are made is up to the operator (``OperatorLike.call``): what it gives is read here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Any, Protocol

from tamis.bindings.choices import Choice, bound_event, part_of
from tamis.bindings.substitution import Bound, Rows, Table, join_key
from tamis.model.events.event import Event
from tamis.model.kinds import to_value
from tamis.model.paths import Path
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, value_of_term
from tamis.predicates.expression import Argument, Call
from tamis.predicates.operands import Constant, Variable
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN

_LONGEST = 300
"""Characters of a reason that are shown."""


class Failure:
    """What an operator gives that cannot say anything."""

    def __init__(self, problem: str) -> None:
        self.problem = problem[:_LONGEST]

    @classmethod
    def raised(cls, error: BaseException) -> Failure:
        """The failure of an operator that raised an error."""
        return cls(f"raised {type(error).__name__}: {error}".removesuffix(": "))


class OperatorLike(Protocol):
    """What a call needs of an operator."""

    @property
    def paths(self) -> tuple[Path, ...] | None:
        """The attributes that it reads; None if it may look at everything."""

    def call(self, event: Event, arguments: tuple[Any, ...]) -> Any:
        """Its result as it gives it, or a ``Failure``; it may also raise."""


class Calls:
    """The calls that were made on one event."""

    def __init__(self, event: Event, operators: Mapping[str, OperatorLike], limit: int) -> None:
        self._event = event
        self._operators = operators
        self._limit = limit
        self._made: dict[Hashable, Rows] = {}

    def keys(self, node: Call) -> Iterable[str]:
        """The top-level keys with lists that the operator of a call reads."""
        paths = self._paths(node)
        multiple = self._event.multiple
        return multiple if paths is None else multiple.intersection(path[0] for path in paths)

    def paths(self, node: Call) -> list[Path] | None:
        """The attributes that the operator of a call reads; None for everything."""
        paths = self._paths(node)
        return None if paths is None else list(paths)

    def _paths(self, node: Call) -> tuple[Path, ...] | None:
        operator = self._operators.get(node.name)
        return () if operator is None else operator.paths

    def table(self, node: Call, choice: Choice) -> tuple[Table, str]:
        """What a call gives under a choice of elements, and why it failed if it did."""
        names, numbered = numbered_variables(node)
        key = self._key(node, numbered, choice)
        rows = self._made.get(key)
        if rows is None:
            rows = self._made[key] = self._call(node, numbered, choice)
        return Table(names, rows), f"{node} {rows.problem}" if rows.problem else ""

    def made(self, node: Call, choice: Choice) -> Rows | None:
        """What a call gave, if it was made."""
        return self._made.get(self._key(node, numbered_variables(node)[1], choice))

    def _key(self, node: Call, numbered: Numbered, choice: Choice) -> Hashable:
        seen = part_of(choice, self.paths(node)) if choice else ()
        return node.name, numbered, seen

    def _call(self, node: Call, numbered: Numbered, choice: Choice) -> Rows:
        operator = self._operators.get(node.name)
        if operator is None:
            return Rows.failed("has no operator of that name")
        try:
            event = bound_event(self._event, choice, self.paths(node))
            given = operator.call(event, argument_values(node))
        except Exception as error:  # whatever an operator raises is its failure, and is reported
            given = Failure.raised(error)
        return read_result(given, variable_columns(numbered), self._limit)


Numbered = tuple[Argument | int, ...]
"""Arguments with a number in the place of each variable: equal for equivalent calls."""


def numbered_variables(node: Call) -> tuple[tuple[str, ...], Numbered]:
    """The names of a call's variables, and its arguments with their numbers in their places."""
    names = list(dict.fromkeys(each.name for each in node.arguments if type(each) is Variable))
    numbered = tuple(
        names.index(each.name) if isinstance(each, Variable) else each for each in node.arguments
    )
    return tuple(names), numbered


def variable_columns(numbered: Numbered) -> list[int]:
    """The variables of a call in the order of its arguments, by number."""
    return [each for each in numbered if type(each) is int]


def argument_values(node: Call) -> tuple[Any, ...]:
    """The arguments as an operator gets them."""
    return tuple(map(_argument, node.arguments))


def read_result(given: Any, columns: list[int], limit: int) -> Rows:
    """What an operator gave, checked; ``columns`` are the variables in the order of arguments."""
    if isinstance(given, Failure):
        return Rows.failed(given.problem)
    if given is None:
        return Rows((), UNKNOWN)
    if columns:
        try:
            return _rows(given, columns, limit)
        except Exception as error:  # raised by an operator that gives its rows one by one
            return Rows.failed(Failure.raised(error).problem)
    truth = to_value(given) if type(given).__module__ == "numpy" else given
    if type(truth) is bool:
        return Rows((), TRUE if truth else FALSE)
    what = type(given).__name__
    return Rows.failed(f"gave a {what} in place of true, false or None for unknown")


def _rows(given: Any, columns: list[int], limit: int) -> Rows:
    """The rows with one value for each variable; those that disagree with themselves go."""
    if isinstance(given, bool | str | bytes | Mapping) or not isinstance(given, Iterable):
        return Rows.failed(f"gave a {type(given).__name__} in place of rows for its variables")
    rows = []
    for number, raw in enumerate(islice(given, limit + 1)):
        if number == limit:
            return Rows.failed(f"gave more than {limit:,} rows, the limit of bindings")
        values = (raw,) if len(columns) == 1 else raw
        if not isinstance(values, tuple | list) or len(values) != len(columns):
            return Rows.failed(f"gave {str(raw)[:50]!r} in place of {len(columns)} values")
        row = _agreed(map(_bound, values), columns)
        if row is not None:
            rows.append(row)
    return Rows(rows, TRUE if rows else FALSE)


def _agreed(values: Iterable[Bound], columns: list[int]) -> tuple[Bound, ...] | None:
    """One value for each variable; None if a repeated variable has different ones."""
    found: dict[int, Bound] = {}
    for column, value in zip(columns, values):
        if column in found and join_key(found[column]) != join_key(value):
            return None
        found.setdefault(column, value)
    return tuple(found.values())


def _argument(argument: Argument) -> Any:
    if isinstance(argument, Variable):
        return None
    return argument.value if isinstance(argument, Constant) else argument


def _bound(raw: Any) -> Bound:
    """A value of a row in canonical form."""
    if isinstance(raw, Iri | BlankNode | RdfLiteral):
        return value_of_term(raw)
    value = to_value(raw)
    if value is None:
        raise ValueError("a null in a row: leave the row out")
    return value
