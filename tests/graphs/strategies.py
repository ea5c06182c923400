"""Hypothesis graphs and patterns over so few terms that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, RdfTriple
from tamis.predicates.expression import (
    FLIPPED,
    Comparison,
    Expression,
    Pattern,
    Triple,
    all_of,
    any_of,
)
from tamis.predicates.operands import Constant, Variable

IRIS = [Iri(f"http://x/{name}") for name in "abcd"]
PROPERTIES = [Iri(f"http://x/{name}") for name in "pq"]
LITERALS = [
    RdfLiteral("a"),
    RdfLiteral("a", language="en"),
    RdfLiteral("5", XSD + "integer"),
    RdfLiteral("05", XSD + "integer"),
    RdfLiteral("5.5", XSD + "decimal"),
    RdfLiteral("NaN", XSD + "double"),
    RdfLiteral("9007199254740993", XSD + "integer"),
    RdfLiteral("true", XSD + "boolean"),
    RdfLiteral("odd", "http://x/type"),
]
BLANKS = [BlankNode("b"), BlankNode("c")]
VARIABLES = [Variable(name) for name in "stuv"]
NUMBERS = [Constant(value) for value in (5, 5.5, 0, 9007199254740992, 9007199254740993)]

Graph = frozenset[RdfTriple]


def graphs() -> st.SearchStrategy[Graph]:
    """Graphs of up to twelve triples."""
    triples = st.tuples(
        st.sampled_from(IRIS + BLANKS),
        st.sampled_from(PROPERTIES),
        st.sampled_from([*IRIS, *BLANKS, *LITERALS]),
    )
    return st.frozensets(triples, max_size=12)


def filters() -> st.SearchStrategy[Expression]:
    """Comparisons of variables with numbers, strings and each other."""
    constants = st.sampled_from([*NUMBERS, Constant(True)])
    numbers = st.builds(
        Comparison,
        st.sampled_from(VARIABLES),
        st.sampled_from(sorted(FLIPPED)),
        st.sampled_from([*NUMBERS, *VARIABLES[:2]]),
    )
    equal = st.builds(
        Comparison, st.sampled_from(VARIABLES), st.sampled_from(["=", "!="]), constants
    )
    single = st.one_of(numbers, equal)
    return st.one_of(
        single, single, st.builds(all_of, single, equal), st.builds(any_of, single, single)
    )


def patterns(tests: st.SearchStrategy[Expression] | None = None) -> st.SearchStrategy[Pattern]:
    """Patterns of up to four triples; filters that speak of no variable of theirs are left out."""
    variables = st.sampled_from(VARIABLES)
    triples: st.SearchStrategy[Triple] = st.tuples(
        st.one_of(variables, st.sampled_from(IRIS)),
        st.one_of(st.sampled_from(PROPERTIES), st.sampled_from(PROPERTIES), variables),
        st.one_of(variables, variables, st.sampled_from([*IRIS, *LITERALS])),
    )
    return st.builds(
        pattern_with,
        st.lists(triples, min_size=1, max_size=4),
        st.lists(filters() if tests is None else tests, max_size=2),
    )


def pattern_with(triples: list[Triple], tests: list[Expression]) -> Pattern:
    """A pattern with those filters that speak of no variable but its own."""
    from tamis.graphs.matches import variables_of_filter

    bound = {term for triple in triples for term in triple if isinstance(term, Variable)}
    kept = [each for each in tests if bound.issuperset(variables_of_filter(each))]
    return Pattern(tuple(triples), tuple(kept))
