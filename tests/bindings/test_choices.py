"""Choices of elements from lists, and the events that they leave."""

from __future__ import annotations

import pytest

from tamis import Event, LimitError
from tamis.bindings.choices import bound_event, choices, part_of

EVENT = Event(
    {
        "shop": "x",
        "items": [{"color": "red"}, {"color": "blue", "sizes": [1, 2]}],
        "tags": [],
        "deep": [[1], [[2, 3]]],
    }
)


def test_choices_of_everything() -> None:
    found = list(choices(EVENT, None, 100))
    assert len(found) == 3 * 3
    events = [bound_event(EVENT, choice, None) for choice in found]
    assert all(event.multiple == frozenset() for event in events)
    assert [event.attributes["deep"] for event in events[:3]] == [1, 2, 3]
    assert events[0].attributes == {"shop": "x", "items": {"color": "red"}, "deep": 1}
    assert events[-1].attributes["items"] == {"color": "blue", "sizes": 2}


def test_choices_of_some_attributes() -> None:
    paths = [("items", "color")]
    found = list(choices(EVENT, paths, 100))
    assert found == [{("items",): 0}, {("items",): 1}]
    event = bound_event(EVENT, found[1], paths)
    assert event.attributes["items"] == {"color": "blue", "sizes": [1, 2]}
    assert event.attributes["deep"] == EVENT.attributes["deep"]
    assert event.multiple == {"items", "tags", "deep"}


def test_lists_below_an_attribute_are_bound_too() -> None:
    assert len(list(choices(EVENT, [("items",)], 100))) == 3


def test_an_attribute_that_is_not_there() -> None:
    assert list(choices(EVENT, [("gone", "far")], 100)) == [{}]
    assert bound_event(EVENT, {}, [("gone",)]) is EVENT


def test_the_part_of_a_choice() -> None:
    choice = {("items",): 1, ("items", 1, "sizes"): 0, ("deep",): 0}
    assert part_of(choice, None) == tuple(choice.items())
    assert part_of(choice, [("items", "color")]) == ((("items",), 1),)
    assert part_of(choice, [("items",)]) == ((("items",), 1), (("items", 1, "sizes"), 0))
    assert part_of(choice, []) == ()


def test_too_many() -> None:
    with pytest.raises(LimitError, match="9 bindings"):
        choices(EVENT, None, 8)
