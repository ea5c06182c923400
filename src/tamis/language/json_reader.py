"""Reads the JSON form of a subscription: tables say which key or operator begins which shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tamis.errors import ParseError
from tamis.language.json_nodes import Budget, Node
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits
from tamis.model.paths import parse_path
from tamis.model.rdf_terms import XSD, Iri, RdfLiteral
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    EQUALITIES,
    FLIPPED,
    Argument,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Object,
    Pattern,
    Present,
    Subject,
    TermTest,
    TextTest,
    Triple,
    TruthTest,
    all_of,
    any_of,
    parse_network,
)
from tamis.predicates.operands import (
    Attribute,
    Constant,
    Operand,
    Quantity,
    RdfConstant,
    StringOf,
    Variable,
    calculate,
    operands_within,
)

_CASE = ("ignore_case",)
_ARITHMETIC = ("+", "-", "*", "/")


def from_json(form: Any, limits: Limits = LIMITS) -> Expression:
    """The expression that a form, as ``json.loads`` gives it, denotes."""
    top = Node(form, "", Budget(limits))
    found = _expression(top, 0)
    _check_places(found, top)
    return found


def _check_places(found: Expression, top: Node) -> None:
    """Refuse outside of patterns what belongs into their filters."""
    left = [found]
    while left:
        node = left.pop()
        operands = (inner for side in node.operands() for inner in operands_within(side))
        if isinstance(node, TermTest) or any(
            isinstance(each, RdfConstant | StringOf) for each in operands
        ):
            top.fail(f"{str(node)[:80]!r} belongs into the filters of a pattern,")
        if not isinstance(node, Pattern):
            left += node.children()


# Expressions, at a depth below the top.


def _expression(node: Node, depth: int) -> Expression:
    if depth > MAX_DEPTH:
        node.exceed(f"an expression nested more than {MAX_DEPTH} levels deep")
    return _SHAPES[node.shape(_SHAPES, "an expression")](node, depth)


def _conjunction(node: Node, depth: int) -> Expression:
    return node.build(all_of, *_parts(node, "and", depth))


def _disjunction(node: Node, depth: int) -> Expression:
    return node.build(any_of, *_parts(node, "or", depth))


def _parts(node: Node, key: str, depth: int) -> list[Expression]:
    node.check_keys((key,))
    return [_expression(part, depth + 1) for part in node[key].operands()]


def _negation(node: Node, depth: int) -> Expression:
    node.check_keys(("not",))
    return node.build(Not, _expression(node["not"], depth + 1))


def _truth_test(node: Node, depth: int) -> Expression:
    truth, negated = _TRUTHS[node.word("op", _TRUTHS)]
    node.check_keys(("expression", "op"))
    test = node.build(TruthTest, _expression(node["expression"], depth + 1), truth)
    return node.build(Not, test) if negated else test


def _relation(node: Node, _: int) -> Expression:
    """A comparison of two terms."""
    op = node.word("op", FLIPPED)
    node.check_keys(("left", "op", "right"), _CASE if op in EQUALITIES else ())
    left, right = _term(node["left"], 0), _term(node["right"], 0)
    return node.build(Comparison, left, op, right, node.flag("ignore_case"))


def _call(node: Node, _: int) -> Expression:
    node.check_keys(("call", "arguments"))
    arguments = tuple(_argument(item) for item in node["arguments"].items())
    return node.build(Call, node["call"].string(), arguments)


def _pattern(node: Node, depth: int) -> Expression:
    node.check_keys(("pattern",), ("filters",))
    triples = [_triple(item) for item in node["pattern"].triples()]
    filters = []
    if "filters" in node:
        filters = [_expression(item, depth + 1) for item in node["filters"].items()]
    return node.build(Pattern, tuple(triples), tuple(filters))


def _term_test(node: Node, _: int) -> Expression:
    """A test of a variable in a FILTER."""
    operator = node.word("filter", (*TermTest.FUNCTIONS, *TermTest.RELATIONS, "bound"))
    if operator == "bound":
        node.check_keys(("filter", "term"))
        return node.build(TermTest, _term(node["term"], 0), operator)
    if operator in TermTest.RELATIONS:
        node.check_keys(("filter", "term", "class"))
        value: Operand = RdfConstant(_iri(node["class"]))
    else:
        node.check_keys(("filter", "term", "value"), _CASE if operator == "regex" else ())
        value = _constant(node["value"])
    folded = node.flag("ignore_case")
    return node.build(TermTest, _term(node["term"], 0), operator, value, folded)


# Tests of one attribute.


def _test(node: Node, _: int) -> Expression:
    op = node.word("op", _TESTS)
    test = _TESTS[op]
    node.check_keys(("attribute", "op", *test.required), test.optional)
    return test.read(node, _attribute(node), op)


def _comparison(node: Node, attribute: Attribute, op: str) -> Expression:
    value = node["value"]
    return value.build(Comparison, attribute, op, _constant(value), node.flag("ignore_case"))


def _text_test(node: Node, attribute: Attribute, op: str) -> Expression:
    value = node["value"]
    return value.build(TextTest, attribute, op, _constant(value), node.flag("ignore_case"))


def _containment(node: Node, attribute: Attribute, _: str) -> Expression:
    value = node["value"]
    return value.build(Contains, attribute, _constant(value), node.flag("ignore_case"))


def _is_a(node: Node, attribute: Attribute, _: str) -> Expression:
    value = node["value"]
    return value.build(IsA, attribute, _constant(value))


def _between(node: Node, attribute: Attribute, _: str) -> Expression:
    return node.build(Between, attribute, _constant(node["low"]), _constant(node["high"]))


def _membership(node: Node, attribute: Attribute, _: str) -> Expression:
    values = node["values"]
    constants = tuple(_constant(item) for item in values.items())
    return values.build(In, attribute, constants, node.flag("ignore_case"))


def _in_cidr(node: Node, attribute: Attribute, _: str) -> Expression:
    networks = node["networks"]
    parsed = tuple(item.build(parse_network, item.string()) for item in networks.items())
    return networks.build(InCidr, attribute, parsed)


def _presence(_: Node, attribute: Attribute, __: str) -> Expression:
    return Present(attribute)


def _absence(_: Node, attribute: Attribute, __: str) -> Expression:
    return Not(Present(attribute))


# Terms and values.


def _term(node: Node, depth: int) -> Operand:
    if depth > MAX_DEPTH:
        node.exceed(f"arithmetic nested more than {MAX_DEPTH} levels deep")
    return _TERMS[node.shape(_TERMS, "a term")](node, depth)


def _arithmetic(node: Node, depth: int) -> Operand:
    node.check_keys(("arithmetic", "left", "right"))
    symbol = node.word("arithmetic", _ARITHMETIC)
    left, right = _term(node["left"], depth + 1), _term(node["right"], depth + 1)
    return node.build(calculate, left, symbol, right)


def _attribute_term(node: Node, _: int) -> Attribute:
    node.check_keys(("attribute",))
    return _attribute(node)


def _attribute(node: Node) -> Attribute:
    path = node["attribute"]
    try:
        keys = parse_path(path.string())
    except ParseError as error:
        path.fail(f"{error.problem}; {error.hint}")
    return path.build(Attribute, keys)


def _variable(node: Node) -> Variable:
    node.check_keys(("variable",))
    name = node["variable"]
    return name.build(Variable, name.string())


def _variable_term(node: Node, _: int) -> Variable:
    return _variable(node)


def _string_of(node: Node, _: int) -> StringOf:
    node.check_keys(("string of",))
    name = node["string of"]
    return StringOf(name.build(Variable, name.string()))


def _constant_term(node: Node, _: int) -> Constant:
    node.check_keys(("value",))
    return _constant(node["value"])


def _constant(node: Node) -> Constant:
    if isinstance(node.raw, dict):
        node.shape(("timestamp",), "a value")
        return _timestamp(node)
    return node.build(Constant, node.scalar())


def _timestamp(node: Node) -> Constant:
    node.check_keys(("timestamp",))
    text = node["timestamp"]
    return Constant(text.build(Timestamp.parse, text.string()))


def _argument(node: Node) -> Argument:
    if not isinstance(node.raw, dict):
        return _constant(node)
    return _ARGUMENTS[node.shape(_ARGUMENTS, "an argument")](node)


def _quantity(node: Node) -> Quantity:
    node.check_keys(("quantity", "unit"))
    return node.build(Quantity, _constant(node["quantity"]), node["unit"].string())


# Graph patterns.


def _triple(node: Node) -> Triple:
    terms = list(node.items())
    if len(terms) != 3:
        node.fail(f"a triple has a subject, a property and an object, not {len(terms)} items,")
    return _subject(terms[0]), _subject(terms[1]), _object(terms[2])


def _subject(node: Node) -> Subject:
    return _SUBJECTS[node.shape(_SUBJECTS, "a subject or property")](node)


def _object(node: Node) -> Object:
    return _OBJECTS[node.shape(_OBJECTS, "an object")](node)


def _iri(node: Node) -> Iri:
    node.check_keys(("iri",))
    iri = node["iri"]
    return iri.build(Iri, iri.string())


def _literal(node: Node) -> RdfLiteral:
    node.check_keys(("literal",), ("datatype", "language"))
    datatype = node["datatype"].string() if "datatype" in node else XSD + "string"
    language = node["language"].string() if "language" in node else None
    return node.build(RdfLiteral, node["literal"].string(), datatype, language)


class _Test(NamedTuple):
    """How a test is read, and the keys that it has beside ``attribute`` and ``op``."""

    read: Callable[[Node, Attribute, str], Expression]
    required: tuple[str, ...] = ("value",)
    optional: tuple[str, ...] = ()


_SHAPES: dict[str, Callable[[Node, int], Expression]] = {
    "and": _conjunction,
    "or": _disjunction,
    "not": _negation,
    "expression": _truth_test,
    "attribute": _test,
    "left": _relation,
    "call": _call,
    "pattern": _pattern,
    "filter": _term_test,
}
_TESTS: dict[str, _Test] = {
    **{op: _Test(_comparison, optional=_CASE if op in EQUALITIES else ()) for op in FLIPPED},
    **{op: _Test(_text_test, optional=_CASE) for op in TextTest.OPERATORS},
    "contains": _Test(_containment, optional=_CASE),
    "is a": _Test(_is_a),
    "between": _Test(_between, ("low", "high")),
    "in": _Test(_membership, ("values",), _CASE),
    "in cidr": _Test(_in_cidr, ("networks",)),
    "is present": _Test(_presence, ()),
    "is missing": _Test(_absence, ()),
}
_TRUTHS = {
    f"is {word}{truth}": (truth, bool(word)) for word in ("", "not ") for truth in TruthTest.TRUTHS
}
_TERMS: dict[str, Callable[[Node, int], Operand]] = {
    "attribute": _attribute_term,
    "variable": _variable_term,
    "value": _constant_term,
    "arithmetic": _arithmetic,
    "iri": lambda node, _: RdfConstant(_iri(node)),
    "literal": lambda node, _: RdfConstant(_literal(node)),
    "string of": _string_of,
}
_ARGUMENTS: dict[str, Callable[[Node], Argument]] = {
    "variable": _variable,
    "quantity": _quantity,
    "timestamp": _timestamp,
}
_SUBJECTS: dict[str, Callable[[Node], Subject]] = {"iri": _iri, "variable": _variable}
_OBJECTS: dict[str, Callable[[Node], Object]] = {**_SUBJECTS, "literal": _literal}
