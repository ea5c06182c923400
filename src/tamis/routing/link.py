"""One side of a link between two brokers: what was told, what was heard, what is not acknowledged.

Changes of tables are numbered. The receiver keeps the greatest number of each thing and ignores
smaller ones, so that repetition and another order do no harm; numbers below the sender's floor are
repetitions.

What replaces something is acknowledged before that is withdrawn: as long as a subscription that was
told waits for its acknowledgement, none is withdrawn on the link. (As PADRES prints it, section
4.1, covered subscriptions are withdrawn first, and events are lost in between.)

Everything takes time in proportion to what has changed, or is due, and not to what is known.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tamis.model.events.event import Event
from tamis.predicates.expression import Expression
from tamis.routing.advertisements import Advertisements, Announcement, Way
from tamis.routing.filters import Filter
from tamis.routing.messages import NO_SESSION, Message, Session, Timeouts, Verb

Thing = tuple[str, str]
"""``"s"`` or ``"a"``, and the id of a subscription or an advertisement."""
SUBSCRIPTION, ADVERTISEMENT, SYNC = "s", "a", "!"
KINDS = ADVERTISEMENT, SUBSCRIPTION
REPEATS = 100
"""Messages that are sent again in each ``retry``, at least, if so many wait for too long."""


@dataclass(slots=True)
class PendingMessage:
    """A message that has not been acknowledged."""

    message: Message
    first: float
    last: float


class Link:
    """The state of a broker about one neighbour."""

    def __init__(self, name: str, neighbour: str, start: int, send: Callable[[Message], None]):
        self.name, self.neighbour = name, neighbour
        self._send = send
        self.session: Session = (start, 0)
        self.peer: Session = NO_SESSION
        self.version = 0
        self.told: dict[Thing, Expression | Announcement | None] = {}
        """What the neighbour has been told, or None while that is being withdrawn."""
        self._latest: dict[Thing, int] = {}
        """The number of the last change of a thing that was told."""
        self.outdated: dict[Thing, None] = {}
        """Things of which the neighbour may have to be told."""
        self._obsolete: dict[Thing, None] = {}
        """Subscriptions to be withdrawn when those that replace them are acknowledged."""
        self.waiting: dict[int, PendingMessage] = {}
        self._lowest = 1
        """All changes below have been acknowledged."""
        self._subscribing = 0
        """Subscriptions among those that wait."""
        self.events: OrderedDict[str, PendingMessage] = OrderedDict()
        self._due: deque[tuple[float, int | str]] = deque()
        """When what waits is to be sent again; ends with the latest."""
        self._round = float("-inf")
        self._repeats = self._answers = 0
        """Messages that may be sent again, and those that were acknowledged, in this round."""
        self._heard: dict[Thing, int] = {}
        """The numbers of things heard, those below the floor left out."""
        self._heard_numbers: list[tuple[int, Thing]] = []
        self._floor = 0
        self.subscriptions: dict[str, Filter] = {}
        self.stale: set[Thing] = set()
        """What a neighbour had told before it began anew, and has not repeated yet."""
        self.complete: set[str] = set()
        """The kinds of things of which the neighbour has told all it knows ..."""
        self.said_complete: set[str] = set()
        """... and those of which it has been told so."""
        self.heard = self.hello = float("-inf")
        self.dead_since: float | None = None

    # Sending.

    def post(self, verb: Verb, **body: object) -> Message:
        """Send a message without waiting for an answer."""
        message = Message(
            verb,
            self.name,
            self.neighbour,
            self.session,
            self.peer,
            floor=min(self._lowest, self.version),
            **body,  # type: ignore[arg-type]
        )
        self._send(message)
        return message

    def _change(self, now: float, verb: Verb, thing: Thing, **body: object) -> None:
        """Send a change, and keep it until it is acknowledged."""
        self.version += 1
        self._latest[thing] = self.version
        message = self.post(verb, version=self.version, id=thing[1], **body)
        self.waiting[self.version] = PendingMessage(message, now, now)
        self._subscribing += verb == Verb.SUBSCRIBE
        self._due.append((now, self.version))

    @property
    def is_synced(self) -> bool:
        """Whether the neighbour has told all it knows."""
        return self.complete.issuperset(KINDS)

    @property
    def has_synced(self) -> bool:
        """Whether the neighbour has been told so."""
        return self.said_complete.issuperset(KINDS)

    def sync(self, now: float, kind: str) -> None:
        """Say that all of a kind has been told."""
        self.said_complete.add(kind)
        self._change(now, Verb.SYNCED, (SYNC, kind))

    def take_stale(self, kind: str) -> list[str]:
        """What the neighbour has not repeated of a kind, as it has told all."""
        self.complete.add(kind)
        gone = {thing for thing in self.stale if thing[0] == kind}
        self.stale -= gone
        return sorted(id for _, id in gone)

    def publish(self, now: float, id: str, event: Event, path: Way) -> None:
        """Send an event, and keep it until it is acknowledged."""
        message = self.post(Verb.PUBLISH, id=id, event=event, path=path)
        self.events[id] = PendingMessage(message, now, now)
        self._due.append((now, id))

    def correct_path(self, id: str, path: Way) -> None:
        """Say from the next time on that an event came another way."""
        waiting = self.events.get(id)
        if waiting is not None:
            waiting.message = replace(waiting.message, path=path)

    def publish_again(self, now: float) -> None:
        """Send all events that are kept to a neighbour that has begun anew."""
        for id, waiting in list(self.events.items()):
            if (event := waiting.message.event) is not None:
                self.publish(now, id, event, waiting.message.path)

    def retry(self, now: float, timing: Timeouts) -> None:
        """Send again what waits for too long, the oldest first.

        A neighbour that is late has not lost thousands of messages: to send it all of them again
        would make it later still, until no answer comes in time. So in each round it gets twice as
        many as it acknowledged in the round before.
        """
        if self.peer == NO_SESSION:
            if now - self.hello >= timing.retry:
                self.hello = now
                self.post(Verb.HELLO)
            return
        if now - self._round >= timing.retry:
            self._round, self._repeats = now, max(REPEATS, 2 * self._answers)
            self._answers = 0
        while self._repeats and self._due and now - self._due[0][0] >= timing.retry:
            sent, key = self._due.popleft()
            waiting = self.events.get(key) if isinstance(key, str) else self.waiting.get(key)
            if waiting is None or waiting.last != sent:
                continue
            self._repeats -= 1
            waiting.last = now
            self._due.append((now, key))
            old = waiting.message
            body = {"id": old.id, "expression": old.expression, "path": old.path}
            self.post(old.verb, version=old.version, event=old.event, **body)

    def oldest(self) -> float:
        """Since when an answer is waited for."""
        change = self.waiting.get(self._lowest)
        event = next(iter(self.events.values()), None)
        return min((each.first for each in (change, event) if each), default=float("inf"))

    def arrived(self, id: str) -> bool:
        """Take note of an acknowledgement of an event; whether it was waited for."""
        if self.events.pop(id, None) is None:
            return False
        self._answers += 1
        return True

    def acknowledged(self, message: Message) -> None:
        """Take note of an acknowledgement of a change."""
        waiting = self.waiting.pop(message.version, None)
        if waiting is None:
            return
        self._answers += 1
        self._subscribing -= waiting.message.verb == Verb.SUBSCRIBE
        while self._lowest <= self.version and self._lowest not in self.waiting:
            self._lowest += 1
        thing = thing_of(waiting.message)
        if self._latest.get(thing) == message.version:
            del self._latest[thing]
            if self.told.get(thing, thing) is None:
                del self.told[thing]

    def outdate(self, kind: str, ids: Iterable[str]) -> None:
        """Note things of which the neighbour may have to be told."""
        for id in ids:
            self.outdated[kind, id] = None

    def tell(
        self,
        now: float,
        wanted: Mapping[str, Expression],
        advertisements: Advertisements,
    ) -> None:
        """Let the neighbour know what has changed: new things first."""
        if self.peer == NO_SESSION:
            return
        for thing in sorted(self.outdated, key=_advertisements_first):
            kind, id = thing
            if kind == ADVERTISEMENT:
                made = advertisements.announcement(id, self.name, self.neighbour)
                self._tell_advertisement(now, thing, made)
            else:
                self._tell_subscription(now, thing, wanted.get(id))
        self.outdated.clear()
        if self._obsolete and not self._subscribing:
            for thing in self._obsolete:
                self.told[thing] = None
                self._change(now, Verb.UNSUBSCRIBE, thing)
            self._obsolete.clear()

    def _tell_advertisement(self, now: float, thing: Thing, made: Announcement | None) -> None:
        if made == self.told.get(thing):
            return
        self.told[thing] = made
        if made is None:
            self._change(now, Verb.UNADVERTISE, thing)
        else:
            body = {"expression": made.expression, "path": made.path}
            self._change(now, Verb.ADVERTISE, thing, **body)

    def _tell_subscription(self, now: float, thing: Thing, wanted: Expression | None) -> None:
        is_told = self.told.get(thing) is not None
        self._obsolete.pop(thing, None)
        if wanted is None and is_told:
            self._obsolete[thing] = None
        elif wanted is not None and not is_told:
            self.told[thing] = wanted
            self._change(now, Verb.SUBSCRIBE, thing, expression=wanted)

    # Hearing.

    def is_new(self, message: Message) -> bool:
        """Whether a change is not a repetition and not overtaken by a later one."""
        if message.floor > self._floor:
            self._floor = message.floor
            while self._heard_numbers and self._heard_numbers[0][0] < self._floor:
                number, thing = heapq.heappop(self._heard_numbers)
                if self._heard[thing] == number:
                    del self._heard[thing]
        thing = thing_of(message)
        if message.version < self._floor or message.version <= self._heard.get(thing, 0):
            return False
        self._heard[thing] = message.version
        heapq.heappush(self._heard_numbers, (message.version, thing))
        return True

    def begin(self, peer: Session, advertisements: Iterable[str]) -> None:
        """The neighbour has begun anew: all must be told again, and what it told is stale."""
        self.peer = peer
        self.told.clear()
        self._latest.clear()
        self._obsolete.clear()
        self.waiting.clear()
        self._lowest, self._subscribing = self.version + 1, 0
        self._heard.clear()
        self._heard_numbers.clear()
        self._floor = 0
        self.complete.clear()
        self.said_complete.clear()
        self.stale = {(SUBSCRIPTION, id) for id in self.subscriptions}
        self.stale |= {(ADVERTISEMENT, id) for id in advertisements}

    def give_up(self) -> list[str]:
        """Forget a neighbour that is dead for too long; return its events."""
        lost = list(self.events)
        self.events.clear()
        self.begin(NO_SESSION, ())
        self.session = (self.session[0], self.session[1] + 1)
        self.dead_since = None
        return lost


def thing_of(message: Message) -> Thing:
    """What a change is about."""
    if message.verb == Verb.SYNCED:
        return SYNC, message.id
    is_advertised = message.verb in (Verb.ADVERTISE, Verb.UNADVERTISE)
    return ADVERTISEMENT if is_advertised else SUBSCRIPTION, message.id


def _advertisements_first(thing: Thing) -> bool:
    return thing[0] != ADVERTISEMENT
