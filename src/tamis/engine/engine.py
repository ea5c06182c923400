"""The façade: subscriptions in, events in, matches out."""

from __future__ import annotations

import dataclasses
import os
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tamis.engine.explanation import Explanation, explain
from tamis.engine.many import pairs_of
from tamis.engine.matches import Matches
from tamis.engine.scan import Scan, Trial
from tamis.engine.storage import (
    attachments_of,
    open_engine,
    restore_matcher,
    restore_store,
    save_engine,
)
from tamis.engine.store import Store
from tamis.engine.subscription import (
    EXISTS,
    REPEATED,
    Rejected,
    Row,
    Source,
    Subscription,
    SubscriptionReader,
    read_rows,
)
from tamis.engine.vocabulary import vocabulary
from tamis.errors import (
    CostlyWarning,
    DuplicateIdError,
    NeverMatchesWarning,
    SchemaError,
    StorageError,
    SubscriptionError,
    TamisError,
    TaxonomyError,
    UnknownIdError,
    UnsupportedError,
    suggestion,
)
from tamis.matching.batch import Batch, batches
from tamis.matching.locking import Locked
from tamis.matching.protocol import Matcher, Setting, Slot
from tamis.model.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema import Schema
from tamis.model.taxonomies import Taxonomies, TaxonomyLike
from tamis.model.taxonomy import Taxonomy
from tamis.predicates.expression import Call, Expression, IsA, Pattern, nodes_within
from tamis.predicates.normal import normalise

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.engine.bulk import Block, Bulk
    from tamis.engine.shaped import Shaped, Shapes
    from tamis.matching.costs import Cost
    from tamis.matching.expecting import Expecting
    from tamis.matching.plan import Plan, Stats
    from tamis.matching.segment import Segment


def _sieve(setting: Setting) -> Matcher:
    from tamis.matching.sieve_matcher import SieveMatcher

    return SieveMatcher(setting)


_BULK = 1_000
"""Rows from which on they are taken in as columns."""
_PARSED = 10_000
"""Expressions kept, of those that were asked for."""

MATCHERS: dict[str, Callable[[Setting], Matcher]] = {"scan": Scan, "sieve": _sieve}
"""The matchers by their names; the contract suite runs over all of them."""


class _Held(NamedTuple):
    """What belongs together: slots of the one are slots of the other."""

    store: Store
    matcher: Matcher


class Subscribed(NamedTuple):
    """What came of ``subscribe_many``."""

    ids: list[str]
    rejected: list[Rejected]


