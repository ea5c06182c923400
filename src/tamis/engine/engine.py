"""The façade: subscriptions in, events in, matches out."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from tamis.engine.explanation import Explanation, explain
from tamis.engine.matches import Matches
from tamis.engine.scan import Scan, Trial
from tamis.engine.storage import load_rows, save_rows
from tamis.engine.subscription import (
    Rejected,
    Row,
    Source,
    Subscription,
    SubscriptionReader,
    read_rows,
)
from tamis.errors import (
    DuplicateIdError,
    NeverMatchesWarning,
    SubscriptionError,
    TamisError,
    UnknownIdError,
    UnsupportedError,
    suggestion,
)
from tamis.matching.batch import batches
from tamis.matching.protocol import Matcher, Pairs, Setting, Slot
from tamis.model.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.taxonomy import Taxonomy
from tamis.predicates.expression import Call, Expression, IsA, Pattern, nodes_within
from tamis.predicates.normal import normalise


def _sieve(setting: Setting) -> Matcher:
    from tamis.matching.sieve_matcher import SieveMatcher

    return SieveMatcher(setting)


MATCHERS: dict[str, Callable[[Setting], Matcher]] = {"scan": Scan, "sieve": _sieve}
"""The matchers by their names; the contract suite runs over all of them."""


class Subscribed(NamedTuple):
    """What came of ``subscribe_many``."""

    ids: list[str]
    rejected: list[Rejected]


class Engine:
    """Keeps subscriptions and tells which of them an event matches.

        engine = Engine()
        engine.subscribe("category = 'Toy' and price < 5", id="cheap-toys")
        engine.match({"category": "Toy", "price": 3})      # ["cheap-toys"]

    ``taxonomy`` (a mapping from a term to its parents) gives ``is a`` its meaning; ``prefixes``
    are those of IRIs in graph patterns.
    """

    def __init__(
        self,
        *,
        matcher: str = "sieve",
        taxonomy: Taxonomy | Mapping[str, Iterable[str]] | None = None,
        prefixes: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        if matcher not in MATCHERS:
            hint = suggestion(str(matcher), MATCHERS) or "there are " + ", ".join(MATCHERS)
            raise TamisError(f"unknown matcher {matcher!r}; {hint}")
        if taxonomy is not None and not isinstance(taxonomy, Taxonomy):
            taxonomy = Taxonomy(taxonomy)
        self.matcher = matcher
        self.taxonomy = taxonomy
        self.limits = limits
        self._prefixes = dict(prefixes or {})
        self._reader = SubscriptionReader(prefixes, limits)
        self._subscriptions: dict[str, Subscription] = {}
        self._restart()

    def _restart(self) -> None:
        """A matcher with no slots; what older results hold of the former ids stays theirs."""
        setting = Setting(self.taxonomy, self.limits, self._decide)
        self._matcher: Matcher = MATCHERS[self.matcher](setting)
        self._slots: dict[str, Slot] = {}
        self._ids: list[str] = []

    def _decide(self, event: Event, expression: Expression) -> bool:
        """The oracle's word on one event and one expression."""
        return Trial(event, self.taxonomy, self.limits).verdict(expression) is True

    # Subscribing.

    def subscribe(
        self,
        subscription: Source,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        enabled: bool = True,
        replace: bool = False,
    ) -> str:
        """Add a subscription (text, expression or JSON form) and return its id.

        Without an id it gets a random one. An id that exists is an error unless ``replace``.
        """
        id = uuid.uuid4().hex if id is None else id
        new = self._read(Row(0, id, subscription, metadata, enabled), {}, replace)
        self._take([new])
        return new.id

    def subscribe_many(
        self,
        table: Any,
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> Subscribed:
        """Add all rows of a table (columns ``id``, ``subscription``, on request ``metadata`` and
        ``enabled``), frame, mapping from id to subscription, or iterable of such rows.

        All or nothing; with ``errors="collect"`` faulty rows are left out and returned.
        """
        if errors not in ("raise", "collect"):
            raise TamisError(f"errors is 'raise' or 'collect', not {errors!r}")
        taken: dict[str, Subscription] = {}
        rejected = []
        for row in read_rows(table):
            try:
                new = self._read(row, taken, replace)
            except TamisError as error:
                if errors == "raise":
                    raise SubscriptionError(f"row {row.number}, id {row.id!r}: {error}") from error
                rejected.append(Rejected(row.number, row.id, error))
            else:
                taken[new.id] = new
        self._take(taken.values())
        return Subscribed(list(taken), rejected)

    def _read(self, row: Row, taken: Mapping[str, Subscription], replace: bool) -> Subscription:
        new = self._reader.read(row.id, row.source, row.metadata, row.enabled)
        if new.id in taken:
            raise DuplicateIdError(f"the id {new.id!r} stands in an earlier row too")
        if new.id in self._subscriptions and not replace:
            raise DuplicateIdError(f"the id {new.id!r} exists; pass replace=True to replace it")
        _check_supported(new.expression, self.taxonomy)
        if normalise(new.expression, self.limits).never_matches:
            message = f"the subscription {new.id!r} contradicts itself and never matches"
            warnings.warn(message, NeverMatchesWarning, stacklevel=3)
        return new

    def _take(self, new: Iterable[Subscription]) -> None:
        """Put checked subscriptions in the place of those with the same ids."""
        additions = []
        for subscription in new:
            self._forget(subscription.id)
            self._subscriptions[subscription.id] = subscription
            if subscription.enabled:
                slot = len(self._ids)
                self._ids.append(subscription.id)
                self._slots[subscription.id] = slot
                additions.append((slot, subscription.expression))
        self._matcher.add(additions)

    def _forget(self, id: str) -> None:
        slot = self._slots.pop(id, None)
        if slot is not None:
            self._matcher.remove([slot])

    def unsubscribe(self, id: str) -> None:
        """Remove a subscription."""
        self[id]
        self._forget(id)
        del self._subscriptions[id]
        if len(self._ids) > 1_000 and len(self._ids) > 2 * len(self._slots):
            self._compact()

    def _compact(self) -> None:
        """Give the slots of removed subscriptions back."""
        self._restart()
        self._take(self._subscriptions.values())

    def enable(self, id: str) -> None:
        """Let a disabled subscription match again."""
        self._switch(id, True)

    def disable(self, id: str) -> None:
        """Keep a subscription, but let it match nothing."""
        self._switch(id, False)

    def _switch(self, id: str, enabled: bool) -> None:
        old = self[id]
        if old.enabled is not enabled:
            self._take([Subscription(old.id, old.text, old.expression, old.metadata, enabled)])

    # Matching.

    def match(self, event: Event | Mapping[str, Any], *, limit: int | None = None) -> list[str]:
        """The ids of the subscriptions that an event matches, each once; at most ``limit``."""
        return [self._ids[slot] for slot in islice(self._match(event), limit)]

    def first(self, event: Event | Mapping[str, Any]) -> str | None:
        """The id of one subscription that the event matches, or None."""
        return next(iter(self.match(event, limit=1)), None)

    def count(self, event: Event | Mapping[str, Any]) -> int:
        """How many subscriptions an event matches."""
        return sum(1 for _ in self._match(event))

    def match_batch(self, events: Any, *, limit: int | None = None) -> Matches:
        """Match many events: an Arrow table or batch, a frame, or an iterable of mappings.

        ``limit`` is the most matches that each event gets.
        """
        import numpy as np

        chunks = list(self._pairs(events, limit))
        row = np.concatenate([np.empty(0, np.int64), *(chunk.row for chunk in chunks)])
        slot = np.concatenate([np.empty(0, np.int64), *(chunk.slot for chunk in chunks)])
        if (row[1:] < row[:-1]).any():
            order = np.argsort(row, kind="stable")
            row, slot = row[order], slot[order]
        return Matches(row, slot, self._ids)

    def match_chunks(self, events: Any, *, limit: int | None = None) -> Iterator[Matches]:
        """Match as ``match_batch`` does, in chunks of bounded size, in no order of the events."""
        for pairs in self._pairs(events, limit):
            if len(pairs.row):
                yield Matches(pairs.row, pairs.slot, self._ids)

    def _pairs(self, events: Any, limit: int | None) -> Iterator[Pairs]:
        start = 0
        for batch in batches(events, self.limits):
            for row, slot in self._matcher.match_batch(batch, limit):
                yield Pairs(row + start, slot)
            start += len(batch)

    def count_batch(self, events: Any) -> list[int]:
        """How many subscriptions each of many events matches."""
        counts: list[int] = []
        for batch in batches(events, self.limits):
            first = len(counts)
            counts.extend([0] * len(batch))
            for row, _ in self._matcher.match_batch(batch, None):
                for one in row.tolist():
                    counts[first + one] += 1
        return counts

    def _match(self, event: Event | Mapping[str, Any]) -> Iterator[Slot]:
        return self._matcher.match(Event.of(event, self.limits))

    def explain(self, id: str, event: Event | Mapping[str, Any]) -> Explanation:
        """Why a subscription matches an event, or why not."""
        subscription = self[id]
        return explain(subscription, Event.of(event, self.limits), self.taxonomy, self.limits)

    # The collection.

    def __getitem__(self, id: str) -> Subscription:
        try:
            return self._subscriptions[id]
        except (KeyError, TypeError):
            hint = suggestion(str(id), self._subscriptions)
            message = f"no subscription has the id {id!r}" + (f"; {hint}" if hint else "")
            raise UnknownIdError(message) from None

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._subscriptions

    def __iter__(self) -> Iterator[Subscription]:
        return iter(list(self._subscriptions.values()))

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __repr__(self) -> str:
        disabled = len(self) - len(self._slots)
        aside = f", {disabled:,} disabled" if disabled else ""
        return f"Engine({len(self):,} subscriptions{aside}, matcher={self.matcher!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the engine to a file, which is whole or not there."""
        parents = None if self.taxonomy is None else self.taxonomy.parents
        settings = {"matcher": self.matcher, "taxonomy": parents, "prefixes": self._prefixes}
        save_rows(path, settings, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, limits: Limits = LIMITS) -> Engine:
        """Read an engine from a file that ``save`` wrote."""
        settings, rows = load_rows(path)
        engine = cls(limits=limits, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NeverMatchesWarning)
            engine.subscribe_many(rows)
        return engine


def _check_supported(expression: Expression, taxonomy: Taxonomy | None) -> None:
    """Refuse what only other rooms can match, and ``is a`` of what no taxonomy knows."""
    for node in nodes_within(expression):
        if isinstance(node, Call | Pattern):
            what = "operator calls" if isinstance(node, Call) else "graph patterns"
            raise UnsupportedError(
                f"{what} cannot be matched by this engine, which knows attributes only: {node}"
            )
        if isinstance(node, IsA):
            if taxonomy is None:
                raise SubscriptionError(
                    f"'{node}' needs a taxonomy: Engine(taxonomy={{term: [parents]}})"
                )
            taxonomy.check(str(node.ancestor.value))
