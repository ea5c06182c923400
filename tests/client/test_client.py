"""The clients against a server on a socket."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tamis import Engine
from tamis.broker import Broker, BrokerSettings
from tamis.client import AsyncClient, Client, ClientError, Delivery, Notification, Subscription
from tamis.client.messages import MessageReader
from tamis.errors import (
    AuthenticationError,
    DuplicateIdError,
    ForbiddenError,
    ParseError,
    UnknownIdError,
)
from tamis.server.serve import running
from tamis.server.settings import ServerSettings
from tests.broker.conftest import eventually
from tests.broker.test_webhooks import Receiver
from tests.ports import free_port
from tests.server.conftest import Serve, Served


@pytest.fixture
def client(served: Served):
    with Client(served.address, key=served.key) as client:
        yield client


def test_the_verbs_of_an_engine(client: Client) -> None:
    mine = client.subscribe("category = 'Toy' and price < 5", id="cheap-toys", lease=600)
    assert mine.ticket is not None
    assert mine.ticket not in repr(mine)
    outcome = client.publish([{"category": "Toy", "price": 3}, {"category": "Toy", "price": 9}])
    assert (outcome.published, outcome.matched) == (2, 1)
    found = next(client.notifications(mine, timeout=200))
    assert found.event == {"category": "Toy", "price": 3}
    client.acknowledge(found)
    assert client.subscription(mine).pending == 0
    assert list(client.notifications(mine, timeout=0.2)) == []
    changed = client.update(mine, "price > 100", webhook="https://x.example/", enabled=False)
    assert changed.webhook_secret is not None
    assert not changed.enabled
    assert changed.text == "price > 100"
    client.disable("cheap-toys")
    assert not client.subscription("cheap-toys").enabled
    client.enable("cheap-toys")
    client.renew(mine, 1200)
    assert [each.id for each in client.subscriptions("100")] == ["cheap-toys"]
    client.unsubscribe(mine)
    with pytest.raises(UnknownIdError):
        client.subscription(mine)


def test_a_ticket_is_enough(served: Served, client: Client) -> None:
    mine = client.subscribe("n >= 0")
    client.publish([{"n": n} for n in range(5)])
    with Client(served.address) as other:
        same = Subscription(mine.id, mine.ticket)
        page = other.read(same, limit=3)
        assert [each.event["n"] for each in page.notifications] == [0, 1, 2]
        assert page.more
        other.acknowledge(same, page.position)
        assert [each.event["n"] for each in other.read(same).notifications] == [3, 4]
        with pytest.raises(ForbiddenError):
            other.read(Subscription(mine.id, "tt_wrong"))
        with pytest.raises(AuthenticationError):
            other.read(mine.id)


def test_errors_are_those_of_tamis(client: Client) -> None:
    with pytest.raises(ParseError) as caught:
        client.subscribe("price <\n  < 5")
    assert (caught.value.line, caught.value.column) == (2, 3)
    client.subscribe("a = 1", id="a")
    with pytest.raises(DuplicateIdError):
        client.subscribe("a = 2", id="a")
    with pytest.raises(ClientError, match="'/'"):
        client.subscribe("a = 2", id="a/b")


def test_documents_are_published_as_they_are(client: Client) -> None:
    mine = client.subscribe("{ ?paper <http://x/author> ?who }")
    client.publish_document("<http://x/a> <http://x/author> <http://x/ann> .", "text/turtle")
    client.publish_document('{"n": 1}\n{"n": 2}\n', "application/x-ndjson")
    (found,) = client.read(mine).notifications
    assert "author" in (found.graph or "")


def test_a_stream_goes_on_when_the_server_comes_back(tmp_path: Path) -> None:
    """The server is stopped in the middle of a stream, and another one starts at the same port."""
    store = f"sqlite:///{tmp_path / 'broker.db'}"
    found: list[int] = []
    with Broker.open(store) as broker:
        key, _ = broker.create_key("admin", ["admin"]).result()
        port = free_port()
        with running(broker, ServerSettings(port=port, console=False)) as server:
            client = Client(server.address, key=key)
            mine = client.subscribe("n >= 0")
            client.publish([{"n": 0}, {"n": 1}])

            def read() -> None:
                for notification in client.notifications(mine, timeout=200):
                    found.append(notification.event["n"])
                    if len(found) == 4:
                        return

            reader = threading.Thread(target=read)
            reader.start()
            while len(found) < 2:
                reader.join(0.02)
    with Broker.open(store) as broker, running(broker, ServerSettings(port=port, console=False)):
        client.publish([{"n": 2}, {"n": 3}])
        reader.join(200)
        client.close()
    assert found == [0, 1, 2, 3]


def test_requests_are_repeated_without_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker does not answer at first; the client tries until it does."""
    monkeypatch.setattr("tamis.client.requests.TRIES", 1_000)
    monkeypatch.setattr("tamis.client.requests.LONGEST_WAIT", 0.2)
    store = f"sqlite:///{tmp_path / 'broker.db'}"
    with Broker.open(store) as broker:
        key, _ = broker.create_key("admin", ["admin"]).result()
        port = free_port()
        with Client(f"http://127.0.0.1:{port}", key=key) as client:
            made: list[Subscription] = []
            thread = threading.Thread(target=lambda: made.append(client.subscribe("n = 1")))
            thread.start()
            thread.join(0.2)
            assert thread.is_alive(), "nobody listens yet"
            with running(broker, ServerSettings(port=port, console=False)):
                thread.join(200)
                assert len(made) == 1
                first = client.publish({"n": 1}, idempotency_key="once")
                again = client.publish({"n": 1}, idempotency_key="once")
                assert (first.repeated, again.repeated) == (0, 1)
                assert len(client.read(made[0]).notifications) == 1


