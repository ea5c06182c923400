"""What an event of a batch pays before and behind the access keys of a segment.

    columns       each axis reads its column, whether an event has the attribute or not
    texts         each axis of found things searches its texts, or looks up its lists
    evaluation    what boxes leave open is evaluated, for each condition that holds
    matches       what is found is written down

Nanoseconds, measured on one core of a machine of 2026 by ``python -m benchmarks.plans``, which
compares the plan with the time of W1 to W7 and fails beyond a factor of three.
"""

from __future__ import annotations

from tamis.matching.axes.sort import AxisSort
from tamis.matching.segments.segment import Segment

EVENT, EVALUATION, MATCH = 40.0, 60.0, 2.0
"""An event itself, a condition that holds but does not say all, and a match."""
READ = {
    AxisSort.NUMBER: 20.0,
    AxisSort.STRING: 25.0,
    AxisSort.TIMESTAMP: 20.0,
    AxisSort.BOOLEAN: 20.0,
    AxisSort.MIXED: 40.0,
    AxisSort.REVERSED: 80.0,
    AxisSort.FOLDED: 90.0,
    AxisSort.FOLDED_REVERSED: 160.0,
    AxisSort.ADDRESS: 90.0,
    AxisSort.PRESENCE: 10.0,
    AxisSort.TERM: 40.0,
    AxisSort.COMPARED: 20.0,
}
SEARCH = {AxisSort.SUBSTRINGS: 120.0, AxisSort.FOLDED_SUBSTRINGS: 180.0, AxisSort.CONTAINED: 80.0}


def steps_of(segment: Segment, passed: float, matched: float) -> dict[str, float]:
    """What an event pays at each step of a segment, of whose conditions so many hold for it, and of
    whose plain boxes so many contain it."""
    return {
        "columns": EVENT + sum(READ[axis.key.sort] for axis in segment.axes),
        "texts": sum(SEARCH[each.found.axis.key.sort] for each in segment.sought),
        "evaluation": EVALUATION * passed,
        "matches": MATCH * matched,
    }
