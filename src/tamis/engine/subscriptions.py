"""The subscriptions of an engine: what it knows them by, and how they come and go."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.arrays.sharing import Lockable
from tamis.bindings.evaluation import World
from tamis.engine.deciding import DecidedView, LazyDecider, check_schedule
from tamis.engine.reader import (
    PreparedSubscription,
    Remark,
    Source,
    SubscriptionReader,
    check_supported,
    vocabulary,
)
from tamis.engine.registry import ALGORITHMS, Algorithm
from tamis.engine.rows import EXISTS, Row, Subscription
from tamis.engine.store import Store
from tamis.errors import (
    DuplicateIdError,
    SchemaError,
    TamisError,
    TaxonomyError,
    UnknownIdError,
    suggestion,
)
from tamis.matching.capabilities import Learns, Renumbers, TakesShapes, capability
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.protocol import Matcher, View
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.predicates.expression import Expression, Pattern, nodes_within

if TYPE_CHECKING:
    from tamis.engine.shapes import ShapedSubscription
    from tamis.matching.batch import Batch
    from tamis.matching.covers.covers import Chance
    from tamis.matching.pairs import Hits


def _sieve(setting: Setting) -> Matcher:
    from tamis.matching.segments.matcher import SieveMatcher

    return SieveMatcher(setting)


def _scan(setting: Setting) -> Matcher:
    from tamis.matching.scan import Scan

    return Scan(setting)


MATCHERS: dict[str, Callable[[Setting], Matcher]] = {
    "scan": _scan,
    "sieve": _sieve,
    "gtopss": _sieve,
    **{name: Algorithm(name) for name in ALGORITHMS},
}
"""The matchers by their names; the contract suite runs over all of them. ``gtopss`` is the sieve
with G-ToPSS for graph patterns."""

_WASTE = 1_000
"""Slots of removed subscriptions that are kept, at least."""

_PATTERN = r"\{\s*[^\s0-9,}]"
"""How a graph pattern begins: with a term, unlike the repetitions of a regular expression."""


class Index(NamedTuple):
    """What belongs together: slots of the one are slots of the other."""

    store: Store
    matcher: Matcher
    by_shape: TakesShapes | None
    """The matcher, if it takes shapes."""
    deciding: LazyDecider

    def match(self, event: Event) -> Hits:
        """The subscriptions that one event matches."""
        hits = self.matcher.match(event)
        return self.deciding.hits(hits, event) if hits.open else hits

    def view(self) -> View:
        """What there is now, for many events."""
        return DecidedView(self.matcher.view(), self.deciding, len(self.store))


class Subscriptions(Lockable):
    """Subscriptions by id, in a store and in a matcher.

    A thread that changes them holds ``changing``; one that reads takes ``index`` once, and needs
    no lock.
    """

    def __init__(
        self,
        world: World,
        schema: Schema | None,
        prefixes: Mapping[str, str] | None,
        matcher: str | Algorithm,
        schedule: str = "adaptive",
    ) -> None:
        super().__init__()
        check_schedule(schedule)
        self.fallbacks = Fallbacks()
        self.deciding = LazyDecider(
            schedule,
            tested=matcher in ("sieve", "gtopss"),
            fallbacks=self.fallbacks,
            merged=matcher == "gtopss",
        )
        if not isinstance(matcher, Algorithm) and matcher not in MATCHERS:
            hint = suggestion(str(matcher), MATCHERS) or "there are " + ", ".join(MATCHERS)
            raise TamisError(f"unknown matcher {matcher!r}; {hint}")
        self._make = matcher if isinstance(matcher, Algorithm) else MATCHERS[matcher]
        self.world = world
        self._chance: Chance | None = None
        """How likely events pass a leaf, if that was learned."""
        self.use(Store(), schema)
        self.reader = self._reader(schema, prefixes)

    def _reader(
        self, schema: Schema | None, prefixes: Mapping[str, str] | None
    ) -> SubscriptionReader:
        return SubscriptionReader(
            self.world,
            schema,
            prefixes,
            takes_shapes=self.index.by_shape is not None,
            knows_costs=capability(self.index.matcher, Learns) is not None,
            chance=self._chance,
        )

    def use(self, store: Store, schema: Schema | None) -> None:
        """Begin with a store, and a matcher that has nothing yet."""
        self._set(store, self._make(self._setting(store, self.world, schema)))

    def _set(self, store: Store, matcher: Matcher) -> None:
        self.index = Index(store, matcher, capability(matcher, TakesShapes), self.deciding)

    def _setting(self, store: Store, world: World, schema: Schema | None) -> Setting:
        def expression(slot: Slot) -> Expression:
            found = store.expressions.get(slot)
            if found is None:
                found = store.keep(slot, self.reader.parse(store.texts[slot]))
            return found

        self.deciding = self.deciding.renewed(world, expression)
        setting = Setting(world, expression, self.fallbacks, leaves=self.deciding)
        return setting if schema is None else setting._replace(event_type=schema.event_type)

    def _new_setting(self, store: Store, world: World | None = None) -> Setting:
        return self._setting(store, world or self.world, self.reader.schema)

    @property
    def changing(self) -> AbstractContextManager[object]:
        """What is held during a change, so that it is one step for other threads that change."""
        return self._lock

    # One by one.

    def add(
        self,
        source: Source,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        enabled: bool = True,
        *,
        replace: bool = False,
    ) -> tuple[str, Iterable[Remark]]:
        """Add a subscription; its id, and what to say of it."""
        id = uuid.uuid4().hex if id is None else id
        new = self.reader.prepare(Row(0, id, source, metadata, enabled))
        with self.changing:
            self.take(new, self.index.store.slot(id), replace=replace)
        return id, new.remarks if isinstance(new, PreparedSubscription) else ()

    def take(
        self,
        new: PreparedSubscription | ShapedSubscription,
        old: Slot | None,
        *,
        replace: bool = True,
    ) -> None:
        """Put a subscription in the place of the one with the same id, in one step; if the matcher
        refuses it, nothing has changed."""
        store, matcher, by_shape = self.index[:3]
        if old is not None and not replace:
            raise DuplicateIdError(EXISTS.format(new.id))
        gone = [] if old is None or old in store.disabled else [old]
        slot = store.reserve(new.id, new.text)
        if not isinstance(new, PreparedSubscription):
            assert by_shape is not None  # or the reader would have made no shape
            by_shape.add_shape(slot, new.shape, new.constants, gone)
        elif new.subscription.enabled:
            matcher.add(slot, new.cover, gone)
        else:
            matcher.remove(gone)
        if old is not None:
            store.remove(new.id, old)
        store.add(new.id, slot)
        if isinstance(new, PreparedSubscription):
            store.keep(slot, new.subscription.expression)
            store.describe(slot, new.subscription.metadata, new.subscription.enabled)
        if old is not None:
            self.tidy()

    def remove(self, id: str) -> None:
        """Remove a subscription."""
        with self.changing:
            store, matcher = self.index[:2]
            slot = self.slot(id)
            if slot not in store.disabled:
                matcher.remove([slot])
            store.remove(id, slot)
            self.tidy()

    def tidy(self) -> None:
        """Give the slots of removed subscriptions back, if they are many."""
        store, matcher = self.index[:2]
        if store.waste <= max(_WASTE, len(store)):
            return
        import numpy as np

        left = store.slots()
        slots = np.full(len(store.ids), -1, np.int32)
        slots[left] = np.arange(len(left))
        other = store.renumbered(left)
        setting = self._new_setting(other)
        renumbers = capability(matcher, Renumbers)
        if renumbers is not None:
            self._set(other, renumbers.renumbered(slots, setting))
        else:
            self._set(other, self._loaded(other, setting))

    def tidy_whole(self) -> None:
        """Give all slots of removed subscriptions back, while the matcher has nothing yet."""
        store = self.index.store
        if store.waste:
            self.use(store.renumbered(store.slots()), self.reader.schema)

    def _loaded(self, store: Store, setting: Setting) -> Matcher:
        """A matcher with all subscriptions of a store."""
        from tamis.matching.covers.covers import cover_of

        matcher = self._make(setting)
        load = matcher.load()
        for slot in store.slots().tolist():
            if slot not in store.disabled:
                load.add(slot, cover_of(setting.expressions(slot)))
        load.install()
        return matcher

    def enable(self, id: str) -> None:
        """Let a disabled subscription match again."""
        with self.changing:
            slot = self.slot(id)
            if slot in self.index.store.disabled:
                old = self[id]
                row = Row(0, old.id, old.text, old.metadata or None)
                self.take(self.reader.prepare(row), slot)

    def disable(self, id: str) -> None:
        """Keep a subscription, but let it match nothing."""
        with self.changing:
            slot = self.slot(id)
            if slot not in self.index.store.disabled:
                self.index.matcher.remove([slot])
                self.index.store.disabled.add(slot)

    # What they mean.

    def change_taxonomy(
        self, taxonomy: Taxonomies | TaxonomyLike, attribute: str | None = None
    ) -> None:
        """Use another taxonomy from the next event on."""
        if self.reader.schema is not None:
            raise SchemaError("the taxonomies are those of the schema, which nothing changes")
        if isinstance(taxonomy, Taxonomies) and attribute is not None:
            raise TaxonomyError("an attribute has one taxonomy; give several without attribute=")
        with self.changing:
            if isinstance(taxonomy, Taxonomies):
                taxonomies = taxonomy
            else:
                taxonomies = self.world.taxonomies.changed(taxonomy, attribute)
            self._change_world(self.world._replace(taxonomies=taxonomies))
            self.reader = self._reader(None, self.reader.prefixes)

    def _change_world(self, world: World) -> None:
        from tamis.matching.covers.covers import cover_of

        store, matcher = self.index[:2]
        setting = self._new_setting(store, world)
        renumbers = capability(matcher, Renumbers)
        slots = store.slots().tolist() if renumbers is None else renumbers.slots_of_terms()
        expressions = {slot: setting.expressions(slot) for slot in {*slots, *store.disabled}}
        for expression in expressions.values():
            check_supported(expression, world)
        if renumbers is None:
            self._set(store, self._loaded(store, setting))
        else:
            some = {
                slot: cover_of(expression)
                for slot, expression in expressions.items()
                if slot not in store.disabled
            }
            self._set(store, renumbers.recompiled(some, setting))
        self.world = world

    def learn(self, sample: Sequence[Batch]) -> None:
        """Find subscriptions by what is rare among these events."""
        from tamis.matching.covers.chances import chance_of
        from tamis.matching.covers.covers import cover_of
        from tamis.matching.segments.sample_chances import SampleChances

        with self.changing:
            store, matcher = self.index[:2]
            learns, renumbers = capability(matcher, Learns), capability(matcher, Renumbers)
            if learns is None:
                return
            before, chance = self._chance or chance_of, SampleChances(sample)
            self.reader.chance = self._chance = chance
            learns.learn(sample)
            often = learns.often_evaluated(sample)
            if renumbers is None or not often:
                return
            setting = self._new_setting(store)
            covers = {slot: cover_of(setting.expressions(slot), chance) for slot in often}
            some = {
                slot: cover
                for slot, cover in covers.items()
                if cover.conditions != cover_of(cover.expression, before).conditions
            }
            if some:
                self._set(store, renumbers.recompiled(some, setting))

    def extend(self, extension: Schema | str | bytes | Mapping[str, Any]) -> Schema:
        """Extend the schema for all that comes from now on; return the new one."""
        with self.changing:
            if self.reader.schema is None:
                raise SchemaError("the engine has no schema: give it one by Engine(schema=…)")
            schema = self.reader.schema.extend(extension)
            taxonomies = vocabulary(schema)
            if taxonomies != self.world.taxonomies:
                self._change_world(self.world._replace(taxonomies=taxonomies))
            self.reader = self._reader(schema, self.reader.prefixes)
        return schema

    # What there is.

    def slot(self, id: str) -> Slot:
        """The slot of an id; raises if there is none."""
        return _slot(self.index.store, id)

    def __getitem__(self, id: str) -> Subscription:
        store = self.index.store
        return self._subscription(store, _slot(store, id))

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.index.store.slot(id) is not None

    def __iter__(self) -> Iterator[Subscription]:
        store = self.index.store.copy()
        return (self._subscription(store, slot) for slot in store.slots().tolist())

    def __len__(self) -> int:
        return len(self.index.store)

    def have_patterns(self) -> bool:
        """Whether some have graph patterns; only texts that may have one are read."""
        import pyarrow.compute as pc

        store = self.index.store.copy()
        likely = pc.match_substring_regex(store.texts.all(), _PATTERN)
        slots: list[Any] = pc.indices_nonzero(likely).to_pylist()
        alive = set(store.slots().tolist()) if slots else set()
        found = (self._subscription(store, slot).expression for slot in slots if slot in alive)
        return any(isinstance(node, Pattern) for each in found for node in nodes_within(each))

    def _subscription(self, store: Store, slot: Slot) -> Subscription:
        text = store.texts[slot]
        expression = store.expressions.get(slot)
        return Subscription(
            store.ids[slot],
            text,
            self.reader.parse(text) if expression is None else expression,
            store.metadata.get(slot, {}),
            slot not in store.disabled,
        )


def _slot(store: Store, id: Any) -> Slot:
    slot = store.slot(id) if isinstance(id, str) else None
    if slot is None:
        hint = suggestion(str(id), (store.ids[slot] for slot in store.slots().tolist()))
        message = f"no subscription has the id {id!r}" + (f"; {hint}" if hint else "")
        raise UnknownIdError(message)
    return slot
