"""Memory of what was made once."""

from __future__ import annotations

from tamis.arrays.sharing import Bounded


def test_a_full_memory_begins_again() -> None:
    known: Bounded[str, int] = Bounded(2)
    for number, key in enumerate("abb"):
        known[key] = number
    assert known == {"a": 0, "b": 2}
    known["c"] = 3
    assert known == {"c": 3}
