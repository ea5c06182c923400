"""The façade: subscriptions in, events in, matches out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from tamis.engine.checking import check_supported
from tamis.engine.engine_file import (
    attachments_of,
    open_engine,
    restore_matcher,
    restore_store,
    save_engine,
)
from tamis.engine.explanation import Explanation, explain
from tamis.engine.loading import Loading
from tamis.engine.matches import Matches
from tamis.engine.registry import Algorithm, matcher_from_json, matcher_to_json
from tamis.engine.subscription import Source
from tamis.engine.threads import pairs_of
from tamis.errors import StorageError, UnsupportedError
from tamis.matching.batch import Batch, batches
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.normal import normalise

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.matching.planning.cost import Cost
    from tamis.matching.planning.plan import Plan
    from tamis.matching.segments.statistics import AxisStatistics


class Engine(Loading):
    """Keeps subscriptions and tells which of them an event matches.

        engine = Engine()
        engine.subscribe("category = 'Toy' and price < 5", id="cheap-toys")
        engine.match({"category": "Toy", "price": 3})      # ["cheap-toys"]

    ``schema``, or its JSON form, tells which attributes there are, and of what domains; then
    subscriptions are checked by it. Without one, ``taxonomy`` (a mapping from a term to its
    parents) gives ``is a`` its meaning, on all attributes unless it is ``Taxonomies``.
    ``prefixes`` are those of IRIs in graph patterns. ``matcher`` is the name of one, or
    ``Algorithm`` with its options.
    """

    def match(self, event: Event | Mapping[str, Any], *, limit: int | None = None) -> list[str]:
        """The ids of the subscriptions that an event matches, each once; at most ``limit``."""
        store, matcher = self._held
        found = matcher.match(self._event(event))
        return store.ids.some(list(found if limit is None else islice(found, limit)))

    def first(self, event: Event | Mapping[str, Any]) -> str | None:
        """The id of one subscription that the event matches, or None."""
        return next(iter(self.match(event, limit=1)), None)

    def count(self, event: Event | Mapping[str, Any]) -> int:
        """How many subscriptions an event matches."""
        return sum(1 for _ in self._matcher.match(self._event(event)))

    def match_batch(self, events: Any, *, limit: int | None = None, threads: int = 1) -> Matches:
        """Match many events: an Arrow table or batch, a frame, or an iterable of mappings.

        ``limit`` is the most matches that each event gets. With several ``threads`` events that
        are columns of Arrow are matched on as many cores.
        """
        import numpy as np

        store, matcher = self._held
        found = pairs_of(matcher.view(), self._batches(events), limit, threads)
        chunks = [chunk for chunk in found if len(chunk.row)]
        row = np.concatenate([np.empty(0, np.int32), *(chunk.row for chunk in chunks)])
        slot = np.concatenate([np.empty(0, np.int32), *(chunk.slot for chunk in chunks)])
        if any(ours.row[-1] > theirs.row[0] for ours, theirs in pairwise(chunks)):
            order = np.argsort(row, kind="stable")  # rows ascend within a chunk
            row, slot = row[order], slot[order]
        return Matches(row, slot, store.ids)

    def match_chunks(
        self, events: Any, *, limit: int | None = None, threads: int = 1
    ) -> Iterator[Matches]:
        """Match as ``match_batch`` does, in chunks of bounded size, in no order of the events."""
        store, matcher = self._held
        for pairs in pairs_of(matcher.view(), self._batches(events), limit, threads):
            if len(pairs.row):
                yield Matches(pairs.row, pairs.slot, store.ids)

    def count_batch(self, events: Any) -> list[int]:
        """How many subscriptions each of many events matches."""
        import numpy as np

        view = self._matcher.view()
        counts: list[int] = []
        for batch in self._batches(events):
            found = np.zeros(len(batch), np.int64)
            for row, _ in view.match_batch(batch, None):
                found += np.bincount(row, minlength=len(batch))
            counts += found.tolist()
        return counts

    def explain(self, id: str, event: Event | Mapping[str, Any]) -> Explanation:
        """Why a subscription matches an event, or why not."""
        subscription = self[id]
        return explain(subscription, self._event(event), self.taxonomies, self.limits)

    def _event(self, event: Event | Mapping[str, Any]) -> Event:
        """The event, with the timestamps that the schema tells of."""
        if not isinstance(event, Event):
            event = Event(event, self.limits)
        schema = self._reader.schema
        return event if schema is None else schema.typed(event)

    def _batches(self, events: Any) -> Iterator[Batch]:
        return batches(events, self.limits, self.schema)

    # What goes on inside.

    def cost(self, subscription: Source) -> Cost:
        """What an average event would pay for a subscription, and why: an estimate, by the sieve's
        measures, that knows no others. ``plan`` tells what those cost that are there."""
        from tamis.matching.planning.cost import cost_of

        expression, _ = self._reader.expression(subscription)
        check_supported(expression, self.taxonomies)
        return cost_of(normalise(expression, self.limits))

    def settle(self, timeout: float | None = None) -> None:
        """Wait until all subscriptions are in segments, and these are merged.

        Nobody needs to: events see every change at once. But then they are answered fastest.
        """
        self._matcher.settle(timeout)

    def learn(self, events: Any) -> None:
        """Learn from a sample of events (as ``match_batch`` takes them) which attributes they have
        and how their values are distributed, and let all access keys be chosen anew by it.

        No match changes, but its cost. Up to 4,096 events are kept, drawn at random, and replaced
        over time by some of those that ``match_batch`` sees. The work goes on in the background;
        ``settle`` waits for it, and ``plan`` shows what came of it.
        """
        from tamis.matching.segments.sample import drawn

        sample = drawn(self._batches(events))
        with self._lock:
            self._matcher.learn(sample)

    def stats(self) -> Any:
        """How much the engine holds, by part, and what an event is expected to cost (``Stats``); of
        a published matcher the quantities of its paper, and what all events so far have cost in
        these (``AlgorithmStats``)."""
        found = self._matcher.stats()
        store = {"ids": self._store.id_bytes, "texts": self._store.texts.nbytes}
        return dataclasses.replace(found, subscriptions=len(self), bytes={**found.bytes, **store})

    def plan(self, events: Any = None) -> Plan:
        """Which access key serves which subscriptions, what that is expected to cost, and which
        subscriptions no key serves, so that they cost every event.

        The figures are about events like the given ones, else like those learned or seen. A
        published matcher has no access keys; ``stats`` tells what it does.
        """
        if isinstance(self._make, Algorithm):
            raise UnsupportedError(
                f"the matcher {self._make.name!r} has no access keys to plan with; stats() tells "
                "what it holds and does"
            )
        from tamis.matching.planning.plan import plan_of

        found = plan_of(self._matcher.segments(), self._expected(events))
        unserved = tuple(self._store.ids[int(slot)] for slot in found.unserved)
        return dataclasses.replace(found, unserved=unserved)

    def attributes(self) -> frozenset[str] | None:
        """The outermost keys of all attributes that the subscriptions speak of; None if that is
        not known, so that any may matter."""
        return self._matcher.keys()

    def slot_ids(self) -> pa.LargeStringArray:
        """The ids by slot, for who keeps columns beside ``Matches.slot``; what stands at slots of
        removed subscriptions means nothing."""
        return self._store.ids.all()

    def _expected(self, events: Any = None) -> AxisStatistics | None:
        """What is known about events, by the given ones or by those that the matcher has seen."""
        if events is not None:
            from tamis.matching.segments.sample import expecting

            return expecting(self._batches(events))
        return self._matcher.expected()

    def __repr__(self) -> str:
        disabled = len(self._store.disabled)
        aside = f", {disabled:,} disabled" if disabled else ""
        return f"Engine({len(self):,} subscriptions{aside}, matcher={self.matcher!r})"

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the engine, with its ``attachments``, to a file, which is whole or not there."""
        matcher = matcher_to_json(self.matcher)
        settings = {"matcher": matcher, **self._knowledge(), "prefixes": self._prefixes}
        save_engine(path, settings, self._store, self._matcher, self.attachments)

    def _knowledge(self) -> dict[str, Any]:
        """Schema or taxonomy as settings, which are JSON."""
        if self.schema is not None:
            return {"taxonomy": None, "schema": self.schema.to_json()}
        return {"taxonomy": self.taxonomies.to_json()}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, verify: bool = True, limits: Limits = LIMITS
    ) -> Engine:
        """Open an engine that ``save`` wrote; the file is mapped into memory, not read.

        ``verify`` checks every byte of it first. Without, it opens in milliseconds.
        """
        file, settings = open_engine(path, verify)
        try:
            settings["taxonomy"] = Taxonomies.from_json(settings["taxonomy"])
            settings["matcher"] = matcher_from_json(settings["matcher"])
            engine = cls(limits=limits, **settings)
            engine._use(restore_store(file, verify))
            engine.attachments = attachments_of(file)
            if not restore_matcher(engine._matcher, file):
                engine._compile()
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{os.fspath(path)} is no whole engine: {error}") from error
        return engine
