"""A snapshot is of one moment, whatever comes to the live part while it is read."""

from __future__ import annotations

from typing import Any

import pytest

import tamis
from tamis.matching.segments.matcher import SieveMatcher
from tamis.matching.segments.view import SieveView
from tests.matching.segments.interleaving import (
    EVENT,
    LISTED,
    SUBSCRIPTIONS,
    change_everything,
    read_between_changes,
)

pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning")


@pytest.mark.parametrize("attributes", [EVENT, LISTED])
@pytest.mark.parametrize("is_live", [True, False])
def test_changes_at_every_line_of_a_reader(attributes: dict[str, Any], is_live: bool) -> None:
    engine = tamis.Engine()
    for id, text in SUBSCRIPTIONS.items():
        engine.subscribe(text, id=id)
    if not is_live:
        engine.settle()
    matcher = engine.subscriptions.index.matcher
    assert isinstance(matcher, SieveMatcher)
    view, event = SieveView(matcher._snapshot, matcher._setting), tamis.Event(attributes)
    expected = sorted(view.match(event).slots)
    assert {*expected} >= {*range(9)}
    found = read_between_changes(
        lambda: sorted(view.match(event).slots),
        lambda number: change_everything(engine, number),
    )
    assert found == expected
