"""Hypothesis strategies: expressions of every sort, and events that they may match."""

from __future__ import annotations

import ipaddress
import math
import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, ORDERED
from tamis.model.paths import RESERVED
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, XSD, Iri, RdfLiteral
from tamis.model.timestamp import Timestamp
from tamis.model.units import UNITS
from tamis.predicates.expression import (
    EQUALITIES,
    FLIPPED,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Pattern,
    Present,
    TextTest,
    Triple,
    TruthTest,
    all_of,
    any_of,
    nodes_within,
)
from tamis.predicates.operands import (
    Arithmetic,
    Attribute,
    Constant,
    Operand,
    Quantity,
    Variable,
    operands_within,
)

Strategy = st.SearchStrategy

_FIRST = Timestamp.parse("0001-01-01").nanoseconds
_LAST = Timestamp.parse("9999-12-31T23:59:59.999999999Z").nanoseconds

# Odd strings, keys and names: quotation marks, escapes, control and astral characters, keywords.

ODD_TEXTS = (
    "",
    "'",
    '"',
    "`",
    "\\",
    "\\n",
    'it\'s "odd"',
    "\n\r\t\b\f",
    "\x00\x7f\x85\u2028\ufeff",
    "𝒳 é ß İ",
    "\U000e0001\U0010ffff",
    "a.b",
    "}",
    ") FILTER (",
    "# no comment",
    "%_\\%",
    "true",
)
KEYWORDS = (
    *("and", "or", "not", "true", "false", "And", "NOT", "TRUE"),
    *("in", "is", "a", "between", "contains", "like", "matches", "starts", "ends", "with"),
    *("timestamp", "present", "missing", "cidr", "ignoring", "case", "prefix", "filter", "r", "km"),
    *("unless", "unknown", "null", "Null"),
)


def texts() -> Strategy[str]:
    """Any string of Unicode."""
    return st.sampled_from(ODD_TEXTS) | st.text(max_size=8)


def names() -> Strategy[str]:
    """Names of variables and operators."""
    word = st.from_regex(re.compile(r"[^\W\d]\w{0,5}"), fullmatch=True)
    return st.sampled_from(("x", "y", "_b1", "in", "timestamp", "été")) | word


def attributes() -> Strategy[Attribute]:
    """Any attribute, also those that need quoting."""
    plain = st.sampled_from(("price", "new", "a", "_", "größe"))
    key = plain | st.sampled_from(KEYWORDS) | texts()
    return st.lists(key, min_size=1, max_size=3).map(lambda keys: Attribute(tuple(keys)))


def variables() -> Strategy[Variable]:
    """Any variable."""
    return names().map(Variable)


# Constants of every kind.


def numbers() -> Strategy[Constant]:
    """Integers of 64 bits and finite doubles."""
    extremes = (LEAST_INTEGER, GREATEST_INTEGER, 2**53 + 1, 2**63, -1, 0, -0.0)
    doubles = (5e-324, 1.7976931348623157e308, 0.1, 1e22, float(2**64), -1.5)
    integers = st.integers(LEAST_INTEGER, GREATEST_INTEGER)
    floats = st.floats(allow_nan=False, allow_infinity=False)
    return (st.sampled_from((*extremes, *doubles)) | integers | floats).map(Constant)


def timestamps() -> Strategy[Constant]:
    """Instants of all years, to the nanosecond."""
    picked = st.sampled_from((_FIRST, _LAST, -1, 0, 1_767_225_600_000_000_000))
    return (picked | st.integers(_FIRST, _LAST)).map(Timestamp).map(Constant)


def strings() -> Strategy[Constant]:
    """Constant strings."""
    return texts().map(Constant)


def ordered() -> Strategy[Constant]:
    """Constants that have an order."""
    return numbers() | strings() | timestamps()


def constants() -> Strategy[Constant]:
    """Constants of every kind."""
    return ordered() | st.booleans().map(Constant)


# Terms and comparisons.


def terms(leaves: Strategy[Operand]) -> Strategy[Operand]:
    """Arithmetic over the leaves and numbers, never of two constants alone."""

    def combine(inner: Strategy[Operand]) -> Strategy[Operand]:
        return st.builds(_arithmetic, inner, st.sampled_from("+-*/"), inner)

    return leaves | st.recursive(leaves | numbers(), combine, max_leaves=5)


def _arithmetic(left: Operand, symbol: str, right: Operand) -> Operand:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return left
    return Arithmetic(left, symbol, right)


