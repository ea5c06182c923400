"""A broker of an overlay as a state machine: messages in, messages out, no sockets, no clock.

An advertisement floods the overlay; each broker notes the neighbour that it came from first, which
is the next broker towards the publisher. Paths go with it, so that it never runs in a circle. A
subscription follows the advertisements that it overlaps, backwards. An event follows the
subscriptions that it matches, backwards again (PADRES, section 2).

    publisher ── B1 ══ adv ══▶ B2 ══ adv ══▶ B3 ── subscriber
                    ◀═ sub ══    ◀═ sub ══
                    ══ event ═▶  ══ event ═▶

What a neighbour is told follows from the tables alone: all subscriptions of other origins that
overlap an advertisement of its (``simple``), those of them that no other covers (``covering``), or
mergers of these (``merging``). When tables change, links tell the difference (``link.py``), so that
covering, uncovering, merging and its cancellation are one and the same thing.

An event is acknowledged when it is delivered here and all neighbours that it went to have
acknowledged it. So it is held before a broker that crashes, and sent again when it returns. Such a
broker takes in its neighbours' tables before it lets events through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tamis.engine.engine import Engine
from tamis.errors import DuplicateIdError, TamisError, UnknownIdError
from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering import CoveringTable, FilterSet
from tamis.routing.filters import Filter
from tamis.routing.link import Link
from tamis.routing.merging import Merger, MergeRules, mergers_of
from tamis.routing.messages import NO_SESSION, Delivery, Loss, Message, Timeouts, Verb

SIMPLE, COVERING, MERGING = "simple", "covering", "merging"
LOCAL = ""
"""The origin of what this broker's own clients say."""
MAX_DONE = 100_000
"""Events whose ids are remembered after they were acknowledged, so that repetitions are known."""
_BETWEEN = "\x1f"


