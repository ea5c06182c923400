"""What a subscription would have matched among recent events, and why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tamis.broker.dialects import text_of
from tamis.broker.records import Identity, Quotas, Role, StoredEvent
from tamis.broker.state import EVENT_COLUMNS, State, stored_event
from tamis.engine.explanation import Explanation, explain
from tamis.engine.rows import Subscription
from tamis.errors import ForbiddenError, LimitError
from tamis.model.limits import check_limit
from tamis.predicates.expression import Call


@dataclass(frozen=True, slots=True)
class DryRun:
    """A subscription tried on one event."""

    event: StoredEvent
    matches: bool
    explanation: Explanation


def recent_events(state: State, by: Identity, last: int) -> list[StoredEvent]:
    """The last events of a tenant, the newest first."""
    if not by.may(Role.SUBSCRIBE):
        raise ForbiddenError("this key may not subscribe, and so not see events")
    rows = state.database.read(
        f"select {EVENT_COLUMNS} from events e where e.tenant = ? order by e.sequence desc limit ?",
        (by.tenant, min(last, state.settings.page)),
    )
    return [stored_event(row) for row in rows]


def dry_run(
    state: State,
    by: Identity,
    subscription: Any,
    dialect: str,
    last: int,
    check_calls: Callable[[list[Call], Quotas], None],
) -> list[DryRun]:
    """Try a subscription on the last events that a key may see; nothing is kept of it.

    Explanations are made in plain Python, so that a long text on many events, or a slow operator,
    would take hours.
    """
    end = time.monotonic() + state.settings.dry_run
    events = recent_events(state, by, last)
    text, _ = text_of(subscription, dialect, state.settings)
    what = "characters of a subscription, times the events that it is tried on"
    check_limit(len(text) * len(events), state.settings.dry_run_size, what)
    _, calls = state.catalog.check(by.tenant, "dry-run", text)
    check_calls(calls, by.quotas)
    subscriptions = state.catalog.engine(by.tenant).subscriptions
    tried = Subscription("dry-run", text, subscriptions.reader.parse(text))
    found: list[DryRun] = []
    for stored in events:
        if time.monotonic() > end:
            raise LimitError(
                f"a dry run may take {state.settings.dry_run:g} seconds: it came to {len(found)} "
                f"of {len(events)} events; try fewer"
            )
        explanation = explain(tried, state.event_of(stored), subscriptions.world)
        found.append(DryRun(stored, explanation.matches, explanation))
    return found
