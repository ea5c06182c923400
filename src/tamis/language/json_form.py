"""The JSON form of a subscription, for programs that write subscriptions.

    {"and": [{"attribute": "category", "op": "is a", "value": "Toy"},
             {"attribute": "price", "op": "<", "value": 5}]}

``subscription.schema.json`` describes it. A form that cannot be read is refused with the place of
the fault as a JSON pointer: ``unknown op 'lik'; did you mean 'like'? at /and/0/op``.
"""

from __future__ import annotations

import json
from functools import singledispatch
from importlib import resources
from typing import Any

from tamis.language.json_reader import from_json
from tamis.model.kinds import Value
from tamis.model.rdf_terms import XSD, Iri, RdfLiteral
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
from tamis.predicates.operands import (
    Arithmetic,
    Attribute,
    Constant,
    Quantity,
    RdfConstant,
    StringOf,
    Variable,
)

__all__ = ["from_json", "schema", "to_json"]

Form = dict[str, Any]

_STRING = XSD + "string"


def schema() -> Form:
    """The JSON Schema of the form."""
    file = resources.files("tamis.language").joinpath("subscription.schema.json")
    loaded: Form = json.loads(file.read_text("utf-8"))
    return loaded


@singledispatch
def to_json(expression: Expression) -> Form:
    """The form of an expression; ``from_json`` gives an equal expression back."""
    raise TypeError(f"no expression: {type(expression).__name__}")


def _case(node: Comparison | In | Contains | TextTest) -> Form:
    return {"ignore_case": True} if node.ignore_case else {}


def _test(attribute: Attribute, op: str, **operands: Any) -> Form:
    return {"attribute": str(attribute), "op": op, **operands}


@to_json.register
def _(node: Comparison) -> Form:
    if isinstance(node.left, Attribute) and isinstance(node.right, Constant):
        return _test(node.left, node.operator, value=_value(node.right)) | _case(node)
    return {"left": _term(node.left), "op": node.operator, "right": _term(node.right)} | _case(node)


@to_json.register
def _(node: Between) -> Form:
    return _test(node.attribute, "between", low=_value(node.low), high=_value(node.high))


@to_json.register
def _(node: In) -> Form:
    return _test(node.attribute, "in", values=[*map(_value, node.values)]) | _case(node)


@to_json.register
def _(node: IsA) -> Form:
    return _test(node.attribute, "is a", value=_value(node.ancestor))


@to_json.register
def _(node: Contains) -> Form:
    return _test(node.attribute, "contains", value=_value(node.value)) | _case(node)


@to_json.register
def _(node: Present) -> Form:
    return _test(node.attribute, "is present")


@to_json.register
def _(node: TextTest) -> Form:
    return _test(node.attribute, node.operator, value=_value(node.pattern)) | _case(node)


@to_json.register
def _(node: InCidr) -> Form:
    return _test(node.attribute, "in cidr", networks=[*map(str, node.networks)])


@to_json.register
def _(node: Call) -> Form:
    return {"call": node.name, "arguments": [*map(_argument, node.arguments)]}


@to_json.register
def _(node: Pattern) -> Form:
    form: Form = {"pattern": [[*map(_rdf, triple)] for triple in node.triples]}
    return form | ({"filters": [*map(to_json, node.filters)]} if node.filters else {})


@to_json.register
def _(node: TermTest) -> Form:
    form: Form = {"filter": node.operator, "term": _term(node.operand)}
    if isinstance(node.value, Constant):
        form["value"] = _value(node.value)
    elif node.value is not None:
        form["class"] = _rdf(node.value.term)
    return form | ({"ignore_case": True} if node.ignore_case else {})


@to_json.register
def _(node: And) -> Form:
    return {"and": [*map(to_json, node.parts)]}


@to_json.register
def _(node: Or) -> Form:
    return {"or": [*map(to_json, node.parts)]}


@to_json.register
def _(node: Not) -> Form:
    if isinstance(node.part, Present):
        return _test(node.part.attribute, "is missing")
    if isinstance(node.part, TruthTest):
        return {"expression": to_json(node.part.part), "op": f"is not {node.part.truth}"}
    return {"not": to_json(node.part)}


@to_json.register
def _(node: TruthTest) -> Form:
    return {"expression": to_json(node.part), "op": f"is {node.truth}"}


def _value(constant: Constant) -> Value | Form:
    value = constant.value
    return {"timestamp": str(value)} if isinstance(value, Timestamp) else value


def _argument(term: Constant | Variable | Quantity) -> Value | Form:
    if isinstance(term, Quantity):
        return {"quantity": term.number.value, "unit": term.unit}
    return _value(term) if isinstance(term, Constant) else {"variable": term.name}


def _term(term: Any) -> Form:
    match term:
        case Attribute():
            return {"attribute": str(term)}
        case Variable():
            return {"variable": term.name}
        case Constant():
            return {"value": _value(term)}
        case RdfConstant():
            return _rdf(term.term)
        case StringOf():
            return {"string of": term.variable.name}
        case Arithmetic():
            sides = {"left": _term(term.left), "right": _term(term.right)}
            return {"arithmetic": term.operator} | sides
    raise TypeError(f"no term: {term!r}")


def _rdf(term: Iri | RdfLiteral | Variable) -> Form:
    match term:
        case Iri():
            return {"iri": term.value}
        case Variable():
            return {"variable": term.name}
    form: Form = {"literal": term.lexical}
    if term.datatype != _STRING:
        form["datatype"] = term.datatype
    return form if term.language is None else form | {"language": term.language}
