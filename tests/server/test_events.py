"""Publishing over HTTP: every media type, repeats, limits."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tamis.broker import BrokerSettings, Role
from tamis.model.schema.schema import Schema
from tamis.server import event_bodies
from tamis.server.handlers import events
from tests.broker.conftest import eventually
from tests.server.conftest import Serve, Served


def events_of(served: Served, id: str) -> list[dict[str, object]]:
    page = served.http.get(f"/v1/subscriptions/{id}/notifications").json()
    return [each["event"] for each in page["items"]]


def test_one_event_and_an_array(served: Served) -> None:
    served.subscribe("price < 5", id="cheap")
    one = served.http.post("/v1/events", json={"price": 3}).json()
    assert (one["published"], one["matched"]) == (1, 1)
    many = served.http.post(
        "/v1/events", json=[{"price": 9}, {"price": 4, "tags": ["a", "b"]}]
    ).json()
    assert [each["matched"] for each in many["events"]] == [0, 1]
    assert events_of(served, "cheap") == [{"price": 3}, {"price": 4, "tags": ["a", "b"]}]
    assert served.http.post("/v1/events", json=[]).json()["published"] == 0


def test_a_stream_of_ndjson(served: Served) -> None:
    served.subscribe("n < 3", id="few")

    def lines():
        for n in range(1_200):
            yield json.dumps({"n": n}).encode() + (b"\n" if n % 2 else b"\r\n")
        yield b"\n"

    headers = {"Content-Type": "application/x-ndjson"}
    answer = served.http.post("/v1/events", content=lines(), headers=headers)
    assert answer.json() == {"published": 1_200, "matched": 3, "repeated": 0}
    assert [event["n"] for event in events_of(served, "few")] == [0, 1, 2]


def test_a_stream_says_how_far_it_came(served: Served) -> None:
    served.subscribe("n < 3", id="few")
    body = b'{"n": 1}\n{"n": 2}\nnonsense\n{"n": 0}\n'
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "stream-1"}
    answer = served.http.post("/v1/events", content=body, headers=headers)
    assert answer.status_code == 422
    assert "line 3" in answer.json()["detail"]
    assert answer.json()["published"] == 2
    fixed = served.http.post(
        "/v1/events", content=body.replace(b"nonsense", b"{}"), headers=headers
    )
    assert fixed.json() == {"published": 4, "matched": 3, "repeated": 2}
    assert [event["n"] for event in events_of(served, "few")] == [1, 2, 0]


def test_an_idempotency_key_makes_ids(served: Served) -> None:
    served.subscribe("price < 5", id="cheap")
    headers = {"Idempotency-Key": "order-17"}
    first = served.http.post(
        "/v1/events", json=[{"price": 1}, {"price": 2}], headers=headers
    ).json()
    again = served.http.post(
        "/v1/events", json=[{"price": 1}, {"price": 2}], headers=headers
    ).json()
    assert [each["id"] for each in first["events"]] == ["order-17/0", "order-17/1"]
    assert (first["repeated"], again["repeated"]) == (0, 2)
    other = served.http.post("/v1/events", json=[{"price": 1}, {"price": 3}], headers=headers)
    assert other.status_code == 409
    assert len(events_of(served, "cheap")) == 2


CLOUD = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "sale", "subject": "toys"}


def test_cloudevents_structured_and_batch(served: Served) -> None:
    served.subscribe("ce.type = 'sale' and price < 5", id="sales")
    structured = {**CLOUD, "datacontenttype": "application/json", "data": {"price": 3}}
    headers = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
    one = served.http.post("/v1/events", content=json.dumps(structured), headers=headers)
    assert one.json()["matched"] == 1, one.text
    batch = [{**structured, "id": "8"}, {**structured, "id": "9", "type": "refund"}, structured]
    headers = {"Content-Type": "application/cloudevents-batch+json"}
    many = served.http.post("/v1/events", content=json.dumps(batch), headers=headers).json()
    assert [each["matched"] for each in many["events"]] == [1, 0, 1]
    assert many["repeated"] == 1
    page = served.http.get("/v1/subscriptions/sales/notifications").json()
    assert [each["event_id"] for each in page["items"]] == ["7", "8"]
    assert page["items"][0]["source"] == "/shop"
    assert page["items"][0]["envelope"]["subject"] == "toys"


def test_cloudevents_binary(served: Served) -> None:
    served.subscribe("ce.type = 'sale' and price < 5", id="sales")
    headers = {f"ce-{name}": value for name, value in CLOUD.items()}
    answer = served.http.post("/v1/events", json={"price": 2}, headers=headers)
    assert answer.json()["matched"] == 1, answer.text
    text = served.http.post(
        "/v1/events",
        content="hello",
        headers={**headers, "ce-id": "10", "Content-Type": "text/plain"},
    )
    assert text.json()["published"] == 1
    served.subscribe("data = 'hello'", id="greetings")
    text = served.http.post(
        "/v1/events",
        content="hello",
        headers={**headers, "ce-id": "11", "Content-Type": "text/plain"},
    )
    assert text.json()["matched"] == 1


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"specversion": "0.3"}, "specversion"),
        ({"id": ""}, "'id'"),
        ({"source": None}, "'source'"),
        ({"type": 5}, "'type'"),
        ({"Bad-Name": "x"}, "Bad-Name"),
        ({"extra": {"a": 1}}, "extra"),
        ({"data_base64": "!!"}, "base64"),
        ({"data": {"ce": 1}}, "'ce'"),
    ],
)
def test_cloudevents_that_are_none(served: Served, change: dict[str, object], part: str) -> None:
    headers = {"Content-Type": "application/cloudevents+json"}
    answer = served.http.post(
        "/v1/events", content=json.dumps({**CLOUD, **change}), headers=headers
    )
    assert answer.status_code == 422, answer.text
    assert part in answer.json()["detail"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/turtle", "@prefix ex: <http://x/> . ex:a ex:author ex:ann ."),
        ("application/n-triples", "<http://x/a> <http://x/author> <http://x/ann> ."),
        (
            "application/ld+json",
            '{"@id": "http://x/a", "http://x/author": {"@id": "http://x/ann"}}',
        ),
        ("application/n-quads", "<http://x/a> <http://x/author> <http://x/ann> <http://x/g> ."),
    ],
)
def test_rdf_by_media_type(served: Served, kind: str, body: str) -> None:
    served.subscribe("{ ?paper <http://x/author> ?who }", id="papers")
    answer = served.http.post("/v1/events", content=body, headers={"Content-Type": kind})
    assert answer.json()["matched"] == 1, answer.text
    (found,) = served.http.get("/v1/subscriptions/papers/notifications").json()["items"]
    assert "<http://x/author>" in found["graph"]
    wrong = served.http.post("/v1/events", content=b"nonsense {", headers={"Content-Type": kind})
    assert wrong.status_code in (400, 422), wrong.text


def test_events_that_are_none(served: Served) -> None:
    for body, status in ((b"5", 400), (b"[5]", 422), (b'{"a": "\\ud800"}', 422), (b'{"a"', 400)):
        answer = served.http.post(
            "/v1/events", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, (body, answer.text)
    kind = served.http.post("/v1/events", content=b"x", headers={"Content-Type": "image/png"})
    assert kind.status_code == 415


def test_large_bodies_are_refused_before_they_are_read(serve: Serve) -> None:
    served = serve(body_bytes=1_000, stream_bytes=2_000, batch_events=10)
    declared = served.http.post("/v1/events", json={"text": "x" * 2_000})
    assert declared.status_code == 413
    sent = 0

    def endless():
        nonlocal sent
        for _ in range(10_000):
            sent += 1
            yield b" " * 1_000

    headers = {"Content-Type": "application/json"}
    try:
        chunked = served.http.post("/v1/events", content=endless(), headers=headers)
        assert chunked.status_code == 413
    except Exception as error:  # the server closes while the client still sends
        assert type(error).__name__ in ("WriteError", "RemoteProtocolError", "ReadError")
    assert sent < 10_000
    many = served.http.post("/v1/events", json=[{}] * 11)
    assert many.status_code == 422
    assert "NDJSON" in many.json()["detail"]


def test_long_bodies_are_bounded_together(serve: Serve) -> None:
    served = serve(receiving_bytes=100_000)
    long = served.http.post("/v1/events", json={"text": "x" * 200_000})
    assert long.status_code == 429
    assert int(long.headers["retry-after"]) >= 1
    for _ in range(3):
        assert served.http.post("/v1/events", json={"text": "x" * 150_000}).status_code == 200
    line = json.dumps({"text": "x" * 2_000_000}).encode() + b"\n"
    headers = {"Content-Type": "application/x-ndjson"}
    for content, status in ((line, 429), (b'{"a": 1}\n' * 30_000, 200)):
        assert (
            served.http.post("/v1/events", content=content, headers=headers).status_code == status
        )


def test_lines_are_published_as_they_arrive(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    arrived = []

    def lines():
        for n in range(3):
            yield json.dumps({"n": n}).encode() + b"\n"
            arrived.append(eventually(lambda: events_of(served, "all")[len(arrived) :]))

    headers = {"Content-Type": "application/x-ndjson"}
    with served.client(served.key) as publisher:
        answer = publisher.post("/v1/events", content=lines(), headers=headers)
    assert answer.json()["published"] == 3
    assert arrived == [[{"n": 0}], [{"n": 1}], [{"n": 2}]]


def test_a_stream_of_lines_ends_when_its_key_is_revoked(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    key, stored = served.broker.create_key("short", ["publish"]).result()

    def lines():
        yield b'{"n": 0}\n'
        eventually(lambda: events_of(served, "all"))
        served.broker.revoke_key(stored.number).result()
        yield b'{"n": 1}\n'

    headers = {"Content-Type": "application/x-ndjson"}
    with served.client(key) as publisher:
        answer = publisher.post("/v1/events", content=lines(), headers=headers)
    assert (answer.status_code, answer.json()["published"]) == (401, 1)
    assert events_of(served, "all") == [{"n": 0}]


def test_a_long_body_keeps_nobody_waiting(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    read = event_bodies.publications

    def slow(*arguments):
        begun.set()
        assert may_go_on.wait(200)
        return read(*arguments)

    monkeypatch.setattr(events, "publications", slow)
    with ThreadPoolExecutor(1) as pool:
        posted = pool.submit(served.http.post, "/v1/events", json={"text": "x" * 50_000})
        assert begun.wait(200)
        with served.client(served.key) as other:
            assert other.get("/v1/subscriptions").status_code == 200
        may_go_on.set()
        assert posted.result().status_code == 200


def test_anonymous_publishing_is_a_setting(serve: Serve) -> None:
    served = serve(BrokerSettings(anonymous=frozenset({Role.PUBLISH})))
    with served.client() as anyone:
        assert anyone.post("/v1/events", json={"a": 1}).status_code == 200
        assert anyone.post("/v1/subscriptions", json={"subscription": "a = 1"}).status_code == 401


def test_without_a_schema_there_is_nothing_to_extend(served: Served) -> None:
    served.subscribe("n = 1")
    refused = served.http.post("/v1/schema", json={"attributes": {"price": "number"}})
    assert (refused.status_code, refused.json()["type"]) == (422, "/problems/schema")
    assert served.http.post("/v1/events", json={"n": 1}).json()["matched"] == 1


def test_the_schema_is_read_and_extended(serve: Serve) -> None:
    types = {"sale": {"price": "mandatory unique"}}
    served = serve(BrokerSettings(schema=Schema(attributes={"price": "number"}, types=types)))
    assert served.http.get("/v1/schema").json()["attributes"] == {"price": "number"}
    wrong = served.http.post("/v1/events", json={"event_type": "sale", "price": "high"})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "/problems/invalid-event")
    assert len(wrong.json()["violations"]) == 1
    unknown = served.http.post("/v1/subscriptions", json={"subscription": "prise < 5"})
    assert unknown.status_code == 422
    assert "'price'" in unknown.json()["detail"]
    extension = {"attributes": {"color": "string"}, "types": {"sale": {"color": "optional unique"}}}
    with served.client() as anyone, served.client(served.new_key("publish", "subscribe")) as other:
        assert anyone.post("/v1/schema", json=extension).status_code == 401
        assert other.post("/v1/schema", json=extension).status_code == 403
    extended = served.http.post("/v1/schema", json=extension)
    assert extended.json()["attributes"] == {"price": "number", "color": "string"}, extended.text
    served.subscribe("color = 'red'")
    event = {"event_type": "sale", "price": 5, "color": "red"}
    assert served.http.post("/v1/events", json=event).json()["matched"] == 1
    clash = {"attributes": {"price": "string"}}
    assert served.http.post("/v1/schema", json=clash).status_code == 422


def test_matches_that_were_found_elsewhere_are_delivered(served: Served) -> None:
    for id in ("one", "two", "off"):
        served.subscribe("price < 5", id=id)
    served.http.post("/v1/subscriptions/off/disable")
    given = [
        {"id": "a", "source": "spark", "event": {"price": 99}, "subscriptions": ["two", "one"]},
        {"id": "b", "source": "spark", "event": {"price": 3}, "subscriptions": ["off", "gone"]},
        {"id": "c", "source": "spark", "event": {"price": 3}, "subscriptions": ["two", "two"]},
    ]
    answer = served.http.post("/v1/deliveries", json=given).json()
    assert [each["matched"] for each in answer["events"]] == [2, 0, 1]
    again = served.http.post("/v1/deliveries", json=given).json()
    assert (again["repeated"], again["matched"]) == (3, 3)
    assert events_of(served, "one") == [{"price": 99}]
    assert events_of(served, "two") == [{"price": 99}, {"price": 3}]
    assert served.http.post("/v1/events", json={"price": 3}).json()["matched"] == 2
    other = [{**given[0], "event": {"price": 98}}]
    assert served.http.post("/v1/deliveries", json=other).status_code == 409
    with served.client(served.new_key("publish", "subscribe")) as publisher:
        assert publisher.post("/v1/deliveries", json=given).status_code == 403
    for wrong in ({}, [1], [{"id": "d"}], [{**given[0], "x": 1}], [{**given[0], "event": []}]):
        assert served.http.post("/v1/deliveries", json=wrong).status_code == 400


def test_deliveries_reach_only_the_tenant_of_the_key(served: Served) -> None:
    served.subscribe("price < 5", id="here")
    with served.client(served.new_key("admin", tenant="other")) as stranger:
        given = [{"id": "a", "event": {"price": 3}, "subscriptions": ["here"]}]
        assert stranger.post("/v1/deliveries", json=given).json()["matched"] == 0
    assert events_of(served, "here") == []
