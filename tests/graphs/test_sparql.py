"""A second oracle: every pattern as a query of SPARQL, answered by pyoxigraph.

It departs from ours, and from SPARQL's letter, where the store of oxigraph keeps the value of a
literal instead of its form: ``"05"^^xsd:integer`` is stored as ``5`` and found as such. Graphs and
patterns here have literals in canonical form only. Numbers beyond 64 bits, which it does not
compare, are left out, and so are blank nodes in results, which it renames.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine, Event, Taxonomy
from tamis.bindings.patterns import Patterns
from tamis.graphs.index import PatternIndex
from tamis.graphs.reader import read_graph, term_of_node
from tamis.model.limits import LIMITS
from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, RdfTerm, value_of_term
from tamis.predicates.expression import Comparison, Expression, Not, Pattern, TermTest
from tamis.predicates.operands import Constant, RdfConstant, StringOf, Variable
from tests.examples import examples
from tests.graphs import strategies as graph_strategies
from tests.graphs.strategies import IRIS, VARIABLES, Graph

pyoxigraph = pytest.importorskip("pyoxigraph")
pytestmark = pytest.mark.filterwarnings("ignore::tamis.CostlyWarning")

UNSTABLE = {"05", "9007199254740993"}


def node_of(term: RdfTerm) -> Any:
    if isinstance(term, Iri):
        return pyoxigraph.NamedNode(term.value)
    if isinstance(term, BlankNode):
        return pyoxigraph.BlankNode(term.label)
    if term.language is not None:
        return pyoxigraph.Literal(term.lexical, language=term.language)
    return pyoxigraph.Literal(term.lexical, datatype=pyoxigraph.NamedNode(term.datatype))


def answers(graph: Graph, pattern: Pattern) -> set[tuple[str, ...]]:
    """The solutions that pyoxigraph finds."""
    store = pyoxigraph.Store()
    for triple in graph:
        store.add(pyoxigraph.Quad(*map(node_of, triple)))
    names = list(
        dict.fromkeys(
            term.name for triple in pattern.triples for term in triple if isinstance(term, Variable)
        )
    )
    head = "SELECT DISTINCT " + (" ".join(f"?{name}" for name in names) or "*")
    found = store.query(f"PREFIX xsd: <{XSD}> {head} WHERE {pattern}")
    return {tuple(str(term_of_node(line[name])) for name in names) for line in found}


def ours(graph: Graph, pattern: Pattern) -> set[tuple[str, ...]]:
    """The solutions that the index finds."""
    index = PatternIndex()
    index.add(0, pattern)
    found = index.view().match_graphs([graph], every=True)
    lines = found.solutions(0) if len(found.row) else ()
    return {tuple(map(str, line)) for line in lines}


def is_stable(terms: Any) -> bool:
    return not any(isinstance(term, RdfLiteral) and term.lexical in UNSTABLE for term in terms)


def filters() -> st.SearchStrategy[Expression]:
    variables = st.sampled_from(VARIABLES)
    operands = st.one_of(variables, st.builds(StringOf, variables))
    texts = st.sampled_from([Constant(text) for text in ("a", "http", "x/", "", "A")])
    tests = st.one_of(
        st.builds(TermTest, operands, st.just("strstarts"), texts),
        st.builds(TermTest, operands, st.just("regex"), texts, st.booleans()),
        st.builds(TermTest, variables, st.just("bound")),
        st.builds(
            Comparison,
            variables,
            st.sampled_from(["=", "!=", "<"]),
            st.sampled_from(
                [RdfConstant(term) for term in (IRIS[0], RdfLiteral("a", language="en"))]
            ),
        ),
        st.builds(Comparison, st.builds(StringOf, variables), st.just("="), texts),
        graph_strategies.filters(),
    )
    return st.one_of(tests, st.builds(Not, tests))


@examples(150)
@given(graph_strategies.graphs(), graph_strategies.patterns(filters()))
def test_patterns_mean_what_sparql_says(graph: Graph, pattern: Pattern) -> None:
    graph = frozenset(triple for triple in graph if is_stable(triple))
    if not all(is_stable(triple) for triple in pattern.triples):
        return
    if any("90071" in str(each) for each in pattern.filters):
        return
    assert ours(graph, pattern) == answers(graph, pattern)
    table, _ = Patterns(graph, LIMITS.bindings).table(pattern)
    values = {tuple(map(value_of_term_text, line.values())) for line in table.rows()}
    index = PatternIndex()
    index.add(0, pattern)
    found = index.view().match_graphs([graph], every=True)
    lines = found.solutions(0) if len(found.row) else ()
    assert {
        tuple(value_of_term_text(value_of_term(term)) for term in line) for line in lines
    } == values


def value_of_term_text(value: Any) -> str:
    return f"{type(value).__name__} {value}"


# The figures of the paper.

PAPER = "prefix : <http://x/> "
TAXONOMY = Taxonomy(
    {
        f"http://x/{name}": [f"http://x/{parent}" for parent in parents]
        for name, parents in {
            "Journal": ["Publication"],
            "ConferenceProceedings": ["Publication"],
            "TechnicalReport": ["Publication", "DepartmentPublication", "JacobsensPublication"],
            "TKDE": ["Journal"],
            "WWW": ["ConferenceProceedings"],
            "VLDB": ["ConferenceProceedings"],
            "SIGMOD": ["ConferenceProceedings"],
            "paper17": ["JacobsensPublication", "SIGMOD"],
        }.items()
    }
)
EVENT = """@prefix : <http://x/> .
    :paper17 :author "Arno Jacobsen" ; :title "Very Fast" ; :conference :SIGMOD .
    :SIGMOD :year 2001 ; :location "Some Location" ."""
S1 = """{ :paper17 :author "Arno Jacobsen" ; :conference :SIGMOD .
          :SIGMOD :year ?z FILTER (?z > 2000) }"""
S2 = """{ ?y :author "Arno Jacobsen" ; :conference :SIGMOD . :SIGMOD :year ?x
          FILTER (?x > 1999) FILTER (?y descendant of :Publication) }"""


@pytest.mark.parametrize("matcher", ["sieve", "scan"])
def test_figures_5_and_6(matcher: str) -> None:
    engine = Engine(taxonomy=TAXONOMY, matcher=matcher, prefixes={"": "http://x/"})
    engine.subscribe(PAPER + S1, id="s1")
    engine.subscribe(PAPER + S2, id="s2")
    event = Event({}, graph=read_graph(EVENT))
    assert sorted(engine.match(event)) == ["s1", "s2"]
    bindings = {match.id: match.bindings for match in engine.matches(event)}
    assert bindings == {"s1": {"z": 2001}, "s2": {"y": "http://x/paper17", "x": 2001}}
    text = Event({}, graph=read_graph(EVENT.replace("2001", '"2001"')))
    assert engine.match(text) == []  # a plain string is not greater than a number


def test_is_a_reads_the_graph_and_a_taxonomy_that_changes() -> None:
    engine = Engine(taxonomy=TAXONOMY)
    relations = ("descendant of", "direct instance of")
    for name in ("Publication", "WWW"):
        for relation in relations:
            engine.subscribe(
                f"{{ ?x <http://x/p> 1 FILTER (?x {relation} <http://x/{name}>) }}",
                id=f"{relation} {name}",
            )
    engine.subscribe("{ ?x <http://x/p> 1 FILTER (?x ancestor of <http://x/WWW>) }", id="above")

    def found(text: str) -> list[str]:
        graph = read_graph(f"@prefix : <http://x/> . {text}")
        return sorted(engine.match(Event({}, graph=graph)))

    typed = ["descendant of Publication", "descendant of WWW", "direct instance of WWW"]
    assert found(":new :p 1 ; a :WWW .") == typed
    assert found("[] :p 1 ; a :WWW .") == typed
    assert found(":new :p 1 .") == []
    assert found(":ConferenceProceedings :p 1 .") == [
        "above",
        "descendant of Publication",
        "direct instance of Publication",
    ]
    changed = TAXONOMY.copy()
    changed.add("http://x/new", ["http://x/WWW"])
    engine.change_taxonomy(changed)
    assert found(":new :p 1 .") == typed


def test_two_variables_may_stand_for_one_node() -> None:
    engine = Engine()
    engine.subscribe("{ ?a <x:knows> ?b . ?b <x:knows> ?c }", id="chain")
    assert engine.match(Event({}, graph=read_graph("<x:me> <x:knows> <x:me> ."))) == ["chain"]


def test_the_example_of_all_parts() -> None:
    engine = Engine(
        taxonomy={"chair": ["furniture"]},
        prefixes={"ex": "http://x/"},
        operators={"near": lambda event, place, distance: [120, 5_000] if place == "Bronx" else []},
    )
    text = """category is a 'furniture' and price < 100
        and { ?item dct:creator ?who . ?who ex:born ?year }
        and near('Bronx', ?d) and ?d < 1000 and ?year < 1900"""
    engine.subscribe(text, id="all")
    graph = read_graph(
        "@prefix dct: <http://purl.org/dc/terms/> . <x:1> dct:creator <x:w> . "
        "<x:w> <http://x/born> 1880 ."
    )
    (match,) = engine.matches(Event({"category": "chair", "price": 50}, graph=graph))
    assert match.bindings["year"] == 1880
    assert engine.match(Event({"category": "chair", "price": 500}, graph=graph)) == []