class Engine(Locked):
    """Keeps subscriptions and tells which of them an event matches.

        engine = Engine()
        engine.subscribe("category = 'Toy' and price < 5", id="cheap-toys")
        engine.match({"category": "Toy", "price": 3})      # ["cheap-toys"]

    ``schema``, or its JSON form, tells which attributes there are, and of what domains; then
    subscriptions are checked by it. Without one, ``taxonomy`` (a mapping from a term to its
    parents) gives ``is a`` its meaning, on all attributes unless it is ``Taxonomies``.
    ``prefixes`` are those of IRIs in graph patterns.
    """

    # The lock is held by who changes the engine; who matches needs none.

    def __init__(
        self,
        *,
        schema: Schema | Mapping[str, Any] | None = None,
        matcher: str = "sieve",
        taxonomy: Taxonomies | TaxonomyLike | None = None,
        prefixes: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        super().__init__()
        if matcher not in MATCHERS:
            hint = suggestion(str(matcher), MATCHERS) or "there are " + ", ".join(MATCHERS)
            raise TamisError(f"unknown matcher {matcher!r}; {hint}")
        if schema is not None and not isinstance(schema, Schema):
            schema = Schema.from_json(schema, limits)
        self.matcher = matcher
        self.limits = limits
        self.taxonomies = vocabulary(schema, Taxonomies.given(taxonomy))
        self.attachments: dict[str, Any] = {}
        """Bytes by name that are saved with the engine, for whoever keeps more than it knows."""
        self._prefixes = dict(prefixes or {})
        self._reader = SubscriptionReader(prefixes, limits, schema)
        self._shapes: Shapes | None = None
        self._use(Store())

    def _use(self, store: Store) -> None:
        """Begin with a store, and a matcher that has nothing yet."""
        setting = self._setting(store, self.taxonomies)
        self._held = _Held(store, MATCHERS[self.matcher](setting))

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The taxonomy of all attributes that have none of their own; it cannot change."""
        return self.taxonomies.default

    def _setting(self, store: Store, taxonomies: Taxonomies) -> Setting:
        def decide(event: Event, slot: Slot) -> bool:
            trial = Trial(event, taxonomies, self.limits)
            return trial.verdict(self._expression(slot, store)) is True

        return Setting(taxonomies, self.limits, decide)

    @property
    def schema(self) -> Schema | None:
        """The schema by which subscriptions are checked, if there is one."""
        return self._reader.schema

    @property
    def _store(self) -> Store:
        return self._held.store

    @property
    def _matcher(self) -> Matcher:
        return self._held.matcher

    def _expression(self, slot: Slot, store: Store) -> Expression:
        """The expression of a slot, parsed from its text when it is first asked for."""
        found = store.expressions.get(slot)
        if found is None:
            if len(store.expressions) >= _PARSED:
                store.expressions.clear()
            found = store.expressions[slot] = self._reader.parse(store.texts[slot])
        return found

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
        shaped = None
        if type(subscription) is str and metadata is None and enabled is True:
            shaped = self._shaped(id, subscription)
        new = shaped or self._checked(Row(0, id, subscription, metadata, enabled))
        with self._lock:
            old = self._store.slot(id)
            if not replace and old is not None:
                raise DuplicateIdError(EXISTS.format(id))
            self._take(new, old)
        return id

    def _shaped(self, id: Any, text: str) -> Shaped | None:
        if not self._matcher.takes_shapes:
            return None
        if self._shapes is None:
            from tamis.engine.shaped import Shapes

            self._shapes = Shapes(self.schema)
        return self._shapes.read(self._reader, id, text)

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
        collect = _collects(errors)
        rows = read_rows(table)
        first = list(islice(rows, _BULK))
        if len(first) == _BULK:
            blocks = self.read_blocks(chain(first, rows), errors=errors)
            bulk = self._take_blocks(blocks, replace, collect)
            ids: Any = bulk.ids().to_pylist()
            return Subscribed([id for id in ids if id[0] != "\x00"], bulk.rejected)
        with self._lock:
            return self._take_few(first, replace, collect)

    def _take_few(self, rows: Iterable[Row], replace: bool, collect: bool) -> Subscribed:
        taken: dict[str, Subscription] = {}
        rejected = []
        for row in rows:
            try:
                new = self._checked(row)
                if new.id in taken:
                    raise DuplicateIdError(REPEATED.format(new.id))
                if new.id in self and not replace:
                    raise DuplicateIdError(EXISTS.format(new.id))
            except TamisError as error:
                if not collect:
                    raise SubscriptionError(f"row {row.number}, id {row.id!r}: {error}") from error
                rejected.append(Rejected(row.number, row.id, error))
            else:
                taken[new.id] = new
        for new in taken.values():
            self._take(new, self._store.slot(new.id))
        return Subscribed(list(taken), rejected)

    def _checked(self, row: Row) -> Subscription:
        """The subscription of a row, which this engine can match."""
        new = self._reader.read(row.id, row.source, row.metadata, row.enabled)
        _check_supported(new.expression, self.taxonomies)
        form = normalise(new.expression, self.limits)
        if form.never_matches:
            message = f"the subscription {new.id!r} contradicts itself and never matches"
            warnings.warn(message, NeverMatchesWarning, stacklevel=3)
        elif self._is_compiled:
            from tamis.matching.costs import REMEDY, costly

            cost = costly(form, self.limits)
            if cost is not None:
                message = f"the subscription {new.id!r} costs {cost}; {REMEDY}"
                warnings.warn(message, CostlyWarning, stacklevel=3)
        return new

    def cost(self, subscription: Source) -> Cost:
        """What an average event would pay for a subscription, and why: an estimate, by the sieve's
        measures, that knows no others. ``plan`` tells what those cost that are there."""
        from tamis.matching.costs import cost_of

        expression, _ = self._reader.expression(subscription)
        _check_supported(expression, self.taxonomies)
        return cost_of(normalise(expression, self.limits))

    def _take(self, new: Subscription | Shaped, old: Slot | None) -> None:
        """Put a checked subscription in the place of one with the same id, in one step."""
        store, matcher = self._held
        gone = [] if old is None or old in store.disabled else [old]
        if old is not None:
            store.remove(new.id, old)
        slot = store.add(new.id, new.text)
        if not isinstance(new, Subscription):
            matcher.add_shape(slot, new.shape, new.constants, gone)
        else:
            if new.metadata:
                store.metadata[slot] = new.metadata
            if new.enabled:
                matcher.add(slot, new.expression, gone)
            else:
                store.disabled.add(slot)
                matcher.remove(gone)
        if old is not None:
            self._tidy()

    def read_blocks(
        self, table: Any, *, errors: Literal["raise", "collect"] = "raise"
    ) -> Iterator[Block]:
        """Read rows as ``subscribe_many`` does, without taking them in.

        This is the larger part of its work. Blocks can be pickled, so that other processes, with
        an engine of the same settings, can do it.
        """
        from tamis.engine.bulk import BlockReader

        shapes = self._matcher.takes_shapes
        reader = BlockReader(self._reader, self._checked, _collects(errors), shapes)
        return reader.blocks(read_rows(table))

    def subscribe_blocks(
        self,
        blocks: Iterable[Block],
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> list[Rejected]:
        """Add what ``read_blocks`` has read; all or nothing, unless faulty rows are collected."""
        return self._take_blocks(blocks, replace, _collects(errors)).rejected

    def _take_blocks(self, blocks: Iterable[Block], replace: bool, collect: bool) -> Bulk:
        from tamis.engine.bulk import Bulk
        from tamis.matching.string_table import StringTable

        with self._lock:
            store, matcher = self._held
            load = matcher.load()
            bulk = Bulk(self._reader, load, len(store.ids), self._checked, collect)
            for block in blocks:
                bulk.take(block)
            bulk.check_ids((lambda _: ()) if replace else store.taken)
            ids = bulk.ids()
            gone = [self._forget(ids[row].as_py()) for row in store.taken(ids)] if replace else []
            store.add_many(StringTable(ids), bulk.texts())
            for slot, new in bulk.others.items():
                if slot not in bulk.gone:
                    store.metadata[slot] = new.metadata
                    if not new.enabled:
                        store.disabled.add(slot)
            for slot in bulk.gone:
                store.remove(store.ids[slot], slot)
            disabled = {slot for slot, new in bulk.others.items() if not new.enabled}
            load.install([*(slot for slot in gone if slot is not None), *(bulk.gone - disabled)])
            if replace:  # without, the slots stay those of the rows
                self._tidy()
        bulk.rejected.sort(key=lambda each: each.row)
        return bulk

    def _forget(self, id: str) -> Slot | None:
        """Let the store forget a subscription; return its slot if the matcher has it."""
        store = self._store
        slot = self._slot(id)
        enabled = slot not in store.disabled
        store.remove(id, slot)
        return slot if enabled else None

    def unsubscribe(self, id: str) -> None:
        """Remove a subscription."""
        with self._lock:
            slot = self._forget(id)
            if slot is not None:
                self._matcher.remove([slot])
            self._tidy()

    def _tidy(self) -> None:
        """Give the slots of removed subscriptions back, if they are many."""
        store, matcher = self._held
        if store.waste <= max(1_000, len(store)):
            return
        import numpy as np

        left = np.sort(np.fromiter(store.slots(), np.int32))
        slots = np.full(len(store.ids), -1, np.int32)
        slots[left] = np.arange(len(left))
        other = store.renumbered(left)
        setting = self._setting(other, self.taxonomies)
        self._held = _Held(other, matcher.renumbered(slots, setting))

    def change_taxonomy(
        self, taxonomy: Taxonomies | TaxonomyLike, *, attribute: str | None = None
    ) -> None:
        """Use another taxonomy from the next event on; what asks for ``is a`` is compiled anew.

        It is for one ``attribute``, or for all that have none of their own; ``Taxonomies`` take the
        place of all. The terms that subscriptions ask for must be in it, or nothing is changed.
        """
        if self.schema is not None:
            raise SchemaError("the taxonomies are those of the schema, which nothing changes")
        if isinstance(taxonomy, Taxonomies) and attribute is not None:
            raise TaxonomyError("an attribute has one taxonomy; give several without attribute=")
        with self._lock:
            if isinstance(taxonomy, Taxonomies):
                taxonomies = taxonomy
            else:
                taxonomies = self.taxonomies.changed(taxonomy, attribute)
            store, matcher = self._held
            expressions = {
                slot: self._expression(slot, store)
                for slot in {*matcher.slots_of_terms(), *store.disabled}
            }
            for expression in expressions.values():
                _check_supported(expression, taxonomies)
            setting = self._setting(store, taxonomies)
            for slot in store.disabled:
                del expressions[slot]
            self._held = _Held(store, matcher.recompiled(expressions, setting))
            self.taxonomies = taxonomies

    def extend(self, extension: Schema | str | bytes | Mapping[str, Any]) -> Schema:
        """Extend the schema (``Schema.extend``) for all that comes from now on; return the new one.

        No extension changes what there is, so all subscriptions stay as they are.
        """
        with self._lock:
            if self.schema is None:
                raise SchemaError("the engine has no schema: give it one by Engine(schema=…)")
            schema = self.schema.extend(extension)
            taxonomies = vocabulary(schema)
            if taxonomies != self.taxonomies:
                store, matcher = self._held
                setting = self._setting(store, taxonomies)
                self._held = _Held(store, matcher.recompiled({}, setting))
                self.taxonomies = taxonomies
            self._reader = SubscriptionReader(self._prefixes, self.limits, schema)
            self._shapes = None
        return schema

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
        from tamis.matching.sample import drawn

        sample = drawn(self._batches(events))
        with self._lock:
            self._matcher.learn(sample)

    def enable(self, id: str) -> None:
        """Let a disabled subscription match again."""
        with self._lock:
            slot = self._slot(id)
            if slot in self._store.disabled:
                self._take(dataclasses.replace(self[id], enabled=True), slot)

    def disable(self, id: str) -> None:
        """Keep a subscription, but let it match nothing."""
        with self._lock:
            slot = self._slot(id)
            if slot not in self._store.disabled:
                self._matcher.remove([slot])
                self._store.disabled.add(slot)

    # Matching.

    def _event(self, event: Event | Mapping[str, Any]) -> Event:
        """The event, with the timestamps that the schema tells of."""
        found, schema = Event.of(event, self.limits), self._reader.schema
        return found if schema is None else schema.typed(found)

    def _batches(self, events: Any) -> Iterator[Batch]:
        return batches(events, self.limits, self.schema)

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

    # The collection.

    def _slot(self, id: str) -> Slot:
        slot = self._store.slot(id) if isinstance(id, str) else None
        if slot is None:
            hint = suggestion(str(id), (self._store.ids[slot] for slot in self._store.slots()))
            message = f"no subscription has the id {id!r}" + (f"; {hint}" if hint else "")
            raise UnknownIdError(message)
        return slot

    def _subscription(self, slot: Slot) -> Subscription:
        store = self._store
        return Subscription(
            store.ids[slot],
            store.texts[slot],
            self._expression(slot, store),
            store.metadata.get(slot, {}),
            slot not in store.disabled,
        )

    def __getitem__(self, id: str) -> Subscription:
        return self._subscription(self._slot(id))

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._store.slot(id) is not None

    def __iter__(self) -> Iterator[Subscription]:
        return map(self._subscription, list(self._store.slots()))

    def __len__(self) -> int:
        return len(self._store)

    def __repr__(self) -> str:
        disabled = len(self._store.disabled)
        aside = f", {disabled:,} disabled" if disabled else ""
        return f"Engine({len(self):,} subscriptions{aside}, matcher={self.matcher!r})"

    def stats(self) -> Stats:
        """How much the engine holds, by part, and what an event is expected to cost."""
        from tamis.matching.plan import stats_of

        found = stats_of(self._segments(), self._expected())
        store = {"ids": self._store.id_bytes, "texts": self._store.texts.nbytes}
        return dataclasses.replace(found, subscriptions=len(self), bytes={**found.bytes, **store})

    def plan(self, events: Any = None) -> Plan:
        """Which access key serves which subscriptions, what that is expected to cost, and which
        subscriptions no key serves, so that they cost every event.

        The figures are about events like the given ones, else like those learned or seen.
        """
        from tamis.matching.plan import plan_of

        found = plan_of(self._segments(), self._expected(events))
        unserved = tuple(self._store.ids[int(slot)] for slot in found.unserved)
        return dataclasses.replace(found, unserved=unserved)

    def attributes(self) -> frozenset[str] | None:
        """The outermost keys of all attributes that the subscriptions speak of; None if that is
        not known, so that any may matter."""
        from tamis.matching.sides import MAX_AXES

        segments = self._segments()
        if not self._is_compiled or any(len(s.axes) == MAX_AXES for s in segments):
            return None
        return frozenset(axis.key.path[0] for segment in segments for axis in segment.axes)

    def slot_ids(self) -> pa.LargeStringArray:
        """The ids by slot, for who keeps columns beside ``Matches.slot``; what stands at slots of
        removed subscriptions means nothing."""
        return self._store.ids.all()

    @property
    def _is_compiled(self) -> bool:
        """Whether the matcher has access keys; the oracle tries everything."""
        return hasattr(self._matcher, "segments")

    def _segments(self) -> list[Segment]:
        """The segments of a compiled matcher; the oracle has none."""
        segments: list[Segment] = getattr(self._matcher, "segments", list)()
        return segments

    def _expected(self, events: Any = None) -> Expecting | None:
        """What is known about events, by the given ones or by those that the matcher has seen."""
        if events is not None:
            from tamis.matching.sample import expecting

            return expecting(self._batches(events))
        found: Expecting | None = getattr(self._matcher, "expected", lambda: None)()
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the engine, with its ``attachments``, to a file, which is whole or not there."""
        settings = {"matcher": self.matcher, **self._knowledge(), "prefixes": self._prefixes}
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
            engine = cls(limits=limits, **settings)
            engine._use(restore_store(file, verify))
            engine.attachments = attachments_of(file)
            if not restore_matcher(engine._matcher, file):
                for slot in engine._store.slots():
                    if slot not in engine._store.disabled:
                        engine._matcher.add(slot, engine._expression(slot, engine._store))
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{os.fspath(path)} is no whole engine: {error}") from error
        return engine


def _collects(errors: str) -> bool:
    if errors not in ("raise", "collect"):
        raise TamisError(f"errors is 'raise' or 'collect', not {errors!r}")
    return errors == "collect"


def _check_supported(expression: Expression, taxonomies: Taxonomies) -> None:
    """Refuse what only other rooms can match, and ``is a`` of what no taxonomy knows."""
    for node in nodes_within(expression):
        if isinstance(node, Call | Pattern):
            what = "operator calls" if isinstance(node, Call) else "graph patterns"
            raise UnsupportedError(
                f"{what} cannot be matched by this engine, which knows attributes only: {node}"
            )
        if isinstance(node, IsA):
            taxonomy = taxonomies.of(node.attribute.path)
            if taxonomy is None:
                raise SubscriptionError(
                    f"'{node}' needs a taxonomy: Engine(taxonomy={{term: [parents]}})"
                )
            taxonomy.check(str(node.ancestor.value))