class Overlay:
    """One broker. Whoever runs it sends what is in ``outbox``, stores what is in ``deliveries``,
    and calls ``tick`` now and then."""

    def __init__(
        self,
        name: str,
        neighbours: Iterable[str],
        *,
        start: int = 1,
        recovering: bool = False,
        mode: str = COVERING,
        facts: Facts = NO_FACTS,
        timing: Timeouts | None = None,
        rules: MergeRules | None = None,
        merge_at: int = 16,
        now: float = 0.0,
    ) -> None:
        """``start`` must be greater after each restart. ``merge_at``: mergers are looked for when
        so many subscriptions for a neighbour have come or gone since the last time."""
        if mode not in (SIMPLE, COVERING, MERGING):
            raise TamisError(f"unknown mode {mode!r}; there are simple, covering, merging")
        self.name, self._mode, self._facts = name, mode, facts
        self._timing = timing or Timeouts()
        self._rules, self._merge_at = rules, merge_at
        self.outbox: list[Message] = []
        self.deliveries: list[Delivery] = []
        self.published: list[str] = []
        """Events of this broker's clients that have reached everybody."""
        self.losses: list[Loss] = []
        self.links = {
            each: Link(name, each, start, self.outbox.append) for each in sorted(neighbours)
        }
        self._tables: dict[str, _LinkTable] = {each: _LinkTable(facts) for each in self.links}
        self._origins: dict[str, dict[str, Filter]] = {}
        """By subscription: where it came from."""
        self._subscriptions: FilterSet[str] = FilterSet(facts)
        self._advertisers: dict[str, dict[str, tuple[Filter, tuple[str, ...]]]] = {}
        self._advertisements: FilterSet[str] = FilterSet(facts)
        self._route: dict[str, str] = {}
        """By advertisement: the origin that leads to its publisher."""
        self._engine = Engine()
        self._progress: dict[str, _Progress] = {}
        self._done: dict[str, None] = {}
        self._recovering_since = now if recovering and self.links else None
        self.tick(now)

    # What clients of this broker do.

    def subscribe(self, id: str, expression: Expression, now: float) -> None:
        """Add a subscription of a client; ids are unique in the overlay."""
        if LOCAL in self._origins.get(id, {}):
            raise DuplicateIdError(
                f"subscription {id!r} exists at {self.name}; unsubscribe it first"
            )
        self._enter(id, LOCAL, Filter.of(expression, self._facts))
        self._tell(now)

    def unsubscribe(self, id: str, now: float) -> None:
        """Remove a subscription of a client."""
        if LOCAL not in self._origins.get(id, {}):
            raise UnknownIdError(f"no client of {self.name} has a subscription {id!r}")
        self._leave(id, LOCAL)
        self._tell(now)

    def advertise(self, id: str, expression: Expression, now: float) -> None:
        """Announce what a client will publish."""
        self._announce(id, LOCAL, Filter.of(expression, self._facts), ())
        self._tell(now)

    def unadvertise(self, id: str, now: float) -> None:
        """Take an announcement back."""
        self._retract(id, LOCAL)
        self._tell(now)

    def publish(self, event_id: str, event: Mapping[str, Any], now: float) -> None:
        """Publish an event of a client; ``published`` has its id when it has reached everybody.
        Until then the client keeps it, and publishes it again if this broker restarts."""
        if self._recovering_since is None:
            self._pass(event_id, event, LOCAL, now)

    # What neighbours and the clock do.

    def receive(self, message: Message, now: float) -> None:
        """Take in a message."""
        link = self.links.get(message.sender)
        if link is None or message.sender_session < link.peer:
            return
        link.heard = now
        link.dead_since = None
        if message.sender_session > link.peer:
            link.begin(message.sender_session)
            link.post(Verb.HELLO)
            for id, waiting in list(link.events.items()):
                link.publish(now, id, waiting.message.event)
        if message.receiver_session != link.session:
            if message.verb != Verb.HELLO:
                link.post(Verb.HELLO)
        elif message.verb == Verb.ACKNOWLEDGE:
            self._acknowledged(link, message, now)
        elif message.verb == Verb.PUBLISH:
            self._pass(message.id, message.event, link.neighbour, now)
        elif message.verb != Verb.HELLO:
            if link.is_new(message):
                self._apply(link, message)
            link.post(Verb.ACKNOWLEDGE, version=message.version)
        self._tell(now)

    def tick(self, now: float) -> None:
        """Let time pass: send again, give up, merge."""
        for link in self.links.values():
            oldest = max(link.oldest(), link.heard)
            if link.dead_since is None and now - oldest >= self._timing.dead:
                link.dead_since = now
            if link.dead_since is not None and now - link.dead_since >= self._timing.hold:
                self._give_up(link, now)
            link.retry(now, self._timing)
        self._tell(now)

    def _apply(self, link: Link, message: Message) -> None:
        origin = link.neighbour
        if message.verb == Verb.SYNCED:
            link.is_synced = True
            for kind, id in list(link.stale):
                (self._leave if kind == "s" else self._retract)(id, origin)
            link.stale.clear()
        elif message.verb == Verb.UNSUBSCRIBE:
            self._leave(message.id, origin)
        elif message.verb == Verb.UNADVERTISE:
            self._retract(message.id, origin)
        else:
            assert message.expression is not None
            filter = Filter.of(message.expression, self._facts)
            if message.verb == Verb.SUBSCRIBE:
                link.stale.discard(("s", message.id))
                self._enter(message.id, origin, filter)
            else:
                link.stale.discard(("a", message.id))
                self._announce(message.id, origin, filter, message.path)

    def _give_up(self, link: Link, now: float) -> None:
        subscriptions, advertisements = list(link.subscriptions), list(link.advertisements)
        for id in subscriptions:
            self._leave(id, link.neighbour)
        for id in advertisements:
            self._retract(id, link.neighbour)
        events, _ = link.give_up()
        entries = len(subscriptions) + len(advertisements)
        if events or entries:
            self.losses.append(Loss(link.neighbour, events, entries))
        for id in events:
            self._arrived(id, link.neighbour)

    # Tables.

    def _enter(self, id: str, origin: str, filter: Filter) -> None:
        origins = self._origins.setdefault(id, {})
        if origin in origins:
            return
        origins[origin] = filter
        if origin != LOCAL:
            self.links[origin].subscriptions[id] = filter
        self._engine.subscribe(filter.expression, id=origin + _BETWEEN + id)
        if len(origins) == 1:
            self._subscriptions.add(id, filter)
        self._direct(id)

    def _leave(self, id: str, origin: str) -> None:
        origins = self._origins.get(id, {})
        if origins.pop(origin, None) is None:
            return
        if origin != LOCAL:
            del self.links[origin].subscriptions[id]
        self._engine.unsubscribe(origin + _BETWEEN + id)
        self._direct(id)
        if not origins:
            self._subscriptions.remove(id)
            del self._origins[id]

    def _announce(self, id: str, origin: str, filter: Filter, path: tuple[str, ...]) -> None:
        if self.name in path:
            self._retract(id, origin)
            return
        origins = self._advertisers.setdefault(id, {})
        origins[origin] = filter, path
        if origin != LOCAL:
            self.links[origin].advertisements[id] = filter, path
        if id not in self._advertisements:
            self._advertisements.add(id, filter)
        if self._route.setdefault(id, origin) == origin:
            self._redirect(filter)

    def _retract(self, id: str, origin: str) -> None:
        origins = self._advertisers.get(id, {})
        if origins.pop(origin, None) is None:
            return
        if origin != LOCAL:
            del self.links[origin].advertisements[id]
        if self._route[id] != origin:
            return
        filter = self._advertisements[id]
        if origins:
            self._route[id] = min(origins, key=lambda each: (len(origins[each][1]), each))
        else:
            del self._route[id], self._advertisers[id]
            self._advertisements.remove(id)
        self._redirect(filter)

    def _redirect(self, advertisement: Filter) -> None:
        for id in self._subscriptions.overlapping(advertisement):
            self._direct(id)

    def _direct(self, id: str) -> None:
        """Put a subscription into the tables of the links that lead to what it asks for."""
        filter = self._subscriptions[id]
        origins = self._origins[id]
        towards = {self._route[each] for each in self._advertisements.overlapping(filter)}
        for neighbour, table in self._tables.items():
            table.set(id, filter, neighbour in towards and bool(origins.keys() - {neighbour}))

    def _tell(self, now: float) -> None:
        """Let all neighbours know what they should."""
        self._recover(now)
        for neighbour, link in self.links.items():
            if link.peer == NO_SESSION:
                continue
            told = self._tables[neighbour].wanted(
                self._mode, f"{self.name}/{neighbour}", self._rules, self._merge_at
            )
            link.tell(now, told, self._announced(neighbour))
            if not link.has_synced and not link.waiting and self._recovering_since is None:
                link.has_synced = True
                link.change(now, Verb.SYNCED)

    def _announced(self, neighbour: str) -> Mapping[str, tuple[Expression, tuple[str, ...]]]:
        """The advertisements that a neighbour should know, with the paths that they came."""
        found = {}
        for id, origin in self._route.items():
            filter, path = self._advertisers[id][origin]
            if origin != neighbour and neighbour not in path:
                found[id] = filter.expression, (self.name, *path)
        return found

    def _recover(self, now: float) -> None:
        since = self._recovering_since
        if since is not None and (
            all(link.is_synced for link in self.links.values()) or now - since >= self._timing.hold
        ):
            self._recovering_since = None

    # Events.

    def _pass(self, id: str, event: Mapping[str, Any], origin: str, now: float) -> None:
        """Deliver an event, and pass it on."""
        if self._recovering_since is not None:
            return  # it comes again
        progress = self._progress.get(id)
        if id in self._done or (progress is not None and origin not in progress.upstream):
            self._answer(id, [origin])
            return
        if progress is not None:
            return
        local: list[str] = []
        towards: set[str] = set()
        for found in self._engine.match(event):
            where, _, subscription = found.partition(_BETWEEN)
            if where == LOCAL:
                local.append(subscription)
            elif where != origin:
                towards.add(where)
        if local:
            self.deliveries.append(Delivery(id, event, sorted(local)))
        self._progress[id] = _Progress([origin], set(towards))
        for neighbour in sorted(towards):
            self.links[neighbour].publish(now, id, event)
        self._arrived(id, None)

    def _arrived(self, id: str, neighbour: str | None) -> None:
        """Take note that an event has reached all behind a neighbour."""
        progress = self._progress.get(id)
        if progress is None:
            return
        progress.waiting.discard(neighbour or LOCAL)
        if not progress.waiting:
            del self._progress[id]
            self._done[id] = None
            if len(self._done) > MAX_DONE:
                del self._done[next(iter(self._done))]
            self._answer(id, progress.upstream)

    def _answer(self, id: str, origins: Sequence[str]) -> None:
        for origin in origins:
            if origin == LOCAL:
                self.published.append(id)
            else:
                self.links[origin].post(Verb.ACKNOWLEDGE, id=id)

    def _acknowledged(self, link: Link, message: Message, now: float) -> None:
        if message.version:
            link.acknowledged(message)
        elif link.events.pop(message.id, None) is not None:
            self._arrived(message.id, link.neighbour)

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits for an answer, as far as this broker knows."""
        return self._recovering_since is None and all(
            link.peer != NO_SESSION and link.is_synced and not link.waiting and not link.events
            for link in self.links.values()
        )

    @property
    def entries(self) -> int:
        """Entries of neighbours in this broker's tables of subscriptions."""
        return sum(len(link.subscriptions) for link in self.links.values())


