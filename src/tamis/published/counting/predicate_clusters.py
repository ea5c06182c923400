"""Predicates clustered by axis and operator, each with the boxes that it appears in.

A cluster is a sorted sequence of predicates, cut into pages of equal size; one directory has all
pages of all clusters in their order.

    cluster       price =           price >=                 price <=
    begin         0                 1                        3                4
    directory     3, ..             0, ..    400, ..         0, ..                 least entry
                  page 7            page 0   page 4          page 2                of a page

    page 0        count | label, tail | label, tail | ->        <- | codes of boxes, by predicate
                  2       0      5      380    2                     8  31  70     12  44

A code stands for a box in whatever the caller counts by. Entries (label, code) ascend; the codes of
one page lie side by side at its end, and ``tail`` is how many of them belong to a predicate and
those behind it. So the codes of the predicates that an event satisfies, a prefix of the cluster of
*at least* or a suffix of that of *at most*, are whole pages and a part of one: they are read in
runs, whether a predicate has one box or thousands. With a list of boxes for each predicate instead,
a cluster of distinct constants would be read in runs of one.

Each predicate is stored once, but for those that go on in another page. Invariants: an entry of
the directory has a page, which is not empty, and (label, code) at most the least of that page and
above all before it in its cluster; ``page`` behind the last entry has the free pages. Finding an
entry takes a binary search of the directory and one of a page; an insertion besides moves part of a
page, and, once in a few hundred times, splits it, which moves part of the directory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.published.boxes import Usage, grown
from tamis.published.predicates import OPERATORS

PAGE = 256
"""Words of a page; a predicate takes two, a code half of one."""
ENTRIES, POSTINGS = range(2)
"""Entries of the directory, and codes in all pages."""


class Clusters(NamedTuple):
    """The directory and the pages; cluster c, OPERATORS * axis + operator, has the entries
    begin[c]:begin[c + 1]."""

    begin: Offsets
    label: Labels
    code: Numbers
    page: Numbers
    words: Labels
    state: Offsets


def empty_clusters(axes: int = 1, pages: int = 4) -> Clusters:
    """Clusters without predicates, and room for some."""
    return Clusters(
        np.zeros(OPERATORS * axes + 1, np.int64),
        np.zeros(pages, np.int64),
        np.zeros(pages, np.int32),
        np.arange(pages, dtype=np.int32),
        np.zeros(pages * PAGE, np.int64),
        np.zeros(2, np.int64),
    )


def with_room(clusters: Clusters, axes: int, pages: int) -> Clusters:
    """Clusters for so many axes, and room for so many pages more."""
    begin, label, code, page, words, state = clusters
    if OPERATORS * axes >= len(begin):
        more = np.full(OPERATORS * axes + 1 - len(begin), state[ENTRIES])
        begin = np.concatenate((begin, more))
    label = grown(label, int(state[ENTRIES]) + pages)
    free = np.arange(len(page), len(label), dtype=np.int32)
    page, words = np.concatenate((page, free)), grown(words, len(label) * PAGE)
    return Clusters(begin, label, grown(code, len(label)), page, words, state)


def page_usage(clusters: Clusters) -> Usage:
    """The memory of pages: what is there needs one for 64 codes, after insertions in any order, and
    one for each cluster."""
    entries, postings = clusters.state.tolist()
    needed = postings // 64 + min(entries, len(clusters.begin) - 1)
    return Usage(len(clusters.page) * PAGE * 8, needed * PAGE * 8)


# --- within a page -------------------------------------------------------------------------------


@kernel
def label_place(words: Labels, base: int, label: int) -> tuple[int, int]:
    """Which predicate of a page is the first whose label is not less, and how many were tried."""
    low, high, steps = 0, words[base], 0
    while low < high:
        middle = low + high >> 1
        steps += 1
        if words[base + 1 + 2 * middle] < label:
            low = middle + 1
        else:
            high = middle
    return low, steps


@kernel
def tail_of(words: Labels, base: int, predicate: int) -> int:
    """How many codes a predicate of a page and those behind it have."""
    return words[base + 2 + 2 * predicate] if predicate < words[base] else 0


@kernel
def code_place(codes: Numbers, low: int, high: int, code: int) -> int:
    """The first place between two where the code is not less."""
    while low < high:
        middle = low + high >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def is_full(words: Labels, base: int) -> bool:
    """Whether a page has no room for one predicate more, with a code."""
    used: int = 4 * words[base] + tail_of(words, base, 0)
    return used + 7 > 2 * PAGE


@kernel
def put_entry(words: Labels, base: int, label: int, code: int) -> None:
    """Put an entry into a page that has room."""
    codes, stop = words.view(np.int32), 2 * (base + PAGE)
    first = stop - tail_of(words, base, 0)
    at, _ = label_place(words, base, label)
    count = words[base]
    if at == count or words[base + 1 + 2 * at] != label:
        tail = tail_of(words, base, at)
        for i in range(base + 2 * count, base + 2 * at, -1):
            words[i + 2] = words[i]
        words[base + 1 + 2 * at], words[base + 2 + 2 * at] = label, tail
        words[base] = count + 1
    begin, end = stop - tail_of(words, base, at), stop - tail_of(words, base, at + 1)
    place = code_place(codes, begin, end, code)
    for i in range(first, place):
        codes[i - 1] = codes[i]
    codes[place - 1] = code
    for i in range(at + 1):
        words[base + 2 + 2 * i] += 1


@kernel
def drop_entry(words: Labels, base: int, label: int, code: int) -> None:
    """Take an entry out of its page."""
    codes, stop = words.view(np.int32), 2 * (base + PAGE)
    first = stop - tail_of(words, base, 0)
    at, _ = label_place(words, base, label)
    begin, end = stop - tail_of(words, base, at), stop - tail_of(words, base, at + 1)
    for i in range(code_place(codes, begin, end, code), first, -1):
        codes[i] = codes[i - 1]
    for i in range(at + 1):
        words[base + 2 + 2 * i] -= 1
    if end - begin == 1:
        words[base] -= 1
        for i in range(base + 1 + 2 * at, base + 1 + 2 * words[base]):
            words[i] = words[i + 2]


# --- in the directory ----------------------------------------------------------------------------


@kernel
def find_entry(clusters: Clusters, cluster: int, label: int, code: int) -> tuple[int, int]:
    """The last entry of a cluster, which has some, that is at most (label, code), or else its
    first; and how many were tried."""
    low, high, steps = clusters.begin[cluster] + 1, clusters.begin[cluster + 1], 0
    while low < high:
        middle = low + high >> 1
        steps += 1
        own = clusters.label[middle]
        if own < label or (own == label and clusters.code[middle] <= code):
            low = middle + 1
        else:
            high = middle
    return low - 1, steps


@kernel
def open_page(clusters: Clusters, cluster: int, entry: int, label: int, code: int) -> int:
    """Make an entry of the directory with an empty page; return where the page begins."""
    page, last = clusters.page, clusters.state[ENTRIES]
    free: int = page[last]
    for i in range(last, entry, -1):
        clusters.label[i], clusters.code[i] = clusters.label[i - 1], clusters.code[i - 1]
        page[i] = page[i - 1]
    clusters.label[entry], clusters.code[entry], page[entry] = label, code, free
    clusters.begin[cluster + 1 :] += 1
    clusters.state[ENTRIES] += 1
    clusters.words[free * PAGE] = 0
    return free * PAGE


@kernel
def close_page(clusters: Clusters, cluster: int, entry: int) -> None:
    """Delete an entry of the directory, whose page is empty."""
    page, last = clusters.page, clusters.state[ENTRIES] - 1
    free = page[entry]
    for i in range(entry, last):
        clusters.label[i], clusters.code[i] = clusters.label[i + 1], clusters.code[i + 1]
        page[i] = page[i + 1]
    page[last] = free
    clusters.begin[cluster + 1 :] -= 1
    clusters.state[ENTRIES] -= 1


@kernel
def split_page(clusters: Clusters, cluster: int, entry: int, label: int, code: int) -> int:
    """Move the upper half of a full page to a new one behind it, or nothing if what comes is above
    all of it; return the entry where that belongs."""
    words, codes = clusters.words, clusters.words.view(np.int32)
    base = clusters.page[entry] * PAGE
    count, used, stop = words[base], tail_of(words, base, 0), 2 * (base + PAGE)
    last = words[base - 1 + 2 * count]
    if label > last or (label == last and code > codes[stop - 1]):
        open_page(clusters, cluster, entry + 1, label, code)
        return entry + 1
    moved = used - used // 2
    cut = 0
    while tail_of(words, base, cut) > moved:
        cut += 1
    if tail_of(words, base, cut) < moved:
        cut -= 1  # some codes of this predicate stay
    fresh = open_page(clusters, cluster, entry + 1, words[base + 1 + 2 * cut], codes[stop - moved])
    words[fresh] = count - cut
    words[fresh + 1 : fresh + 1 + 2 * (count - cut)] = words[
        base + 1 + 2 * cut : base + 1 + 2 * count
    ]
    codes[2 * (fresh + PAGE) - moved : 2 * (fresh + PAGE)] = codes[stop - moved : stop]
    stays = cut + (words[fresh + 2] > moved)
    words[fresh + 2] = moved
    for i in range(stop - moved - 1, stop - used - 1, -1):
        codes[i + moved] = codes[i]
    words[base] = stays
    for i in range(stays):
        words[base + 2 + 2 * i] -= moved
    own: int = clusters.label[entry + 1]
    behind: bool = own < label or (own == label and clusters.code[entry + 1] <= code)
    return entry + behind


@kernel
def insert(clusters: Clusters, cluster: int, label: int, code: int) -> None:
    """Insert a predicate's box; there must be a free page."""
    first = clusters.begin[cluster]
    if first == clusters.begin[cluster + 1]:
        open_page(clusters, cluster, first, label, code)
    entry, _ = find_entry(clusters, cluster, label, code)
    own = clusters.label[entry]
    if label < own or (label == own and code < clusters.code[entry]):
        clusters.label[entry], clusters.code[entry] = label, code
    if is_full(clusters.words, clusters.page[entry] * PAGE):
        entry = split_page(clusters, cluster, entry, label, code)
    put_entry(clusters.words, clusters.page[entry] * PAGE, label, code)
    clusters.state[POSTINGS] += 1


@kernel
def remove(clusters: Clusters, cluster: int, label: int, code: int) -> None:
    """Remove a predicate's box, which is there."""
    entry, _ = find_entry(clusters, cluster, label, code)
    base = clusters.page[entry] * PAGE
    drop_entry(clusters.words, base, label, code)
    if clusters.words[base] == 0:
        close_page(clusters, cluster, entry)
    clusters.state[POSTINGS] -= 1
