"""FILTERs of graph patterns, by SPARQL's rules.

    numbers, strings, booleans, timestamps    compare within their kind, by value
    IRIs, blank nodes                         equal themselves only, and have no order
    literals with a language                  equal themselves only, and have no order
    literals of different or other kinds      an error, unless they are the same term

An error is neither true nor false: it is UNKNOWN here, and a solution needs a filter that is TRUE.
Arithmetic is that of the language: it needs numbers, and a division by zero is an error. ``regex``
and ``strstarts`` take string literals, with or without a language; of anything else, without
``str``, they are an error. Is-a constraints are never an error (``classes.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tamis.bindings.classes import NO_CLASSES, Classes
from tamis.model.kinds import Value, kind_of
from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, RdfTerm, value_of_term
from tamis.predicates.expression import (
    EQUALITIES,
    And,
    Comparison,
    Expression,
    Not,
    Or,
    TermTest,
)
from tamis.predicates.operands import (
    Arithmetic,
    Constant,
    Operand,
    RdfConstant,
    StringOf,
    Variable,
    result_of,
)
from tamis.predicates.texts import compile_regex, fold
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN, Truth, conjunction, disjunction, negation

Solution = dict[Variable, RdfTerm]
_STRING = XSD + "string"

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def filter_truth(node: Expression, solution: Solution, classes: Classes = NO_CLASSES) -> Truth:
    """The truth of a filter under a solution of its pattern; ``classes`` are for is-a."""
    if isinstance(node, And):
        return conjunction(filter_truth(part, solution, classes) for part in node.parts)
    if isinstance(node, Or):
        return disjunction(filter_truth(part, solution, classes) for part in node.parts)
    if isinstance(node, Not):
        return negation(filter_truth(node.part, solution, classes))
    if isinstance(node, TermTest):
        return _term_test(node, solution, classes)
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
    if isinstance(term, RdfConstant):
        return term.term if isinstance(term.term, Iri) else value_of_term(term.term)
    if isinstance(term, StringOf):
        return _string(solution[term.variable])
    assert isinstance(term, Arithmetic)
    left, right = _operand(term.left, solution), _operand(term.right, solution)
    if left is None or right is None or _is_term(left) or _is_term(right):
        return None
    return result_of(left, term.operator, right)  # type: ignore[arg-type]  # both are values


def _string(term: RdfTerm) -> str | None:
    """SPARQL's str(): blank nodes have none."""
    if isinstance(term, Iri):
        return term.value
    return term.lexical if isinstance(term, RdfLiteral) else None


def _term_test(node: TermTest, solution: Solution, classes: Classes) -> Truth:
    if node.operator == "bound":
        return TRUE  # every variable of a filter stands in a triple
    if isinstance(node.value, RdfConstant):
        assert isinstance(node.operand, Variable)
        assert isinstance(node.value.term, Iri)
        return int(classes.holds(solution[node.operand], node.operator, node.value.term))
    assert node.value is not None
    text = _text(node.operand, solution)
    if text is None:
        return UNKNOWN
    wanted = str(node.value.value)
    if node.operator == "strstarts":
        return int(text.startswith(wanted))
    return int(compile_regex(wanted, ignore_case=node.ignore_case).search(text) is not None)


def _text(operand: Operand, solution: Solution) -> str | None:
    """The string that a function of SPARQL gets: a string literal, with or without a language,
    or str(?x)."""
    if isinstance(operand, StringOf):
        return _string(solution[operand.variable])
    assert isinstance(operand, Variable)
    term = solution[operand]
    is_string = isinstance(term, RdfLiteral) and term.datatype == _STRING
    return _string(term) if is_string else None


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