class _Progress:
    """An event that neighbours have not acknowledged yet."""

    def __init__(self, upstream: list[str], waiting: set[str]) -> None:
        self.upstream, self.waiting = upstream, waiting


class _LinkTable:
    """The subscriptions that a neighbour should know, one way or another."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._table: CoveringTable[str] = CoveringTable(facts)
        self._all: dict[str, Filter] = {}
        self._mergers: dict[str, Merger[str]] = {}
        self._changes = 0
        self._known: tuple[int, dict[str, Expression]] = (-1, {})
        self._version = 0

    def set(self, id: str, filter: Filter, wanted: bool) -> None:
        """Let a subscription be there, or not."""
        if wanted == (id in self._all):
            return
        self._version += 1
        self._changes += 1
        if wanted:
            self._all[id] = filter
            self._table.add(id, filter)
        else:
            del self._all[id]
            self._table.remove(id)

    def wanted(
        self, mode: str, prefix: str, rules: MergeRules | None, merge_at: int
    ) -> Mapping[str, Expression]:
        """The filters that the neighbour should know, by id."""
        version, known = self._known
        if version == self._version:
            return known
        filters = self._all if mode == SIMPLE else {id: self._table[id] for id in self._table.roots}
        found = {id: filter.expression for id, filter in filters.items()}
        if mode == MERGING:
            found = self._merged(filters, found, prefix, rules, merge_at)
        self._known = self._version, found
        return found

    def _merged(
        self,
        filters: Mapping[str, Filter],
        found: dict[str, Expression],
        prefix: str,
        rules: MergeRules | None,
        merge_at: int,
    ) -> dict[str, Expression]:
        if self._changes >= merge_at:
            self._changes = 0
            made = mergers_of(filters, rules, self._facts)
            self._mergers = {_merger_id(prefix, each): each for each in made}
        # A merger whose members are not all there any more is cancelled.
        self._mergers = {
            id: each for id, each in self._mergers.items() if all(m in found for m in each.members)
        }
        for id, merger in self._mergers.items():
            for member in merger.members:
                del found[member]
            found[id] = merger.filter.expression
        return found


def _merger_id(prefix: str, merger: Merger[str]) -> str:
    """The id of a merger: the same as long as its members are."""
    from hashlib import sha256

    members = "\0".join(sorted(merger.members)).encode()
    return f"{prefix}/{sha256(members).hexdigest()[:16]}"
