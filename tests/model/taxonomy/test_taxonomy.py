"""Taxonomies: is-a over a directed graph without cycles."""

import pickle
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import LimitError, TaxonomyError
from tamis.model.taxonomy import tree_cover as labels
from tamis.model.taxonomy.taxonomy import Taxonomy

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


# Changes.

NAMES = [str(number) for number in range(8)]
ADDITIONS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)), max_size=25
)


def check_against_climbing(taxonomy, graph):
    assert set(taxonomy) == set(graph)
    above = {term: climb(graph, term) for term in graph}
    for term in graph:
        assert taxonomy.ancestors(term) == above[term]
        assert taxonomy.descendants(term) == {other for other in graph if term in above[other]}
        assert {other for other in graph if taxonomy.is_a(term, other)} == above[term]


@given(GRAPHS, ADDITIONS)
def test_additions_against_climbing(graph, additions):
    taxonomy = Taxonomy(graph)
    graph = {term: list(above) for term, above in taxonomy.parents.items()}
    for term, parents in additions:
        before = Taxonomy(taxonomy.parents)
        changed = {term: list(above) for term, above in graph.items()}
        for parent in parents:
            changed.setdefault(parent, [])
        above = changed.setdefault(term, [])
        above += [parent for parent in dict.fromkeys(parents) if parent not in above]
        if any(
            term in climb(graph, parent) for parent in parents if parent not in graph.get(term, ())
        ):
            with pytest.raises(TaxonomyError, match="cycle") as caught:
                taxonomy.add(term, parents)
            shown = [name.strip("'") for name in str(caught.value).partition(": ")[2].split(" → ")]
            assert shown[0] == shown[-1] == term
            assert all(up in changed[below] for below, up in pairwise(shown))
            assert taxonomy == before
        else:
            taxonomy.add(term, parents)
            graph = changed
        check_against_climbing(taxonomy, graph)
    assert taxonomy == Taxonomy(graph)


@pytest.mark.parametrize("place", ["anywhere", "one parent", "a chain", "roots"])
def test_many_additions_in_one_place(place):
    chance = random.Random(place)
    taxonomy = Taxonomy({f"t{i}": [f"t{chance.randrange(i)}"] if i else [] for i in range(300)})
    for number in range(300, 2_000):
        parents = {
            "anywhere": [
                f"t{chance.randrange(number)}" for _ in range(chance.choice([1, 1, 2, 3]))
            ],
            "one parent": ["t7"],
            "a chain": [f"t{number - 1}"],
            "roots": [],
        }[place]
        taxonomy.add(f"t{number}", parents)
    for term in chance.sample(list(taxonomy), 40):
        above = {other for other in taxonomy if taxonomy.is_a(term, other)}
        below = {other for other in taxonomy if taxonomy.is_a(other, term)}
        assert above == taxonomy.ancestors(term)
        assert below == taxonomy.descendants(term)


def test_what_cannot_be_added_changes_nothing():
    taxonomy = Taxonomy({"a": ["b"], "b": ["c"]})
    for term, parents in (("c", ["new", "a"]), ("d", ["d"]), ("d", "a"), ("d", [1]), (1, ["a"])):
        with pytest.raises(TaxonomyError):
            taxonomy.add(term, parents)
    assert taxonomy == Taxonomy({"a": ["b"], "b": ["c"]})
    taxonomy.add("a", ["b"])
    taxonomy.add("b")
    assert taxonomy == Taxonomy({"a": ["b"], "b": ["c"]})


def test_a_copy_changes_on_its_own():
    taxonomy = Taxonomy({"chair": ["furniture"]})
    other = taxonomy.copy()
    other.add("throne", ["chair", "regalia"])
    taxonomy.add("table", ["furniture"])
    assert other.descendants("furniture") == {"furniture", "chair", "throne"}
    assert taxonomy.descendants("furniture") == {"furniture", "chair", "table"}
    assert taxonomy != other


def test_a_frozen_one_cannot_change():
    taxonomy = Taxonomy({"chair": ["furniture"]})
    frozen = taxonomy.frozen()
    with pytest.raises(TaxonomyError, match="copy"):
        frozen.add("throne", ["chair"])
    with pytest.raises(TypeError):
        frozen.parents["throne"] = ()  # type: ignore
    assert frozen.frozen() is frozen
    taxonomy.add("throne", ["chair"])
    assert "throne" not in frozen
    other = frozen.copy()
    other.add("throne", ["chair"])
    assert other == taxonomy


def test_pickling():
    taxonomy = pickle.loads(pickle.dumps(THINGS))
    assert taxonomy == THINGS
    taxonomy.add("stool", ["chair"])
    assert taxonomy.is_a("stool", "furniture")
    assert "stool" not in THINGS


# Hostile ones.


def test_a_chain_has_no_depth_that_is_too_large():
    length = 100_000
    taxonomy = Taxonomy({f"t{i}": [f"t{i + 1}"] for i in range(length)})
    assert taxonomy.is_a("t0", f"t{length}")
    assert not taxonomy.is_a(f"t{length}", "t0")
    assert len(taxonomy.ancestors("t0")) == len(taxonomy.descendants(f"t{length}")) == length + 1
    taxonomy.add("first", ["t0"])
    assert taxonomy.is_a("first", f"t{length}")
    with pytest.raises(TaxonomyError, match="…") as caught:
        taxonomy.add(f"t{length}", ["first"])
    assert len(str(caught.value)) < 300
    assert len(taxonomy.labels.sides) == 0


def layers(count, width, share):
    chance = random.Random(1)
    return {
        f"{layer} {i}": [
            f"{layer - 1} {j}" for j in range(width if layer else 0) if chance.random() < share
        ]
        for layer in range(count)
        for i in range(width)
    }


def test_layers_in_which_all_have_all_parents_share_their_labels():
    taxonomy = Taxonomy(layers(30, 50, 1))
    assert taxonomy.is_a("29 7", "0 49")
    assert not taxonomy.is_a("29 7", "29 8")
    assert len(taxonomy.labels.sides) < 30 * 1_500


def test_ancestors_that_are_too_many(monkeypatch):
    monkeypatch.setattr(labels, "MAX_LABELS", 500_000)
    with pytest.raises(LimitError, match="several parents: the limit is 500,000"):
        Taxonomy(layers(40, 50, 0.5))


def test_an_addition_beyond_the_limit_changes_nothing(monkeypatch):
    taxonomy = Taxonomy({"a": ["b", "c"], "d": ["a", "e"], "f": []})
    before = taxonomy.copy()
    used = taxonomy._labels._inherited
    monkeypatch.setattr(labels, "MAX_LABELS", used + 3)
    with pytest.raises(LimitError):
        taxonomy.add("new", ["d", "other", "f"])
    with pytest.raises(LimitError):
        taxonomy.add("a", ["other", "f"])
    assert taxonomy == before
    taxonomy.add("new", ["f"])
    taxonomy.add("f", ["other"])
    assert taxonomy.is_a("new", "other")
