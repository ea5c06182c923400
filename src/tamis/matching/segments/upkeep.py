"""Which segments of a snapshot are due to be made anew: merged, tidied, or taught.

Later segments are smaller. One is merged with all later ones when these have become a good part of
it, so that there are as many as the logarithm of the number of subscriptions.
"""

from __future__ import annotations

from tamis.matching.segments.snapshot import Snapshot

RATIO = 4
"""A segment is merged with all later ones when it has less than so many times their boxes."""


def to_merge(now: Snapshot) -> slice | None:
    """The last segments, if they are not much smaller than the one before them."""
    sizes = [each.segment.boxes for each in now.segments]
    first, total = len(sizes), 0
    while first and not now.segments[first - 1].apart:
        if total and sizes[first - 1] >= RATIO * total:
            break
        first -= 1
        total += sizes[first]
    return slice(first, len(sizes)) if len(sizes) - first > 1 else None


def to_tidy(now: Snapshot) -> slice | None:
    """A segment most of whose subscriptions are gone."""
    for number, each in enumerate(now.segments):
        if now.epoch - each.epoch >= each.segment.subscriptions / 2:
            gone = now.died[each.segment.box_slots()] <= now.epoch
            if 2 * int(gone.sum()) >= len(gone):
                return slice(number, number + 1)
    return None


def to_teach(now: Snapshot, times: int) -> slice | None:
    """A segment that does not know what was learned last."""
    for number, each in enumerate(now.segments):
        if each.learned < times:
            return slice(number, number + 1)
    return None