def comparisons(sides: Strategy[Operand], values: Strategy[Constant]) -> Strategy[Expression]:
    """Comparisons of terms with terms and with constants."""
    operators = st.sampled_from(tuple(FLIPPED))
    left = sides.filter(_is_no_constant)
    return st.builds(_comparison, left, operators, sides | values, st.booleans(), st.booleans())


def _is_no_constant(term: Operand) -> bool:
    return not isinstance(term, Constant)


def _comparison(
    left: Operand, operator: str, right: Operand, folded: bool, turned: bool
) -> Expression:
    """The comparison, with another operator where this one does not go with the constant."""
    if isinstance(right, Constant):
        folded = folded and isinstance(right.value, str)
        operator = operator if right.kind in ORDERED else "!="
    if turned:
        left, right = right, left
    return Comparison(left, operator, right, folded and operator in EQUALITIES)


# Predicates of one attribute.

LIKES = ("", "%", "_a%", r"50\%", r"a\\", "[x].*", "é_")
REGEXES = ("", "^a", "red|blue", r"\d+\.\d", "(?i)x", "'\"`", "[^\n]")


def text_tests(subjects: Strategy[Attribute], values: Strategy[Constant]) -> Strategy[Expression]:
    """Tests of text with patterns that compile."""
    own = {"like": st.sampled_from(LIKES), "matches": st.sampled_from(REGEXES)}
    tests = [
        st.builds(
            TextTest,
            subjects,
            st.just(operator),
            own[operator].map(Constant) if operator in own else values,
            st.booleans(),
        )
        for operator in TextTest.OPERATORS
    ]
    return st.one_of(tests)


def networks() -> Strategy[Any]:
    """Networks of both versions."""
    four = st.integers(0, 32).map(lambda bits: ipaddress.ip_network((10 << 24, bits), strict=False))
    six = st.integers(0, 128).map(lambda bits: ipaddress.ip_network((1 << 127, bits), strict=False))
    return four | six


def _folding(kind: Any, subjects: Any, values: Any, texts: Any) -> Strategy[Expression]:
    """Nodes of a kind that may ignore case if its values are strings."""
    sensitive = st.builds(kind, subjects, values, st.just(False))
    return sensitive | st.builds(kind, subjects, texts, st.just(True))


def predicates(
    subjects: Strategy[Attribute], values: Strategy[Constant], texts: Strategy[Constant]
) -> Strategy[Expression]:
    """Every predicate that is no comparison, over the given attributes and constants."""

    def several(of: Strategy[Any]) -> Strategy[tuple[Any, ...]]:
        return st.lists(of, min_size=1, max_size=3).map(tuple)

    bounds = st.tuples(values, values).filter(_are_bounds)
    return st.one_of(
        st.builds(_between, subjects, bounds),
        _folding(In, subjects, several(values), several(texts)),
        _folding(Contains, subjects, values, texts),
        st.builds(IsA, subjects, texts),
        st.builds(Present, subjects),
        text_tests(subjects, texts),
        st.builds(InCidr, subjects, several(networks())),
    )


def _are_bounds(pair: tuple[Constant, Constant]) -> bool:
    return pair[0].kind is pair[1].kind and pair[0].kind in ORDERED


def _between(attribute: Attribute, bounds: tuple[Constant, Constant]) -> Expression:
    return Between(attribute, *bounds)


# Calls and graph patterns.


def calls() -> Strategy[Expression]:
    """Operator calls."""
    allowed = names().filter(lambda name: name.lower() not in {"now", *RESERVED})
    quantities = st.builds(Quantity, numbers(), st.sampled_from([*UNITS]))
    arguments = st.lists(constants() | variables() | quantities, max_size=3)
    return st.builds(Call, allowed, arguments.map(tuple))


def iris() -> Strategy[Iri]:
    """IRIs with and without a known prefix."""
    known = st.sampled_from([*PREFIXES.values()])
    local = st.sampled_from(
        ("", "creator", "a-b", "1", "x.y", "é", "\xa0", "𝒳", "a%20b", "%", "#:")
    )
    odd = st.sampled_from((RDF_TYPE, "urn:x", "a:", ":", "http://example.org/a'b(c)"))
    return (st.builds(str.__add__, known, local) | odd).map(Iri)


def literals() -> Strategy[RdfLiteral]:
    """Literals, plain, typed or of a language."""
    typed = st.builds(lambda text, iri: RdfLiteral(text, iri.value), texts(), iris())
    numeric = st.sampled_from(("integer", "decimal", "double", "boolean"))
    number = st.builds(lambda sort: RdfLiteral("1", XSD + sort), numeric)
    tags = st.sampled_from(("en", "de-AT", "zh-Hant-TW"))
    tagged = st.builds(lambda text, tag: RdfLiteral(text, language=tag), texts(), tags)
    return texts().map(RdfLiteral) | typed | number | tagged


