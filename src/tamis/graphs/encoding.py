"""Patterns as numbers: edges of dictionary-encoded terms, and the constraints a kernel can test.

    { ?a ex:price ?p . ?a ex:maker ex:acme  FILTER (?p < 5 && regex(?a, "x")) }

    edges           (-1, 17, -2)  (-1, 18, 40)        constants from 0 on, variables below it
    constraints     ?p < 5.0                          on one variable, with a number
    filters         regex(?a, "x")                    all others

The variables have the order of their first use in the triples, as in the oracle's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tamis.graphs.term_syntax import key_of
from tamis.model.rdf_terms import Iri
from tamis.predicates.expression import And, Comparison, Expression, Object, Pattern
from tamis.predicates.operands import Constant, Variable

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
"""The comparisons of constraints, by their numbers in arrays."""
_EXACT = 2**53


class Constraint(NamedTuple):
    """A comparison of a variable with a number."""

    variable: int
    operator: int
    value: float


class EncodedPattern(NamedTuple):
    """A pattern in terms of a dictionary."""

    edges: tuple[tuple[int, int, int], ...]
    variables: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]
    filters: tuple[Expression, ...]


def encode_pattern(pattern: Pattern, number_of: Callable[[str], int]) -> EncodedPattern:
    """The pattern with its terms as ``number_of`` numbers their keys."""
    places: dict[str, int] = {}
    variables: list[Variable] = []

    def encoded(term: Object) -> int:
        if type(term) is Iri:
            return number_of(term.value)
        if type(term) is Variable:
            place = places.get(term.name)
            if place is None:
                place = places[term.name] = len(variables)
                variables.append(term)
            return -1 - place
        return number_of(key_of(term))  # type: ignore[arg-type]  # it is a literal

    edges = tuple(dict.fromkeys([tuple(map(encoded, triple)) for triple in pattern.triples]))
    constraints, filters = [], []
    for part in _conjuncts(pattern.filters):
        constraint = _constraint(part, places)
        if constraint is None:
            filters.append(part)
        else:
            constraints.append(constraint)
    return EncodedPattern(edges, tuple(variables), tuple(constraints), tuple(filters))  # type: ignore[arg-type]  # three terms


def _conjuncts(filters: tuple[Expression, ...]) -> Iterator[Expression]:
    """Every part that must be true for all filters to be true."""
    for part in filters:
        if isinstance(part, And):
            yield from _conjuncts(part.parts)
        else:
            yield part


def _constraint(part: Expression, places: dict[str, int]) -> Constraint | None:
    if not isinstance(part, Comparison) or part.ignore_case:
        return None
    left, right = part.left, part.right
    if not isinstance(left, Variable) or not isinstance(right, Constant):
        return None
    value = right.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > _EXACT:
        return None
    return Constraint(places[left.name], OPERATORS.index(part.operator), float(value))


def comparison_of(constraint: Constraint, variables: tuple[Variable, ...]) -> Comparison:
    """A constraint as the filter that it was made of."""
    variable, operator, value = constraint
    return Comparison(variables[variable], OPERATORS[operator], Constant(value))
