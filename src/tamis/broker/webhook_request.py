"""One request to a webhook: guarded, signed, and answered with what to do next.

Connections are guarded (``guarded_network.py``). Redirections are refused. Signatures are those of
Standard Webhooks, over id, time and body; the handshake is that of CloudEvents' webhooks: an
OPTIONS request that the receiver must answer with ``WebHook-Allowed-Origin``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from tamis.errors import BrokerError, MissingExtraError
from tamis.model.limits import check_limit

_URL = 2_000
"""Characters of a webhook's address."""
_ANSWER = 65_536
"""Bytes of an answer that are read before the connection is closed."""


class Verdict(Enum):
    """What to do after a request."""

    DONE = "done"
    RETRY = "retry"
    SLOW = "slow"
    """Wait as long as the receiver asks for; this does not count as a failure."""
    GONE = "gone"
    """The receiver wants no more."""


class Answer(NamedTuple):
    """How a receiver answered."""

    verdict: Verdict
    reason: str = ""
    wait: float = 0.0


def check_url(url: str) -> None:
    """Raise unless a text is an address that a webhook may have; names are looked up later."""
    check_limit(len(url), _URL, "characters in the address of a webhook")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BrokerError(f"{url[:200]!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BrokerError(f"{url[:200]!r} is not an address: write https://…")
    if parts.username is not None or parts.fragment:
        raise BrokerError("the address of a webhook has no user name, password or fragment")


class WebhookSession:
    """Connections to all webhooks, for many threads. Nothing is shared but them: no cookies."""

    def __init__(self, timeout: float, *, private: bool) -> None:
        try:
            import httpcore

            from tamis.broker.guarded_network import GuardedNetwork
        except ImportError as error:
            raise MissingExtraError("webhooks need httpx: pip install 'tamis[server]'") from error
        self._timeout = timeout
        self._network = GuardedNetwork(private=private)
        self._pool = httpcore.ConnectionPool(
            max_connections=None, max_keepalive_connections=100, network_backend=self._network
        )

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str]]:
        """The status and the headers of the answer, which are all that counts of it."""
        import httpcore
        import httpx

        target = httpx.URL(url)
        given = {
            "Host": target.netloc.decode("ascii"),
            "User-Agent": "tamis",
            "Content-Length": str(len(body)),
            **headers,
        }
        with (
            self._network.within(self._timeout),
            self._pool.stream(
                method,
                httpcore.URL(
                    scheme=target.raw_scheme,
                    host=target.raw_host,
                    port=target.port,
                    target=target.raw_path,
                ),
                headers=list(given.items()),
                content=body,
            ) as response,
        ):
            size = 0
            for part in response.iter_stream():  # to its end: the connection can serve again
                size += len(part)
                if size > _ANSWER:
                    break
        named = {name.decode("latin-1").lower(): value for name, value in response.headers}
        return response.status, {name: value.decode("latin-1") for name, value in named.items()}

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class WebhookRequest:
    """Requests to one webhook."""

    def __init__(self, session: WebhookSession, url: str, secret: str, *, origin: str) -> None:
        self._session, self._url, self._secret, self._origin = session, url, secret, origin

    def validate(self) -> Answer:
        """Ask the receiver whether it wants what this broker sends."""
        headers = {"WebHook-Request-Origin": self._origin}
        answer, allowed = self._send("OPTIONS", headers, b"")
        if answer.verdict is Verdict.DONE and allowed not in ("*", self._origin):
            return Answer(
                Verdict.RETRY,
                f"the answer to OPTIONS has no WebHook-Allowed-Origin: {self._origin}",
            )
        return answer

    def notify(self, event: Mapping[str, Any], now: float) -> Answer:
        """Send a CloudEvent."""
        id = str(event["id"])
        body = json.dumps(event, separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "WebHook-Request-Origin": self._origin,
            **signed(self._secret, quote(id), now, body),
        }
        answer, _ = self._send("POST", headers, body)
        return answer

    def _send(self, method: str, headers: dict[str, str], body: bytes) -> tuple[Answer, str]:
        """How the receiver answers, and the origin that it allows."""
        import httpcore
        import httpx

        problems = (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
            httpx.InvalidURL,
            OSError,
            UnicodeError,
        )
        try:
            status, answered = self._session.send(method, self._url, headers, body)
        except problems as error:
            return Answer(Verdict.RETRY, f"{type(error).__name__}: {error}"[:500]), ""
        allowed = answered.get("webhook-allowed-origin", "")
        return _answer(status, answered.get("retry-after", "")), allowed


def _answer(status: int, retry_after: str) -> Answer:
    if 200 <= status < 300:
        return Answer(Verdict.DONE)
    if status == 410:
        return Answer(Verdict.GONE, "410 Gone")
    wait = min(3_600.0, max(0.0, _seconds(retry_after)))
    if status == 429:
        return Answer(Verdict.SLOW, "429 Too Many Requests", wait)
    return Answer(Verdict.RETRY, f"status {status}", wait)


def _seconds(retry_after: str) -> float:
    """How long a receiver asks to be left alone, in seconds or until a date; 0 if it does not."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def signed(secret: str, id: str, now: float, body: bytes) -> dict[str, str]:
    """The headers that prove who sent a body, and when."""
    moment = str(int(now))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{id}.{moment}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": id,
        "webhook-timestamp": moment,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def webhook_secret(key: bytes) -> str:
    """A key in the form that Standard Webhooks use."""
    return "whsec_" + base64.b64encode(key).decode()
