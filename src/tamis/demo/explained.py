"""Finding a match and a near miss that are worth explaining, and showing them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tamis.bindings.needs import bound_paths
from tamis.engine.engine import Engine
from tamis.engine.explanation import Explanation
from tamis.model.events.event import Event

if TYPE_CHECKING:
    from rich.console import Console


class ExplainedMatch(NamedTuple):
    """An auction, and how a subscription fares on it."""

    event: Event
    explanation: Explanation


Pairs = Iterable[tuple[Event, str]]
"""Auctions, each with the id of a subscription."""


def several_bids(event: Event) -> bool:
    """Whether an auction has more than one bid."""
    return len(list(event.values(("bids", "amount")))) > 1


def best_match(engine: Engine, pairs: Pairs) -> ExplainedMatch | None:
    """The match with the most clauses."""
    found = (ExplainedMatch(event, engine.explain(id, event)) for event, id in pairs)
    matches = (each for each in found if each.explanation.matches)
    return max(matches, key=lambda each: _clauses(each.explanation), default=None)


def near_miss(engine: Engine, pairs: Pairs) -> ExplainedMatch | None:
    """A subscription each clause of which is true, if not of one and the same bid."""
    fallback = None
    for event, id in pairs:
        explanation = engine.explain(id, event)
        if explanation.note:
            return ExplainedMatch(event, explanation)
        if not explanation.matches:
            fallback = fallback or ExplainedMatch(event, explanation)
    return fallback


def _clauses(explanation: Explanation) -> int:
    return 1 + sum(_clauses(part) for part in explanation.parts)


def show_explained(
    out: Console, title: str, engine: Engine, explained: ExplainedMatch | None
) -> None:
    """Show an explanation, and the attributes of the auction that it speaks of."""
    if explained is None:
        return
    from rich.text import Text

    event, explanation = explained
    out.print(f"[bold]{title}[/bold] of [bold]{explanation.id}[/bold] with this auction:")
    keys = {"auction", "title"}
    keys |= {path[0] for path in bound_paths(engine[str(explanation.id)].expression)}
    relevant = {key: value for key, value in event.attributes.items() if key in keys}
    out.print(Text(json.dumps(relevant, ensure_ascii=False, default=str), style="dim"))
    out.print(explanation)
    out.print()
