"""Taxonomies and entailment by RDFS, the latter against rules applied until nothing is new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine, Event, EventError, LimitError, Limits, TaxonomyError, read_graph
from tamis.graphs.rdfs import Vocabulary, taxonomy_of
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, BlankNode, Iri, RdfTriple
from tests.examples import examples
from tests.graphs.strategies import IRIS, PROPERTIES, Graph, graphs

RDFS = PREFIXES["rdfs"]
HEAD = "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "


def test_taxonomies() -> None:
    graph = read_graph(
        HEAD + ":Chair rdfs:subClassOf :Furniture, :Chair, [] . :Throne rdfs:subClassOf :Chair . "
        ":mine a :Throne . :mine :colour 'red' ."
    )
    taxonomy = taxonomy_of(graph)
    assert taxonomy.is_a("http://x/mine", "http://x/Furniture")
    assert not taxonomy_of(graph, instances=False).is_a("http://x/mine", "http://x/Throne")
    with pytest.raises(TaxonomyError):
        taxonomy_of(read_graph(HEAD + ":A rdfs:subClassOf :B . :B rdfs:subClassOf :A ."))


def test_an_ontology_in_an_engine() -> None:
    ontology = read_graph(HEAD + ":Throne rdfs:subClassOf :Chair .")
    engine = Engine(taxonomy=taxonomy_of(ontology), limits=Limits(costly=float("inf")))
    engine.subscribe("{ ?x a ?c FILTER (?x descendant of <http://x/Chair>) }", id="is-a")
    engine.subscribe("{ ?x a <http://x/Chair> }", id="type")
    graph = read_graph(HEAD + ":mine a :Throne .")
    assert engine.match(Event({}, graph=graph)) == ["is-a"]
    entailed = Vocabulary(ontology).entailed(graph)
    assert sorted(engine.match(Event({}, graph=entailed))) == ["is-a", "type"]


def test_columns_of_documents() -> None:
    ontology = read_graph(HEAD + ":owns rdfs:range :Chair ; rdfs:subPropertyOf :has .")
    engine = Engine(limits=Limits(costly=float("inf")))
    engine.subscribe("{ ?x <http://x/has> ?y . ?y a <http://x/Chair> }", id="has a chair")
    texts = [HEAD + ":ann :owns [ ] .", None, HEAD + ":ann :sees :it ."]
    entailed = Vocabulary(ontology).entailed_documents(texts, "turtle")
    assert list(engine.match_batch([{}] * 3, graphs=texts, format="turtle").pairs()) == []
    assert list(engine.match_batch([{}] * 3, graphs=entailed).pairs()) == [(0, "has a chair")]
    with pytest.raises(EventError, match="row 1: "):
        Vocabulary(ontology).entailed_documents([None, "nonsense"])


def closure(vocabulary: Graph, graph: Graph) -> set[RdfTriple]:
    """The rules, plainly."""
    found = set(graph)
    while True:
        new: set[RdfTriple] = set()
        for s, p, o in found:
            for a, rule, b in vocabulary:
                assert isinstance(b, Iri)
                if rule.value == RDFS + "subPropertyOf" and a == p:
                    new.add((s, b, o))
                if rule.value == RDFS + "domain" and a == p:
                    new.add((s, Iri(RDF_TYPE), b))
                if rule.value == RDFS + "range" and a == p and isinstance(o, Iri | BlankNode):
                    new.add((o, Iri(RDF_TYPE), b))
                if rule.value == RDFS + "subClassOf" and p.value == RDF_TYPE and a == o:
                    new.add((s, Iri(RDF_TYPE), b))
        if new <= found:
            return found
        found |= new


RULES = st.one_of(
    st.tuples(
        st.sampled_from(PROPERTIES),
        st.sampled_from([Iri(RDFS + "domain"), Iri(RDFS + "range")]),
        st.sampled_from(IRIS),
    ),
    st.tuples(
        st.sampled_from([*PROPERTIES, Iri(RDF_TYPE)]),
        st.just(Iri(RDFS + "subPropertyOf")),
        st.sampled_from([*PROPERTIES, Iri(RDF_TYPE)]),
    ),
    st.sampled_from([(0, 1), (1, 2), (0, 2), (2, 3)]).map(
        lambda pair: (IRIS[pair[0]], Iri(RDFS + "subClassOf"), IRIS[pair[1]])
    ),
)


@examples(100)
@given(st.frozensets(RULES, max_size=6), graphs())
def test_entailment(vocabulary: Graph, graph: Graph) -> None:
    assert Vocabulary(vocabulary).entailed(graph) == closure(vocabulary, graph)


def test_entailed_triples_are_limited() -> None:
    ontology = read_graph(HEAD + ":p rdfs:domain :C .")
    graph = read_graph(HEAD + "".join(f":s{n} :p 1 . " for n in range(10)))
    with pytest.raises(LimitError, match="entailed ones included"):
        Vocabulary(ontology, Limits(triples=15)).entailed(graph)
