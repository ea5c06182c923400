"""G-ToPSS, OPS and naive search against the index, which is tested against the oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import SubscriptionError
from tamis.graphs.encoding import EncodedPattern
from tamis.graphs.general_search import NaiveSearch, Ops
from tamis.graphs.gtopss import GToPSS
from tamis.graphs.index import PatternIndex
from tamis.predicates.expression import Pattern
from tests.examples import examples
from tests.graphs.strategies import Graph, graphs, patterns
from tests.graphs.test_index import some_graphs, some_patterns


def check(known: dict[int, Pattern], published: list[Graph], gone: set[int]) -> int:
    """All algorithms find the same; returns how many pairs."""
    index = PatternIndex()
    encoded: list[EncodedPattern] = []
    plain, sparse = GToPSS(), GToPSS(sparse=True)
    shared, both = GToPSS(shared=True), GToPSS(shared=True, sparse=True)
    for number, pattern in known.items():
        index.add(number, pattern)
        encoded.append(index.encoded(number, pattern))
        for algorithm in (plain, sparse, shared, both):
            algorithm.insert(number, encoded[-1])
    view = index.view()
    encoder = view.encoder()
    for graph in published:
        encoder.add(graph)
    publications = encoder.finish()
    data = publications.arrays
    found = view.match(publications)
    expected = sorted(zip(found.row.tolist(), found.number.tolist()))

    def pairs(rows: list[list[int]]) -> list[tuple[int, int]]:
        return sorted((row, number) for row, numbers in enumerate(rows) for number in numbers)

    for algorithm in (plain, sparse, shared, both, NaiveSearch(encoded), Ops(encoded)):
        assert pairs(algorithm.match(data)) == expected, algorithm  # type: ignore[attr-defined]
    for number in gone & set(known):
        plain.remove(number)
    left = [pair for pair in expected if pair[1] not in gone]
    assert pairs(plain.match(data)) == left
    assert pairs(plain.match(data)) == left  # counters were reset
    assert sparse.edges <= sum(len(each.edges) for each in encoded)
    return len(expected)


@examples(40)
@given(st.lists(graphs(), max_size=3), st.lists(patterns(), max_size=6), st.sets(st.integers(0, 5)))
def test_any_patterns(published: list[Graph], some: list[Pattern], gone: set[int]) -> None:
    plain = [pattern for pattern in some if not index_filters(pattern)]
    check(dict(enumerate(plain)), published, gone)


def index_filters(pattern: Pattern) -> bool:
    """Whether a pattern has filters that only the oracle tests."""
    index = PatternIndex()
    index.add(0, pattern)
    exact = all("90071" not in str(each) for each in pattern.filters)
    return bool(index.filters) or not exact


def test_many_patterns() -> None:
    assert check(some_patterns(400, 5), some_graphs(3, 6), set(range(0, 400, 3))) > 2


def test_refusals() -> None:
    merged = GToPSS()
    pattern = EncodedPattern(((0, 1, 2),), (), (), ())
    merged.insert(3, pattern)
    assert (len(merged), merged.edges) == (1, 1)
    with pytest.raises(SubscriptionError, match="in use"):
        merged.insert(3, pattern)
    merged.remove(3)
    assert (len(merged), merged.edges) == (0, 0)
    with pytest.raises(SubscriptionError, match="no pattern has the number 3"):
        merged.remove(3)
