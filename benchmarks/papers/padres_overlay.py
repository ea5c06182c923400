"""Messages and table entries of an overlay, for each mode: set A on a tree of brokers."""

from __future__ import annotations

import random
from typing import NamedTuple

from benchmarks.papers.padres_boxes import ATTRIBUTES, SET_A_SMALL, routing_set, texts
from tamis.language.parser import parse
from tamis.predicates.facts import KnownFacts
from tamis.routing.link_table import MODES
from tamis.routing.messages import Verb
from tamis.routing.simulator import Simulator, random_tree

NAMES = [f"a{n}" for n in range(ATTRIBUTES)]
FACTS = KnownFacts(unique=NAMES, integers=NAMES)
BURST = 2_000
"""Subscriptions that come before the network settles."""


class Traffic(NamedTuple):
    """What an overlay came to."""

    subscribed: int
    """Messages that subscribe; those that withdraw are counted apart."""
    withdrawn: int
    entries: int


def traffic(brokers: int, count: int) -> dict[str, Traffic]:
    """By mode: what subscriptions of set A cost, spread over a random tree with a publisher."""
    expressions = [parse(text) for text in texts(routing_set(SET_A_SMALL, count))]
    found = {}
    for mode in MODES:
        rng = random.Random(1)
        world = Simulator(random_tree(brokers, 1), 1, mode=mode, facts=FACTS)
        world.advertise("b0", "everything", parse(" and ".join(f"{n} >= 0" for n in NAMES)))
        world.settle()
        for n, expression in enumerate(expressions, 1):
            world.subscribe(f"b{rng.randrange(brokers)}", f"s{n}", expression)
            if n % BURST == 0:
                world.settle()
        world.settle()
        entries = sum(broker.entries for broker in world.brokers.values())
        found[mode] = Traffic(world.counts[Verb.SUBSCRIBE], world.counts[Verb.UNSUBSCRIBE], entries)
    return found
