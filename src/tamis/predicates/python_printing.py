"""The Python notation of an expression: evaluating it, with the names of ``tamis``, gives it back.

(attr('price') < 5) & attr('category').is_a('Toy')
"""

from __future__ import annotations

from functools import singledispatch

from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    And,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Or,
    Pattern,
    Present,
    TermTest,
    TextTest,
    TruthTest,
)
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand, Quantity, Variable
from tamis.predicates.printing import to_text

_CHAIN = 20
"""Operands up to which & and | are written out; Python's compiler nests them."""


def _term(term: Operand) -> str:
    match term:
        case Attribute():
            return f"attr({str(term)!r})"
        case Constant(value=Timestamp() as moment):
            return f"timestamp('{moment}')"
        case Constant():
            return repr(term.value)
        case Variable():
            return f"var({term.name!r})"
        case Quantity():
            return f"quantity({term.number.value!r}, {term.unit!r})"
        case Arithmetic():
            return f"({_term(term.left)} {term.operator} {_term(term.right)})"
    raise TypeError(f"no term: {term!r}")


def _case(node: Comparison | In | Contains | TextTest) -> str:
    return ", ignore_case=True" if node.ignore_case else ""


@singledispatch
def to_python(expression: Expression) -> str:
    """The Python source of an expression."""
    raise TypeError(f"no expression: {type(expression).__name__}")


@to_python.register
def _(node: Comparison) -> str:
    if node.ignore_case:
        method = "equals" if node.operator == "=" else "differs_from"
        return f"{_term(node.left)}.{method}({_term(node.right)}{_case(node)})"
    operator = "==" if node.operator == "=" else node.operator
    return f"{_term(node.left)} {operator} {_term(node.right)}"


@to_python.register
def _(node: Between) -> str:
    return f"{_term(node.attribute)}.between({_term(node.low)}, {_term(node.high)})"


@to_python.register
def _(node: In) -> str:
    values = ", ".join(_term(value) for value in node.values)
    return f"{_term(node.attribute)}.is_in([{values}]{_case(node)})"


@to_python.register
def _(node: IsA) -> str:
    return f"{_term(node.attribute)}.is_a({_term(node.ancestor)})"


@to_python.register
def _(node: Contains) -> str:
    return f"{_term(node.attribute)}.contains({_term(node.value)}{_case(node)})"


@to_python.register
def _(node: Present) -> str:
    return f"{_term(node.attribute)}.is_present()"


@to_python.register
def _(node: TextTest) -> str:
    method = node.operator.replace(" ", "_")
    return f"{_term(node.attribute)}.{method}({_term(node.pattern)}{_case(node)})"


@to_python.register
def _(node: InCidr) -> str:
    networks = ", ".join(repr(str(network)) for network in node.networks)
    return f"{_term(node.attribute)}.in_cidr({networks})"


@to_python.register
def _(node: Call) -> str:
    return f"call({', '.join([repr(node.name), *map(_term, node.arguments)])})"


@to_python.register
def _(node: Pattern) -> str:
    return f"pattern({to_text(node)!r})"


@to_python.register
def _(node: TermTest) -> str:
    return to_text(node)  # which only a pattern holds, and that is printed as text


@to_python.register
def _(node: And) -> str:
    return _combined(node.parts, "&", "all_of")


@to_python.register
def _(node: Or) -> str:
    return _combined(node.parts, "|", "any_of")


def _combined(parts: tuple[Expression, ...], operator: str, function: str) -> str:
    if not parts or len(parts) > _CHAIN:
        return f"{function}({', '.join(map(to_python, parts))})"
    return f" {operator} ".join(_operand(part) for part in parts)


def _operand(node: Expression) -> str:
    text = to_python(node)
    compound = isinstance(node, Comparison) or (isinstance(node, And | Or) and node.parts)
    return f"({text})" if compound else text


@to_python.register
def _(node: Not) -> str:
    if isinstance(node.part, Present):
        return f"{_term(node.part.attribute)}.is_missing()"
    return f"~{_operand(node.part)}"


@to_python.register
def _(node: TruthTest) -> str:
    part = _operand(node.part)
    return f"({part}).is_{node.truth}()" if part[0] == "~" else f"{part}.is_{node.truth}()"
