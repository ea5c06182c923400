"""A broker on a file, served on a loopback socket by uvicorn: nothing is pretended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tamis.broker import Broker, BrokerSettings, Role
from tamis.server.serve import running
from tamis.server.settings import ServerSettings


@dataclass(frozen=True)
class Served:
    """A server with a key for the administrator, and a client that uses it."""

    broker: Broker
    address: str
    key: str
    http: httpx.Client

    def new_key(self, *roles: str, tenant: str = "default") -> str:
        key, _ = self.broker.create_key(
            "test", [Role(role) for role in roles], tenant=tenant
        ).result()
        return key

    def client(self, key: str | None = None) -> httpx.Client:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=120)

    def subscribe(self, text: str = "price < 5", **fields: object) -> dict[str, str]:
        answer = self.http.post("/v1/subscriptions", json={"subscription": text, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers, each with a broker of its own, that end with the test."""
    with ExitStack() as stack:

        def start(
            broker: BrokerSettings | None = None,
            store: Path | None = None,
            url: str | None = None,
            **settings: object,
        ) -> Served:
            place = store or tmp_path / "broker.db"
            opened = stack.enter_context(Broker.open(url or f"sqlite:///{place}", broker))
            key, _ = opened.create_key("admin", list(Role)).result()
            server = stack.enter_context(running(opened, ServerSettings(**{"port": 0, **settings})))
            headers = {"Authorization": f"Bearer {key}"}
            http = stack.enter_context(
                httpx.Client(base_url=server.address, headers=headers, timeout=120)
            )
            return Served(opened, server.address, key, http)

        yield start


@pytest.fixture
def served(serve: Serve) -> Served:
    """A server with the default settings."""
    return serve()