def test_nobody_at_home_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.client.requests.FIRST_WAIT", 0.001)
    with Client("http://127.0.0.1:9") as client, pytest.raises(ClientError, match="did not answer"):
        client.publish({})


def test_the_same_verbs_for_asyncio(served: Served) -> None:
    async def main() -> None:
        async with AsyncClient(served.address, key=served.key) as client:
            mine = await client.subscribe("n >= 0")
            await client.publish([{"n": 0}, {"n": 1}])
            found = []
            async for notification in client.notifications(mine, timeout=200):
                found.append(notification.event["n"])
                await client.acknowledge(notification)
                if len(found) == 2:
                    break
            assert found == [0, 1]
            assert (await client.read(mine)).notifications == []
            assert [each.id async for each in client.subscriptions()] == [mine.id]
            await client.unsubscribe(mine)
            with pytest.raises(UnknownIdError):
                await client.subscription(mine)

    asyncio.run(main())


def test_matches_are_handed_over_in_bulk(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pipeline does: it takes the subscriptions, matches by itself, and hands over."""
    monkeypatch.setattr("tamis.client.requests._DELIVERIES", 7)
    for n in range(3):
        client.subscribe(f"n = {n}", id=f"s{n}")
    engine = Engine()
    engine.subscribe_many({each.id: each.text for each in client.subscriptions()})
    events = [{"n": n % 4} for n in range(40)]
    found = [Delivery(f"e{n}", event, engine.match(event), "x") for n, event in enumerate(events)]
    for repeated in (0, 40):
        report = client.deliver(found)
        assert (report.published, report.matched, report.repeated) == (40, 30, repeated)
        assert [each["matched"] for each in report.events[:4]] == [1, 1, 1, 0]
    assert len(client.read("s2", limit=50).notifications) == 10
    assert client.undecided("s2") == []


def test_all_pages_of_dead_letters_are_read(serve: Serve, receiver: Receiver) -> None:
    settings = BrokerSettings(private_webhooks=True, webhook_tries=1, webhook_backoff=0.01)
    served = serve(settings, page=2)
    receiver.answers["/a"] = [500] * 5
    with Client(served.address, key=served.key) as client:
        mine = client.subscribe("n >= 0", webhook=receiver.url("/a"))
        client.publish([{"n": n} for n in range(5)])
        eventually(lambda: len(client.dead_letters(mine)) == 5)
        found = client.dead_letters(mine)
        assert [each.event["n"] for each, _ in found] == list(range(5))
        assert {reason for _, reason in found} == {"status 500"}

        async def read() -> list[tuple[Notification, str]]:
            async with AsyncClient(served.address, key=served.key) as other:
                return await other.dead_letters(mine)

        assert asyncio.run(read()) == found
        assert client.replay(mine) == 5
        eventually(lambda: receiver.numbers("/a") == list(range(5)))
        assert client.dead_letters(mine) == []


def test_both_clients_have_the_same_methods() -> None:
    def verbs(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in vars(kind).items()
            if inspect.isfunction(method) and not name.startswith("__")
        }

    assert verbs(Client) == verbs(AsyncClient)


def test_the_client_needs_neither_numpy_nor_the_engine() -> None:
    code = (
        "import sys, tamis.client; "
        "print([name for name in ('numpy', 'numba', 'pyarrow', 'starlette') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_messages_are_put_together_from_lines() -> None:
    reader = MessageReader()
    lines = [": hello", "", "id: 7", "event: gap", "data: a", "data:b", "", "data: c", ""]
    found = [message for line in lines if (message := reader.feed(line))]
    assert found == [("gap", "a\nb", "7"), ("message", "c", "7")]
