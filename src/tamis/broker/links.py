"""Brokers linked into an overlay: ``routing/overlay`` over WebSocket, with durable ends.

    subscriptions of the store ──▶ overlay ──▶ neighbours       events follow them, backwards
    published here, not everywhere yet: table ``outgoing`` ──▶ overlay ──▶ neighbours
    neighbours ──▶ overlay ──▶ stored here, matched by this broker's engine ──▶ acknowledged

One thread runs the overlay. What came from a neighbour is stored before anything is answered, so an
event is in one store or another at every moment. Repetitions are known by the event's id.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tamis.broker.outbox import OVERLAY
from tamis.broker.records import Identity, Publication, Role
from tamis.broker.state import EVENT_COLUMNS, State, stored_event
from tamis.errors import BusyError, StorageError, TamisError, UnavailableError
from tamis.language.parser import parse
from tamis.model.events.event import Event
from tamis.routing import wire
from tamis.routing.messages import Message, Timeouts
from tamis.routing.overlay import Overlay

log = logging.getLogger("tamis.broker.links")

SOURCE = "tamis:overlay"
"""The source of events that came over a link, so that their ids are theirs alone."""
_TICK = 0.1
_AT_ONCE = 1_000
_ANYTHING = "tamis is present or tamis is missing"
"""The advertisement of a broker: it may publish whatever it likes."""

_PUBLISHED = object()
"""What the thread of the overlay is told when events were published here."""

Send = Callable[[str], None]


class LinkState(NamedTuple):
    """A link as others see it."""

    neighbour: str
    is_connected: bool
    is_synced: bool
    entries: int
    """Subscriptions that this neighbour has told of."""
    waiting: int
    """Events that it has not acknowledged."""


class Links:
    """An overlay, run by a thread; sockets bring texts and take texts away."""

    def __init__(
        self,
        state: State,
        name: str,
        neighbours: Iterable[str],
        *,
        start: int,
        recovering: bool,
        publish: Callable[[list[Publication], Identity], Any],
        forget: Callable[[list[int]], Any],
        remember: Callable[[dict[str, str]], Any],
        routes: dict[str, str],
        hold: float,
    ) -> None:
        """``publish`` stores events and returns a future, ``forget`` removes outgoing ones,
        ``remember`` stores ``routes`` for the next start."""
        self.name, self._state = name, state
        self._publish, self._forget, self._remember = publish, forget, remember
        self._new_routes: dict[str, str] | None = None
        """Routes that are not stored yet."""
        self.tenant = state.settings.link_tenant
        self._identity = Identity(self.tenant, frozenset({Role.PUBLISH}), OVERLAY, "overlay")
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._sends: dict[str, Send] = {}
        self._texts: dict[str, str] = {}
        """The text of each subscription that the overlay knows, by its number."""
        self._told = 0
        """The last outgoing event that the overlay knows."""
        self._is_closing = False
        self.refused = 0
        """Events of neighbours that this broker's schema or limits do not allow."""
        self._overlay = Overlay(
            name,
            neighbours,
            start=start,
            recovering=recovering,
            timing=Timeouts(retry=1.0, dead=10.0, hold=hold),
            engine=state.catalog.new_engine(),
            routes=routes,
            now=time.monotonic(),
        )
        self._thread = threading.Thread(target=self._run, name="tamis-links", daemon=True)

    def start(self) -> None:
        """Tell the overlay what the store has, and begin."""
        self._overlay.advertise(f"{self.name}/anything", parse(_ANYTHING), time.monotonic())
        rows = self._state.database.read(
            "select number, text from subscriptions where tenant = ? and enabled = 1",
            (self.tenant,),
        )
        for number, text in rows:
            self._enter(number, text)
        self._thread.start()

    def close(self) -> None:
        """Stop. What waits for neighbours is in the store."""
        self._is_closing = True
        self._inbox.put(None)
        self._thread.join()

    # From other threads.

    def attach(self, neighbour: str, send: Send) -> None:
        """A connection to a neighbour is there; ``send`` may raise an OSError."""
        if neighbour not in self._overlay.links:
            raise TamisError(f"{neighbour!r:.100} is not a neighbour of {self.name!r}")
        self._sends[neighbour] = send

    def detach(self, neighbour: str, send: Send) -> None:
        """A connection is gone."""
        if self._sends.get(neighbour) is send:
            del self._sends[neighbour]

    def receive(self, neighbour: str, text: str | bytes) -> None:
        """A message has come from a neighbour; one that makes no sense is an error."""
        message = wire.from_json(json.loads(text))
        if message.sender != neighbour or message.receiver != self.name:
            raise TamisError(f"a message from {message.sender!r:.100} came from {neighbour!r:.100}")
        self._inbox.put(message)

    def changed(self, touched: Iterable[tuple[str, int]]) -> None:
        """Subscriptions were changed, and that is durable."""
        numbers = [number for tenant, number in touched if tenant == self.tenant]
        if numbers:
            self._inbox.put(numbers)

    def published(self) -> None:
        """Events were published here, and that is durable."""
        self._inbox.put(_PUBLISHED)

    def states(self) -> list[LinkState]:
        """The links, by neighbour."""
        return [
            LinkState(
                name,
                name in self._sends,
                bool(link.is_synced),
                len(link.subscriptions),
                len(link.events),
            )
            for name, link in self._overlay.links.items()
        ]

    @property
    def neighbours(self) -> frozenset[str]:
        """The names of all neighbours."""
        return frozenset(self._overlay.links)

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits, as far as this broker knows."""
        return self._inbox.empty() and self._overlay.is_settled

    # In the thread of the overlay.

    def _run(self) -> None:
        ticked = 0.0
        while not self._is_closing:
            try:
                self._take_all(max(0.0, ticked + _TICK - time.monotonic()))
                if time.monotonic() >= ticked + _TICK:
                    ticked = time.monotonic()
                    self._overlay.tick(ticked)
                    self._tell_outgoing()
                self._flush()
            except TamisError as error:
                log.warning("the overlay waits: %s", error)
                time.sleep(_TICK)

    def _take_all(self, wait: float) -> None:
        """Take in what has come, waiting for the first of it."""
        try:
            item = self._inbox.get(timeout=wait) if wait else self._inbox.get_nowait()
            for _ in range(_AT_ONCE):
                self._take(item)
                item = self._inbox.get_nowait()
            self._take(item)
        except queue.Empty:
            return

    def _take(self, item: Any) -> None:
        if isinstance(item, Message):
            self._overlay.receive(item, time.monotonic())
        elif item is _PUBLISHED:
            self._tell_outgoing()
        elif item is not None:
            try:
                for number in item:
                    self._look_at(number)
            except UnavailableError:
                self._inbox.put(item)
                raise

    def _look_at(self, number: int) -> None:
        """Let the overlay know a subscription as the store has it."""
        rows = self._state.database.read(
            "select text from subscriptions where number = ? and enabled = 1", (number,)
        )
        text = rows[0][0] if rows else None
        if text != self._texts.get(str(number)):
            if str(number) in self._texts:
                self._overlay.unsubscribe(self._id(number), time.monotonic())
                del self._texts[str(number)]
            if text is not None:
                self._enter(number, text)

    def _enter(self, number: int, text: str) -> None:
        expression = self._state.catalog.engine(self.tenant).subscriptions.reader.parse(text)
        self._overlay.subscribe(self._id(number), expression, time.monotonic())
        self._texts[str(number)] = text

    def _id(self, number: int) -> str:
        return f"{self.name}/{number}"

    def _tell_outgoing(self) -> None:
        """Publish to the overlay what it does not know yet; while it recovers, it takes nothing."""
        if self._overlay.is_recovering:
            return
        while rows := self._state.database.read(
            f"select {EVENT_COLUMNS} from outgoing o join events e on e.sequence = o.event "
            "where o.event > ? order by o.event limit ?",
            (self._told, _AT_ONCE),
        ):
            for row in rows:
                event = self._state.event_of(stored_event(row))
                self._overlay.publish(f"{self.name}/{row[0]}", event, time.monotonic())
            self._told = rows[-1][0]

    def _flush(self) -> None:
        """Store what has come, then send what waits: answers are not given before."""
        overlay = self._overlay
        mine = f"{self.name}/"
        arrived = [each for each in overlay.deliveries if not each.event_id.startswith(mine)]
        if arrived:
            self._store([_publication(each.event_id, each.event) for each in arrived])
        overlay.deliveries.clear()
        if overlay.published:
            done = [int(id.removeprefix(mine)) for id in overlay.published if id.startswith(mine)]
            self._forget(done).result()
            overlay.published.clear()
        if (routes := overlay.new_routes()) is not None:
            self._new_routes = routes
        if self._new_routes is not None:
            self._remember(self._new_routes).result()
            self._new_routes = None
        for loss in overlay.losses:
            log.error("given up on %s: %d events", loss.neighbour, len(loss.events))
        overlay.losses.clear()
        waiting = overlay.outbox[:]
        overlay.outbox.clear()  # the links hold this very list
        for message in waiting:
            self._send(message)

    def _store(self, publications: list[Publication]) -> None:
        """Publish what has come to this broker's subscribers; what its schema refuses is left out,
        or it would come again for ever."""
        try:
            self._publish(publications, self._identity).result()
        except (BusyError, UnavailableError, StorageError):
            raise  # it is tried again, and not acknowledged before
        except TamisError as error:
            if len(publications) == 1:
                self.refused += 1
                log.warning("refused the event %s: %s", publications[0].id, error)
            else:
                for each in publications:
                    self._store([each])

    def _send(self, message: Message) -> None:
        send = self._sends.get(message.receiver)
        if send is None:
            return  # it is sent again
        try:
            send(json.dumps(wire.to_json(message)))
        except OSError as error:
            log.info("a message to %s was not sent: %s", message.receiver, error)
            self.detach(message.receiver, send)


def _publication(id: str, event: Event) -> Publication:
    attributes = json.loads(json.dumps(event.attributes, default=str))  # timestamps are texts again
    return Publication(attributes, id=id, source=SOURCE, graph=event.graph)
