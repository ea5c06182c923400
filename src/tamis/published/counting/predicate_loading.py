"""Many predicates at once: those that are there and those that come are sorted and written anew.

Inserting one after the other takes a microsecond each, and half of every page stays empty; sorting
takes a tenth of that. Pages are left with some room, else every insertion that follows would split
one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.radix import sort_rows
from tamis.published.counting.predicate_clusters import (
    ENTRIES,
    PAGE,
    POSTINGS,
    Clusters,
    empty_clusters,
    tail_of,
)
from tamis.published.predicates import OPERATORS, Postings

FILLED = 2 * PAGE * 7 // 8
"""Half words of a page that are used at first."""


def loaded(clusters: Clusters, postings: Postings, axes: int) -> Clusters:
    """Clusters of what is there and of more predicates, whose owners are codes."""
    there = stored_postings(clusters)
    both = Postings(
        np.concatenate((there.cluster, postings.cluster)),
        np.concatenate((there.label, postings.label)),
        np.concatenate((there.owner, postings.owner)),
    )
    code = both.owner.astype(np.int64)
    order = np.arange(len(code), dtype=np.int32)
    for column in (code - code.min(initial=0), both.label, both.cluster):
        order = sort_rows(order, column)
    full = pages_needed(both, order)
    axes = max(axes, (len(clusters.begin) - 1) // OPERATORS)
    fresh = empty_clusters(axes, full + full // 8 + 4)
    write_pages(fresh, both, order)
    return fresh


def stored_postings(clusters: Clusters) -> Postings:
    """The predicates that are there, one row for each box, in their order."""
    count = int(clusters.state[POSTINGS])
    out = Postings(np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int32))
    read_pages(clusters, out)
    return out


@kernel
def read_pages(clusters: Clusters, out: Postings) -> None:
    """Write all predicates that are there."""
    words, codes, n = clusters.words, clusters.words.view(np.int32), 0
    for cluster in range(len(clusters.begin) - 1):
        for entry in range(clusters.begin[cluster], clusters.begin[cluster + 1]):
            base = clusters.page[entry] * PAGE
            for predicate in range(words[base]):
                stop = 2 * (base + PAGE)
                first = stop - tail_of(words, base, predicate)
                for i in range(first, stop - tail_of(words, base, predicate + 1)):
                    out.cluster[n], out.label[n] = cluster, words[base + 1 + 2 * predicate]
                    out.owner[n] = codes[i]
                    n += 1


@kernel
def page_end(postings: Postings, order: NDArray[np.int32], first: int) -> tuple[int, int]:
    """How far a page goes that begins with a row, and how many predicates it has."""
    cluster, label = postings.cluster, postings.label
    used, count, i = 2, 0, first
    while i < len(order) and cluster[order[i]] == cluster[order[first]]:
        is_new = i == first or label[order[i]] != label[order[i - 1]]
        if used + 4 * is_new + 1 > FILLED:
            break
        used += 4 * is_new + 1
        count += is_new
        i += 1
    return i, count


@kernel
def pages_needed(postings: Postings, order: NDArray[np.int32]) -> int:
    """How many pages rows in an order take."""
    pages = i = 0
    while i < len(order):
        i, _ = page_end(postings, order, i)
        pages += 1
    return pages


@kernel
def write_pages(clusters: Clusters, postings: Postings, order: NDArray[np.int32]) -> None:
    """Write rows in an order into empty clusters."""
    words, codes = clusters.words, clusters.words.view(np.int32)
    i = page = 0
    while i < len(order):
        row = order[i]
        clusters.begin[postings.cluster[row] + 1] += 1
        clusters.label[page], clusters.code[page] = postings.label[row], postings.owner[row]
        end, count = page_end(postings, order, i)
        base, stop = page * PAGE, 2 * (page + 1) * PAGE
        words[base] = count
        predicate = -1
        for j in range(i, end):
            row = order[j]
            if j == i or postings.label[row] != postings.label[order[j - 1]]:
                predicate += 1
                words[base + 1 + 2 * predicate] = postings.label[row]
                words[base + 2 + 2 * predicate] = end - j
            codes[stop - end + j] = postings.owner[row]
        i = end
        page += 1
    for cluster in range(len(clusters.begin) - 1):
        clusters.begin[cluster + 1] += clusters.begin[cluster]
    clusters.state[ENTRIES], clusters.state[POSTINGS] = page, len(order)
