"""When an index takes far more memory than what is left in it needs, it is built anew."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """Bytes of arrays that grow, and how many of them would do."""

    room: int
    used: int


FACTOR, LEAST = 8, 1 << 14


def is_sparse(*usages: Usage) -> bool:
    """Whether arrays are so empty that building them anew, which takes time in proportion to what
    is left, has been paid for by what was removed; one array that is empty beside others that are
    not does not count."""
    used = sum(usage.used for usage in usages)
    return sum(usage.room for usage in usages) > FACTOR * used + LEAST
