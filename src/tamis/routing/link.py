"""One side of a link between two brokers: what was told, what was heard, what is not acknowledged.

Changes of tables are numbered. The receiver keeps the greatest number of each thing and ignores
smaller ones, so that repetition and another order do no harm; numbers below the sender's floor are
repetitions.

What replaces something is acknowledged before that is withdrawn: as long as a subscription that was
told waits for its acknowledgement, none is withdrawn on the link. (As PADRES prints it, section
4.1, covered subscriptions are withdrawn first, and events are lost in between.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tamis.predicates.expression import Expression
from tamis.routing.filters import Filter
from tamis.routing.messages import NO_SESSION, Message, Session, Timeouts, Verb

Thing = tuple[str, str]
"""``"s"`` or ``"a"``, and the id of a subscription or an advertisement."""


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
        self.told: dict[Thing, object] = {}
        """What the neighbour has been told, or None while that is being withdrawn."""
        self.waiting: dict[int, PendingMessage] = {}
        self.events: dict[str, PendingMessage] = {}
        self.heard_things: dict[Thing, int] = {}
        """The numbers of things heard, those below the floor left out."""
        self.floor = 0
        self.subscriptions: dict[str, Filter] = {}
        self.advertisements: dict[str, tuple[Filter, tuple[str, ...]]] = {}
        self.stale: set[Thing] = set()
        """What a neighbour had told before it began anew, and has not repeated yet."""
        self.is_synced = self.has_synced = False
        """Whether the neighbour has told all it knows, and whether it was told so."""
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
            floor=min(self.waiting, default=self.version),
            **body,  # type: ignore[arg-type]
        )
        self._send(message)
        return message

    def change(self, now: float, verb: Verb, **body: object) -> None:
        """Send a change, and keep it until it is acknowledged."""
        self.version += 1
        message = self.post(verb, version=self.version, **body)
        self.waiting[self.version] = PendingMessage(message, now, now)

    def publish(self, now: float, id: str, event: object) -> None:
        """Send an event, and keep it until it is acknowledged."""
        self.events[id] = PendingMessage(self.post(Verb.PUBLISH, id=id, event=event), now, now)

    def retry(self, now: float, timing: Timeouts) -> None:
        """Send again what waits for too long."""
        if self.peer == NO_SESSION:
            if now - self.hello >= timing.retry:
                self.hello = now
                self.post(Verb.HELLO)
            return
        for waiting in [*self.waiting.values(), *self.events.values()]:
            if now - waiting.last >= timing.retry:
                waiting.last = now
                old = waiting.message
                body = {"id": old.id, "expression": old.expression, "path": old.path}
                self.post(old.verb, version=old.version, event=old.event, **body)

    def oldest(self) -> float:
        """Since when an answer is waited for."""
        waiting = [*self.waiting.values(), *self.events.values()]
        return min((each.first for each in waiting), default=float("inf"))

    def acknowledged(self, message: Message) -> None:
        """Take note of an acknowledgement of a change."""
        waiting = self.waiting.pop(message.version, None)
        if waiting is not None and waiting.message.verb in (Verb.UNSUBSCRIBE, Verb.UNADVERTISE):
            thing = _thing(waiting.message)
            latest = all(_thing(each.message) != thing for each in self.waiting.values())
            if latest and thing in self.told and self.told[thing] is None:
                del self.told[thing]

    def tell(
        self,
        now: float,
        subscriptions: Mapping[str, Expression],
        advertisements: Mapping[str, tuple[Expression, tuple[str, ...]]],
    ) -> None:
        """Let the neighbour know these, and no others."""
        if self.peer == NO_SESSION:
            return
        for id, (expression, path) in advertisements.items():
            if self.told.get(("a", id)) != path:
                self.told["a", id] = path
                self.change(now, Verb.ADVERTISE, id=id, expression=expression, path=path)
        for id, expression in subscriptions.items():
            if self.told.get(("s", id)) is None:
                self.told["s", id] = True
                self.change(now, Verb.SUBSCRIBE, id=id, expression=expression)
        is_settled = all(each.message.verb != Verb.SUBSCRIBE for each in self.waiting.values())
        for thing, what in list(self.told.items()):
            kind, id = thing
            if what is None:
                continue
            if kind == "a" and id not in advertisements:
                self.told[thing] = None
                self.change(now, Verb.UNADVERTISE, id=id)
            elif kind == "s" and id not in subscriptions and is_settled:
                self.told[thing] = None
                self.change(now, Verb.UNSUBSCRIBE, id=id)

    # Hearing.

    def is_new(self, message: Message) -> bool:
        """Whether a change is not a repetition and not overtaken by a later one."""
        if message.floor > self.floor:
            self.floor = message.floor
            self.heard_things = {t: v for t, v in self.heard_things.items() if v >= self.floor}
        thing = _thing(message)
        if message.version < self.floor or message.version <= self.heard_things.get(thing, 0):
            return False
        self.heard_things[thing] = message.version
        return True

    def begin(self, peer: Session) -> None:
        """The neighbour has begun anew: all must be told again, and what it told is stale."""
        self.peer = peer
        self.told.clear()
        self.waiting.clear()
        self.heard_things.clear()
        self.floor = 0
        self.is_synced = self.has_synced = False
        self.stale = {("s", id) for id in self.subscriptions}
        self.stale |= {("a", id) for id in self.advertisements}

    def give_up(self) -> tuple[list[str], int]:
        """Forget a neighbour that is dead for too long; return its events and how many entries."""
        lost = list(self.events), len(self.subscriptions) + len(self.advertisements)
        self.events.clear()
        self.subscriptions.clear()
        self.advertisements.clear()
        self.begin(NO_SESSION)
        self.session = (self.session[0], self.session[1] + 1)
        self.dead_since = None
        return lost


def _thing(message: Message) -> Thing:
    kind = "a" if message.verb in (Verb.ADVERTISE, Verb.UNADVERTISE) else "s"
    return ("!" if message.verb == Verb.SYNCED else kind), message.id
