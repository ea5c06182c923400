"""Delivery over HTTP: server-sent events, long poll, WebSocket, and what was acknowledged."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tamis.broker import Broker, BrokerSettings, NewSubscription
from tamis.server.serve import running
from tamis.server.settings import ServerSettings
from tests.broker.conftest import eventually
from tests.server.conftest import Serve, Served


def messages(response: httpx.Response) -> Iterator[dict[str, str]]:
    """The server-sent events of a response."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if not line:
            if "data" in fields:
                yield fields
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def take(
    served: Served, path: str, count: int, headers: dict[str, str] | None = None
) -> list[dict[str, str]]:
    found = []
    with served.http.stream("GET", path, headers=headers or {}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for message in messages(response):
            found.append(message)
            if len(found) == count:
                break
    return found


def test_a_stream_begins_with_what_waits_and_goes_on(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    served.http.post("/v1/events", json=[{"n": 0}, {"n": 1}])

    def publish() -> None:
        time.sleep(0.2)
        served.http.post("/v1/events", json=[{"n": 2}, {"n": 3}])

    thread = threading.Thread(target=publish)
    thread.start()
    found = take(served, "/v1/subscriptions/all/stream", 4)
    thread.join()
    assert [json.loads(each["data"])["event"]["n"] for each in found] == [0, 1, 2, 3]
    assert {each["event"] for each in found} == {"notification"}
    ids = [int(each["id"]) for each in found]
    assert ids == sorted(ids)
    resumed = take(served, "/v1/subscriptions/all/stream", 2, {"Last-Event-ID": str(ids[1])})
    assert [each["id"] for each in resumed] == [str(id) for id in ids[2:]]
    assert [each["data"] for each in resumed] == [each["data"] for each in found[2:]]


def test_a_stream_breathes_and_ends_with_its_subscription(serve: Serve) -> None:
    served = serve(heartbeat_seconds=0.1)
    served.subscribe("n >= 0", id="all")
    lines = []
    with served.http.stream("GET", "/v1/subscriptions/all/stream") as response:
        for line in response.iter_lines():
            lines.append(line)
            if line.startswith(": ") and "gone" not in lines:
                lines.append("gone")
                served.http.delete("/v1/subscriptions/all")
    assert "event: end" in lines
    assert served.http.get("/v1/subscriptions/all/stream").status_code == 404


def test_bad_positions_are_refused(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    for headers in ({"Last-Event-ID": "x"}, {"Last-Event-ID": "1" * 30}):
        assert served.http.get("/v1/subscriptions/all/stream", headers=headers).status_code == 400
    for query in ("after=x", "after=-1", "limit=0", "wait=x", "wait=nan", "wait=-1"):
        answer = served.http.get(f"/v1/subscriptions/all/notifications?{query}")
        assert answer.status_code == 400, query


def test_long_poll_waits_and_acknowledgement_lasts(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    began = time.monotonic()
    empty = served.http.get("/v1/subscriptions/all/notifications?wait=0.3").json()
    assert empty["items"] == []
    assert time.monotonic() - began >= 0.3
    timer = threading.Timer(
        0.2, lambda: served.http.post("/v1/events", json=[{"n": n} for n in range(5)])
    )
    timer.start()
    page = served.http.get("/v1/subscriptions/all/notifications?wait=60&limit=3").json()
    timer.join()
    assert [each["event"]["n"] for each in page["items"]] == [0, 1, 2]
    assert page["more"] is True
    second = page["items"][1]["position"]
    answer = served.http.post("/v1/subscriptions/all/acknowledge", json={"position": second})
    assert answer.status_code == 204
    rest = served.http.get("/v1/subscriptions/all/notifications").json()
    assert [each["event"]["n"] for each in rest["items"]] == [2, 3, 4]
    stored = served.http.get("/v1/subscriptions/all").json()
    assert (stored["matched"], stored["pending"]) == (5, 3)
    for body in ({}, {"position": -1}, {"position": "x"}, {"position": 2**70}):
        assert (
            served.http.post("/v1/subscriptions/all/acknowledge", json=body).status_code == 400
        ), body


def test_websocket_sends_and_takes_acknowledgements(served: Served) -> None:
    made = served.subscribe("n >= 0", id="all")
    served.http.post("/v1/events", json=[{"n": 0}, {"n": 1}])
    address = served.address.replace("http", "ws") + "/v1/subscriptions/all/socket"
    with connect(
        address, additional_headers={"Tamis-Ticket": made["ticket"]}, open_timeout=120
    ) as socket:
        found = [json.loads(socket.recv(timeout=120)) for _ in range(2)]
        assert [each["event"]["n"] for each in found] == [0, 1]
        served.http.post("/v1/events", json={"n": 2})
        assert json.loads(socket.recv(timeout=120))["event"] == {"n": 2}
        socket.send(json.dumps({"acknowledge": found[1]["position"]}))
        eventually(lambda: served.http.get("/v1/subscriptions/all").json()["pending"] == 1)
    with connect(
        address, open_timeout=120
    ) as socket:  # as a browser: the ticket in the first message
        socket.send(json.dumps({"ticket": made["ticket"]}))
        assert json.loads(socket.recv(timeout=120))["event"] == {"n": 2}


def test_websockets_refuse_strangers_and_nonsense(served: Served) -> None:
    made = served.subscribe("n >= 0", id="all")
    address = served.address.replace("http", "ws") + "/v1/subscriptions/all/socket"
    for first in ('{"ticket": "wrong"}', "{}", "nonsense", "[]"):
        with connect(address, open_timeout=120) as socket:
            socket.send(first)
            assert json.loads(socket.recv(timeout=120))["problem"]["status"] in (400, 401, 403)
    with connect(
        address, additional_headers={"Tamis-Ticket": made["ticket"]}, open_timeout=120
    ) as socket:
        socket.send('{"acknowledge": "all"}')
        assert json.loads(socket.recv(timeout=120))["problem"]["status"] == 400


def test_a_slow_client_does_not_slow_others(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    slow = served.http.stream("GET", "/v1/subscriptions/all/stream")
    with slow:  # connected, but it never reads
        text = "x" * 10_000
        for first in range(0, 500, 100):
            served.http.post(
                "/v1/events", json=[{"n": first + n, "text": text} for n in range(100)]
            )
        found = take(served, "/v1/subscriptions/all/stream", 500)
    assert [json.loads(each["data"])["event"]["n"] for each in found] == list(range(500))


def test_the_server_stops_while_clients_listen(tmp_path: Path) -> None:
    with Broker.open(f"sqlite:///{tmp_path / 'broker.db'}") as broker:
        settings = ServerSettings(port=0, stop_seconds=250)
        key, _ = broker.create_key("admin", ["admin"]).result()
        headers = {"Authorization": f"Bearer {key}"}
        broker.subscribe(NewSubscription("n >= 0", id="all"), by=broker.identify(key)).result()
        with httpx.Client(headers=headers, timeout=200) as http:
            with running(broker, settings) as server:
                stream = http.stream("GET", f"{server.address}/v1/subscriptions/all/stream")
                lines = stream.__enter__().iter_lines()
                assert next(lines) == "retry: 1000"
                began = time.monotonic()
            assert list(lines) == [""], "the stream ends as it should, not in the middle"
            assert time.monotonic() - began < 100, "the stop waited for the stream"


def test_a_stream_ends_when_its_key_is_revoked(serve: Serve) -> None:
    served = serve(heartbeat_seconds=0.1)
    key, stored = served.broker.create_key("short", ["publish", "subscribe"]).result()
    with served.client(key) as short:
        short.post("/v1/subscriptions", json={"subscription": "n >= 0", "id": "all"})
        found = []
        served.http.post("/v1/events", json={"n": 1})
        with short.stream("GET", "/v1/subscriptions/all/stream") as response:
            for message in messages(response):
                found.append(message["event"])
                if len(found) == 1:
                    served.broker.revoke_key(stored.number).result()
                    served.http.post("/v1/events", json={"n": 2})
            assert found[-1] == "end"
            assert len(found) == 2, found


def test_pages_of_others_cannot_open_a_websocket_with_a_session(served: Served) -> None:
    served.subscribe("n >= 0", id="all")
    served.http.post("/v1/events", json={"n": 0})
    with served.client() as browser:
        browser.post("/login", data={"key": served.key})
        cookie = f"tamis_session={browser.cookies['tamis_session']}"
    address = served.address.replace("http", "ws") + "/v1/subscriptions/all/socket"
    for origin, part in ((served.address, "event"), ("https://evil.example", "problem")):
        with connect(
            address, origin=origin, additional_headers={"Cookie": cookie}, open_timeout=120
        ) as socket:
            assert part in json.loads(socket.recv(timeout=120))


def test_a_websocket_survives_whatever_is_sent(served: Served, caplog) -> None:
    made = served.subscribe("n >= 0", id="größe")
    address = served.address.replace("http", "ws") + "/v1/subscriptions/gr%C3%B6%C3%9Fe/socket"
    headers = {"Tamis-Ticket": made["ticket"]}
    for message in ("[" * 50_000, b"\x00\xff", '{"acknowledge": 1%s}' % ("0" * 5_000), "null"):
        with connect(address, additional_headers=headers, open_timeout=120) as socket:
            socket.send(message)
            assert json.loads(socket.recv(timeout=120))["problem"]["status"] == 400
    with connect(address, open_timeout=120) as socket:
        socket.send(json.dumps({"ticket": "ü" * 1_000}))
        assert json.loads(socket.recv(timeout=120))["problem"]["status"] == 403
    with connect(address, additional_headers=headers, open_timeout=120) as socket:
        socket.send("x" * 70_000)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=120)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    assert not [each for each in caplog.records if each.exc_info]


def test_websockets_count_against_the_rate_of_their_address(serve: Serve) -> None:
    served = serve(anonymous_requests_per_second=0.01)
    address = served.address.replace("http", "ws") + "/v1/subscriptions/x/socket"
    with connect(address, open_timeout=120) as socket:
        socket.send("{}")
        assert json.loads(socket.recv(timeout=120))["problem"]["status"] == 401
    with connect(address, open_timeout=120) as socket:  # it is not even asked for a ticket
        assert json.loads(socket.recv(timeout=120))["problem"]["status"] == 429


def test_a_gap_is_told_until_it_is_acknowledged(serve: Serve) -> None:
    served = serve(BrokerSettings(retention_bytes=0, housekeeping=0.05))
    served.subscribe("n >= 0", id="all")
    served.http.post("/v1/events", json=[{"n": 0}, {"n": 1}])
    path = "/v1/subscriptions/all/notifications"
    page = eventually(lambda: "gap" in (found := served.http.get(path).json()) and found)
    assert page["items"] == []
    assert page["gap"] == {"count": 2, "upto": page["position"]}
    assert served.http.get(path).json() == page, "reading changes nothing"
    body = {"position": page["position"]}
    served.http.post("/v1/subscriptions/all/acknowledge", json=body)
    assert "gap" not in served.http.get(path).json()
