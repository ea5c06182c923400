"""The settings of a server, from a TOML file. docs/broker.md lists them.

[server]
port = 8080
[broker]
store = "sqlite:///tamis.db"
"""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from tamis.errors import TamisError, suggestion


class SettingsError(TamisError):
    """A file of settings with a mistake."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What the HTTP side of a broker does."""

    host: str = "127.0.0.1"
    """The address to listen at. Set TLS before you listen beyond this machine."""
    port: int = 8080
    """The port; 0 takes a free one."""
    tls_certificate: str = ""
    """PEM file with the certificate chain."""
    tls_key: str = ""
    """PEM file with the private key of the certificate."""
    console: bool = True
    """Whether there is a console at /."""
    session_secret: str = ""
    """What signs the sessions of the console; without it, a restart ends them."""
    session_hours: float = 12
    """How long a session of the console lasts."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose scripts may use the API; none by default."""
    body_bytes: int = 16_777_216
    """Bytes in the body of one request, except streams of NDJSON."""
    receiving_bytes: int = 268_435_456
    """Bytes of all bodies that arrive at the same time, each beyond its first 64 KiB."""
    stream_bytes: int = 1_073_741_824
    """Bytes in one stream of NDJSON."""
    batch_events: int = 10_000
    """Events in one request, except streams of NDJSON."""
    requests_per_second: float = 5_000
    """Requests that one key may send each second; 0 for any number."""
    anonymous_requests_per_second: float = 100
    """Requests that one address may send each second without a key; 0 for any number."""
    connections: int = 20_000
    """Connections at once."""
    streams_per_subscription: int = 100
    """Clients that may watch one subscription at once."""
    page: int = 1_000
    """Items of one page, at most."""
    wait_seconds: float = 60
    """How long a long poll may wait."""
    heartbeat_seconds: float = 15
    """How often an idle stream sends a comment, so that both ends notice a broken connection."""
    stop_seconds: float = 10
    """How long a stop waits for requests that are under way."""
    public_metrics: bool = True
    """Whether /metrics needs no key; if it does, it needs that of an administrator."""
    log: str = "text"
    """Form of the log: text or json."""
    log_requests: bool = False
    """Whether each request is logged."""
    log_level: str = "info"
    """The least level that is logged: debug, info, warning or error."""

    def __post_init__(self) -> None:
        _check_choice("log", self.log, ("text", "json"))
        _check_choice("log_level", self.log_level, ("debug", "info", "warning", "error"))
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise SettingsError("TLS needs both tls_certificate and tls_key")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and value < 0:
                raise SettingsError(f"{each.name} must not be negative, but is {value}")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of ``tamis serve``: its own, and those that it hands to the broker."""

    server: ServerSettings = field(default_factory=ServerSettings)
    broker: dict[str, Any] = field(default_factory=dict)
    """The table [broker], whose fields are those of BrokerSettings, and ``store``."""


def read_settings(path: Path) -> Settings:
    """The settings in a file."""
    try:
        document = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: no TOML: {error}") from error
    for name in document.keys() - {"server", "broker"}:
        hint = suggestion(name, ("server", "broker")) or "there are [server] and [broker]"
        raise SettingsError(f"{path}: unknown table [{name}]; {hint}")
    try:
        server = filled(ServerSettings, document.get("server", {}))
    except SettingsError as error:
        raise SettingsError(f"{path}: [server] {error}") from error
    return Settings(server, dict(document.get("broker", {})))


def filled(kind: Any, table: dict[str, Any]) -> Any:
    """A dataclass of settings with the values of a table, each checked against its type."""
    hints = get_type_hints(kind)
    known = [each.name for each in fields(kind)]
    given = {}
    for name, value in table.items():
        if name not in known:
            hint = suggestion(name, known) or f"there are {', '.join(known)}"
            raise SettingsError(f"unknown setting {name!r}; {hint}")
        given[name] = _converted(name, value, hints[name])
    return kind(**given)


def _converted(name: str, value: Any, hint: Any) -> Any:
    if hint == tuple[str, ...] and isinstance(value, list):
        if all(isinstance(each, str) for each in value):
            return tuple(value)
    elif hint is float and type(value) in (int, float):
        return float(value)
    elif type(value) is hint or hint not in (str, int, bool, float, tuple[str, ...]):
        return value
    noun = "list of strings" if hint == tuple[str, ...] else hint.__name__
    raise SettingsError(f"{name} must be a {noun}, but is {value!r}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, but is {value!r}")


def described(settings: Any) -> dict[str, Any]:
    """The settings that people may see: no secrets."""
    plain = dataclasses.asdict(settings)
    return {name: value for name, value in plain.items() if "secret" not in name}
