"""The brokers that this one is linked to: the overlay, and the sockets that lead to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tamis.broker.link_sockets import Dialer, Listener
from tamis.broker.links import Links, LinkState
from tamis.broker.outbox import Outbox
from tamis.broker.records import Identity
from tamis.broker.state import State
from tamis.broker.writer import Writer
from tamis.errors import TamisError


class Neighbours:
    """The links of a broker; without any in the settings there are none, and nothing runs."""

    def __init__(self, state: State) -> None:
        settings = self._settings = state.settings
        if settings.links and (not settings.name or settings.name in settings.links):
            raise TamisError("a broker with links needs a name that its neighbours do not have")
        self._state = state
        self._links: Links | None = None
        self._sockets: list[Dialer | Listener] = []

    def join(
        self,
        writer: Writer,
        outgoing: Outbox,
        publish: Callable[..., Any],
        identify: Callable[[str | None], Identity],
    ) -> None:
        """Join the overlay, and keep connections to the neighbours."""
        settings = self._settings
        if not settings.links:
            return
        start, was_linked = writer.submit(self._state.begin_links, None).result()
        self._links = Links(
            self._state,
            settings.name,
            settings.links,
            start=start,
            recovering=was_linked,
            publish=publish,
            forget=lambda events: writer.submit(outgoing.remove, events),
            remember=lambda routes: writer.submit(self._state.remember_routes, routes),
            routes=self._state.routes(),
            hold=settings.link_hold,
        )
        outgoing.notify = self._links.published
        self._links.start()
        if settings.link_listen is not None:
            self._sockets.append(
                Listener(
                    self._links,
                    settings.link_listen,
                    identify,
                    settings.link_certificate,
                    settings.link_certificate_key,
                )
            )
        for neighbour, url in settings.links.items():
            if url:
                dialer = Dialer(
                    self._links, neighbour, url, settings.link_key, settings.link_authority
                )
                self._sockets.append(dialer)

    def changed(self, touched: set[tuple[str, int]]) -> None:
        """Subscriptions were changed, and that is durable."""
        if self._links is not None:
            self._links.changed(touched)

    def states(self) -> list[LinkState]:
        """The links, by neighbour."""
        return [] if self._links is None else self._links.states()

    @property
    def refused(self) -> int:
        """Events of neighbours that this broker's schema or limits do not allow."""
        return 0 if self._links is None else self._links.refused

    @property
    def port(self) -> int | None:
        """The port where neighbours dial, if this broker listens for them."""
        ports = [each.port for each in self._sockets if isinstance(each, Listener)]
        return ports[0] if ports else None

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits for a neighbour, as far as this broker knows."""
        return self._links is None or self._links.is_settled

    def close(self) -> None:
        """Hang up."""
        for socket in self._sockets:
            socket.close()
        if self._links is not None:
            self._links.close()
