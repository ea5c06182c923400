"""What one side of a link sends again."""

from __future__ import annotations

from tamis.model.events.event import Event
from tamis.routing.link import REPEATS, Link
from tamis.routing.messages import Message, Timeouts

TIMING = Timeouts(retry=1.0)


def sent_again(link: Link, sent: list[Message], now: float) -> list[str]:
    sent.clear()
    link.retry(now, TIMING)
    return [message.id for message in sent]


def test_a_late_neighbour_is_not_flooded_with_repetitions() -> None:
    """Thousands of messages were sent again in every second, until none was answered in time."""
    sent: list[Message] = []
    link = Link("a", "b", 1, sent.append)
    link.peer = (1, 0)
    ids = [f"e{n}" for n in range(50 * REPEATS)]
    for id in ids:
        link.publish(0.0, id, Event({"a": 1}), ("a",))
    assert [message.id for message in sent] == ids

    assert sent_again(link, sent, 0.9) == []
    assert sent_again(link, sent, 1.0) == ids[:REPEATS]
    assert sent_again(link, sent, 1.1) == []
    assert sent_again(link, sent, 2.0) == ids[REPEATS : 2 * REPEATS]

    answered = ids[: 3 * REPEATS]
    assert all(link.arrived(id) for id in answered)
    assert not link.arrived(answered[0])
    again = sent_again(link, sent, 3.0)
    assert again == ids[3 * REPEATS : 9 * REPEATS], "twice as many as were answered"
    assert sent_again(link, sent, 4.0) == ids[9 * REPEATS : 10 * REPEATS]


def test_everything_is_sent_again_in_the_end() -> None:
    sent: list[Message] = []
    link = Link("a", "b", 1, sent.append)
    link.peer = (1, 0)
    ids = [f"e{n}" for n in range(10 * REPEATS)]
    for id in ids:
        link.publish(0.0, id, Event({"a": 1}), ("a",))
    for second in range(1, 20):
        for id in sent_again(link, sent, float(second)):
            link.arrived(id)
    assert not link.events
