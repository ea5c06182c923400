"""The compiled is-a test: numbered terms against numbered terms, over the labels of a taxonomy.

    labels = taxonomy.labels                       # again after every taxonomy.add
    is_kind(labels, taxonomy.number("throne"), taxonomy.number("regalia"))

The labels are described in tree_cover.py and nesting.py. A test looks at three places of
ends and, if the term is not below the other in the tree, at some of its sides: a logarithm of how
many there are. A number below zero is no term, and a kind of nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.model.taxonomy.tree_cover import LabelArrays

Terms = NDArray[np.int32]


@kernel
def _label(labels: LabelArrays, end: int) -> int:
    place = labels.places[end]
    return (np.int64(labels.ranks[place >> 8]) << 8) | (place & 255)  # type: ignore[no-any-return]


@kernel
def is_kind(labels: LabelArrays, term: int, ancestor: int) -> bool:
    """Whether one term is a kind of another."""
    if term < 0 or ancestor < 0:
        return False
    low, high = _label(labels, 2 * ancestor), _label(labels, 2 * ancestor + 1)
    label = _label(labels, 2 * term)
    if low <= label <= high:
        return True
    group = labels.group[term]
    first, stop = labels.start[group], labels.start[group + 1]
    while first < stop:
        middle = (first + stop) >> 1
        label = _label(labels, 2 * labels.sides[middle])
        if label < low:
            first = middle + 1
        elif label > high:
            stop = middle
        else:
            return True
    return False


@kernel
def find_kinds(labels: LabelArrays, terms: Terms, ancestor: int, found: NDArray[np.bool_]) -> None:
    """Tell of each of many terms whether it is a kind of one."""
    for at in range(len(terms)):
        found[at] = is_kind(labels, terms[at], ancestor)


@kernel
def find_kind_pairs(
    labels: LabelArrays, terms: Terms, ancestors: Terms, found: NDArray[np.bool_]
) -> None:
    """Tell of each of many terms whether it is a kind of the other at the same place."""
    for at in range(len(terms)):
        found[at] = is_kind(labels, terms[at], ancestors[at])
