"""Graph patterns: SPARQL's syntax, its abbreviations, and errors at their place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import LimitError, ParseError
from tamis.language import patterns as patterns_module
from tamis.language.parser import parse
from tamis.language.patterns import read_pattern, read_prefixes
from tamis.model.limits import Limits
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, XSD, Iri, RdfLiteral
from tamis.predicates.expression import Comparison, Expression, Object, Pattern, Triple
from tamis.predicates.operands import Constant, Variable
from tests.strategies import comparisons, constants, iris, literals, patterns, terms, variables

EX = {"ex": "http://example.org/", "": "urn:empty:"}
S, P, V = Variable("s"), Variable("p"), Variable("o")
TYPE = Iri(RDF_TYPE)
FILTER = Comparison(S, "<", Constant(5))


def small_filter(text: str, position: int) -> tuple[Expression, int]:
    """Reads the one filter ``(?s < 5)``."""
    assert text.startswith("(?s < 5)", position)
    return FILTER, position + len("(?s < 5)")


def read(text: str) -> Pattern:
    """The pattern of a whole text."""
    pattern, end = read_pattern(text, 0, EX, small_filter)
    assert end == len(text)
    return pattern


PIECES = [
    *(
        "<x:a>",
        "<x:a b>",
        "<a>",
        "<>",
        "?x",
        "$y",
        "?1",
        "? x",
        "ex:b",
        "ex:b-c",
        "ex:b.c",
        "ex:",
        ":d",
    ),
    *(
        "ex:%41",
        "ex:é",
        "ex:b:c",
        "no:b",
        "ex.y:b",
        "a",
        "A",
        "a:b",
        "_:b",
        "[]",
        "'t'",
        "'t'@en",
        "5",
    ),
    *(
        ".",
        ". ",
        " . ",
        ".5",
        ";",
        ",",
        "}",
        " ",
        "\n",
        "# c\n",
        "FILTER (?s < 5)",
        "filter:x",
        "/",
    ),
    *("filter ex:b", "\\", "·", "%", "-", "^^", "(", "?sFILTER (?s < 5)"),
]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " "])), max_size=14))
def test_plain_triples_are_read_at_a_glance(pieces: list[tuple[str, str]]) -> None:
    text = "{ ?s ex:p <x:o> . " + "".join(map("".join, pieces)) + " }"

    def outcome() -> object:
        try:
            return read_pattern(text, 0, EX, small_filter)
        except ParseError as error:
            return str(error)
        except AssertionError:
            return "another filter"

    at_a_glance = outcome()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(patterns_module, "_PLAIN_TRIPLE", re.compile("(?!)"))
        assert outcome() == at_a_glance


def triples(text: str) -> list[Triple]:
    """The triples of a pattern."""
    return [*read(text).triples]


def value(text: str) -> Object:
    """The one object of a pattern."""
    return read(f"{{ ?s ?p {text} }}").triples[0][2]


@given(patterns())
def test_the_text_of_a_pattern_gives_the_pattern_back(pattern: Pattern) -> None:
    assert parse(str(pattern)) == pattern
    bare = Pattern(pattern.triples)
    assert read_pattern(str(bare), 0, {}, small_filter) == (bare, len(str(bare)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{?s ?p ?o}", [(S, P, V)]),
        ("{ $s $p $o . }", [(S, P, V)]),
        ("{ ?s a ?o }", [(S, TYPE, V)]),
        ("{ ?s ?p ?o . ?o ?p ?s }", [(S, P, V), (V, P, S)]),
        (
            "{ ?s ?p ?o, ?s ; a ?o ;; . ?o ?p ?s ; }",
            [(S, P, V), (S, P, S), (S, TYPE, V), (V, P, S)],
        ),
        ("{ # one\n?s # two\r ?p ?o. # }\n }", [(S, P, V)]),
        ("{ ?s <urn:p#q> ?o }", [(S, Iri("urn:p#q"), V)]),
        ("{ :x ex:a.b ex:. }", [(Iri("urn:empty:x"), Iri(EX["ex"] + "a.b"), Iri(EX["ex"]))]),
        ("{ ?s dct:creator ?o }", [(S, Iri(PREFIXES["dct"] + "creator"), V)]),
    ],
)
def test_triples_and_their_abbreviations(text: str, expected: list[Triple]) -> None:
    assert triples(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'x'", RdfLiteral("x")),
        ('"it\'s"', RdfLiteral("it's")),
        ("''", RdfLiteral("")),
        ("'chair'@en-GB", RdfLiteral("chair", language="en-GB")),
        ("'1'^^xsd:byte", RdfLiteral("1", XSD + "byte")),
        ("'1'^^<urn:t>", RdfLiteral("1", "urn:t")),
        (r"'\t\b\n\r\f\"\'\\'", RdfLiteral("\t\b\n\r\f\"'\\")),
        (r"'\u00e9\U0001f600'", RdfLiteral("é😀")),
        ("'# } . ; {'", RdfLiteral("# } . ; {")),
        ("5", RdfLiteral("5", XSD + "integer")),
        ("5.", RdfLiteral("5", XSD + "integer")),
        ("-05", RdfLiteral("-05", XSD + "integer")),
        ("+5.50", RdfLiteral("+5.50", XSD + "decimal")),
        (".5", RdfLiteral(".5", XSD + "decimal")),
        ("5.e0", RdfLiteral("5.e0", XSD + "double")),
        ("1E-3", RdfLiteral("1E-3", XSD + "double")),
        ("true", RdfLiteral("true", XSD + "boolean")),
        ("FALSE", RdfLiteral("false", XSD + "boolean")),
        (r"ex:a\,b%20c", Iri("http://example.org/a,b%20c")),
        ("ex:1", Iri("http://example.org/1")),
    ],
)
def test_terms(text: str, expected: Object) -> None:
    assert value(text) == expected


def test_own_prefixes_go_before_the_common_ones() -> None:
    pattern, _ = read_pattern("{ ?s dc:x ?o }", 0, {"dc": "urn:dc:"}, small_filter)
    assert pattern.triples[0][1] == Iri("urn:dc:x")


def test_a_pattern_stands_anywhere_in_a_text() -> None:
    text = "a = 1 and { ?s ?p ?o } and b = 2"
    assert read_pattern(text, 10, {}, small_filter) == (Pattern(((S, P, V),)), 22)


@pytest.mark.parametrize(
    "text",
    [
        "{ ?s ?p ?o FILTER (?s < 5) }",
        "{ FILTER (?s < 5) ?s ?p ?o }",
        "{ ?s ?p ?o . filter(?s < 5) . }",
        "{ ?s ?p ?o ; Filter # on s\n (?s < 5) }",
    ],
)
def test_filters_stand_between_triples(text: str) -> None:
    assert read(text) == Pattern(((S, P, V),), (FILTER,))


def test_blank_nodes_with_properties() -> None:
    text = "{ ?s ?p [ a ?o ; ?p ?s, [] ] . [ ?p ?s ] . [ ?p ?o ] a ?t FILTER (?s < 5) }"
    short = "{ _:b a ?o . _:b ?p ?s, _:c . ?s ?p _:b . _:d ?p ?s . _:e ?p ?o . _:e a ?t }"

    def shape(pattern: Pattern) -> list[list[str]]:
        return [[str(term).rpartition("_")[2] for term in triple] for triple in pattern.triples]

    assert shape(read(text)) == shape(read(short))
    assert parse(str(parse(text))) == parse(text)


def test_a_filter_that_is_a_function_needs_no_parentheses() -> None:
    text = "{{ ?s ?p ?o FILTER {} . ?o ?p ?s FILTER (?s < 5) }} and a = 1"
    for function in ("regex(?o, '[)]', 'i')", "STRSTARTS (str(?o), '(')", "bound(?o)"):
        assert parse(text.format(function)) == parse(text.format(f"({function})"))
    for function, column in (("str(?o)", 19), ("regex(?o)", 27), ("hello(?o)", 19)):
        with pytest.raises(ParseError) as caught:
            parse(text.format(function))
        assert caught.value.column == column


def test_an_exclamation_mark_is_stronger_than_a_comparison() -> None:
    for text in ("!(?s = 5)", "!bound(?s)", "!!(?s in (5))", "!regex(?s, 'a') && ?s = 5"):
        assert str(parse(f"{{ ?s ?p ?o FILTER ({text}) }}"))
    for text in ("!?s = 5", "! ?s in (5)", "!(?s) = 5", "!5 < ?s", "!?s"):
        with pytest.raises(ParseError, match=r"put the test in parentheses: !\(…\)"):
            parse(f"{{ ?s ?p ?o FILTER ({text}) }}")


def test_filters_keep_their_order() -> None:
    text = "{ ?s ?p ?o FILTER (?s < 5 && ?o = 'x)') ?o ?p ?s FILTER (!(?s = ?o)) }"
    pattern = parse(text)
    assert isinstance(pattern, Pattern)
    assert len(pattern.triples) == len(pattern.filters) == 2
    assert parse(str(pattern)) == pattern


# Blank nodes.


def test_blank_nodes_are_variables() -> None:
    first, second, third = triples("{ _:b1 ?p [] . _:b1 ?p [ # none\n ] . _:c.d ?p 5. }")
    assert first[0] == second[0]
    assert len({first[0], first[2], second[2], third[0]}) == 4
    assert all(isinstance(term, Variable) for term in (first[0], first[2], second[2], third[0]))


def test_a_pattern_with_blank_nodes_prints_and_parses_stably() -> None:
    pattern = read("{ [] a _:x . _:x ?p ?o }")
    assert read(str(pattern)) == pattern
    assert read("{ []  a _:y. _:y ?p ?o. }") == pattern


def test_blank_nodes_of_different_patterns_are_different() -> None:
    both = parse("{ [] a ?o } and { [] ?p ?o }")
    one, other = both.children()
    assert isinstance(one, Pattern)
    assert isinstance(other, Pattern)
    assert one.triples[0][0] != other.triples[0][0]
    assert parse("{ [] a ?o }") & parse("{ [] ?p ?o }") == both


def test_blank_nodes_have_no_name_that_a_variable_of_the_text_has() -> None:
    name = read("{ [] a ?o }").triples[0][0]
    assert isinstance(name, Variable)
    both = parse(f"{{ [] a ?o }} and {{ ?{name.name} ?p ?o }} and f($__b)".replace("$", "?"))
    blank = next(both.children())
    assert isinstance(blank, Pattern)
    assert blank.triples[0][0] not in (name, Variable("__b"))
    assert parse(str(both)) == both


# Refusals.

ONLY = "only basic graph patterns and FILTER are supported"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("{ ?s ex:p/ex:q ?o }", 10),
        ("{ ?s ex:p|ex:q ?o }", 10),
        ("{ ?s ^ex:p ?o }", 6),
        ("{ ?s ex:p* ?o }", 10),
        ("{ ?s ex:p+ ?o }", 10),
        ("{ ?s ex:p? ?o }", 10),
        ("{ ?s !ex:p ?o }", 6),
        ("{ ?s (ex:p) ?o }", 6),
        ("{ ?s ?p (1 2) }", 9),
        ("{ (1 2) ?p ?s }", 3),
        ("{ ?s ?p ?o FILTER NOT EXISTS { ?s ?p ?o } }", 19),
        ("{ ?s ?p ?o FILTER exists { ?s ?p ?o } }", 19),
        ("{ { ?s ?p ?o } }", 3),
        ("{ ?s ?p ?o OPTIONAL { ?s ?p ?o } }", 12),
        ("{ ?s ?p ?o . union }", 14),
        ("{ GRAPH ?g { ?s ?p ?o } }", 3),
        ("{ BIND(5 AS ?s) }", 3),
        ("{ VALUES ?s { 5 } }", 3),
        ("{ ?s ?p ?o MINUS { ?s ?p ?o } }", 12),
    ],
)
def test_what_goes_beyond_basic_graph_patterns_is_refused(text: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert caught.value.hint == ONLY
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("?s", "expected '{', found '?s'", 1),
        ("{}", "at least one triple", 1),
        ("{ FILTER (?s < 5) }", "at least one triple", 1),
        ("{", "expected a subject, found the end", 2),
        ("{ ?s ?p ?o", "found the end", 11),
        ("{ ?s ?p }", "expected an object, found '}'", 9),
        ("{ ?s ?p ?o ?s ?p ?o }", "expected '.', ';', ',' or '}'", 12),
        ("{ ?s ?p ?o . . }", "expected a subject, found '.'", 14),
        ("{ ?s ?p ?o, }", "expected an object", 13),
        ("{ ?s foaf ?o }", "found 'foaf'", 6),
        ("{ 5 ?p ?o }", "a subject is an IRI or a variable", 3),
        ("{ ?s 'p' ?o }", "a property is an IRI or a variable", 6),
        ("{ ?s [] ?o }", "a property is an IRI or a variable", 6),
        ("{ ?s ?p ?1 }", "not the name of a variable", 9),
        ("{ ?s ?p <x> }", "not an absolute IRI", 9),
        ("{ ?s ?p <urn:a b> }", "an IRI holds no spaces", 9),
        ("{ ?s ?p nope:x }", "prefix nope: <http://…>", 9),
        ("{ ?s ?p ?o . ?s dtc:x ?o }", "did you mean 'dc'?", 17),
        ("{ ?s ?p 'x }", "not closed", 9),
        ("{ ?s ?p 'x\n' }", "not closed", 9),
        ("{ ?s ?p '''x''' }", "long quotes", 9),
        (r"{ ?s ?p 'ab\x' }", "stands for no character", 12),
        (r"{ ?s ?p '\u12' }", "stands for no character", 10),
        (r"{ ?s ?p '\ud800' }", "stands for no character", 10),
        (r"{ ?s ?p '\U00110000' }", "stands for no character", 10),
        ("{ ?s ?p 'x\ud800' }", "string of Unicode", 9),
        ("{ ?s ?p <urn:\ud800> }", "not an absolute IRI", 9),
        ("{ ?s ?p 'x'@ }", "found '@'", 12),
        ("{ ?s ?p 'x'@abcdefghi }", "not a language tag", 12),
        ("{ ?s ?p 'x'^^5 }", "the IRI of a datatype", 14),
        ("{ ?s ?p 'x'^^<t> }", "not an absolute IRI", 14),
        ("{ ?s ?p ?o FILTER regex }", "'(' after FILTER", 19),
        ("{ ?s ?p [ a ?o }", "expected ']', found '}'", 16),
        ("{ ?s ?p [ ?o ] }", "expected an object, found ']'", 14),
        ("{ ?s [ a ?o ] ?p }", "a property is an IRI or a variable", 6),
        ("{ ?s ?p" + 51 * " [ ?p" + " ?o" + 51 * " ]" + " }", "nested more than 50 levels", 259),
        ("{ ?s ?p ?o FILTER", "'(' after FILTER", 18),
        ("{ ?x ?p ?o FILTER (?s < 5) }", "?s in a FILTER is not in any triple", 19),
    ],
)
def test_errors_have_their_place(text: str, message: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert message in str(caught.value)
    assert (caught.value.column, caught.value.line) == (column, 1)


def test_a_refused_filter_is_found_among_others() -> None:
    good, bad = "FILTER (?s = 1) ", "FILTER (?z = 1) "
    for before in range(5):
        text = f"{{ ?s ?p ?o {good * before}{bad}{good * 3}{bad}}}"
        with pytest.raises(ParseError) as caught:
            parse(text)
        assert caught.value.column == text.index("(?z") + 1


def test_the_number_of_triples_is_limited() -> None:
    few = Limits(items=2, pattern=2)
    read_pattern("{ ?s ?p ?o, ?s }", 0, {}, small_filter, few)
    with pytest.raises(LimitError, match="3 triples"):
        read_pattern("{ ?s ?p ?o, ?s, ?p }", 0, {}, small_filter, few)
    with pytest.raises(LimitError, match="3 filters"):
        read_pattern(f"{{ ?s ?p ?o {'FILTER (?s < 5)' * 3} }}", 0, {}, small_filter, few)


@given(st.text(st.sampled_from("{}[]<>?$sa:_.,;'\"\\@^#5e+-()u \n\ud800é"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        pattern, end = read_pattern("{" + text, 0, EX, small_filter)
    except ParseError:
        return
    assert read_pattern(str(pattern), 0, {}, small_filter)[0] == pattern
    assert 0 < end <= len(text) + 1


PIECES = ["?s", "$o", "a", "ex:p", ":x", "<urn:x>", "'x'", "@en", "^^", "5", "1.5", "[]", "_:b"]
PIECES += [".", ";", ",", "FILTER (?s < 5)", "# x\n", "true", "{", "}", "(", "/"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_any_pieces_are_read_or_refused(pieces: list[str]) -> None:
    text = " ".join(["{", *pieces, "}"])
    try:
        pattern, _ = read_pattern(text, 0, EX, small_filter)
    except ParseError:
        return
    assert parse(str(pattern)) == pattern


@given(st.lists(st.tuples(iris() | variables(), iris(), literals()), min_size=1, max_size=3))
def test_other_white_space_makes_no_difference(raw: list[Triple]) -> None:
    pattern = Pattern(tuple(raw))
    texts = [str(Pattern((triple,)))[2:-2] for triple in raw]
    assert read("{" + " .\n\t#\n".join(texts) + "#.\n}") == pattern


@given(comparisons(terms(st.just(S)), constants()))
def test_filters_are_parsed_by_the_language(condition: Expression) -> None:
    pattern = Pattern(((S, P, V),), (condition,))
    assert parse(str(pattern)) == pattern


# Prefixes.


@pytest.mark.parametrize(
    ("text", "expected", "rest"),
    [
        ("a = 1", {}, "a = 1"),
        ("  # x\n a = 1", {}, "a = 1"),
        ("", {}, ""),
        ("prefix ex: <urn:x:> a = 1", {"ex": "urn:x:"}, "a = 1"),
        ("PREFIX\tex:<urn:x:>\nPrefix : <urn:y#> # y\n{", {"ex": "urn:x:", "": "urn:y#"}, "{"),
        ("prefix # a\n e-x.y: # b\n <urn:x:>a = 1", {"e-x.y": "urn:x:"}, "a = 1"),
        ("prefix a: <urn:1> prefix a: <urn:2>", {"a": "urn:2"}, ""),
        ("prefix = 'a'", {}, "prefix = 'a'"),
        ("prefix in ('a')", {}, "prefix in ('a')"),
        ("prefixes = 1", {}, "prefixes = 1"),
    ],
)
def test_prefixes_begin_a_text(text: str, expected: dict[str, str], rest: str) -> None:
    prefixes, end = read_prefixes(text)
    assert prefixes == expected
    assert text[end:] == rest


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("prefix ex: urn:x: a = 1", "angle brackets", 12),
        ("prefix ex: <urn:x a = 1", "angle brackets", 12),
        ("prefix ex: <x>", "not an absolute IRI", 12),
        ("prefix ex: <urn:\ud800>", "surrogate", 17),
        ("prefix a: <urn:a> prefix b:", "prefix b: <http://example.org/>", 28),
    ],
)
def test_a_bad_prefix_is_refused(text: str, message: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read_prefixes(text)
    assert message in str(caught.value)
    assert caught.value.column == column
