"""What brokers of an overlay say to each other, and what a broker says to its host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tamis.model.events.event import Event
from tamis.predicates.expression import Expression

Session = tuple[int, int]
"""A broker's start, and how often it has begun anew on a link since; later ones are greater."""
NO_SESSION: Session = (0, 0)


class Verb(StrEnum):
    """What a message asks for."""

    HELLO = "hello"
    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    SYNCED = "synced"
    """All advertisements, or all subscriptions, that the sender knows have been told: what it did
    not repeat is gone. The id says which (``link.py``)."""
    PUBLISH = "publish"
    ACKNOWLEDGE = "acknowledge"


@dataclass(frozen=True, slots=True)
class Message:
    """One message over one link; loss, repetition and another order do no harm."""

    verb: Verb
    sender: str
    receiver: str
    sender_session: Session = NO_SESSION
    receiver_session: Session = NO_SESSION
    version: int = 0
    """Changes of tables are numbered; of one thing the greatest number counts. An acknowledgement
    repeats it; of a publication it is 0."""
    floor: int = 0
    """All changes below have been acknowledged."""
    id: str = ""
    expression: Expression | None = None
    path: tuple[str, ...] = ()
    """The brokers that an advertisement or an event has passed, the last one first."""
    event: Event | None = None


class Timeouts(NamedTuple):
    """In the host's unit of time."""

    retry: float = 1.0
    """After so long a message that was not acknowledged is sent again (the paper's t1)."""
    dead: float = 10.0
    """After so long without an answer a neighbour is taken for dead (t2)."""
    hold: float = 60.0
    """For so long a dead neighbour's entries and events are kept; then they are lost. A broker that
    returns waits no longer than this for its neighbours' tables."""


class Delivery(NamedTuple):
    """An event for subscribers of this broker. A restart may repeat it: store it by its id.

    Subscriptions with graph patterns or operators are candidates only: the broker's engine, which
    knows these, decides.
    """

    event_id: str
    event: Event
    subscriptions: list[str]


class Loss(NamedTuple):
    """What was given up with a neighbour that did not return in time."""

    neighbour: str
    events: list[str]
    entries: int
