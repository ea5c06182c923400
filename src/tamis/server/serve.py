"""Running a server: the broker is opened, uvicorn serves it, and both stop in order."""

from __future__ import annotations

import dataclasses
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from tamis.broker import Broker, BrokerSettings, Quotas, Role
from tamis.broker.settings import TEXT
from tamis.errors import UnavailableError, suggestion
from tamis.model.limits import Limits
from tamis.model.schema.schema import Schema
from tamis.operators.operator import Operator
from tamis.operators.registry import KnownOperators
from tamis.server.app import application
from tamis.server.operator_settings import FIELDS, configure_operators
from tamis.server.settings import ServerSettings, Settings, SettingsError, filled

STORE = "sqlite:///tamis.db"
"""The store if the settings name none: a file in the current folder."""
_PATHS = {"secret", "index", "link_certificate", "link_certificate_key", "link_authority"}
"""Settings of the broker that are paths."""
SECRET = Path("tamis.key")
"""The file that tickets and keys depend on, for stores that have no file beside them."""
_BACKLOG = 4_096
_MESSAGE = 65_536
"""Bytes of one message over a WebSocket: a ticket, or a position."""
_KEEP_ALIVE = 75
"""Seconds that an idle connection stays open."""


def broker_settings(table: dict[str, Any]) -> BrokerSettings:
    """The settings of the broker from the table [broker], without ``store``."""
    configure_operators(table)
    given = {name: value for name, value in table.items() if name not in ("store", *FIELDS)}
    if isinstance(given.get("schema"), str):
        given["schema"] = Schema.from_json(Path(given["schema"]).read_text())
    if "anonymous" in given:
        given["anonymous"] = frozenset(map(Role, given["anonymous"]))
    if "operators" in given:
        given["operators"] = _operators(given["operators"])
    for name in given.keys() & _PATHS:
        if not isinstance(given[name], str):
            raise SettingsError(f"{name} is a path, not {given[name]!r:.100}")
        given[name] = Path(given[name])
    for name, kind in (("limits", Limits), ("quotas", Quotas)):
        if name in given:
            if not isinstance(given[name], dict):
                raise SettingsError(f"{name} is a table, [broker.{name}], not {given[name]!r:.100}")
            given[name] = _counts(kind, given[name], name)
    if "limits" in given and "text" not in table["limits"]:
        given["limits"] = dataclasses.replace(given["limits"], text=TEXT)
    return filled(BrokerSettings, given)  # type: ignore[no-any-return]


def _counts(kind: Any, table: dict[str, Any], name: str) -> Any:
    """A dataclass of numbers, none of them negative."""
    for field, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise SettingsError(f"{name}.{field} must be a number from 0 on, but is {value!r:.100}")
    return filled(kind, table)


def _operators(names: Any) -> dict[str, Operator]:
    """The operators that subscriptions may call, by the names that a file allows."""
    known = KnownOperators()
    if not isinstance(names, list):
        raise SettingsError(f"operators is a list of names, not {names!r:.100}")
    for name in names:
        if name not in known:
            hint = suggestion(str(name), known) or "'tamis operators' lists them"
            raise SettingsError(f"there is no operator {name!r:.100}; {hint}")
    return {name: known[name] for name in names}


def open_broker(settings: Settings) -> Broker:
    """The broker of the settings."""
    store = settings.broker.get("store", STORE)
    found = broker_settings(settings.broker)
    if found.secret is None and not store.startswith("sqlite:"):
        found = dataclasses.replace(found, secret=SECRET)
    return Broker.open(store, found)


def first_key(broker: Broker) -> str | None:
    """A key for the administrator of a broker that has no keys yet."""
    if broker.has_keys():
        return None
    key, _ = broker.create_key("admin", frozenset(Role)).result()
    return key


def bound_socket(settings: ServerSettings) -> socket.socket:
    """A socket that listens at the address of the settings; the port is known from then on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        place = f"{settings.host}:{settings.port}"
        raise UnavailableError(f"cannot listen at {place}: {error.strerror}") from error
    listener.listen(_BACKLOG)
    return listener


class StreamingServer(uvicorn.Server):
    """uvicorn waits for open requests before it stops; streams would never end by themselves."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, then stop."""
        self._app.state.service.stop()
        await super().shutdown(sockets)


def uvicorn_server(broker: Broker, settings: ServerSettings) -> uvicorn.Server:
    """The server, not running yet."""
    app = application(broker, settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=_MESSAGE,
        limit_concurrency=settings.connections,
        timeout_graceful_shutdown=max(1, int(settings.stop_seconds)),
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        lifespan="on",
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
    )
    return StreamingServer(config, app)


def address_of(listener: socket.socket, settings: ServerSettings) -> str:
    """The address of a listening socket."""
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{listener.getsockname()[1]}"


def serve(broker: Broker, settings: ServerSettings, listener: socket.socket) -> None:
    """Serve until a signal says to stop."""
    uvicorn_server(broker, settings).run(sockets=[listener])


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server on a thread of this process."""

    broker: Broker
    address: str


@contextmanager
def running(broker: Broker, settings: ServerSettings) -> Iterator[RunningServer]:
    """Serve a broker on a thread of this process, for programs and tests that bring their own."""
    server = uvicorn_server(broker, settings)
    listener = bound_socket(settings)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="tamis-server", daemon=True
    )
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            if not thread.is_alive():
                raise UnavailableError("the server did not start; its log says why")
        yield RunningServer(broker, address_of(listener, settings))
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
