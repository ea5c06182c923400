"""The text notation of an expression, canonical: parsing it gives an equal tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, singledispatch

from tamis.model.kinds import Value
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, XSD, Iri, RdfLiteral
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
    Operand,
    Quantity,
    RdfConstant,
    StringOf,
    Variable,
)

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_PRODUCTS = ("*", "/")


def quote(text: str, mark: str = "'") -> str:
    """A string in quotation marks, with escapes for what would not be seen."""
    if text.isprintable():
        return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
    return mark + "".join(_escape(character, mark) for character in text) + mark


def _escape(character: str, mark: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == mark:
        return "\\" + mark
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def format_value(value: Value) -> str:
    """A value as it stands in a text (of bytes, which no text can hold, their length)."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case Timestamp():
            return f"timestamp '{value}'"
        case bytes():
            return f"<{len(value)} bytes>"
        case _:
            return repr(value)


def format_term(term: Operand) -> str:
    """A term as it stands in a text."""
    match term:
        case Attribute():
            return str(term)
        case Constant():
            return format_value(term.value)
        case Variable():
            return f"?{term.name}"
        case Quantity():
            return f"{format_value(term.number.value)} {term.unit}"
        case Arithmetic():
            return _arithmetic(term)
        case RdfConstant():
            return _rdf(term.term)
        case StringOf():
            return f"str({format_term(term.variable)})"
    raise TypeError(f"no term: {term!r}")


def _arithmetic(term: Arithmetic) -> str:
    """Left-associative, so a right operand of the same strength needs parentheses."""
    product = term.operator in _PRODUCTS

    def operand(side: Operand, *, right: bool) -> str:
        text = format_term(side)
        if not isinstance(side, Arithmetic):
            return text
        weaker = product and side.operator not in _PRODUCTS
        same = product == (side.operator in _PRODUCTS)
        return f"({text})" if weaker or (right and same) else text

    left = operand(term.left, right=False)
    return f"{left} {term.operator} {operand(term.right, right=True)}"


@singledispatch
def to_text(expression: Expression) -> str:
    """The text of an expression."""
    raise TypeError(f"no expression: {expression!r}")


def _case(node: Comparison | In | Contains | TextTest) -> str:
    return " ignoring case" if node.ignore_case else ""


@to_text.register
def _(node: Comparison) -> str:
    return f"{format_term(node.left)} {node.operator} {format_term(node.right)}{_case(node)}"


@to_text.register
def _(node: Between) -> str:
    return f"{node.attribute} between {format_term(node.low)} and {format_term(node.high)}"


@to_text.register
def _(node: In) -> str:
    values = ", ".join(format_term(value) for value in node.values)
    return f"{node.attribute} in ({values}){_case(node)}"


@to_text.register
def _(node: IsA) -> str:
    return f"{node.attribute} is a {format_term(node.ancestor)}"


@to_text.register
def _(node: Contains) -> str:
    return f"{node.attribute} contains {format_term(node.value)}{_case(node)}"


@to_text.register
def _(node: Present) -> str:
    return f"{node.attribute} is present"


@to_text.register
def _(node: TextTest) -> str:
    return f"{node.attribute} {node.operator} {format_term(node.pattern)}{_case(node)}"


@to_text.register
def _(node: InCidr) -> str:
    return f"{node.attribute} in cidr ({', '.join(quote(str(net)) for net in node.networks)})"


@to_text.register
def _(node: Call) -> str:
    return f"{node.name}({', '.join(format_term(argument) for argument in node.arguments)})"


@to_text.register
def _(node: TermTest) -> str:
    operand = format_term(node.operand)
    if node.value is None:
        return f"bound({operand})"
    if node.operator in TermTest.RELATIONS:
        return f"{operand} {node.operator} {format_term(node.value)}"
    flags = ", 'i'" if node.ignore_case else ""
    return f"{node.operator}({operand}, {format_term(node.value)}{flags})"


@to_text.register
def _(node: And) -> str:
    return _joined(node.parts, "and", Or) if node.parts else "true"


@to_text.register
def _(node: Or) -> str:
    return " or ".join(to_text(part) for part in node.parts) if node.parts else "false"


@to_text.register
def _(node: Not) -> str:
    if isinstance(node.part, Present):
        return f"{node.part.attribute} is missing"
    if isinstance(node.part, TruthTest):
        return f"({to_text(node.part.part)}) is not {node.part.truth}"
    text = to_text(node.part)
    return f"not ({text})" if isinstance(node.part, And | Or) and node.part.parts else f"not {text}"


@to_text.register
def _(node: TruthTest) -> str:
    return f"({to_text(node.part)}) is {node.truth}"


def _joined(parts: tuple[Expression, ...], word: str, weaker: type[Or]) -> str:
    texts = (
        f"({to_text(part)})" if isinstance(part, weaker) and part.parts else to_text(part)
        for part in parts
    )
    return f" {word} ".join(texts)


@to_text.register
def _(node: Pattern) -> str:
    triples = " . ".join(
        f"{_rdf(subject)} {_property(predicate)} {_rdf(value)}"
        for subject, predicate, value in node.triples
    )
    filters = "".join(f" FILTER ({_filter(part)})" for part in node.filters)
    return f"{{ {triples}{filters} }}"


def _property(term: Iri | Variable) -> str:
    return "a" if type(term) is Iri and term.value == RDF_TYPE else _rdf(term)


def _rdf(term: Iri | RdfLiteral | Variable) -> str:
    match term:
        case Iri():
            return _compact(term.value)
        case Variable():
            return f"?{term.name}"
        case RdfLiteral():
            text = quote(term.lexical, '"')
            if term.language is not None:
                return f"{text}@{term.language}"
            return text if term.datatype == XSD + "string" else f"{text}^^{_compact(term.datatype)}"


_NAMESPACES = tuple(PREFIXES.values())


@lru_cache(maxsize=16_384)
def _compact(iri: str) -> str:
    if not iri.startswith(_NAMESPACES):
        return f"<{iri}>"
    for prefix, namespace in PREFIXES.items():
        name = iri[len(namespace) :]
        if iri.startswith(namespace) and name.isascii() and name.isalnum():
            return f"{prefix}:{name}"
    return f"<{iri}>"


def _filter(node: Expression) -> str:
    """SPARQL's way of writing the same: &&, || and !."""
    match node:
        case And() if node.parts:
            return " && ".join(_grouped(part, _filter) for part in node.parts)
        case Or() if node.parts:
            return " || ".join(_grouped(part, _filter) for part in node.parts)
        case Not(part=Not()):
            return f"!{_filter(node.part)}"
        case Not():
            return f"!({_filter(node.part)})"
    return to_text(node)


def _grouped(node: Expression, printed: Callable[[Expression], str]) -> str:
    return f"({printed(node)})" if isinstance(node, And | Or) and node.parts else printed(node)
