"""W7 of WORKLOADS.md: security detections, with the shape of a public rule base.

    made = w7(3_800, 10_000)
    made.rules       the rules as neutral data (``benchmarks.detection_model``)
    made.texts()     the same as subscriptions
    made.events      log records as dicts
    made.table()     the same as an Arrow table, null where a field is missing

``detection_pools`` has the sources, fields and words, ``detection_rules`` and ``detection_events``
draw from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from numpy.random import default_rng

from benchmarks.detection_events import Event, draw_events, event_table
from benchmarks.detection_model import Rule
from benchmarks.detection_pools import Pools
from benchmarks.detection_rules import draw_rules

SEED = 7


@dataclass
class Detections:
    """Rules and events of W7."""

    rules: list[Rule]
    events: list[Event]

    def texts(self) -> Iterator[str]:
        """Each rule in Tamis's language."""
        return (rule.text() for rule in self.rules)

    def subscriptions(self) -> pa.Table:
        """The rules as ``subscribe_many`` takes them; a rule's number is its id."""
        ids = pa.array([str(number) for number in range(len(self.rules))])
        return pa.table({"id": ids, "subscription": pa.array(self.texts(), pa.large_string())})

    def table(self) -> pa.Table:
        """The events as Arrow columns."""
        return event_table(self.events)


def w7(count: int, events: int, seed: int = SEED) -> Detections:
    """W7 with so many rules; beyond 3,800 they are copies with varied constants."""
    rng = default_rng(seed)
    pools = Pools(rng)
    rules = draw_rules(rng, pools, count)
    return Detections(rules, draw_events(rng, pools, rules, events))
