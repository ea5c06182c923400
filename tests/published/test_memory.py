"""When an index is built anew."""

from __future__ import annotations

from tamis.published.boxes import FACTOR, LEAST, Usage, is_sparse


def test_an_empty_array_beside_a_full_one_is_not_enough() -> None:
    empty, full = Usage(20 * LEAST, 0), Usage(20 * LEAST, 15 * LEAST)
    assert is_sparse(empty)
    assert not is_sparse(empty, full)
    assert is_sparse(empty, Usage(20 * LEAST, 2 * LEAST))


def test_what_is_small_may_be_empty() -> None:
    assert not is_sparse(Usage(LEAST, 0))
    assert not is_sparse(Usage(FACTOR * LEAST, LEAST))
