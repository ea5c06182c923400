"""Webhooks against a real server on loopback."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import httpcore
import pytest

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication, Webhook
from tamis.broker.webhook_request import (
    Answer,
    Verdict,
    WebhookRequest,
    WebhookSession,
    _answer,
    webhook_secret,
)
from tamis.client.webhooks import verify
from tamis.errors import BrokerError, LimitError
from tamis.model.addresses import PrivateAddressError, checked_address, is_public
from tests.broker.conftest import ALL, eventually

SECRET = webhook_secret(b"0" * 32)


class Receiver(ThreadingHTTPServer):
    """A server that answers as its ``answers`` say: a list of statuses for each path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[int]] = {}
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.handshakes: list[str] = []
        self.lock = threading.Lock()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def numbers(self, path: str) -> list[int]:
        return [body["data"]["n"] for where, _, body in self.seen if where == path]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_OPTIONS(self) -> None:
        with self.server.lock:
            self.server.handshakes.append(self.path)
        self.send_response(200)
        if self.path != "/unwilling":
            self.send_header("WebHook-Allowed-Origin", self.headers["WebHook-Request-Origin"])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            planned = self.server.answers.get(self.path, [])
            status = planned.pop(0) if planned else 200
            if status == 200:
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.loads(raw) | {"raw": raw}
                self.server.seen.append((self.path, headers, body))
        self.send_response(status)
        if status in (301, 302):
            self.send_header("Location", self.server.url("/elsewhere"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def broker(url: str) -> Iterator[Broker]:
    settings = BrokerSettings(
        anonymous=ALL, private_webhooks=True, webhook_backoff=0.01, webhook_tries=4
    )
    with Broker.open(url, settings) as broker:
        yield broker


def subscribe(broker: Broker, receiver: Receiver, path: str, text: str = "n >= 0") -> Any:
    new = NewSubscription(text, id=path[1:], webhook=Webhook(receiver.url(path)))
    return broker.subscribe(new, broker.anonymous()).result()


def publish(broker: Broker, *numbers: int) -> None:
    broker.publish([Publication({"n": n}) for n in numbers], broker.anonymous()).result()


def test_notifications_are_sent_in_order_and_signed(broker: Broker, receiver: Receiver) -> None:
    receipt = subscribe(broker, receiver, "/a")
    publish(broker, *range(10))
    eventually(lambda: len(receiver.seen) == 10)
    assert receiver.numbers("/a") == list(range(10))
    assert receiver.handshakes == ["/a"]
    _, headers, body = receiver.seen[0]
    assert body["specversion"] == "1.0"
    assert headers["content-type"].startswith("application/cloudevents+json")
    key = base64.b64decode(receipt.webhook_secret.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body["raw"]
    expected = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == body["id"]
    me = broker.anonymous()
    eventually(lambda: not broker.read("a", me, ticket=receipt.ticket).notifications)


def test_a_failing_webhook_holds_only_its_own_queue(broker: Broker, receiver: Receiver) -> None:
    receiver.answers["/bad"] = [500] * 1_000
    bad = subscribe(broker, receiver, "/bad")
    subscribe(broker, receiver, "/good")
    publish(broker, 1, 2, 3)
    eventually(lambda: receiver.numbers("/good") == [1, 2, 3])
    me = broker.anonymous()
    letters = eventually(
        lambda: len(found := broker.dead_letters("bad", me, ticket=bad.ticket)) == 3 and found
    )
    assert [each.notification.event.attributes["n"] for each in letters] == [1, 2, 3]
    assert letters[0].tries == 4
    assert "500" in letters[0].reason
    with receiver.lock:
        receiver.answers["/bad"] = []
    positions = [letters[1].notification.position]
    assert broker.replay("bad", me, ticket=bad.ticket, positions=positions).result() == 1
    eventually(lambda: receiver.numbers("/bad") == [2])
    assert broker.replay("bad", me, ticket=bad.ticket).result() == 2
    eventually(lambda: receiver.numbers("/bad") == [2, 1, 3])
    assert broker.dead_letters("bad", me, ticket=bad.ticket) == []


def test_a_retry_keeps_the_order_and_the_id(broker: Broker, receiver: Receiver) -> None:
    receiver.answers["/a"] = [503, 429, 301, 200]
    subscribe(broker, receiver, "/a")
    publish(broker, 1, 2)
    eventually(lambda: receiver.numbers("/a") == [1, 2])
    assert not receiver.numbers("/elsewhere")  # redirections are refused


def test_gone_ends_it(broker: Broker, receiver: Receiver) -> None:
    receiver.answers["/a"] = [410]
    receipt = subscribe(broker, receiver, "/a")
    publish(broker, 1, 2)
    me = broker.anonymous()
    stored = eventually(
        lambda: not (found := broker.subscription("a", me, ticket=receipt.ticket)).enabled and found
    )
    assert stored.webhook_state == "ended"
    publish(broker, 3)
    assert receiver.numbers("/a") == []
    broker.verify()
    page = broker.read("a", me, ticket=receipt.ticket)
    assert [each.event.attributes["n"] for each in page.notifications if each.event] == [2]


def test_without_a_handshake_nothing_is_sent(broker: Broker, receiver: Receiver) -> None:
    receipt = subscribe(broker, receiver, "/unwilling")
    publish(broker, 1)
    me = broker.anonymous()
    eventually(lambda: not broker.subscription("unwilling", me, ticket=receipt.ticket).enabled)
    assert len(receiver.handshakes) == 4
    assert receiver.seen == []


def test_what_was_not_acknowledged_is_sent_after_a_restart(url: str, receiver: Receiver) -> None:
    settings = BrokerSettings(anonymous=ALL, private_webhooks=True, webhook_backoff=100.0)
    receiver.answers["/a"] = [500] * 10
    with Broker.open(url, settings) as broker:
        subscribe(broker, receiver, "/a")
        publish(broker, 1, 2)
        eventually(lambda: broker.stats()["webhooks_failed"] >= 1)
    receiver.answers["/a"] = []
    with Broker.open(url, settings) as broker:
        eventually(lambda: receiver.numbers("/a") == [1, 2])


def test_a_gap_is_sent_before_what_is_left(url: str, receiver: Receiver) -> None:
    settings = BrokerSettings(
        anonymous=ALL, private_webhooks=True, webhook_backoff=100.0, queue=2, housekeeping=100.0
    )
    receiver.answers["/a"] = [429]
    with Broker.open(url, settings) as broker:
        new = NewSubscription("n >= 0", id="größe", webhook=Webhook(receiver.url("/a")))
        receipt = broker.subscribe(new, broker.anonymous()).result()
        publish(broker, *range(5))
        eventually(lambda: broker.stats()["webhooks_failed"] == 1)
        broker.keep_house().result()
    with Broker.open(url, settings) as broker:
        eventually(lambda: len(receiver.seen) == 3)
        gap, *rest = [(headers, body) for _, headers, body in receiver.seen]
        assert gap[1]["type"] == "tamis.gap"
        assert gap[1]["data"]["count"] == 3
        assert [body["data"]["n"] for _, body in rest] == [3, 4]
        for headers, body in (gap, *rest):
            assert headers["webhook-id"] == quote(body["id"]), (
                "a header has no letters beyond ASCII"
            )
            verify(receipt.webhook_secret, headers, body["raw"])
        page = eventually(
            lambda: (
                not (
                    found := broker.read("größe", broker.anonymous(), ticket=receipt.ticket)
                ).notifications
                and found
            )
        )
        assert page.gap is None


def test_retry_after_is_a_number_or_a_date() -> None:
    assert _answer(429, "7") == Answer(Verdict.SLOW, "429 Too Many Requests", 7.0)
    assert _answer(503, "9" * 40).wait == 3_600.0
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 50 < _answer(429, date).wait <= 100
    for given in ("", "-5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "²"):
        assert _answer(503, given).wait == 0.0


def test_private_addresses_are_refused(url: str, receiver: Receiver) -> None:
    settings = BrokerSettings(anonymous=ALL, webhook_backoff=0.01, webhook_tries=2)
    with Broker.open(url, settings) as broker:
        receipt = subscribe(broker, receiver, "/a")
        me = broker.anonymous()
        eventually(lambda: not broker.subscription("a", me, ticket=receipt.ticket).enabled)
        assert receiver.handshakes == []
        for wrong in ("ftp://x/", "https://", "http://a:b@x/", "http://x:99999/", "x" * 3_000):
            with pytest.raises((BrokerError, LimitError), match="address"):
                broker.subscribe(NewSubscription("n = 1", webhook=Webhook(wrong)), me)


def test_webhooks_that_hang_leave_threads_to_the_others(url: str, receiver: Receiver) -> None:
    settings = BrokerSettings(
        anonymous=ALL, private_webhooks=True, webhooks_at_once=4, webhook_timeout=150.0
    )
    with (
        socket.create_server(("127.0.0.1", 0), backlog=100) as silent,  # it never answers
        Broker.open(url, settings) as broker,
    ):
        subscribe(broker, receiver, "/good")
        publish(broker, 0)
        eventually(lambda: receiver.numbers("/good") == [0])
        me = broker.anonymous()
        hook = Webhook(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        for _ in range(10):
            broker.subscribe(NewSubscription("n >= 0", webhook=hook), me).result()
        publish(broker, 1, 2)
        eventually(lambda: receiver.numbers("/good") == [0, 1, 2], 100.0)
        silent.close()  # what hangs ends


class Drip(threading.Thread):
    """A receiver that sends the head of an answer byte by byte, and never ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.is_over = threading.Event()

    def run(self) -> None:
        connection, _ = self.server.accept()
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not self.is_over.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            pass
        connection.close()


def test_a_request_has_a_deadline_as_a_whole() -> None:
    drip = Drip()
    drip.start()
    session = WebhookSession(0.5, private=True)
    request = WebhookRequest(
        session, f"http://127.0.0.1:{drip.server.getsockname()[1]}/", SECRET, origin="tamis"
    )
    answer = request.validate()  # without a deadline, it would not come back
    assert answer.verdict is Verdict.RETRY
    assert answer.reason.startswith("ReadTimeout")
    drip.is_over.set()
    drip.join()
    drip.server.close()
    session.close()


def test_the_address_that_was_checked_is_the_one_that_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may change its address at any time; and it may have several."""
    answers: list[list[str]] = []

    known = socket.getaddrinfo

    def lookup(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        if host != "receiver.test":
            return known(host, port, *rest, **options)
        return [(2, 1, 6, "", (address, port)) for address in answers.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    url = f"http://receiver.test:{receiver.server_port}/a"
    session = WebhookSession(100.0, private=True)
    request = WebhookRequest(session, url, SECRET, origin="tamis")
    answers.append(["127.0.0.1"])
    assert request.validate().verdict is Verdict.DONE
    assert receiver.handshakes == ["/a"]
    session.close()
    guarded = WebhookSession(100.0, private=False)
    called: list[str] = []

    def connect(address: str, *rest: Any) -> Any:
        called.append(address)
        raise httpcore.ConnectError("not in this test")

    monkeypatch.setattr(guarded._network._inner, "connect_tcp", connect)
    request = WebhookRequest(guarded, url, SECRET, origin="tamis")
    for found in (["8.8.8.8"], ["8.8.8.8", "127.0.0.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"]):
        answers.append(found)
        assert request.validate().verdict is Verdict.RETRY
    assert called == ["8.8.8.8"], "only the first name had public addresses alone"
    assert answers == [], "each connection looks up once"
    guarded.close()


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1
    255.255.255.255 ::1 :: fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 fe80::1%eth0
    64:ff9b::7f00:1 64:ff9b:1::7f00:1 2002:7f00:1::1 ::127.0.0.1 ::ffff:0:127.0.0.1 fec0::1 192.0.0.8
    2001:db8::1 3fff::1 4000::1""".split(),
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)
    if "%" not in address:
        with pytest.raises((PrivateAddressError, OSError)):
            checked_address(address, 80)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)
