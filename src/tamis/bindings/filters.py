"""FILTERs of graph patterns, by SPARQL's rules.

    numbers, strings, booleans, timestamps    compare within their kind, by value
    IRIs, blank nodes                         equal themselves only, and have no order
    literals with a language                  equal themselves only, and have no order
    literals of different or other kinds      an error, unless they are the same term

An error is neither true nor false: it is UNKNOWN here, and a solution needs a filter that is TRUE.
Arithmetic is that of the language: it needs numbers, and a division by zero is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tamis.model.kinds import Value, kind_of
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, RdfTerm, value_of_term
from tamis.predicates.expression import EQUALITIES, And, Comparison, Expression, Not, Or
from tamis.predicates.operands import Arithmetic, Constant, Operand, Variable, result_of
from tamis.predicates.texts import fold
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN, Truth, conjunction, disjunction, negation

Solution = dict[Variable, RdfTerm]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def filter_truth(node: Expression, solution: Solution) -> Truth:
    """The truth of a filter under a solution of its pattern."""
    if isinstance(node, And):
        return conjunction(filter_truth(part, solution) for part in node.parts)
    if isinstance(node, Or):
        return disjunction(filter_truth(part, solution) for part in node.parts)
    if isinstance(node, Not):
        return negation(filter_truth(node.part, solution))
    assert isinstance(node, Comparison)
    left, right = _operand(node.left, solution), _operand(node.right, solution)
    if left is None or right is None:
        return UNKNOWN
    if node.operator not in EQUALITIES:
        return _order(left, node.operator, right)
    if node.ignore_case and isinstance(left, str) and isinstance(right, str):
        left, right = fold(left), fold(right)
    same = _equality(left, right)
    return same if node.operator == "=" else negation(same)


def _operand(term: Operand, solution: Solution) -> Value | RdfTerm | None:
    """The value of an operand, or the term of which there is none; None is for an error."""
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        found = solution[term]
        return found if isinstance(found, Iri) else value_of_term(found)
    assert isinstance(term, Arithmetic)
    left, right = _operand(term.left, solution), _operand(term.right, solution)
    if left is None or right is None or _is_term(left) or _is_term(right):
        return None
    return result_of(left, term.operator, right)  # type: ignore[arg-type]  # both are values


def _is_term(operand: Value | RdfTerm) -> bool:
    return isinstance(operand, Iri | BlankNode | RdfLiteral)


def _equality(left: Any, right: Any) -> Truth:
    if not _is_term(left) and not _is_term(right) and kind_of(left) is kind_of(right):
        return int(left == right)
    if _is_term(left) and left == right:
        return TRUE
    if isinstance(left, Iri | BlankNode) or isinstance(right, Iri | BlankNode):
        return FALSE
    if _has_language(left) and _has_language(right):
        return FALSE
    return UNKNOWN


def _has_language(operand: Any) -> bool:
    return isinstance(operand, RdfLiteral) and operand.language is not None


def _order(left: Any, symbol: str, right: Any) -> Truth:
    if _is_term(left) or _is_term(right) or kind_of(left) is not kind_of(right):
        return UNKNOWN
    return int(_ORDERS[symbol](left, right))
