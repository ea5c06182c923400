"""Taxonomies: is-a over a directed graph without cycles."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import LimitError, TaxonomyError
from tamis.model import taxonomy as module
from tamis.model.taxonomy import Taxonomy

THINGS = Taxonomy(
    {
        "chair": ["furniture"],
        "throne": ["chair", "regalia"],
        "crown": ["regalia"],
        "furniture": [],
    }
)


@pytest.mark.parametrize(
    ("term", "ancestor", "truth"),
    [
        ("throne", "throne", True),
        ("throne", "chair", True),
        ("throne", "furniture", True),
        ("throne", "regalia", True),
        ("crown", "furniture", False),
        ("furniture", "throne", False),
        ("crown", "chair", False),
        ("unknown", "unknown", True),
        ("unknown", "furniture", False),
        ("throne", "unknown", False),
    ],
)
def test_is_a(term, ancestor, truth):
    assert THINGS.is_a(term, ancestor) is truth


def test_ancestors_are_reflexive_and_parents_are_terms():
    assert THINGS.ancestors("throne") == {"throne", "chair", "furniture", "regalia"}
    assert THINGS.ancestors("unknown") == {"unknown"}
    assert set(THINGS) == {"chair", "throne", "crown", "furniture", "regalia"}
    assert len(THINGS) == 5
    assert "regalia" in THINGS
    assert "unknown" not in THINGS
    assert Taxonomy({}).ancestors("a") == {"a"}


def test_an_unknown_term_is_named_with_a_hint():
    THINGS.check("crown")
    with pytest.raises(TaxonomyError, match="did you mean 'throne'"):
        THINGS.check("trone")
    with pytest.raises(TaxonomyError, match="5 terms"):
        THINGS.check("zzzzzz")


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        ({"a": ["a"]}, ["a", "a"]),
        ({"a": ["b"], "b": ["a"]}, ["a", "b"]),
        ({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c"]),
    ],
)
def test_cycles_are_refused_and_shown_upwards(parents, cycle):
    with pytest.raises(TaxonomyError, match="cycle") as caught:
        Taxonomy(parents)
    shown = [name.strip("'") for name in str(caught.value).partition(": ")[2].split(" → ")]
    assert set(shown) == set(cycle)
    assert shown[0] == shown[-1]
    assert all(above in parents[term] for term, above in pairwise(shown))


def test_a_long_cycle_is_shown_in_short():
    ring = {f"t{i}": [f"t{(i + 1) % 500}"] for i in range(500)}
    with pytest.raises(TaxonomyError, match="…") as caught:
        Taxonomy(ring)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "parents",
    [{"a": "b"}, {"a": None}, {"a": 5}, {1: ["a"]}, {"a": [1]}, {"a": [["b"]]}, {None: []}, ["a"]],
)
def test_what_is_no_taxonomy(parents):
    with pytest.raises(TaxonomyError):
        Taxonomy(parents)


def test_a_closure_that_is_too_large(monkeypatch):
    monkeypatch.setattr(module, "MAX_CLOSURE", 50)
    chain = {f"t{i}": [f"t{i + 1}"] for i in range(8)}
    assert len(Taxonomy(chain)) == 9
    with pytest.raises(LimitError, match="limit is 50"):
        Taxonomy({**chain, "t8": ["t9"]})


# Edges only from lower to higher numbers: never a cycle.
GRAPHS = st.dictionaries(
    st.integers(0, 9), st.sets(st.integers(0, 9), max_size=4), max_size=10
).map(lambda graph: {str(a): [str(b) for b in above if b > a] for a, above in graph.items()})


def climb(graph, term):
    return {term}.union(*(climb(graph, parent) for parent in graph.get(term, ())))


@given(GRAPHS)
def test_ancestors_are_what_climbing_reaches(graph):
    taxonomy = Taxonomy(graph)
    for term in taxonomy:
        assert taxonomy.ancestors(term) == climb(graph, term)
        for other in taxonomy:
            assert taxonomy.is_a(term, other) == (other in climb(graph, term))


@given(GRAPHS)
def test_is_a_is_a_partial_order(graph):
    taxonomy = Taxonomy(graph)
    terms = list(taxonomy)
    for a in terms:
        assert taxonomy.is_a(a, a)
        for b in terms:
            assert a == b or not (taxonomy.is_a(a, b) and taxonomy.is_a(b, a))
            for c in taxonomy.ancestors(b):
                assert not taxonomy.is_a(a, b) or taxonomy.is_a(a, c)
