"""The subscriptions of an engine: what it knows them by, and how they come and go."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.arrays.sharing import Lockable
from tamis.engine.checking import check_supported, warn_of
from tamis.engine.registry import ALGORITHMS, Algorithm
from tamis.engine.store import Store
from tamis.engine.subscription import (
    EXISTS,
    Row,
    Source,
    Subscription,
    SubscriptionReader,
)
from tamis.engine.vocabulary import vocabulary
from tamis.errors import (
    DuplicateIdError,
    SchemaError,
    TamisError,
    TaxonomyError,
    UnknownIdError,
    suggestion,
)
from tamis.matching.protocol import Matcher, Setting, Slot
from tamis.matching.scan import Scan, Trial
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    from tamis.engine.shaped import ShapedSubscription, Shapes


def _sieve(setting: Setting) -> Matcher:
    from tamis.matching.segments.matcher import SieveMatcher

    return SieveMatcher(setting)


_PARSED = 10_000
"""Expressions kept, of those that were asked for."""

MATCHERS: dict[str, Callable[[Setting], Matcher]] = {
    "scan": Scan,
    "sieve": _sieve,
    **{name: Algorithm(name) for name in ALGORITHMS},
}
"""The matchers by their names; the contract suite runs over all of them."""


class _Held(NamedTuple):
    """What belongs together: slots of the one are slots of the other."""

    store: Store
    matcher: Matcher


class Collection(Lockable):
    """Subscriptions by id, in a store and in a matcher.

    The lock is held by who changes them; who matches needs none.
    """

    def __init__(
        self,
        *,
        schema: Schema | Mapping[str, Any] | None = None,
        matcher: str | Algorithm = "sieve",
        taxonomy: Taxonomies | TaxonomyLike | None = None,
        prefixes: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        super().__init__()
        if not isinstance(matcher, Algorithm) and matcher not in MATCHERS:
            hint = suggestion(str(matcher), MATCHERS) or "there are " + ", ".join(MATCHERS)
            raise TamisError(f"unknown matcher {matcher!r}; {hint}")
        if schema is not None and not isinstance(schema, Schema):
            schema = Schema.from_json(schema, limits)
        self.matcher = matcher
        self._make = matcher if isinstance(matcher, Algorithm) else MATCHERS[matcher]
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
        self._held = _Held(store, self._make(setting))

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The taxonomy of all attributes that have none of their own; it cannot change."""
        return self.taxonomies.default

    def _setting(self, store: Store, taxonomies: Taxonomies) -> Setting:
        def decide(event: Event, slot: Slot) -> bool:
            trial = Trial(event, taxonomies, self.limits)
            return trial.verdict(self._expression(slot, store)) is True

        if self.schema is None:
            return Setting(taxonomies, self.limits, decide)
        return Setting(taxonomies, self.limits, decide, self.schema.event_type)

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

    def _shaped(self, id: Any, text: str) -> ShapedSubscription | None:
        if not self._matcher.compiles:
            return None
        if self._shapes is None:
            from tamis.engine.shaped import Shapes

            self._shapes = Shapes(self.schema)
        return self._shapes.read(self._reader, id, text)

    def _checked(self, row: Row) -> Subscription:
        """The subscription of a row, which this engine can match."""
        new = self._reader.read(row.id, row.source, row.metadata, row.enabled)
        check_supported(new.expression, self.taxonomies)
        sieved = self._matcher.compiles and not isinstance(self._make, Algorithm)
        warn_of(new, self.limits, costs=sieved)
        return new

    def _take(self, new: Subscription | ShapedSubscription, old: Slot | None) -> None:
        """Put a checked subscription in the place of one with the same id, in one step; if the
        matcher refuses it, nothing has changed."""
        store, matcher = self._held
        gone = [] if old is None or old in store.disabled else [old]
        slot = store.reserve(new.id, new.text)
        if not isinstance(new, Subscription):
            matcher.add_shape(slot, new.shape, new.constants, gone)
        elif new.enabled:
            matcher.add(slot, new.expression, gone)
        else:
            matcher.remove(gone)
        if old is not None:
            store.remove(new.id, old)
        store.add(new.id, slot)
        if isinstance(new, Subscription):
            if new.metadata:
                store.metadata[slot] = new.metadata
            if not new.enabled:
                store.disabled.add(slot)
        if old is not None:
            self._tidy()

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
                check_supported(expression, taxonomies)
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
