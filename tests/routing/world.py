"""Random overlays with clients, and the flat oracle: every subscription tried on every event."""

from __future__ import annotations

import random
from typing import Any

from tamis.bindings.evaluation import Trial, World
from tamis.language.parser import parse
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression
from tamis.predicates.facts import KnownFacts
from tamis.routing.simulator import Simulator

FACTS = KnownFacts(unique=["a", "b", "c"], integers=["a", "b", "c"])


def random_filter(rng: random.Random, values: int = 8) -> Expression:
    parts = []
    for name in rng.sample("abc", rng.randint(1, 3)):
        operator = rng.choice(["=", "<", "<=", ">", ">="])
        parts.append(f"{name} {operator} {rng.randrange(values)}")
    return parse(" and ".join(parts))


def random_event(rng: random.Random, values: int = 8) -> dict[str, Any]:
    return {name: rng.randrange(values) for name in "abc"}


def matches(expression: Expression, event: dict[str, Any]) -> bool:
    return bool(Trial(Event(event), World()).matches(expression))


def expected(simulator: Simulator, event: dict[str, Any]) -> dict[str, set[str]]:
    """By broker: the subscriptions of its clients that match an event."""
    found = {
        name: {id for id, each in host.subscriptions.items() if matches(each, event)}
        for name, host in simulator.hosts.items()
    }
    return {name: ids for name, ids in found.items() if ids}


def stored(simulator: Simulator, event_id: str) -> dict[str, set[str]]:
    """By broker: the subscriptions that it stored an event for."""
    return {
        name: host.stored[event_id]
        for name, host in simulator.hosts.items()
        if event_id in host.stored
    }


def check_publishing(simulator: Simulator, rng: random.Random, count: int, tag: str) -> None:
    """Publish in a settled overlay: exactly the right brokers must store each event."""
    events = {f"{tag}{n}": random_event(rng) for n in range(count)}
    for id, event in events.items():
        names = [
            name
            for name, host in simulator.hosts.items()
            if any(matches(each, event) for each in host.advertisements.values())
        ]
        simulator.publish(rng.choice(names), id, event)
    simulator.settle()
    for id, event in events.items():
        assert stored(simulator, id) == expected(simulator, event), (id, event)
    assert not simulator.delivered_twice
