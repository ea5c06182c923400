"""The façade: subscriptions in, events in, matches out."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from tamis.bindings.evaluation import Trial, World
from tamis.engine.engine_file import (
    attachments_of,
    open_engine,
    restore_matcher,
    restore_store,
    save_engine,
)
from tamis.engine.explanation import Explanation, explain
from tamis.engine.loading import Loader, Subscribed
from tamis.engine.matches import EventMatches, Matches, incomplete_of
from tamis.engine.reader import (
    Remark,
    Source,
    check_supported,
    vocabulary,
)
from tamis.engine.registry import Algorithm, matcher_from_json, matcher_to_json
from tamis.engine.rows import Rejected, Subscription
from tamis.engine.subscriptions import Index, Subscriptions
from tamis.engine.threads import pairs_of
from tamis.errors import IncompleteWarning, LimitError, StorageError, TamisError, UnsupportedError
from tamis.matching.batch import Batch, batches, with_graphs
from tamis.matching.capabilities import (
    Learns,
    Measures,
    NamesAttributes,
    Settles,
    capability,
)
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.operators.guarded import GuardedOperators
from tamis.operators.operator import Operator
from tamis.operators.registry import KnownOperators, check_needed

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.engine.bulk import Block
    from tamis.engine.documents import DocumentMatcher
    from tamis.matching.pairs import Pairs
    from tamis.matching.planning.cost import Cost
    from tamis.matching.planning.plan import Plan
    from tamis.matching.protocol import View

_LEARNED = "tamis/learned of calls"
"""The attachment with what is known of calls."""
_MOST = 2**31 - 1
"""Matches of one event: no limit is larger."""


class Engine:
    """Keeps subscriptions and finds those that an event matches.

        engine = Engine()
        engine.subscribe("category = 'Toy' and price < 5", id="cheap-toys")
        engine.match({"category": "Toy", "price": 3})      # ["cheap-toys"]

    ``schema``, or its JSON form, says which attributes there are and what their domains are;
    subscriptions are then checked against it. Without one, ``taxonomy`` (a mapping from a term to
    its parents) gives ``is a`` its meaning, on all attributes unless it is ``Taxonomies``.
    ``prefixes`` are those of IRIs in graph patterns. ``operators`` are functions that subscriptions
    may call, by name, beside those declared with ``@tamis.operator``; ``schedule`` is the order in
    which they are called (``adaptive``, ``sub_order``, ``sequential``, ``history``). ``matcher`` is
    the name of one, or an ``Algorithm`` with its options.
    """

    def __init__(
        self,
        *,
        schema: Schema | Mapping[str, Any] | None = None,
        matcher: str | Algorithm = "sieve",
        taxonomy: Taxonomies | TaxonomyLike | None = None,
        prefixes: Mapping[str, str] | None = None,
        operators: Mapping[str, Operator | Callable[..., Any]] | None = None,
        schedule: str = "adaptive",
        limits: Limits = LIMITS,
    ) -> None:
        if not isinstance(limits, Limits):
            raise TamisError(f"limits must be a Limits(…), not {limits!r}")
        if schema is not None and not isinstance(schema, Schema):
            schema = Schema.from_json(schema, limits)
        taxonomies = vocabulary(schema, Taxonomies.given(taxonomy))
        guarded = GuardedOperators(KnownOperators(operators), limits.bindings)
        world = World(taxonomies, limits, guarded)
        self.matcher = matcher
        self.limits = limits
        self.attachments: dict[str, Any] = {}
        """Bytes by name that are saved with the engine, for callers that keep more."""
        self.subscriptions = Subscriptions(world, schema, prefixes, matcher, schedule)
        """The subscriptions themselves; they return remarks where the engine warns."""
        self.loader = Loader(self.subscriptions)
        """What takes in tables, likewise."""

    @property
    def schema(self) -> Schema | None:
        """The schema by which subscriptions are checked, if there is one."""
        return self.subscriptions.reader.schema

    @property
    def taxonomies(self) -> Taxonomies:
        """The taxonomies that ``is a`` asks, by attribute."""
        return self.subscriptions.world.taxonomies

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The taxonomy of all attributes that have none of their own; it cannot change."""
        return self.taxonomies.default

    # Subscriptions.

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
        id, remarks = self.subscriptions.add(subscription, id, metadata, enabled, replace=replace)
        if remarks:
            _warn(remarks)
        return id

    def subscribe_many(
        self,
        table: Any,
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> Subscribed:
        """Add all rows of a table (columns ``id``, ``subscription``, and optionally ``metadata``
        and ``enabled``), a frame, a mapping from id to subscription, or an iterable of such rows.

        All or nothing; with ``errors="collect"`` faulty rows are left out and returned.
        """
        found, remarks = self.loader.add(table, replace=replace, errors=errors)
        _warn(remarks)
        return found

    def read_blocks(
        self, table: Any, *, errors: Literal["raise", "collect"] = "raise"
    ) -> Iterator[Block]:
        """Read rows as ``subscribe_many`` does, without adding them.

        This is the larger part of its work. Blocks can be pickled, so that other processes, with
        an engine of the same settings, can do it.
        """
        return self.loader.read(table, errors=errors)

    def subscribe_blocks(
        self,
        blocks: Iterable[Block],
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> list[Rejected]:
        """Add what ``read_blocks`` has read; all or nothing, unless faulty rows are collected."""
        return self.loader.add_blocks(blocks, replace=replace, errors=errors)

    def unsubscribe(self, id: str) -> None:
        """Remove a subscription."""
        self.subscriptions.remove(id)

    def enable(self, id: str) -> None:
        """Let a disabled subscription match again."""
        self.subscriptions.enable(id)

    def disable(self, id: str) -> None:
        """Keep a subscription, but let it match nothing."""
        self.subscriptions.disable(id)

    def change_taxonomy(
        self, taxonomy: Taxonomies | TaxonomyLike, *, attribute: str | None = None
    ) -> None:
        """Use another taxonomy from the next event on; subscriptions with ``is a`` are compiled
        again.

        It applies to one ``attribute``, or to all that have no taxonomy of their own;
        ``Taxonomies`` replace them all. Terms that subscriptions use must be in it, or nothing
        changes.
        """
        self.subscriptions.change_taxonomy(taxonomy, attribute)

    def extend(self, extension: Schema | str | bytes | Mapping[str, Any]) -> Schema:
        """Extend the schema (``Schema.extend``) for everything from now on; return the new one.

        An extension only adds, so all subscriptions stay as they are.
        """
        return self.subscriptions.extend(extension)

    def __getitem__(self, id: str) -> Subscription:
        return self.subscriptions[id]

    def __contains__(self, id: object) -> bool:
        return id in self.subscriptions

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self.subscriptions)

    def __len__(self) -> int:
        return len(self.subscriptions)

    # Events.

    def match(self, event: Event | Mapping[str, Any], *, limit: int | None = None) -> list[str]:
        """The ids of the subscriptions that an event matches, each once; at most ``limit``.

        If a subscription cannot be decided, because an operator failed or a limit was reached, you
        get an ``IncompleteWarning``; ``matches`` and ``match_batch`` list such pairs as data.
        """
        index = self.subscriptions.index
        slots, answers, _ = index.match(self._event(event))
        if answers:
            for pair in incomplete_of(index.store.ids, slots, answers):
                warnings.warn(str(pair), IncompleteWarning, stacklevel=2)
        return index.store.ids.some(slots if limit is None else slots[: _checked_limit(limit)])

    def matches(self, event: Event | Mapping[str, Any]) -> EventMatches:
        """The subscriptions that an event matches, each with the values of its variables, and in
        ``incomplete`` those that could not be decided."""
        index = self.subscriptions.index
        slots, answers, _ = index.match(self._event(event))
        return EventMatches(index.store.ids, slots, answers)

    def first(self, event: Event | Mapping[str, Any]) -> str | None:
        """The id of one subscription that the event matches, or None."""
        return next(iter(self.match(event, limit=1)), None)

    def count(self, event: Event | Mapping[str, Any]) -> int:
        """How many subscriptions an event matches."""
        return len(self.subscriptions.index.match(self._event(event)).slots)

    def match_batch(
        self,
        events: Any,
        *,
        limit: int | None = None,
        threads: int = 1,
        graphs: Any = None,
        format: str = "n-triples",
    ) -> Matches:
        """Match many events: an Arrow table or batch, a frame, an iterable of mappings, or NDJSON
        as text or bytes, with one JSON object a line.

        ``limit`` is the most matches that each event gets. With several ``threads``, events that
        are columns of Arrow are matched on as many cores. ``graphs`` are RDF documents in a
        ``format`` of ``read_graph``, one for each event, None for events without a graph.
        """
        from tamis.matching.pairs import joined

        index = self.subscriptions.index
        found = self._pairs(index, events, limit, threads, graphs, format)
        chunks = [chunk for chunk in found if len(chunk.row)]
        pairs = joined(chunks)
        if any(ours.row[-1] > theirs.row[0] for ours, theirs in pairwise(chunks)):
            pairs = pairs.take(pairs.row.argsort(kind="stable"))  # rows ascend within a chunk
        return Matches(pairs, index.store.ids)

    def match_chunks(
        self,
        events: Any,
        *,
        limit: int | None = None,
        threads: int = 1,
        graphs: Any = None,
        format: str = "n-triples",
    ) -> Iterator[Matches]:
        """Match as ``match_batch`` does, in chunks of bounded size, in no particular order."""
        index = self.subscriptions.index
        return _chunks(self._pairs(index, events, limit, threads, graphs, format), index.store.ids)

    def document_matcher(self) -> DocumentMatcher:
        """A matcher for columns of JSON or variants, with the subscriptions of this moment."""
        return self._document_matcher(self.subscriptions.index.view())

    def chunks(self, pairs: Iterable[Pairs]) -> Iterator[Matches]:
        """Pairs that a ``document_matcher`` found, as matches."""
        return _chunks(pairs, self.subscriptions.index.store.ids)

    def _document_matcher(self, view: View) -> DocumentMatcher:
        from tamis.engine.documents import DocumentMatcher

        return DocumentMatcher(view, self.limits, self.schema, self.subscriptions.fallbacks)

    def _pairs(
        self,
        index: Index,
        events: Any,
        limit: int | None,
        threads: int,
        graphs: Any,
        format: str,
    ) -> Iterator[Pairs]:
        """The pairs of many events, in chunks."""
        view, most = index.view(), _checked_limit(limit)
        if isinstance(events, str | bytes | bytearray | memoryview):
            from tamis.engine.documents import line_pairs

            if graphs is not None:
                raise TamisError("events with graphs come in a list or a table; use read_ndjson")
            return line_pairs(self._document_matcher(view), events, most, threads)
        return pairs_of(view, self._batches(events, graphs, format), most, threads)

    def count_batch(self, events: Any) -> list[int]:
        """How many subscriptions each of many events matches."""
        import numpy as np

        view = self.subscriptions.index.view()
        counts: list[int] = []
        for batch in self._batches(events):
            found = np.zeros(len(batch), np.int64)
            for pairs in view.match_batch(batch, None):
                found += np.bincount(pairs.take(~pairs.failed()).row, minlength=len(batch))
            counts += found.tolist()
        return counts

    def explain(self, id: str, event: Event | Mapping[str, Any]) -> Explanation:
        """Why a subscription matches an event, or why not."""
        index, world = self.subscriptions.index, self.subscriptions.world
        return explain(self[id], self._event(event), world, index.deciding.remark)

    def learned_calls(self) -> Mapping[str, Any]:
        """What the engine has learned of operator calls, as plain data: for each call and version
        the true results and all results, for each operator and version the seconds of a call and
        of its set-up."""
        return self.subscriptions.index.deciding.learned()

    def learn_calls(self, known: Mapping[str, Any]) -> None:
        """Order calls by what another engine has learned (its ``learned_calls``)."""
        self.subscriptions.index.deciding.learn(known)

    def substitutions(
        self, id: str, event: Event | Mapping[str, Any], *, limit: int = 1_000
    ) -> list[dict[str, Any]]:
        """All values of a subscription's variables under which an event matches it, each once.

        ``match_batch`` and ``matches`` give one of them. More than ``limit`` are a ``LimitError``.
        If an operator fails, so that some may be missing, you get an error too.
        """
        trial = Trial(self._event(event), self.subscriptions.world)
        expression = self[id].expression
        _checked_limit(limit)
        found = [dict(each) for each in trial.solutions(expression, limit + 1)]
        if len(found) > limit:
            raise LimitError(f"subscription {id!r}: more than {limit:,} substitutions")
        if trial.reasons:
            raise TamisError(f"subscription {id!r}: {'; '.join(trial.reasons)}")
        return found

    def _event(self, event: Event | Mapping[str, Any]) -> Event:
        """The event, with the timestamps that the schema asks for."""
        if not isinstance(event, Event):
            event = Event(event, self.limits)
        schema = self.subscriptions.reader.schema
        return event if schema is None else schema.typed(event)

    def _batches(
        self, events: Any, graphs: Any = None, format: str = "n-triples"
    ) -> Iterator[Batch]:
        found = batches(events, self.limits, self.schema)
        if graphs is None:
            return found
        from tamis.graphs.documents import DocumentColumn

        if not isinstance(graphs, DocumentColumn):
            graphs = DocumentColumn(graphs, format, self.limits)
        return with_graphs(found, graphs, self.limits)

    # What goes on inside.

    def cost(self, subscription: Source) -> Cost:
        """Estimate what a subscription alone would cost an average event, and why. ``plan`` shows
        what the engine's own subscriptions cost."""
        from tamis.matching.covers.covers import cover_of
        from tamis.matching.planning.cost import cost_of

        expression, _ = self.subscriptions.reader.expression(subscription)
        check_supported(expression, self.subscriptions.world)
        return cost_of(cover_of(expression))

    def settle(self, timeout: float | None = None) -> None:
        """Wait until all subscriptions are in segments, and the segments are merged.

        You need not wait: events see every change at once. But matching is fastest then.
        """
        settles = capability(self.subscriptions.index.matcher, Settles)
        if settles is not None:
            settles.settle(timeout)

    def learn(self, events: Any) -> None:
        """Learn from a sample of events (as ``match_batch`` takes them) which attributes they have
        and how their values are distributed, and choose by that all access keys, and what else
        subscriptions are found by that too many events lead to.

        Matches stay the same; only their cost changes. Up to 4,096 events are kept, drawn at
        random, and replaced over time by some of those that ``match_batch`` sees. The work goes on
        in the background; ``settle`` waits for it, and ``plan`` shows the outcome.
        """
        from tamis.matching.segments.sample import drawn

        self.subscriptions.learn(drawn(self._batches(events)))

    def stats(self) -> Any:
        """How much the engine holds, by part, and what an event is expected to cost (``Stats``). A
        published matcher gives the quantities of its paper, and what all events so far have cost
        in them (``AlgorithmStats``)."""
        from tamis.matching.planning.plan import stats_of

        store, matcher = self.subscriptions.index[:2]
        measures, learns = capability(matcher, Measures), capability(matcher, Learns)
        if measures is not None:
            found = measures.stats()
        elif learns is not None:
            found = stats_of(learns.segments(), learns.statistics())
        else:
            found = stats_of([])
        parts = {**found.bytes, "ids": store.id_bytes, "texts": store.texts.nbytes}
        fallbacks = self.subscriptions.fallbacks.rows()
        return dataclasses.replace(
            found, subscriptions=len(store), bytes=parts, fallbacks=fallbacks
        )

    def plan(self, events: Any = None) -> Plan:
        """Which access key serves which subscriptions, and what that is expected to cost. Every
        event pays for the subscriptions that no key serves; they are listed too.

        The figures are for events like the given ones, or else like those learned or seen. A
        published matcher has no access keys: see ``stats``.
        """
        from tamis.matching.planning.plan import plan_of
        from tamis.matching.segments.sample import statistics_of

        store, matcher = self.subscriptions.index[:2]
        if capability(matcher, Measures) is not None:
            raise UnsupportedError(
                f"the matcher {self.matcher!r} has no access keys to plan with; stats() shows "
                "what it holds and does"
            )
        learns = capability(matcher, Learns)
        known = None if learns is None else learns.statistics()
        if events is not None:
            known = statistics_of(self._batches(events))
        found = plan_of([] if learns is None else learns.segments(), known)
        unserved = tuple(store.ids[int(slot)] for slot in found.unserved)
        schedule = self.subscriptions.index.deciding.plan()
        return dataclasses.replace(found, unserved=unserved, schedule=schedule)

    def attributes(self) -> frozenset[str] | None:
        """The outermost keys of all attributes that the subscriptions use; None if that is
        unknown, so that any attribute may matter."""
        matcher = self.subscriptions.index.matcher
        names = capability(matcher, NamesAttributes)
        return None if names is None else names.keys()

    def reads_graphs(self) -> bool:
        """Whether some subscription has a graph pattern."""
        return self.subscriptions.have_patterns()

    def slot_ids(self) -> pa.LargeStringArray:
        """The id of each slot, for callers that keep their own columns aligned with
        ``Matches.slot``. Entries of removed subscriptions are undefined."""
        return self.subscriptions.index.store.ids.all()

    def __repr__(self) -> str:
        disabled = len(self.subscriptions.index.store.disabled)
        aside = f", {disabled:,} disabled" if disabled else ""
        return f"Engine({len(self):,} subscriptions{aside}, matcher={self.matcher!r})"

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the engine, with its ``attachments``, to a file, completely or not at all."""
        store, matcher = self.subscriptions.index[:2]
        settings = {
            "matcher": matcher_to_json(self.matcher),
            **self._knowledge(),
            "prefixes": self.subscriptions.reader.prefixes,
        }
        operators = self.needed_operators()
        if operators:
            settings["operators"] = operators
            settings["schedule"] = self.subscriptions.deciding.schedule
            learned = json.dumps(self.learned_calls()).encode()
            self.attachments[_LEARNED] = learned
        save_engine(path, settings, store, matcher, self.attachments)

    def needed_operators(self) -> dict[str, str]:
        """The operators that were given, or that subscriptions call, with their versions."""
        known = self._known_operators()
        return {name: known[name].version for name in sorted({*known.given, *known.used})}

    def _known_operators(self) -> KnownOperators:
        operators = self.subscriptions.world.operators
        assert isinstance(operators, GuardedOperators)
        assert isinstance(operators.known, KnownOperators)
        return operators.known

    def _knowledge(self) -> dict[str, Any]:
        """Schema or taxonomy as settings, which are JSON."""
        if self.schema is not None:
            return {"taxonomy": None, "schema": self.schema.to_json()}
        return {"taxonomy": self.taxonomies.to_json()}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        verify: bool = True,
        operators: Mapping[str, Operator | Callable[..., Any]] | None = None,
        limits: Limits = LIMITS,
    ) -> Engine:
        """Open an engine that ``save`` wrote; the file is mapped into memory, not read.

        ``verify`` checks every byte of it first; without it, an engine opens in milliseconds. The
        file holds no functions: give the ``operators`` of the saved engine again.
        """
        file, settings = open_engine(path, verify)
        needed = settings.pop("operators", {})
        check_needed(needed, KnownOperators(operators), os.fspath(path))
        try:
            settings["taxonomy"] = Taxonomies.from_json(settings["taxonomy"])
            settings["matcher"] = matcher_from_json(settings["matcher"])
            engine = cls(limits=limits, operators=operators, **settings)
            engine._known_operators().used.update(needed)
            engine.subscriptions.use(restore_store(file, verify), engine.schema)
            engine.attachments = attachments_of(file)
            learned = engine.attachments.get(_LEARNED)
            if learned:
                engine.learn_calls(json.loads(bytes(learned)))
            if not restore_matcher(engine.subscriptions.index.matcher, file):
                engine.loader.compile()
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{os.fspath(path)} is not a whole engine: {error}") from error
        return engine


def _checked_limit(limit: int | None) -> int | None:
    """A limit of matches for each event, which no number of subscriptions exceeds."""
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise TamisError(f"limit must be a whole number of at least 0, or None, not {limit!r}")
    return min(limit, _MOST)


def _chunks(found: Iterable[Pairs], ids: Any) -> Iterator[Matches]:
    return (Matches(pairs, ids) for pairs in found if len(pairs.row))


def _warn(remarks: Iterable[Remark]) -> None:
    """Warn the caller of a method of the engine."""
    for remark in remarks:
        warnings.warn(remark.message, remark.category, stacklevel=3)
