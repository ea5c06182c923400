"""Overlays of a hundred brokers with 10,000 subscriptions, trees and others; brokers crash and return.

``TAMIS_SOAK=1``: a thousand brokers with 100,000 subscriptions.
"""

from __future__ import annotations

import os
import random

import pytest

from tamis.routing.link_table import COVERING, MERGING
from tamis.routing.messages import Timeouts
from tamis.routing.simulator import Simulator, random_tree
from tests.routing.test_overlay import EVERYTHING, RULES
from tests.routing.world import FACTS, check_publishing, random_filter

IS_SOAK = bool(os.environ.get("TAMIS_SOAK"))
SEED = int(os.environ.get("SEED", "7"))
BROKERS, SUBSCRIPTIONS = (1_000, 100_000) if IS_SOAK else (100, 10_000)


@pytest.mark.slow
@pytest.mark.timeout(0 if IS_SOAK else 600)
@pytest.mark.parametrize(
    ("mode", "chords", "share"), [(COVERING, 0, 1.0), (COVERING, 20, 0.2), (MERGING, 0, 0.2)]
)
def test_every_event_reaches_exactly_the_right_brokers(
    mode: str, chords: int, share: float
) -> None:
    rng = random.Random(SEED)
    edges = random_tree(BROKERS, SEED)
    for _ in range(chords):
        a, b = rng.sample(range(BROKERS), 2)
        edges.append((f"b{a}", f"b{b}"))
    timing = Timeouts(1.0, 10.0, 100.0)
    world = Simulator(edges, SEED, mode=mode, facts=FACTS, timing=timing, rules=RULES)
    world.advertise("b0", "adv0", EVERYTHING)
    world.advertise(f"b{BROKERS // 2}", "adv1", EVERYTHING)
    world.settle()
    count = int(share * SUBSCRIPTIONS)
    for n in range(count):
        world.subscribe(f"b{rng.randrange(BROKERS)}", f"s{n}", random_filter(rng, 60))
    world.settle()
    check_publishing(world, rng, 5, "before")
    down = rng.sample(list(world.brokers), 5)
    for name in down:
        world.crash(name)
    for n in range(0, count, 20):
        for name, host in world.hosts.items():
            if f"s{n}" in host.subscriptions:
                world.unsubscribe(name, f"s{n}")
                break
    world.run(20.0)
    for name in down:
        world.start(name)
        world.run(2.0)
    world.settle()
    check_publishing(world, rng, 5, "after")
    assert not world.losses
