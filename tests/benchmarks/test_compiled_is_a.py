"""The compiled is-a test against the taxonomy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.compiled_is_a import find_kind_pairs, find_kinds, is_kind
from tamis.model.taxonomy.taxonomy import Taxonomy

NAMES = "abcdefgh"


def check(taxonomy: Taxonomy) -> None:
    terms = list(taxonomy)
    numbers = np.array([taxonomy.number(term) for term in terms], np.int32)
    labels = taxonomy.labels
    below, above = (side.ravel() for side in np.meshgrid(numbers, numbers, indexing="ij"))
    expected = [taxonomy.is_a(term, other) for term in terms for other in terms]
    found = np.empty(len(expected), np.bool_)
    find_kind_pairs(labels, below, above, found)
    assert found.tolist() == expected
    column = np.empty(len(terms), np.bool_)
    for ancestor in numbers:
        find_kinds(labels, numbers, ancestor, column)
        assert column.tolist() == found[above == ancestor].tolist()


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)), max_size=20
    )
)
def test_all_pairs_after_additions(additions: list[tuple[str, list[str]]]) -> None:
    taxonomy = Taxonomy({"a": []})
    for term, parents in additions:
        taxonomy.add(term, [parent for parent in parents if parent > term])
    check(taxonomy)


def test_all_pairs_of_a_larger_one() -> None:
    rng = np.random.default_rng(3)
    parents = {
        f"t{n}": [f"t{rng.integers(n)}" for _ in range(rng.choice([1, 1, 1, 2, 3]))] if n else []
        for n in range(150)
    }
    taxonomy = Taxonomy(parents)
    check(taxonomy)
    for n in range(150, 300):
        taxonomy.add(f"t{n}", [f"t{rng.integers(40)}"])
    check(taxonomy)


def test_no_term_is_a_kind_of_nothing() -> None:
    taxonomy = Taxonomy({"a": ["b"]})
    a, b, unknown = (taxonomy.number(term) for term in ("a", "b", "unknown"))
    assert unknown == -1
    assert is_kind(taxonomy.labels, a, b)
    assert not is_kind(taxonomy.labels, b, a)
    assert not is_kind(taxonomy.labels, a, unknown)
    assert not is_kind(taxonomy.labels, unknown, a)
    assert not is_kind(taxonomy.labels, unknown, unknown)
