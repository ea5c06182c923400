"""The index of patterns against the oracle: any graphs, any patterns, any changes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import LimitError, Limits, SubscriptionError, parse
from tamis.bindings.patterns import Patterns
from tamis.graphs import index as index_module
from tamis.graphs.index import PatternIndex
from tamis.graphs.matches import GraphMatches, IndexView
from tamis.graphs.publications import Encoder
from tamis.graphs.reader import read_graph
from tamis.graphs.term_syntax import key_of
from tamis.model.limits import LIMITS
from tamis.model.rdf_terms import value_of_term
from tamis.predicates.expression import Expression, Pattern
from tamis.predicates.operands import Variable
from tamis.predicates.truth import TRUE
from tests.examples import examples
from tests.graphs.strategies import Graph, filters, graphs, pattern_with, patterns

Answers = set[tuple[int, int, frozenset[Any]]]


def by_oracle(graphs: Iterable[Graph], patterns: Mapping[int, Pattern]) -> Answers:
    """Rows, patterns and the values of all solutions."""
    found = set()
    for row, graph in enumerate(graphs):
        oracle = Patterns(graph, LIMITS.bindings)
        for number, pattern in patterns.items():
            table, _ = oracle.table(pattern)
            if table.truth == TRUE:
                lines = frozenset(shown(each.values()) for each in table.rows())
                found.add((row, number, lines))
    return found


def shown(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{type(value).__name__} {value}" for value in values)


def by_index(found: GraphMatches) -> Answers:
    answers = set()
    for pair, (row, number) in enumerate(zip(found.row.tolist(), found.number.tolist())):
        lines = [shown(map(value_of_term, line)) for line in found.solutions(pair)]
        answers.add((row, number, frozenset(lines)))
    assert len(answers) == len(found.row)
    return answers


def check(view: IndexView, published: list[Graph], known: Mapping[int, Pattern]) -> None:
    expected = by_oracle(published, known)
    assert by_index(view.match_graphs(published, every=True)) == expected
    single = view.match_graphs(published)
    pairs = set(zip(single.row.tolist(), single.number.tolist()))
    assert pairs == {(row, number) for row, number, _ in expected}
    assert all(len(single.bindings(pair)) == 1 for pair in range(len(single.row)))


@examples(40)
@given(st.lists(graphs(), max_size=3), st.lists(patterns(), max_size=6))
def test_any_patterns_on_any_graphs(published: list[Graph], some: list[Pattern]) -> None:
    index = PatternIndex()
    known = dict(enumerate(some))
    for number, pattern in known.items():
        index.add(number, pattern)
    check(index.view(), published, known)
    index.settle()
    check(index.view(), published, known)


@examples(40)
@given(
    st.lists(graphs(), min_size=1, max_size=3),
    patterns(),
    st.lists(st.lists(filters(), max_size=2), min_size=2, max_size=5),
    st.sets(st.integers(0, 4), max_size=2),
)
def test_patterns_with_the_same_edges(
    published: list[Graph], base: Pattern, several: list[list[Expression]], gone: set[int]
) -> None:
    known = {
        number: pattern_with(list(base.triples), tests) for number, tests in enumerate(several)
    }
    index = PatternIndex()
    for number, pattern in known.items():
        index.add(number, pattern)
    index.settle()
    (part,) = index.view().parts
    assert part.table.alike.tolist() == [0] + [1] * (len(known) - 1)
    check(index.view(), published, known)
    index.remove(gone & set(known))
    check(index.view(), published, {n: each for n, each in known.items() if n not in gone})


@pytest.mark.parametrize("offers", [0, 3, 400])
def test_one_join_for_many_constraints(offers: int) -> None:
    """Whether or not there are few enough solutions to share them."""
    index = PatternIndex()
    for number in range(1_000):
        test = f"?p < {number}" if number % 10 != 5 else f"?p < {number} && regex(str(?x), '1$')"
        pattern = parse(f"{{ ?x a <x:Offer> ; <x:price> ?p FILTER ({test}) }}")
        assert isinstance(pattern, Pattern)
        index.add(number, pattern)
    index.settle()
    lines = (f"<x:o{n}> a <x:Offer> ; <x:price> {990 + n} ." for n in range(offers))
    found = index.view().match_graphs([read_graph("\n".join(lines))], every=True)
    counts = {int(n): len(found.bindings(pair)) for pair, n in enumerate(found.number)}
    expected = {n: min(offers, n - 990) for n in range(991, 1_000)} if offers else {}
    assert counts == (expected | {995: 1} if offers else {})


@examples(15)
@given(st.data())
def test_any_changes(data: st.DataObject) -> None:
    index = PatternIndex()
    known: dict[int, Pattern] = {}
    published = data.draw(st.lists(graphs(), min_size=1, max_size=2))
    views = []
    for number in range(data.draw(st.integers(1, 10))):
        if known and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(known)))
            index.remove([gone])
            del known[gone]
        index.add(number, data.draw(patterns()))
        known[number] = index_pattern = data.draw(patterns())
        index.remove([number])
        known.pop(number)
        index.add(number + 100, index_pattern)
        known[number + 100] = index_pattern
        if data.draw(st.booleans()):
            index.settle()
        views.append((index.view(), known.copy()))
    assert len(index) == len(known)
    compacted, kept = index.compacted()
    assert kept.tolist() == sorted(known)
    terms = {term for each in known.values() for triple in each.triples for term in triple}
    assert set(compacted.numbers) == {
        key_of(each) for each in terms if not isinstance(each, Variable)
    }
    views.append((compacted.view(), {n: known[old] for n, old in enumerate(kept.tolist())}))
    for view, then in views:
        check(view, published, then)


def test_nothing_is_left() -> None:
    index = PatternIndex()
    index.add_many(some_patterns(1_100, 3))
    index.remove(range(1_100))
    compacted, kept = index.compacted()
    assert len(compacted) == len(kept) == len(compacted.numbers) == 0
    compacted.add(0, _pattern("{ ?a <x:p> ?b }"))
    assert len(compacted.view().match_graphs([read_graph("<x:a> <x:p> 1 .")]).row) == 1


def some_patterns(count: int, seed: int) -> dict[int, Pattern]:
    chosen = random.Random(seed)
    made = {}
    for number in range(count):
        s, p, o = (chosen.randrange(40) for _ in range(3))
        text = f"{{ ?x <x:p{p % 5}> <x:n{o}> . <x:n{s}> <x:p{s % 5}> ?x . ?x <x:v> ?y"
        made[number] = parse(f"{text} FILTER (?y < {o}) }}")
        assert isinstance(made[number], Pattern)
    return made  # type: ignore[return-value]


def some_graphs(count: int, seed: int) -> list[Graph]:
    chosen = random.Random(seed)
    found = []
    for _ in range(count):
        lines = [
            f"<x:n{chosen.randrange(40)}> <x:p{chosen.randrange(5)}> <x:n{chosen.randrange(40)}> ."
            for _ in range(150)
        ]
        lines += [f"<x:n{number}> <x:v> {chosen.randrange(40)} ." for number in range(40)]
        found.append(read_graph("\n".join(lines)))
    return found


def test_live_part_segments_and_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "LIVE", 16)
    monkeypatch.setattr(index_module, "_ROOM", 40)
    index = PatternIndex()
    known = some_patterns(300, 1)
    published = some_graphs(2, 2)
    views = []
    for number, pattern in known.items():
        index.add(number, pattern)
        if number % 3 == 2:
            index.remove([number - 1])
        if number % 97 == 0:
            present = {n: known[n] for n in range(number + 1) if n in index}
            views.append((index.view(), present))
    assert 1 < len(index.view().parts) < 6
    left = {number: pattern for number, pattern in known.items() if number in index}
    assert len(index) == len(left) == 200
    views.append((index.view(), left))
    for view, then in views:
        check(view, published, then)


def test_many_at_once() -> None:
    known = some_patterns(1_100, 3)
    index = PatternIndex()
    index.add_many(known)
    assert len(index.view().parts) == 1
    published = some_graphs(2, 4)
    found = index.view().match_graphs(published, every=True)
    assert by_index(found) == by_oracle(published, known)
    assert len(found.row) > 3


def test_documents_are_publications() -> None:
    index = PatternIndex()
    index.add(0, _pattern("{ ?a <x:p> ?b FILTER (?b > 4) }"))
    encoder = index.view().encoder()
    encoder.add_document('<x:a> <x:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    encoder.add_document(b'_:b <x:p> "a"@EN .\n_:b <x:p> _:c .\n_:b <x:p> "x" .')
    encoder.add(read_graph("<x:c> <x:p> 6 ."))
    encoder.add_document("")
    encoder.add_document("<x:d> <x:p> 7 .", "turtle")
    found = index.view().match(encoder.finish())
    assert found.row.tolist() == [0, 2, 4]
    assert [str(next(found.solutions(pair))[0]) for pair in range(3)] == [
        "Iri(value='x:a')",
        "Iri(value='x:c')",
        "Iri(value='x:d')",
    ]
    assert [value_of_term(term) for term in next(iter(found.solutions(0)))] == ["x:a", 5]


def test_a_pattern_that_tries_too_much_is_reported() -> None:
    index = PatternIndex(Limits(bindings=50))
    index.add(7, _pattern("{ ?a ?b ?c . ?d ?e ?f }"))
    index.add(8, _pattern("{ ?a <x:p> ?c }"))
    graph = read_graph("\n".join(f"<x:a{n}> <x:p> <x:b{n}> ." for n in range(10)))
    found = index.view().match_graphs([graph], every=True)
    said = {
        number: (bool(found.exceeded[pair]), len(found.bindings(pair)))
        for pair, number in enumerate(found.number.tolist())
    }
    assert said == {7: (True, 0), 8: (False, 10)}


def test_the_rarest_edge_is_the_access_key() -> None:
    index = PatternIndex()
    for number in range(50):
        text = f"{{ ?i a <x:Item> . ?i <x:subject> 'rare{number}' . ?i <x:maker> ?m }}"
        index.add(number, _pattern(text))
    index.settle()
    (part,) = index.view().parts
    first = part.table.edges[part.table.first[:-1]]
    assert len(np.unique(first[:, 2])) == 50


def test_refusals() -> None:
    index = PatternIndex()
    pattern = _pattern("{ ?a <x:p> ?c }")
    index.add(0, pattern)
    with pytest.raises(SubscriptionError, match="in use"):
        index.add(0, pattern)
    with pytest.raises(SubscriptionError, match="in use"):
        index.add_many(dict.fromkeys(range(2_000), pattern))
    with pytest.raises(SubscriptionError, match="no pattern has the number 5"):
        index.remove([0, 5])
    assert 0 in index
    encoder = Encoder({}, limits=Limits(triples=2))
    with pytest.raises(LimitError):
        encoder.add_document("<x:a> <x:p> <x:b>, <x:c>, <x:d> .", "turtle")


def test_large_patterns_and_many_constraints() -> None:
    index = PatternIndex()
    chain = " . ".join(f"?v{n} <x:p> ?v{n + 1}" for n in range(400))
    index.add(0, _pattern(f"{{ {chain} }}"))
    tests = " && ".join(f"?b != {n}" for n in range(6_000))
    index.add(1, _pattern(f"{{ ?a <x:p> ?b FILTER ({tests}) }}"))
    graph = read_graph("<x:a> <x:p> <x:a> , 5 .")
    found = index.view().match_graphs([graph], every=True)
    assert sorted(found.number.tolist()) == [0, 1]
    assert index.nbytes > 0


def _pattern(text: str) -> Pattern:
    made = parse(text)
    assert isinstance(made, Pattern)
    return made
