"""Substitutions of variables, and tables of them that calls and patterns give.

    near('Bronx', ?d) and { ?item ex:km ?d }

    ?d          ?item      ?d                 ?item      ?d
    12     ⋈    ex:a       12           =     ex:a       12
    30          ex:b       7

A join looks rows up by the variables that are bound already, in a hash table that is made when it
is first asked for. Values are equal as they are everywhere else: 1 is 1.0 but not true, and NaN
equals nothing, so that it joins with nothing.

A call that failed has no rows. It leaves its variables open: they join with anything, what is
said of them alone stays unknown, and the whole is FAILED, unless something else makes it false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

from tamis.model.kinds import Value, kind_of
from tamis.model.rdf_terms import BlankNode, RdfLiteral
from tamis.predicates.truth import FAILED, FALSE, UNKNOWN, Truth

Bound = Value | BlankNode | RdfLiteral
"""What a variable may stand for; an RDF term that has no value stands for itself."""


class OpenValue:
    """The value of a variable whose call failed or is unknown."""

    def __repr__(self) -> str:
        return "OPEN_VALUE"


OPEN_VALUE: Final = OpenValue()
Substitution = Mapping[str, Bound | OpenValue]


def join_key(value: Bound) -> Hashable:
    """What equal values share, and no others."""
    if isinstance(value, BlankNode | RdfLiteral):
        return value
    if value != value:  # NaN
        return object()
    return kind_of(value), value


class Rows:
    """What a call or a pattern gave: distinct rows, or a truth if there are none."""

    def __init__(self, rows: Iterable[tuple[Bound, ...]], truth: Truth, problem: str = "") -> None:
        self.rows = list({tuple(map(join_key, row)): row for row in rows}.values())
        self.truth = truth
        """TRUE if there are rows, or of a call without variables; else FALSE, UNKNOWN, FAILED."""
        self.problem = problem
        """Why it failed."""
        self._indices: dict[tuple[int, ...], dict[tuple[Hashable, ...], list[int]]] = {}

    @classmethod
    def failed(cls, problem: str) -> Rows:
        """No rows, for this reason."""
        return cls((), FAILED, problem)

    def agreeing(
        self, columns: tuple[int, ...], values: list[Bound]
    ) -> Iterator[tuple[Bound, ...]]:
        """The rows that have these values in these columns."""
        if not columns:
            yield from self.rows
            return
        index = self._indices.get(columns)
        if index is None:
            index = defaultdict(list)
            for number, row in enumerate(self.rows):
                index[tuple(join_key(row[column]) for column in columns)].append(number)
            self._indices[columns] = index
        for number in index.get(tuple(map(join_key, values)), ()):
            yield self.rows[number]


class Table:
    """The rows of a call or a pattern under the names of its variables."""

    def __init__(self, names: tuple[str, ...], rows: Rows) -> None:
        self.names = names
        self.truth = rows.truth
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows.rows)

    def rows(self) -> list[dict[str, Bound]]:
        """All rows, as substitutions."""
        return [dict(zip(self.names, row)) for row in self._rows.rows]

    def joined(self, given: Substitution) -> Iterator[Substitution]:
        """The substitutions that extend the given one by a row that agrees with it."""
        if self.truth in (UNKNOWN, FAILED):
            yield {**dict.fromkeys(self.names, OPEN_VALUE), **given}
            return
        if self.truth == FALSE:
            return
        columns, values = [], []
        for column, name in enumerate(self.names):
            value = given.get(name, OPEN_VALUE)
            if not isinstance(value, OpenValue):
                columns.append(column)
                values.append(value)
        for row in self._rows.agreeing(tuple(columns), values):
            yield {**given, **dict(zip(self.names, row))}
