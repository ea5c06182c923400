"""Predicate clusters: against a sorted list, entry by entry."""

from __future__ import annotations

from bisect import insort

import numpy as np
import pytest
from numpy.random import default_rng

from tamis.published.boxes import is_sparse
from tamis.published.counting.predicate_clusters import (
    ENTRIES,
    PAGE,
    POSTINGS,
    Clusters,
    empty_clusters,
    insert,
    page_usage,
    remove,
    tail_of,
    with_room,
)
from tamis.published.counting.predicate_loading import loaded, stored_postings
from tamis.published.predicates import Postings

AXES = 2
Entry = tuple[int, int, int]


def entries_of(clusters: Clusters) -> list[Entry]:
    return list(zip(*(column.tolist() for column in stored_postings(clusters)), strict=True))


def check_invariants(clusters: Clusters) -> None:
    """Pages are used once, none is empty or overfull, and the directory tells what is where."""
    entries = int(clusters.state[ENTRIES])
    assert sorted(clusters.page.tolist()) == list(range(len(clusters.page)))
    assert clusters.begin[0] == 0
    assert clusters.begin[-1] == entries
    for cluster in range(len(clusters.begin) - 1):
        before = (-1, 0)
        for entry in range(clusters.begin[cluster], clusters.begin[cluster + 1]):
            base = int(clusters.page[entry]) * PAGE
            words, codes = clusters.words[base : base + PAGE], clusters.words.view(np.int32)
            count = int(words[0])
            labels, tails = words[1 : 1 + 2 * count : 2], words[2 : 2 + 2 * count : 2]
            assert count > 0
            assert (np.diff(labels) > 0).all()
            assert (np.diff(np.append(tails, 0)) < 0).all()
            assert 2 * (1 + 2 * count) + tails[0] <= 2 * PAGE
            first = (int(labels[0]), int(codes[2 * (base + PAGE) - tails[0]]))
            least = (int(clusters.label[entry]), int(clusters.code[entry]))
            assert before < least <= first or (before == (-1, 0) and least <= first)
            before = (int(labels[-1]), int(codes[2 * (base + PAGE) - 1]))
    assert tail_of(clusters.words, 0, int(clusters.words[0])) == 0


def with_free_page(clusters: Clusters) -> Clusters:
    if clusters.state[ENTRIES] == len(clusters.page):
        return with_room(clusters, AXES, 1)
    return clusters


def random_entry(rng, labels: int, codes: int) -> Entry:
    return int(rng.integers(3 * AXES)), int(rng.integers(labels)), int(rng.integers(-codes, codes))


@pytest.mark.parametrize("labels", [1, 3, 40, 1 << 60])
def test_insertions_and_removals_keep_the_order(labels: int) -> None:
    rng = default_rng(labels % 97)
    clusters, there = with_room(empty_clusters(), AXES, 0), []
    for step in range(4000):
        entry = random_entry(rng, labels, 3000)
        if entry not in there and (step < 2500 or rng.random() < 0.3):
            clusters = with_free_page(clusters)
            insert(clusters, *entry)
            insort(there, entry)
        elif there:
            entry = there.pop(int(rng.integers(len(there))))
            remove(clusters, *entry)
        if step % 500 == 499:
            assert entries_of(clusters) == there
            check_invariants(clusters)
    while there:
        remove(clusters, *there.pop(int(rng.integers(len(there)))))
    assert clusters.state.tolist() == [0, 0]
    assert not clusters.begin.any()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
def test_entries_may_come_in_their_order(distinct: bool, descending: bool) -> None:
    clusters = with_room(empty_clusters(), AXES, 0)
    numbers = range(1500)[::-1] if descending else range(1500)
    for number in numbers:
        clusters = with_free_page(clusters)
        insert(clusters, 4, number if distinct else 7, number)
    check_invariants(clusters)
    assert entries_of(clusters) == [(4, n if distinct else 7, n) for n in range(1500)]
    if not descending:
        size = 5 if distinct else 1
        assert clusters.state[ENTRIES] <= -(-1500 * size // (2 * PAGE - 10))  # pages are full


def test_loading_agrees_with_inserting() -> None:
    rng = default_rng(3)
    both = sorted({random_entry(rng, 50, 2000) for _ in range(3000)})
    first = [both[i] for i in rng.permutation(len(both))]
    first, second = first[:1000], first[1000:]
    clusters = empty_clusters()
    for part in (first, second):
        cluster, label, code = (np.array(column) for column in zip(*part, strict=True))
        rows = Postings(cluster.astype(np.int32), label, code.astype(np.int32))
        clusters = loaded(clusters, rows, AXES)
        check_invariants(clusters)
    assert entries_of(clusters) == both
    assert clusters.state[POSTINGS] == len(both)
    for entry in first:
        remove(clusters, *entry)
    for entry in first:
        clusters = with_free_page(clusters)
        insert(clusters, *entry)
    assert entries_of(clusters) == both
    check_invariants(clusters)


def test_room_for_axes_comes_when_it_is_needed() -> None:
    clusters = empty_clusters(1)
    insert(clusters, 2, 5, 1)
    clusters = with_room(clusters, 9, 1)
    insert(clusters, 26, 6, 2)
    insert(clusters, 0, 4, 3)
    assert entries_of(clusters) == [(0, 4, 3), (2, 5, 1), (26, 6, 2)]
    check_invariants(clusters)


def test_pages_with_hardly_anything_left_are_noticed() -> None:
    entries = [(1, label, 0) for label in range(20_000)]
    cluster, label, code = (np.array(column) for column in zip(*entries, strict=True))
    rows = Postings(cluster.astype(np.int32), label, code.astype(np.int32))
    clusters = loaded(empty_clusters(), rows, 1)
    assert not is_sparse(page_usage(clusters))
    for entry in entries:
        if entry[1] % 100:
            remove(clusters, *entry)
    assert is_sparse(page_usage(clusters))
    nothing = Postings(cluster[:0].astype(np.int32), label[:0], code[:0].astype(np.int32))
    clusters = loaded(clusters, nothing, 1)
    assert not is_sparse(page_usage(clusters))
    assert entries_of(clusters) == entries[::100]
