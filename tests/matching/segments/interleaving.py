"""Changes at every line of a reader: what two threads do once in a million times, done each time.

    reader    line 1          line 2          line 3 ...
    writer            change          change

A trace function runs the change in the reader's own thread, between two of its lines. So a reader
that takes two things from a shared structure, one of which grew in between, fails every time.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import tamis
from tamis.errors import LimitError

Found = TypeVar("Found")

PLACES = tuple(
    str(Path(tamis.__file__).parent / place)
    for place in ("published", "matching/axes/live", "matching/points", "matching/segments")
)
"""Where readers are stopped: in what finds boxes, and in what makes points of events for that."""
VISITS = 2
"""How often a reader is stopped at one line: with more changes than some hundreds there are too
many axes, and a published matcher begins again with other axes, which no reader has seen yet."""


def read_between_changes(
    read: Callable[[], Found],
    change: Callable[[int], None],
    places: tuple[str, ...] = PLACES,
) -> Found:
    """What a reader finds while a change comes before each line that it runs in some places."""
    visits: Counter[tuple[str, int]] = Counter()
    before, changes = sys.gettrace(), 0

    def trace(frame: FrameType, happened: str, _: Any) -> Any:
        nonlocal changes
        file = frame.f_code.co_filename
        if not file.startswith(places):
            return None
        if happened == "line":
            visits[file, frame.f_lineno] += 1
            if visits[file, frame.f_lineno] <= VISITS:
                change(changes)
                changes += 1
        return trace

    sys.settrace(trace)
    try:
        found = read()
    finally:
        sys.settrace(before)
    assert changes > 10, "the reader was not stopped"
    return found


SUBSCRIPTIONS = {
    "number": "a < 2",
    "word": "b = 'red' and a >= 1",
    "either": "a = 5 or b in ('red', 'blue')",
    "compared": "a < d",
    "compared too": "d > a and b != 'green'",
    "text": "b like '%e%' and a > 0",
    "present": "d is present and e is missing",
    "typed": "event_type = 'toys' and a = 1",
    "held": "event_type contains 'toys' and d > 2",
    "listed": "c = 2",
    "not": "a = 3",
    "not typed": "event_type = 'books' and a = 1",
}
"""All but those that begin with ``not`` match the events below, ``listed`` those with lists."""
EVENT = {"a": 1, "b": "red", "d": 3, "event_type": "toys"}
LISTED = {**EVENT, "c": [1, 2]}


@cache
def additions(number: int) -> dict[str, tamis.Expression]:
    """Axes, comparisons, types, tests and constants between those there are; parsed only once,
    since every matcher and every reader gets the same."""
    own = number * 0.6180339887 % 1  # evenly between 0 and 1: there is room for the next one
    texts = {
        "axis": f"n{number} is missing and a > {own - 1} and d > {2 + own} and b > 'a{own}'",
        "comparison": f"d > m{number} or c < {2 + own}",
        "type": f"event_type contains 'toys{number}' or b like '%e%' and not b like '%{number}%'",
    }
    return {name: tamis.parse(text) for name, text in texts.items()}


def change_everything(engine: tamis.Engine, number: int) -> None:
    """Add what there was not, and remove one."""
    for name, expression in additions(number).items():
        with suppress(LimitError):  # of an algorithm; its axes have grown all the same
            engine.subscribe(expression, id=f"{name} {number}")
    gone = list(SUBSCRIPTIONS)[number % len(SUBSCRIPTIONS)]
    if gone in engine:
        engine.unsubscribe(gone)
