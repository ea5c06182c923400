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
mergers of these (``merging``; ``link_table.py``). When tables change, links tell the difference
(``link.py``), so that covering, uncovering, merging and its cancellation are one and the same.
Between brokers a subscription is called by its client's id and a hash of its text: one that comes
again with another text is another one, told before the first is withdrawn.

An event is acknowledged when it is delivered here and all neighbours that it went to have
acknowledged it. So it is held before a broker that crashes, and sent again when it returns. Such a
broker takes in its neighbours' tables before it lets events through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from tamis.engine.engine import Engine
from tamis.errors import DuplicateIdError, TamisError, UnknownIdError
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.advertisements import Advertisements, Way
from tamis.routing.filter_set import FilterSet
from tamis.routing.filters import Filter, FilterReader
from tamis.routing.link import ADVERTISEMENT, KINDS, SUBSCRIPTION, Link
from tamis.routing.link_table import COVERING, MERGING, MODES, LinkTable, MergePolicy
from tamis.routing.merging import MergeRules
from tamis.routing.messages import NO_SESSION, Loss, Message, Timeouts, Verb
from tamis.routing.passage import LOCAL, Source
from tamis.routing.recipients import Recipients
from tamis.routing.relay import Relay


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
        policy: MergePolicy | None = None,
        engine: Engine | None = None,
        routes: Mapping[str, str] | None = None,
        now: float = 0.0,
    ) -> None:
        """``start`` must be greater after each restart. ``engine`` is an empty one that matches
        events, for subscriptions that ask a taxonomy. ``routes`` are those of before the restart
        (``new_routes``)."""
        if mode not in MODES:
            raise TamisError(f"unknown mode {mode!r}; there are {', '.join(MODES)}")
        self.name = name
        self._timing = timing or Timeouts()
        self.outbox: list[Message] = []
        self.losses: list[Loss] = []
        self.links: dict[str, Link] = {}
        self._tables: dict[str, LinkTable] = {}
        for each in sorted(neighbours):
            self.links[each] = Link(name, each, start, self.outbox.append)
            self._tables[each] = LinkTable(f"{name}/{each}", mode, facts, rules, policy)
        self._clients: dict[str, str] = {}
        """By a client's id: what its subscription is called in the overlay."""
        self._client_ids: dict[str, str] = {}
        """The other way round."""
        self._publishers: dict[str, str] = {}
        """The same for advertisements."""
        self._reader = FilterReader(facts)
        self._origins: dict[str, dict[str, Filter]] = {}
        """By subscription: where it came from."""
        self._directed: dict[str, set[str]] = {}
        """By subscription: the links in whose tables it is."""
        self._subscriptions: FilterSet[str] = FilterSet(facts)
        former = (routes or {}) if recovering else {}
        there = {id: neighbour for id, neighbour in former.items() if neighbour in self.links}
        self._advertisements = Advertisements(facts, there)
        self._recipients = Recipients(engine)
        self._relay = Relay(name, self.links, self._recipients, self._client_ids)
        self.deliveries, self.published = self._relay.deliveries, self._relay.published
        self._untold: set[str] = set(self.links)
        """Neighbours that may have to be told something."""
        self._recovering_since = now if recovering and self.links else None
        self.tick(now)

    # What clients of this broker do.

    def subscribe(self, id: str, expression: Expression, now: float) -> None:
        """Add a subscription of a client; ids are unique in the overlay."""
        if id in self._clients:
            raise DuplicateIdError(
                f"subscription {id!r} exists at {self.name}; unsubscribe it first"
            )
        name = self._clients[id] = named_by_text(id, expression)
        self._client_ids[name] = id
        self._enter(name, LOCAL, self._reader.read(expression))
        self._tell(now)

    def unsubscribe(self, id: str, now: float) -> None:
        """Remove a subscription of a client."""
        if id not in self._clients:
            raise UnknownIdError(f"no client of {self.name} has a subscription {id!r}")
        name = self._clients.pop(id)
        del self._client_ids[name]
        self._leave(name, LOCAL)
        self._tell(now)

    def advertise(self, id: str, expression: Expression, now: float) -> None:
        """Announce what a client will publish; ids are unique in the overlay."""
        if id in self._publishers:
            raise DuplicateIdError(
                f"advertisement {id!r} exists at {self.name}; unadvertise it first"
            )
        name = self._publishers[id] = named_by_text(id, expression)
        self._announce(name, LOCAL, self._reader.read(expression), ())
        self._tell(now)

    def unadvertise(self, id: str, now: float) -> None:
        """Take an announcement back."""
        if id not in self._publishers:
            raise UnknownIdError(f"no client of {self.name} has an advertisement {id!r}")
        self._retract(self._publishers.pop(id), LOCAL)
        self._tell(now)

    def publish(self, event_id: str, event: Event | Mapping[str, Any], now: float) -> None:
        """Publish an event of a client; ``published`` has its id when it has reached everybody.
        Until then the client keeps it, and publishes it again if this broker restarts."""
        if self._recovering_since is None:
            self._relay.take(event_id, Event.of(event), Source(LOCAL, ()), now)

    # What neighbours and the clock do.

    def receive(self, message: Message, now: float) -> None:
        """Take in a message."""
        link = self.links.get(message.sender)
        if link is None or message.sender_session < link.peer:
            return
        self._untold.add(link.neighbour)
        link.heard = now
        link.dead_since = None
        if self._recovering_since is not None:
            self._untold.update(self.links)
        if message.sender_session > link.peer:
            self._begin(link, message, now)
        if message.receiver_session != link.session:
            if message.verb != Verb.HELLO:
                link.post(Verb.HELLO)
        elif message.verb == Verb.ACKNOWLEDGE:
            if message.version:
                link.acknowledged(message)
            elif link.arrived(message.id):
                self._relay.arrived(message.id, link.neighbour)
        elif message.verb == Verb.PUBLISH:
            assert message.event is not None
            self._tables[link.neighbour].events += 1
            if self._recovering_since is None:
                source = Source(link.neighbour, message.path)
                self._relay.take(message.id, message.event, source, now)
            else:
                link.post(Verb.HELLO)  # the event comes again; this broker is not dead
        elif message.verb != Verb.HELLO:
            if link.is_new(message):
                self._apply(link, message)
            link.post(Verb.ACKNOWLEDGE, version=message.version)
        self._tell(now)

    def _begin(self, link: Link, message: Message, now: float) -> None:
        """A neighbour has started: tell it everything."""
        link.begin(message.sender_session, self._advertisements.of(link.neighbour))
        link.outdate(SUBSCRIPTION, self._tables[link.neighbour].wanted)
        link.outdate(ADVERTISEMENT, self._advertisements.ids())
        link.post(Verb.HELLO)
        link.publish_again(now)

    def tick(self, now: float) -> None:
        """Let time pass: send again, give up, merge."""
        for link in self.links.values():
            oldest = max(link.oldest(), link.heard)
            if link.dead_since is None and now - oldest >= self._timing.dead:
                link.dead_since = now
            if link.dead_since is not None and now - link.dead_since >= self._timing.hold:
                self._give_up(link)
            link.retry(now, self._timing)
        self._untold.update(self.links)
        self._tell(now, is_tick=True)

    def _apply(self, link: Link, message: Message) -> None:
        origin = link.neighbour
        if message.verb == Verb.SYNCED:
            for id in link.take_stale(message.id):
                (self._leave if message.id == SUBSCRIPTION else self._retract)(id, origin)
            if message.id == ADVERTISEMENT:
                for id, changed in self._advertisements.forget_former(origin).items():
                    self._redirect(id, changed)
        elif message.verb == Verb.UNSUBSCRIBE:
            self._leave(message.id, origin)
        elif message.verb == Verb.UNADVERTISE:
            self._retract(message.id, origin)
        else:
            assert message.expression is not None
            filter = self._reader.read(message.expression)
            if message.verb == Verb.SUBSCRIBE:
                link.stale.discard((SUBSCRIPTION, message.id))
                self._enter(message.id, origin, filter)
            else:
                link.stale.discard((ADVERTISEMENT, message.id))
                self._announce(message.id, origin, filter, message.path)

    def _give_up(self, link: Link) -> None:
        """Report a neighbour's entries and events as lost."""
        subscriptions = list(link.subscriptions)
        advertisements = self._advertisements.of(link.neighbour)
        for id in subscriptions:
            self._leave(id, link.neighbour)
        for id in advertisements:
            self._retract(id, link.neighbour)
        events = link.give_up()
        entries = len(subscriptions) + len(advertisements)
        if events or entries:
            self.losses.append(Loss(link.neighbour, events, entries))
        for id in events:
            self._relay.arrived(id, link.neighbour)

    # Tables.

    def _enter(self, id: str, origin: str, filter: Filter) -> None:
        known = self._origins.get(id, {}).get(origin)
        if known is not None:
            if known.expression == filter.expression:
                return
            self._leave(id, origin)
        origins = self._origins.setdefault(id, {})
        origins[origin] = filter
        if origin != LOCAL:
            self.links[origin].subscriptions[id] = filter
        self._recipients.add(origin, id, filter.expression)
        if len(origins) == 1:
            self._subscriptions.add(id, filter)
        self._direct(id)

    def _leave(self, id: str, origin: str) -> None:
        origins = self._origins.get(id, {})
        if origins.pop(origin, None) is None:
            return
        if origin != LOCAL:
            del self.links[origin].subscriptions[id]
        self._recipients.remove(origin, id)
        self._direct(id)
        if not origins:
            self._subscriptions.remove(id)
            del self._origins[id]

    def _announce(self, id: str, origin: str, filter: Filter, path: Way) -> None:
        if self.name in path:
            self._retract(id, origin)
        else:
            self._redirect(id, self._advertisements.add(id, origin, filter, path))

    def _retract(self, id: str, origin: str) -> None:
        self._redirect(id, self._advertisements.remove(id, origin))

    def _redirect(self, id: str, changed: Iterable[Filter]) -> None:
        """Take over that an advertisement has come, gone, or changed its route."""
        for link in self.links.values():
            link.outdate(ADVERTISEMENT, [id])
        self._untold.update(self.links)
        for filter in changed:
            for each in self._subscriptions.overlapping(filter):
                self._direct(each)
            for neighbour, table in self._tables.items():
                table.recheck(partial(self._advertisements.promised, neighbour))

    def _direct(self, id: str) -> None:
        """Put a subscription into the tables of the links that lead to what it asks for."""
        filter = self._subscriptions[id]
        origins = self._origins[id]
        wanted = set[str]()
        if origins:
            wanted = self._advertisements.towards(filter) - {LOCAL}
            if len(origins) == 1:
                wanted -= origins.keys()
        present = self._directed.pop(id, set())
        for neighbour in present - wanted:
            self._tables[neighbour].remove(id)
        for neighbour in wanted - present:
            self._tables[neighbour].add(id, filter)
        self._untold |= present ^ wanted
        if wanted:
            self._directed[id] = wanted

    def _tell(self, now: float, *, is_tick: bool = False) -> None:
        """Let the neighbours know what they should.

        With merging, subscriptions wait for the next tick, so that what comes together is merged
        before it is told.
        """
        since = self._recovering_since
        if since is not None and (
            all(link.is_synced for link in self.links.values()) or now - since >= self._timing.hold
        ):
            self._recovering_since = None
            self._untold.update(self.links)
            for each in self.links:
                for id, changed in self._advertisements.forget_former(each).items():
                    self._redirect(id, changed)
        for neighbour in sorted(self._untold):
            link, table = self.links[neighbour], self._tables[neighbour]
            if is_tick or not (table.mode == MERGING and link.has_synced):
                table.review(now, partial(self._advertisements.promised, neighbour))
                link.outdate(SUBSCRIPTION, table.changed)
                table.changed.clear()
            if link.peer == NO_SESSION:
                continue
            link.tell(now, table.wanted, self._advertisements)
            for kind in KINDS:
                if kind not in link.said_complete and not link.waiting and self._knows(link, kind):
                    link.sync(now, kind)
        self._untold.clear()

    def _knows(self, link: Link, kind: str) -> bool:
        """Whether this broker knows all of a kind that a neighbour must hear of.

        While it recovers, it waits for what others tell; of this neighbour only for advertisements,
        which say where subscriptions go. So neighbours that recover together do not wait for each
        other, unless all of a cycle do.
        """
        if self._recovering_since is None:
            return True
        others = [each for each in self.links.values() if each is not link]
        if kind == ADVERTISEMENT:
            return all(ADVERTISEMENT in each.complete for each in others)
        return ADVERTISEMENT in link.complete and all(each.is_synced for each in others)

    def new_routes(self) -> dict[str, str] | None:
        """By advertisement: the neighbour that leads to its publisher; None if nothing has changed.
        Store it before you send what is in ``outbox``, for the next start."""
        own = self._advertisements
        if not own.has_new_routes or self._recovering_since is not None:
            return None
        own.has_new_routes = False
        return {id: origin for id, origin in own.routes.items() if origin != LOCAL}

    @property
    def is_recovering(self) -> bool:
        """Whether it still takes in its neighbours' tables, and lets no event through."""
        return self._recovering_since is not None

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits for an answer, as far as this broker knows."""
        if self._recovering_since is not None or any(
            each.changed for each in self._tables.values()
        ):
            return False
        return all(
            link.peer != NO_SESSION and link.is_synced and not link.waiting and not link.events
            for link in self.links.values()
        )

    @property
    def entries(self) -> int:
        """Entries of neighbours in this broker's tables of subscriptions."""
        return sum(len(link.subscriptions) for link in self.links.values())

    def __repr__(self) -> str:
        return f"<broker {self.name}: {len(self.links)} links, {self.entries:,} entries>"


def named_by_text(id: str, expression: Expression) -> str:
    """What a subscription of a client, or an advertisement, is called between brokers."""
    return f"{id}@{sha256(str(expression).encode()).hexdigest()[:16]}"
