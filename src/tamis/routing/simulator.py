"""An overlay in one process, from a seed: delay, loss, repetition, another order, crashes.

Crashed brokers forget everything but what their hosts keep: the subscriptions and advertisements of
their clients, the events that were stored for them, and those that wait to be published.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tamis.predicates.expression import Expression
from tamis.routing import wire
from tamis.routing.messages import Loss, Message, Verb
from tamis.routing.overlay import Overlay


class Weather(NamedTuple):
    """What may happen to messages."""

    loss: float = 0.0
    repetition: float = 0.0
    least: float = 0.01
    most: float = 0.1
    """The delay of a message; as it varies, messages overtake each other."""


class Host:
    """What survives a crash of a broker."""

    def __init__(self) -> None:
        self.subscriptions: dict[str, Expression] = {}
        self.advertisements: dict[str, Expression] = {}
        self.unpublished: dict[str, Mapping[str, Any]] = {}
        self.stored: dict[str, set[str]] = {}
        """By event, stored once: the subscriptions that it was for."""
        self.delivered: set[str] = set()
        """Events that the broker has delivered since it started."""
        self.routes: dict[str, str] = {}
        """By advertisement: the neighbour that leads to its publisher."""
        self.starts = 0


class Simulator:
    """Brokers and the messages under way."""

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        seed: int = 0,
        weather: Weather | None = None,
        *,
        through_json: bool = False,
        **options: Any,
    ) -> None:
        """``through_json``: every message is written as JSON text and read again. ``options`` are
        those of ``Overlay``."""
        self._through_json = through_json
        self._random = random.Random(seed)
        self.weather = weather or Weather()
        self._options = options
        self.now = 0.0
        self._neighbours: dict[str, set[str]] = {}
        for a, b in edges:
            self._neighbours.setdefault(a, set()).add(b)
            self._neighbours.setdefault(b, set()).add(a)
        self.hosts = {name: Host() for name in self._neighbours}
        self.brokers: dict[str, Overlay] = {}
        self._queue: list[tuple[float, int, Message]] = []
        self._sent = 0
        self.counts: dict[Verb, int] = dict.fromkeys(Verb, 0)
        """Messages sent, repetitions by the network not counted."""
        self.losses: list[Loss] = []
        self.delivered_twice: list[str] = []
        """Events that a broker has delivered again although it did not restart."""
        self._next_tick = 0.0
        for name in self._neighbours:
            self.start(name)

    # Brokers and clients.

    def start(self, name: str) -> None:
        """Start a broker, again if it crashed."""
        host = self.hosts[name]
        host.starts += 1
        host.delivered.clear()
        broker = self.brokers[name] = Overlay(
            name,
            self._neighbours[name],
            start=host.starts,
            recovering=host.starts > 1,
            routes=host.routes,
            now=self.now,
            **self._options,
        )
        for id, expression in host.advertisements.items():
            broker.advertise(id, expression, self.now)
        for id, expression in host.subscriptions.items():
            broker.subscribe(id, expression, self.now)
        self._collect(name)

    def crash(self, name: str) -> None:
        """Stop a broker; messages to it are lost."""
        del self.brokers[name]

    def subscribe(self, name: str, id: str, expression: Expression) -> None:
        """Let a client subscribe."""
        self.hosts[name].subscriptions[id] = expression
        if name in self.brokers:
            self.brokers[name].subscribe(id, expression, self.now)
            self._collect(name)

    def unsubscribe(self, name: str, id: str) -> None:
        """Let a client unsubscribe."""
        del self.hosts[name].subscriptions[id]
        if name in self.brokers:
            self.brokers[name].unsubscribe(id, self.now)
            self._collect(name)

    def advertise(self, name: str, id: str, expression: Expression) -> None:
        """Let a client advertise."""
        self.hosts[name].advertisements[id] = expression
        if name in self.brokers:
            self.brokers[name].advertise(id, expression, self.now)
            self._collect(name)

    def unadvertise(self, name: str, id: str) -> None:
        """Let a client take an advertisement back."""
        del self.hosts[name].advertisements[id]
        if name in self.brokers:
            self.brokers[name].unadvertise(id, self.now)
            self._collect(name)

    def publish(self, name: str, id: str, event: Mapping[str, Any]) -> None:
        """Let a client publish, as often as it takes."""
        self.hosts[name].unpublished[id] = event
        if name in self.brokers:
            self.brokers[name].publish(id, event, self.now)
            self._collect(name)

    # Time.

    def run(self, duration: float) -> None:
        """Let time pass."""
        end = self.now + duration
        while True:
            due = min(self._next_tick, self._queue[0][0] if self._queue else float("inf"))
            if due > end:
                break
            self.now = due
            if due == self._next_tick:
                self._tick()
            else:
                message = heapq.heappop(self._queue)[2]
                broker = self.brokers.get(message.receiver)
                if broker is not None:
                    broker.receive(message, self.now)
                    self._collect(message.receiver)
        self.now = end

    def settle(self, limit: float = 10_000.0) -> None:
        """Let time pass until nothing is under way; raise if that never comes."""
        end = self.now + limit
        while not self.is_settled:
            if self.now > end:
                waiting = [name for name, each in self.brokers.items() if not each.is_settled]
                raise TimeoutError(f"after {limit:g} these brokers still wait: {waiting}")
            self.run(1.0)

    @property
    def is_settled(self) -> bool:
        """Whether all brokers run and nothing is under way."""
        return (
            len(self.brokers) == len(self.hosts)
            and not any(host.unpublished for host in self.hosts.values())
            and not self._queue
            and all(broker.is_settled for broker in self.brokers.values())
        )

    def _tick(self) -> None:
        self._next_tick = self.now + 0.5
        for name, broker in self.brokers.items():
            broker.tick(self.now)
            for id, event in list(self.hosts[name].unpublished.items()):
                broker.publish(id, event, self.now)
            self._collect(name)

    def _collect(self, name: str) -> None:
        """Take what a broker has put out."""
        broker, host = self.brokers[name], self.hosts[name]
        if (routes := broker.new_routes()) is not None:
            host.routes = routes
        for message in broker.outbox:
            self.counts[message.verb] += 1
            if self._through_json:
                message = wire.from_json(json.loads(json.dumps(wire.to_json(message))))
            if self._random.random() >= self.weather.loss:
                self._post(message)
                if self._random.random() < self.weather.repetition:
                    self._post(message)
        for event_id, _, subscriptions in broker.deliveries:
            if event_id in host.delivered:
                self.delivered_twice.append(event_id)
            host.delivered.add(event_id)
            host.stored.setdefault(event_id, set()).update(subscriptions)
        for event_id in broker.published:
            host.unpublished.pop(event_id, None)
        self.losses += broker.losses
        for done in (broker.outbox, broker.deliveries, broker.published, broker.losses):
            done.clear()

    def _post(self, message: Message) -> None:
        delay = self._random.uniform(self.weather.least, self.weather.most)
        self._sent += 1
        heapq.heappush(self._queue, (self.now + delay, self._sent, message))


def random_tree(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """The edges of a tree of brokers."""
    generator = random.Random(seed)
    return [(f"b{generator.randrange(n)}", f"b{n}") for n in range(1, count)]
