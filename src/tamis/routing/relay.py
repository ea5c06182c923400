"""What a broker does with events: deliver them to its clients, and pass them on.

An event goes to all neighbours with a subscription that it matches, but not back. It is
acknowledged to where it came from when they all have acknowledged it (``passage.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from tamis.model.events.event import Event
from tamis.routing.link import Link
from tamis.routing.messages import Delivery, Verb
from tamis.routing.passage import LOCAL, Passages, Source
from tamis.routing.recipients import Recipients


class Relay:
    """Events that come, and go on."""

    def __init__(
        self,
        name: str,
        links: Mapping[str, Link],
        recipients: Recipients,
        client_ids: Mapping[str, str],
    ) -> None:
        self._name, self._links = name, links
        self._recipients, self._client_ids = recipients, client_ids
        self._passages = Passages()
        self.deliveries: list[Delivery] = []
        self.published: list[str] = []
        """Events of this broker's clients that have reached everybody."""

    def take(self, id: str, event: Event, source: Source, now: float) -> None:
        """Deliver an event, and pass it on, if it has not come before."""
        origin, known = source.origin, self._passages.source(id)
        if self._name in source.path:
            if known is not None and known.origin == origin:
                self._passages.redirect(id, known._replace(origin=None))
            self._answer(id, origin)
        elif known is not None:
            self._take_again(id, source, known)
        elif not self._passages.is_new(id):
            self._answer(id, origin)
        else:
            found = self._recipients.match(event)
            local = found.pop(LOCAL, [])
            found.pop(origin or LOCAL, None)
            if local:
                clients = sorted(self._client_ids[each] for each in local)
                self.deliveries.append(Delivery(id, event, clients))
            towards = sorted(found)
            for neighbour in towards:
                self._links[neighbour].publish(now, id, event, (self._name, *source.path))
            self._answer(id, self._passages.begin(id, source, towards))

    def _take_again(self, id: str, source: Source, known: Source) -> None:
        """Take in an event that has come before, and has not arrived everywhere.

        One origin waits for it; others need not. A client of this broker comes first: it keeps the
        event whatever crashes.
        """
        if source.origin != LOCAL and known.origin not in (None, source.origin):
            self._answer(id, source.origin)
            return
        if source != known:
            self._passages.redirect(id, source)
            for link in self._links.values():
                link.correct_path(id, (self._name, *source.path))
            if known.origin != source.origin:
                self._answer(id, known.origin)
        if source.origin:
            self._links[source.origin].post(Verb.HELLO)  # it waits for others, but is not dead

    def arrived(self, id: str, neighbour: str) -> None:
        """Note that all behind a neighbour have an event, or never will."""
        self._answer(id, self._passages.arrived(id, neighbour))

    def _answer(self, id: str, origin: str | None) -> None:
        """Acknowledge an event to where it came from."""
        if origin == LOCAL:
            self.published.append(id)
        elif origin is not None:
            self._links[origin].post(Verb.ACKNOWLEDGE, id=id)
