"""Messages as JSON: what comes back is what was sent, and what is no message is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError, TamisError
from tamis.language.parser import parse
from tamis.model.events.event import Event
from tamis.model.rdf_terms import BlankNode
from tamis.model.timestamp import Timestamp
from tamis.routing.messages import Message, Verb
from tamis.routing.wire import event_from_json, event_to_json, from_json, to_json
from tests.strategies import expressions, iris, literals, texts

numbers = st.integers(0, 9)
sessions = st.tuples(numbers, numbers)
values = (
    st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.booleans()
    | texts()
    | st.binary(max_size=5)
    | st.integers(-(10**18), 10**18).map(Timestamp)
)
keys = st.sampled_from(["a", "$a", "$bytes", "$mapping", "größe"])
trees = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
subjects = iris() | st.sampled_from("xy").map(BlankNode)
triples = st.tuples(subjects, iris(), subjects | literals())
events = st.builds(
    lambda tree, graph: Event(tree, graph=graph),
    st.dictionaries(keys, trees, max_size=3),
    st.none() | st.lists(triples, max_size=3),
)


def sent(message: Message) -> Message:
    return from_json(json.loads(json.dumps(to_json(message), allow_nan=False)))


@given(st.sampled_from([Verb.SUBSCRIBE, Verb.ADVERTISE]), expressions(), sessions, numbers)
def test_subscriptions_come_back(verb: Verb, expression: Any, session: Any, number: int) -> None:
    path = ("b1", "b2")[: number % 3]
    message = Message(verb, "b1", "b2", session, (1, 0), number, 3, "s", expression, path)
    assert sent(message) == message


@given(events)
def test_events_come_back(event: Event) -> None:
    message = Message(Verb.PUBLISH, "b1", "b2", id="e", event=event)
    assert sent(message) == message


@pytest.mark.parametrize("verb", [Verb.HELLO, Verb.SYNCED, Verb.UNSUBSCRIBE, Verb.ACKNOWLEDGE])
def test_the_rest_comes_back(verb: Verb) -> None:
    message = Message(verb, "b1", "b2", (2, 1), (1, 0), version=7, floor=3, id="x")
    assert sent(message) == message


def test_nan_comes_back() -> None:
    (found,) = event_from_json(event_to_json({"a": math.nan})).attributes.values()
    assert isinstance(found, float)
    assert math.isnan(found)


GOOD = to_json(Message(Verb.SUBSCRIBE, "b1", "b2", id="s", expression=parse("a < 5")))


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ([], "a message is an object"),
        ({**GOOD, "verb": "subscrib"}, "did you mean 'subscribe'"),
        ({**GOOD, "verb": 5}, "'verb' of a message is a string"),
        ({**GOOD, "pth": []}, "unknown key of a message 'pth'; did you mean 'path'"),
        ({**GOOD, "sender": None}, "'sender' of a message is a string"),
        ({**GOOD, "version": -1}, "number from 0 on"),
        ({**GOOD, "version": True}, "number from 0 on"),
        ({**GOOD, "sender_session": [1]}, "list of two numbers"),
        ({**GOOD, "path": "b1"}, "list of names"),
        ({**GOOD, "expression": {"attribute": "a", "op": "lik", "value": "x"}}, "unknown op 'lik'"),
        ({**GOOD, "expression": None}, "'expression' belongs to"),
        ({**GOOD, "verb": "publish"}, "'expression' belongs to"),
        ({**GOOD, "event": {"attributes": {}}}, "'event' belongs to publish"),
    ],
)
def test_what_is_no_message_is_refused(form: Any, problem: str) -> None:
    with pytest.raises(TamisError, match=problem):
        from_json(form)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (None, "object with 'attributes'"),
        ({"attributes": {}, "grph": []}, "has no 'grph'"),
        ({"attributes": {}, "graph": 5}, "a list of triples"),
        ({"attributes": {}, "graph": [[["iri", "a:b"]]]}, "not a triple"),
        ({"attributes": {}, "graph": [[["iri", "a:b"], ["iri", "a:b"], 5]]}, "not a term"),
        ({"attributes": {}, "graph": [[["iri", "a:b"], ["blank", "x"], ["iri", "a:b"]]]},
         "not a triple"),
        ({"attributes": {"a": {"$time": "x"}}}, "'\\$time' is not a value"),
        ({"attributes": {"a": {"$timestamp": "x"}}}, "not what \\$timestamp stands for"),
        ({"attributes": {"a": {"$bytes": "?"}}}, "not what \\$bytes stands for"),
        ({"attributes": {"a": {"$float": "x"}}}, "not what \\$float stands for"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(form: Any, problem: str) -> None:
    with pytest.raises(EventError, match=problem):
        event_from_json(form)


def test_payloads_stay_at_home() -> None:
    with pytest.raises(EventError, match="payloads do not cross a link between brokers: photo"):
        event_to_json(Event({}, payloads={"photo": object()}))