def patterns() -> Strategy[Pattern]:
    """Graph patterns, with filters on their variables."""
    node = iris() | variables()
    triples = st.lists(st.tuples(node, node, node | literals()), min_size=1, max_size=3)
    sides = terms(st.sampled_from(("x", "y", "_b1")).map(Variable))
    filter_ = combined(comparisons(sides, constants()), max_leaves=4, truth_tests=False)
    filters = st.lists(filter_, max_size=2)
    return st.builds(_pattern, triples, filters)


def _pattern(triples: list[Triple], filters: list[Expression]) -> Pattern:
    """The pattern, with a further triple for each variable that only the filters name."""
    nodes = (node for condition in filters for node in nodes_within(condition))
    inner = (term for node in nodes for side in node.operands() for term in operands_within(side))
    used = {term: None for term in inner if isinstance(term, Variable)}
    bound = {term for triple in triples for term in triple}
    added = [(term, Iri(RDF_TYPE), term) for term in used if term not in bound]
    return Pattern((*triples, *added), tuple(filters))


# Whole expressions.


def combined(
    leaves: Strategy[Any], max_leaves: int, *, truth_tests: bool = True
) -> Strategy[Expression]:
    """Conjunctions, disjunctions, negations and truth tests of the leaves, one in another."""

    def combine(inner: Strategy[Expression]) -> Strategy[Expression]:
        parts = st.lists(inner, max_size=3)
        made = parts.map(_all_of) | parts.map(_any_of) | inner.map(Not)
        tests = st.builds(TruthTest, inner, st.sampled_from(TruthTest.TRUTHS))
        return made | tests | tests.map(Not) if truth_tests else made

    return st.recursive(leaves, combine, max_leaves=max_leaves)


def _all_of(parts: list[Expression]) -> Expression:
    return all_of(*parts)


def _any_of(parts: list[Expression]) -> Expression:
    return any_of(*parts)


def expressions(max_leaves: int = 6) -> Strategy[Expression]:
    """Every expression that can be built."""
    sides = terms(attributes() | variables())
    leaves = st.one_of(
        comparisons(attributes(), constants()),
        comparisons(sides, constants()),
        predicates(attributes(), constants(), strings()),
        calls(),
        patterns(),
    )
    return combined(leaves, max_leaves)


# A small vocabulary, in which expressions and events meet often.

PATHS = (
    *(("a",), ("b",), ("c",), ("x.y",), ("items",)),
    *(("items", "color"), ("items", "price"), ("n", "m")),
)
MOMENT = Timestamp.parse("2026-01-01T00:00:00Z")
VALUES: tuple[Any, ...] = (0, 1, 2, 1.5, "red", "Red", "blue", "", "10.0.0.1", True, False, MOMENT)
EXTRA: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    2**63,
    -0.0,
    None,
    b"red",
    datetime(2026, 1, 1, tzinfo=UTC),
)


def attribute_expressions(max_leaves: int = 5) -> Strategy[Expression]:
    """Expressions on attributes alone: no calls, no variables, no graph patterns."""
    subjects = st.sampled_from(PATHS).map(Attribute)
    values = st.sampled_from(VALUES).map(Constant)
    words = st.sampled_from([value for value in VALUES if isinstance(value, str)]).map(Constant)
    small = st.sampled_from(VALUES[:4]).map(Constant)
    sums = st.builds(Arithmetic, subjects, st.sampled_from("+-*/"), subjects | small)
    leaves = st.one_of(
        comparisons(subjects, values),
        comparisons(subjects, values),
        comparisons(subjects | sums, values),
        predicates(subjects, values, words),
    )
    return combined(leaves, max_leaves)


def events() -> Strategy[dict[str, Any]]:
    """Mappings over the same vocabulary: nested, with lists, nulls and every kind of value."""
    scalar = st.sampled_from(VALUES) | st.sampled_from((*VALUES, *EXTRA))
    value = scalar | st.lists(scalar | st.lists(scalar, max_size=2), max_size=2)
    item = st.fixed_dictionaries({}, optional={"color": value, "price": value}) | scalar
    items = item | st.lists(item | st.lists(item, max_size=2), max_size=3)
    plain = {"a": value, "b": value, "c": value, "x.y": value, "x": st.just({"y": 1})}
    nested = {"items": items, "n": st.fixed_dictionaries({}, optional={"m": value}) | value}
    return st.fixed_dictionaries({}, optional={**plain, **nested})
