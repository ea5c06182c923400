"""The subscriptions of all tenants in engines, which find what an event matches.

Each tenant has an engine of its own, so that nobody pays for what others subscribe to. An engine
knows a subscription by its number in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays.types import Int64s
from tamis.broker.settings import BrokerSettings
from tamis.engine.engine import Engine
from tamis.engine.reader import PreparedSubscription
from tamis.engine.rows import Row
from tamis.errors import ForbiddenError
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema
from tamis.operators.operator import Operator
from tamis.predicates.expression import Call, Expression, nodes_within


class Found(NamedTuple):
    """What some events match: pairs of a row and a subscription's number, by row."""

    rows: Int64s
    numbers: Int64s
    bindings: dict[tuple[int, int], dict[str, object]]
    """Values of variables, for the pairs that have any."""
    undecided: list[tuple[int, int, str]]
    """Row, number and reason of pairs that could not be decided."""

    def moved(self, rows: list[int]) -> Found:
        """The same for events that stand in other rows, which ascend."""
        bindings = {(rows[row], number): each for (row, number), each in self.bindings.items()}
        undecided = [(rows[row], number, reason) for row, number, reason in self.undecided]
        return Found(np.array(rows, np.int64)[self.rows], self.numbers, bindings, undecided)

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """What several engines have found, by row."""
        rows = np.concatenate([each.rows for each in parts])
        numbers = np.concatenate([each.numbers for each in parts])
        order = np.argsort(rows, kind="stable")
        bindings = {pair: values for each in parts for pair, values in each.bindings.items()}
        undecided = [pair for each in parts for pair in each.undecided]
        return cls(rows[order], numbers[order], bindings, undecided)


class Catalog:
    """Engines by tenant. The writer changes them; anybody may match and explain."""

    def __init__(self, settings: BrokerSettings, schema: Schema | None) -> None:
        self._settings = settings
        self.schema = schema
        self.engines: dict[str, Engine] = {}

    def engine(self, tenant: str) -> Engine:
        """The engine of a tenant."""
        found = self.engines.get(tenant)
        if found is None:
            found = self.engines.setdefault(tenant, self.new_engine())
        return found

    def new_engine(self) -> Engine:
        """An engine without subscriptions, with the schema and operators of this broker."""
        return Engine(
            schema=self.schema,
            prefixes=self._settings.prefixes,
            operators=self._settings.operators,
            limits=self._settings.limits,
        )

    def use(self, schema: Schema) -> None:
        """Use an extension of the schema from now on."""
        self.schema = schema
        for engine in self.engines.values():
            engine.subscriptions.extend(schema)

    def check(self, tenant: str, id: str, text: str) -> tuple[list[str], list[Call]]:
        """Raise unless a text is a subscription; warnings about it, and what it calls."""
        new = self.engine(tenant).subscriptions.reader.prepare(Row(0, id, text))
        if not isinstance(new, PreparedSubscription):
            return [], []
        calls = self._calls(new.subscription.expression)
        return [remark.message for remark in new.remarks], calls

    def _calls(self, expression: Expression) -> list[Call]:
        calls = [node for node in nodes_within(expression) if isinstance(node, Call)]
        for call in calls:
            if call.name not in self._settings.operators:
                allowed = ", ".join(sorted(self._settings.operators)) or "none"
                raise ForbiddenError(
                    f"the operator {call.name!r:.100} is not allowed here; allowed: {allowed}"
                )
        return calls

    def cost(self, call: Call) -> float:
        """Seconds that a call may take: what its operator declares, or else its timeout."""
        found = self._settings.operators[call.name]
        declared = found.cost if isinstance(found, Operator) else None
        timeout = found.timeout if isinstance(found, Operator) else None
        if declared is not None:
            return declared
        return _UNKNOWN_COST if timeout is None else timeout

    def put(self, tenant: str, number: int, text: str, enabled: bool) -> None:
        """Add a subscription, or change it."""
        self.engine(tenant).subscriptions.add(text, str(number), None, enabled, replace=True)

    def drop(self, tenant: str, number: int) -> None:
        """Remove a subscription, if it is there."""
        engine = self.engine(tenant)
        if str(number) in engine:
            engine.unsubscribe(str(number))

    def match(self, tenant: str, events: Sequence[Event]) -> Found:
        """What events match."""
        matches = self.engine(tenant).match_batch(events)
        if not len(matches) and not matches.incomplete:
            return Found(_NONE, _NONE, {}, [])
        ids = matches.to_arrow()["subscription"]
        numbers = ids.cast(pa.int64()).to_numpy()
        rows = matches.event.astype(np.int64)
        bindings = {}
        if matches.has_bindings:
            for row, number, values in zip(rows.tolist(), numbers.tolist(), matches.bindings):
                if values:
                    bindings[row, number] = dict(values)
        undecided = [(row, int(id), reason) for row, id, reason in matches.incomplete]
        return Found(rows, numbers, bindings, undecided)


_UNKNOWN_COST = 1.0
"""Seconds that a call counts for whose operator declares neither a cost nor a timeout."""
_NONE = np.zeros(0, np.int64)
