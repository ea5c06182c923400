"""How events are published: checked by the caller's thread, matched and stored by the writer's."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.broker.catalog import Found
from tamis.broker.outbox import Outbox
from tamis.broker.records import Identity, Outcome, Publication, Role
from tamis.broker.retention import Arrivals, Retention
from tamis.broker.state import State, matches_checksum
from tamis.broker.storage.database import Row, check_storable, is_storable, places, storable
from tamis.broker.writer import Transaction, one_by_one
from tamis.errors import ConflictError, EventError, ForbiddenError, LimitError, TamisError
from tamis.graphs.term_syntax import text_of_term
from tamis.model.events.event import Event
from tamis.model.limits import check_limit

_AT_ONCE = 500
"""Ids that are looked up in one query."""
_HEAVY = 4_096
_ID = 1_000
"""Characters of an event's id, and of its source."""


@dataclass(frozen=True, slots=True)
class CheckedPublication:
    """A publication as it is matched and stored."""

    event: Event
    id: str
    source: str
    body: bytes
    graph: str | None
    envelope: str | None
    digest: bytes
    recipients: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """Publications that are stored together, or not at all."""

    publications: list[CheckedPublication]
    by: Identity

    @property
    def weight(self) -> int:
        """What it counts for in the queue: an event, and each 4 KiB of one, is 1."""
        sizes = (len(each.body) + len(each.graph or "") for each in self.publications)
        return 1 + sum(1 + size // _HEAVY for size in sizes)


class PublicationDesk:
    """Takes events in."""

    def __init__(
        self, state: State, arrivals: Arrivals, retention: Retention, outgoing: Outbox
    ) -> None:
        self._state, self._arrivals, self._retention = state, arrivals, retention
        self._outgoing = outgoing
        self.events = 0
        self.matches = 0

    def prepared(self, publications: Sequence[Publication], by: Identity) -> PublishRequest:
        """Check publications; errors are raised before anything waits."""
        if not by.may(Role.PUBLISH):
            raise ForbiddenError("this key may not publish")
        check_limit(len(publications), self._state.settings.batch, "events in one request")
        has_recipients = any(each.recipients is not None for each in publications)
        if has_recipients and (by.key == 0 or Role.ADMIN not in by.roles):
            raise ForbiddenError("choosing who gets an event needs the key of an administrator")
        return PublishRequest([self._checked(each) for each in publications], by)

    def _checked(self, new: Publication) -> CheckedPublication:
        settings = self._state.settings
        for what, text in (("an event id", new.id or ""), ("a source", new.source)):
            check_limit(len(text), _ID, f"characters in {what}")
            check_storable(text, what)
        try:
            body = json.dumps(
                new.attributes, separators=(",", ":"), sort_keys=True, allow_nan=False
            ).encode()
            envelope = json.dumps(dict(new.envelope), sort_keys=True) if new.envelope else None
        except (TypeError, ValueError, RecursionError, UnicodeError) as error:
            raise EventError(f"an event is a JSON object: {error}") from error
        if len(body) > settings.limits.document:
            raise LimitError(
                f"{len(body):,} bytes in one event: the limit is {settings.limits.document:,}"
            )
        event = Event(new.attributes, settings.limits, graph=new.graph)
        schema = self._state.catalog.schema
        if schema is not None:
            event = schema.typed(event)
            schema.check(event)
        graph = None if new.graph is None else n_triples(event)
        digest = digest_of(body, graph, envelope)
        id = uuid.uuid4().hex if new.id is None else new.id
        recipients = None
        if new.recipients is not None:  # nobody has an id that no store can keep
            recipients = frozenset(filter(is_storable, new.recipients))
        return CheckedPublication(event, id, new.source, body, graph, envelope, digest, recipients)

    def publish(
        self, transaction: Transaction, requests: list[PublishRequest]
    ) -> list[list[Outcome] | TamisError]:
        """Match and store events. Each request is stored as a whole, or fails as a whole."""
        batch = _Batch(self._state, transaction)
        places = one_by_one(batch.take, transaction, requests)
        outcomes = batch.written()
        self._outgoing.add(transaction, batch.sequences)
        results = [
            found if isinstance(found, TamisError) else [_outcome(each, outcomes) for each in found]
            for found in places
        ]
        self.events += len(outcomes)
        self.matches += len(batch.numbers)
        if len(batch.numbers):
            self._arrivals.later(transaction, batch.numbers, batch.positions)
        transaction.after.append(lambda: self._retention.grow(batch.size))
        return results


class _Batch:
    """The events of one transaction that are new."""

    def __init__(self, state: State, transaction: Transaction) -> None:
        self._state, self._transaction = state, transaction
        self._new: list[tuple[CheckedPublication, Identity]] = []
        self._known: dict[tuple[int, str, str], tuple[bytes, int]] = {}
        self.numbers = self.positions = np.zeros(0, np.int64)
        self.sequences: list[tuple[int, Identity]] = []
        self.size = 0

    def take(self, transaction: Transaction, request: PublishRequest) -> list[Outcome | int]:
        """For each publication its place among the new ones, or what became of it before."""
        places: list[Outcome | int] = []
        added: dict[tuple[int, str, str], tuple[bytes, int]] = {}
        taken: list[tuple[CheckedPublication, Identity]] = []
        for each in request.publications:
            key = request.by.key, each.source, each.id
            known = self._known.get(key) or added.get(key)
            if known is not None:
                _check_same(each, known[0])
                places.append(known[1])
                continue
            stored = transaction.database.execute(
                "select digest, matched, incomplete from events "
                "where publisher = ? and source = ? and id = ?",
                key,
            )
            if stored:
                digest, matched, incomplete = stored[0]
                _check_same(each, bytes(digest))
                places.append(Outcome(each.id, matched, True, incomplete))
                continue
            place = len(self._new) + len(taken)
            added[key] = each.digest, place
            taken.append((each, request.by))
            places.append(place)
        self._known |= added
        self._new += taken
        return places

    def written(self) -> list[Outcome]:
        """Match and store the new events; what became of each."""
        if not self._new:
            return []
        state, database, now = self._state, self._transaction.database, self._transaction.now
        found = self._found()
        alive = state.roster.are_alive(found.numbers, now)
        rows, numbers = found.rows[alive], found.numbers[alive]
        matched = np.bincount(rows, minlength=len(self._new))
        ends = np.cumsum(matched)
        open_numbers = np.array([number for _, number, _ in found.undecided], np.int64)
        is_open = state.roster.are_alive(open_numbers, now).tolist()
        left_open = [pair for pair, there in zip(found.undecided, is_open) if there]
        undecided = Counter(row for row, _, _ in left_open)
        events: list[Row] = []
        matches: list[Row] = []
        positions = np.zeros(len(self._new), np.int64)
        sequences = []
        for row, (each, by) in enumerate(self._new):
            sequence = state.next()
            sequences.append(sequence)
            count = int(matched[row])
            events.append((
                sequence, by.tenant, by.key, each.source, each.id, each.digest, each.body,
                each.graph, each.envelope, len(each.body) + len(each.graph or ""), now, count,
                undecided[row],
            ))  # fmt: skip
            if count:
                position = positions[row] = state.next()
                mine = numbers[ends[row] - count : ends[row]]
                packed = mine.astype("<i8").tobytes()
                bindings = _bindings(found, row, mine.tolist()) if found.bindings else None
                checksum = matches_checksum(int(position), sequence, packed)
                matches.append((int(position), sequence, "match", packed, bindings, now, checksum))
        database.execute_many("insert into events values (" + "?, " * 12 + "?)", events)
        database.execute_many("insert into matches values (?, ?, ?, ?, ?, ?, ?)", matches)
        retry = now + state.settings.retry
        database.execute_many(
            "insert into undecided (event, subscription, reason, tries, next) "
            "values (?, ?, ?, ?, ?)",
            [
                (sequences[row], number, storable(reason), 1, retry)
                for row, number, reason in left_open
            ],
        )
        self.numbers, self.positions = numbers, positions[rows]
        self.sequences = [(sequence, by) for sequence, (_, by) in zip(sequences, self._new)]
        self.size = sum(event[9] for event in events)
        return [
            Outcome(each.id, int(matched[row]), False, undecided[row])
            for row, (each, _) in enumerate(self._new)
        ]

    def _found(self) -> Found:
        """What the new events match, tenant by tenant."""
        tenants: dict[str, list[int]] = {}
        parts = []
        for row, (each, by) in enumerate(self._new):
            if each.recipients is None:
                tenants.setdefault(by.tenant, []).append(row)
            else:
                numbers = self._numbers(by.tenant, sorted(each.recipients))
                rows = np.full(len(numbers), row, np.int64)
                parts.append(Found(rows, np.array(numbers, np.int64), {}, []))
        for tenant, chosen in tenants.items():
            found = self._state.catalog.match(tenant, [self._new[row][0].event for row in chosen])
            parts.append(found if len(chosen) == len(self._new) else found.moved(chosen))
        return parts[0] if len(parts) == 1 else Found.joined(parts)

    def _numbers(self, tenant: str, ids: list[str]) -> list[int]:
        """The numbers of subscriptions that are there, and enabled."""
        numbers = []
        for first in range(0, len(ids), _AT_ONCE):
            part = ids[first : first + _AT_ONCE]
            rows = self._transaction.database.execute(
                "select number from subscriptions where tenant = ? and enabled = 1 "
                f"and id in ({places(len(part))})",
                [tenant, *part],
            )
            numbers += [row[0] for row in rows]
        return sorted(numbers)


def _outcome(each: Outcome | int, outcomes: list[Outcome]) -> Outcome:
    return outcomes[each] if isinstance(each, int) else each


def _check_same(each: CheckedPublication, digest: bytes) -> None:
    if each.digest != digest:
        raise ConflictError(
            f"the event id {each.id!r:.100} was published with another body; choose a new id"
        )


def _bindings(found: Found, row: int, numbers: list[int]) -> str | None:
    """The values of variables of one event's matches, by subscription."""
    values = {
        number: found.bindings[row, number] for number in numbers if (row, number) in found.bindings
    }
    return json.dumps(values, default=str) if values else None


def digest_of(body: bytes, graph: str | None, envelope: str | None) -> bytes:
    """A hash of what was published."""
    text = f"\0{graph or ''}\0{envelope or ''}".encode()
    return hashlib.blake2b(body + text, digest_size=16).digest()


def n_triples(event: Event) -> str:
    """The graph of an event as N-Triples, in one order."""
    assert event.graph is not None
    lines = [" ".join(map(text_of_term, triple)) + " ." for triple in event.graph]
    return "\n".join(sorted(lines))
