"""What a FILTER of a graph pattern has beside comparisons: terms, functions, ``in`` and is-a.

?x = ex:acme                 an IRI, or a literal with a language or a datatype
?x in (ex:a, 'b', 5)         SPARQL's IN and NOT IN
regex(?t, 'sale', 'i')       in RE2's syntax; strstarts(?t, 'Re:'), bound(?x), str(?x)
?x descendant of ex:Chair    G-ToPSS's is-a constraints: ancestor of, direct instance of
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tamis.errors import SubscriptionError, suggestion
from tamis.language.lexer import RDF_TOKEN, string_value
from tamis.model.rdf_terms import PREFIXES, XSD, Iri, RdfLiteral, value_of_term
from tamis.predicates.expression import Comparison, Expression, Not, TermTest, any_of
from tamis.predicates.operands import Constant, Operand, RdfConstant, StringOf, Variable

if TYPE_CHECKING:
    from tamis.language.parser import Parser

_SUPPORTED = "supported are regex, strstarts, bound and str"


def rdf_constant(parser: Parser) -> Operand:
    """The IRI, or the literal with a tag, that stands here."""
    index = parser.advance()
    token = parser.tokens[index]
    if token[0] in "'\"":
        end = token.rindex(token[0])
        lexical = parser.build(index, string_value, token[: end + 1])
        parser.literals.append(None)
        tag = token[end + 1 :]
        if tag[0] == "@":
            return RdfConstant(parser.build(index, RdfLiteral, lexical, XSD + "string", tag[1:]))
        datatype = parser.build(index, _iri, tag[2:], parser.prefixes)
        return operand_of(parser.build(index, RdfLiteral, lexical, datatype.value))
    return RdfConstant(parser.build(index, _iri, token, parser.prefixes))


def operand_of(literal: RdfLiteral) -> Operand:
    """A literal as a plain constant where it stands for a value, else as itself."""
    value = value_of_term(literal)
    if isinstance(value, RdfLiteral):
        return RdfConstant(literal)
    try:
        return Constant(value)
    except SubscriptionError:  # NaN and infinity are not constants of the language
        return RdfConstant(literal)


def _iri(token: str, prefixes: Mapping[str, str]) -> Iri:
    if token[0] == "<":
        return Iri(token[1:-1])
    prefix, _, local = token.partition(":")
    namespace = prefixes.get(prefix, PREFIXES.get(prefix))
    if namespace is None:
        known = suggestion(prefix[:50], {**PREFIXES, **prefixes})
        declare = f"declare it: prefix {prefix[:50]}: <http://…>"
        raise SubscriptionError(f"unknown prefix '{prefix[:50]}:'; {known or declare}")
    return Iri(namespace + local)


def filter_function(parser: Parser, index: int) -> Operand | Expression:
    """The function of SPARQL whose name stands at an index, and whose parenthesis stands here."""
    name = parser.keys[index]
    if name not in ("regex", "strstarts", "bound", "str"):
        hint = suggestion(name[:50], ("regex", "strstarts", "bound", "str")) or _SUPPORTED
        raise parser.error(f"the function {name[:50]}() in a FILTER", index, hint)
    parser.expect("(")
    operand = _tested(parser)
    made: Operand | Expression
    if name == "str":
        made = parser.build(index, _string_of, operand)
    elif name == "bound":
        made = parser.build(index, TermTest, operand, name)
    else:
        parser.expect(",")
        value = Constant(parser.string())
        made = parser.build(index, TermTest, operand, name, value, _flags(parser, name))
    parser.expect(")")
    return made


def _string_of(operand: Operand) -> StringOf:
    if not isinstance(operand, Variable):
        raise SubscriptionError("str() takes a ?variable")
    return StringOf(operand)


def _flags(parser: Parser, name: str) -> bool:
    """Whether the case of letters is ignored, by the third argument of ``regex``."""
    if name != "regex" or not parser.accept(","):
        return False
    at = parser.index
    flags = parser.string()
    if flags not in ("", "i"):
        raise parser.error(f"the flags {flags[:20]!r} of regex()", at, "only 'i' is supported")
    return flags == "i"


def _tested(parser: Parser) -> Operand:
    """A variable, or ``str`` of one."""
    if parser.sort == "variable":
        return parser.variable()
    if parser.key == "str":
        made = filter_function(parser, parser.advance())
        assert isinstance(made, Operand)
        return made
    parser.unexpected("a ?variable or str(?variable)")


def _membership(parser: Parser, left: Operand, start: int) -> Expression:
    """``in`` is a disjunction of equalities in SPARQL, and so it is here."""
    negated = parser.accept("not")
    parser.expect("in")
    parser.expect("(")
    parts: list[Expression] = []
    while not parser.at(")"):
        if parts:
            parser.expect(",")
        item = parser.as_term(parser.term())
        parts.append(parser.build(start, Comparison, left, "=", item))
    parser.expect(")")
    found = parser.build(start, any_of, *parts)
    return parser.build(start, Not, found) if negated else found


def _relation(parser: Parser, left: Operand, start: int) -> Expression:
    words = [parser.keys[parser.advance()]]
    if words[0] == "direct":
        parser.expect("instance")
        words.append("instance")
    parser.expect("of")
    if not RDF_TOKEN.fullmatch(parser.token):
        parser.unexpected("the IRI of a class")
    return parser.build(start, TermTest, left, " ".join([*words, "of"]), rdf_constant(parser))


FILTER_TESTS: dict[str, Callable[[Parser, Operand, int], Expression]] = {
    "in": _membership,
    "not": _membership,
    "descendant": _relation,
    "ancestor": _relation,
    "direct": _relation,
}
"""What may follow an operand in a FILTER, by the word that begins it."""
