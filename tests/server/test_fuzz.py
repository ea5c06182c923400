"""Requests that nobody should send: no answer is a 5xx, nothing hangs, nothing stays behind.

TAMIS_SOAK=n sends n times as many; `make soak` sends 100,000 and more.
"""

from __future__ import annotations

import gc
import json
import os
import random
import threading

import httpx
import pytest

from tamis.broker import BrokerSettings
from tamis.server.event_bodies import READ
from tests.postgresql import postgresql_server
from tests.server.conftest import Serve, Served

COUNT = 1_000 * int(os.environ.get("TAMIS_SOAK", "1"))
SEED = int(os.environ.get("SEED", "1"))
PATHS = """
    /v1/subscriptions /v1/subscriptions/s /v1/subscriptions/s/renew /v1/subscriptions/s/acknowledge
    /v1/subscriptions/s/enable /v1/subscriptions/s/disable /v1/subscriptions/s/notifications
    /v1/subscriptions/s/dead-letters /v1/subscriptions/s/dead-letters/replay /v1/check /v1/dry-run
    /v1/events /v1/deliveries /v1/undecided /v1/subscriptions/s/undecided /v1/schema /v1/keys /v1/keys/99999 /v1/keys/99999999999999999999 /v1/stats /healthz /readyz /metrics /v1/openapi.json
    / /login /logout /subscriptions /new /publish /keys /docs /console/try /console/numbers /static/x
    /static/../../settings.py /v1 // /%00 /v1/subscriptions/%ff /v1/subscriptions/%2e%2e/x
    /v1/subscriptions/%00 /v1/subscriptions/s/socket /v1/subscriptions/s%0d%0aX:y/renew
""".split()
METHODS = "GET POST PATCH DELETE PUT HEAD OPTIONS PROPFIND".split()
PARTS: list[object] = [
    None, True, 0, -1, 1e308, 2**70, "", "price < 5", "((((", "\x00", "é" * 50, [], {}, [[[]]],
    {"a": {"b": [1, {"c": None}]}}, "a" * 5_000, "a\ud800", ["\x00"], ["s", "\ud800"], "a = '\x00'", ["publish"], "tamis", "sparql", 0.5,
]  # fmt: skip
NAMES = """
    subscription dialect id lease metadata webhook url position last enabled roles name tenant specversion
    source type data data_base64 datacontenttype price nonsense event subscriptions quotas
""".split()


def body(chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return chance.choice(
            [b"", b"{", b"[" * 2_000, b'{"a":' * 300, b"null", b"\xef\xbb\xbf{}", b'"\\ud800"']
        )
    fields = {name: chance.choice(PARTS) for name in chance.sample(NAMES, chance.randrange(6))}
    document = fields if kind < 5 else [fields] * chance.randrange(4)
    text = json.dumps(document) if chance.random() < 0.7 else str(document).replace("'", '"')
    if chance.random() < 0.2:
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(["\x00", '"', "}", "\n", "\ud7ff", "\\"]) + text[place:]
    return text.encode(errors="replace")


def headers(chance: random.Random, key: str) -> dict[str, str]:
    found = {
        "Content-Type": chance.choice([*READ, "", "text/html", "application/json; charset=x", ";"])
    }
    if chance.random() < 0.8:
        found["Authorization"] = f"Bearer {key}"
    for name in ("Tamis-Ticket", "Idempotency-Key", "Last-Event-ID", "ce-specversion", "ce-id",
                 "Tamis-Source", "Cookie", "X-CSRF-Token", "Authorization", "Accept"):  # fmt: skip
        if chance.random() < 0.1:
            found[name] = chance.choice(
                ["", "x", "1", "1.0", "*/*", "tt_x", "tamis_session=a.b.c", "~" * 300]
            )
    return found


def query(chance: random.Random) -> str:
    names = chance.sample(["after", "limit", "wait", "search", "next", "x"], chance.randrange(3))
    given = [
        f"{name}={chance.choice(['', '0', '1', '-1', '1e3', 'nan', '9' * 30, '%00', '%ff', '0.01'])}"
        for name in names
    ]
    return "?" + "&".join(given) if given else ""


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_no_request_makes_the_server_fail(serve: Serve, store: str) -> None:
    if store == "sqlite":
        bombard(serve(), COUNT)
        return
    with postgresql_server() as server:
        bombard(serve(BrokerSettings(secret=b"0123456789abcdef"), url=server.url), COUNT // 2)


def bombard(served: Served, count: int) -> None:
    """Send so many requests, and look at what is left of the server."""
    served.subscribe(id="s")
    for kind in READ:  # what reads it is loaded on the first use
        served.http.post("/v1/events", content=b"{}", headers={"Content-Type": kind})
    chance = random.Random(SEED)
    statuses: dict[int, int] = {}
    threads = threading.active_count()
    growth = []
    with httpx.Client(base_url=served.address, timeout=60) as http:
        for number in range(count):
            method, path = chance.choice(METHODS), chance.choice(PATHS) + query(chance)
            sent, given = body(chance), headers(chance, served.key)
            try:
                answer = http.request(method, path, content=sent, headers=given)
            except httpx.RemoteProtocolError:
                continue  # uvicorn answers to what is no HTTP by closing
            assert answer.status_code < 500, (
                SEED,
                number,
                method,
                path,
                sent[:500],
                given,
                answer.text,
            )
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            if (
                answer.status_code in (401, 404)
                and not http.get(
                    "/v1/subscriptions/s", headers={"Authorization": f"Bearer {served.key}"}
                ).is_success
            ):
                served.http.post("/v1/subscriptions", json={"subscription": "a = 1", "id": "s"})
            if number % (count // 5) == count // 5 - 1:
                gc.collect()
                growth.append(len(gc.get_objects()))
    assert len(statuses) > 6, statuses
    assert served.http.get("/readyz").json() == {"status": "ready"}
    assert threading.active_count() <= threads + 16
    assert growth[-1] < 1.5 * growth[0] + 20_000, f"objects stay behind: {growth}"
