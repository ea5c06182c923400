"""``tamis demo --broker``: a broker, a publisher of auctions and three subscribers on one machine.

publisher ──▶ tamis serve ──▶ server-sent events ──▶ "toys"
                          ──▶ webhook            ──▶ "bargains"
                          ──▶ long poll          ──▶ "bidding wars"
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tamis.client import Client, Subscription
from tamis.client.webhooks import verify
from tamis.console import console
from tamis.demo import auctions
from tamis.errors import TamisError

_EVERY = 0.5
"""Seconds between two publications."""
_AT_ONCE = 5
"""Auctions in each."""
_SETTINGS = """\
[server]
port = {port}
log_level = "warning"
[broker]
store = "sqlite:///{folder}/broker.db"
private_webhooks = true
"""
_SEARCHES = {
    "toys": "category in ('doll', 'train set', 'board game') and price < 40",
    "bargains": "price < 30 and seller.rating >= 4.5",
    "bidding-wars": "bids.amount > 400 and not tags contains 'used'",
}


@dataclass
class Demo:
    """What runs: who received how many, and the lines on the terminal."""

    client: Client
    counts: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def received(self, how: str, name: str, event: dict[str, Any]) -> None:
        """Show an auction that arrived."""
        with self._lock:
            self.counts[name] += 1
            title, price = event.get("title", "?"), event.get("price", "?")
            console().print(f"{how:<12} [bold]{name:<13}[/bold] {title}, {price}")


def run_broker(seconds: float | None, port: int, seed: int) -> Counter[str]:
    """Run everything until it is interrupted, or for so many seconds; what each one received."""
    out = console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="tamis-broker-") as folder,
        _serving(Path(folder), port) as (address, key),
        Client(address, key=key) as client,
    ):
        demo = Demo(client)
        with _subscribers(demo):
            out.print(f"\nThe console is at [bold]{address}/[/bold]\nIts key is    {key}")
            out.print("Press Ctrl-C to stop.\n")
            published = _publish(demo, seconds, seed)
    out.print(f"\n{published:,} auctions published. Received:")
    for name, count in sorted(demo.counts.items()):
        out.print(f"  {name:<13} {count:,}")
    return demo.counts


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[tuple[str, str]]:
    """``tamis serve`` in a process of its own: its address and the administrator's key."""
    (folder / "tamis.toml").write_text(_SETTINGS.format(port=port, folder=folder))
    command = [sys.executable, "-m", "tamis.cli.main", "serve", "--config", "tamis.toml"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        yield _greeting(process)
    finally:
        process.terminate()
        process.wait(30)
        if process.stderr is not None:
            process.stderr.close()


def _greeting(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Address and key, as ``tamis serve`` prints them."""
    address, said = "", []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if "the console is at " in line:
            address = line.split()[-1].rstrip("/")
        if "shown only once: " in line:
            threading.Thread(target=_drain, args=(process,), daemon=True).start()
            return address, line.split()[-1]
    raise TamisError("the broker did not start: " + "".join(said[-3:]).strip())


def _drain(process: subprocess.Popen[str]) -> None:
    """Hand on what the broker logs, so that it never waits for us."""
    assert process.stderr is not None
    try:
        for line in process.stderr:
            sys.stderr.write(line)
    except ValueError:
        return  # closed at the end


@contextmanager
def _subscribers(demo: Demo) -> Iterator[None]:
    """Three subscribers, each of another kind."""
    with _webhook(demo) as webhook:
        toys = demo.client.subscribe(_SEARCHES["toys"], id="toys")
        wars = demo.client.subscribe(_SEARCHES["bidding-wars"], id="bidding-wars")
        webhook.subscription = demo.client.subscribe(
            _SEARCHES["bargains"], id="bargains", webhook=webhook.url
        )
        threads = [
            threading.Thread(target=_watch, args=(demo, toys)),
            threading.Thread(target=_poll, args=(demo, wars)),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            demo.stop.set()
            for thread in threads:
                thread.join()


def _watch(demo: Demo, subscription: Subscription) -> None:
    """A subscriber by server-sent events."""
    while not demo.stop.is_set():
        for notification in demo.client.notifications(subscription, timeout=1):
            demo.received("SSE", subscription.id, dict(notification.event))
            demo.client.acknowledge(notification)
            if demo.stop.is_set():
                return


def _poll(demo: Demo, subscription: Subscription) -> None:
    """A subscriber by long poll."""
    while not demo.stop.is_set():
        page = demo.client.read(subscription, wait=1)
        for notification in page.notifications:
            demo.received("long poll", subscription.id, dict(notification.event))
        if page.notifications:
            demo.client.acknowledge(subscription, page.position)


@dataclass
class _Webhook:
    """A server for the broker's requests."""

    url: str
    subscription: Subscription | None = None


@contextmanager
def _webhook(demo: Demo) -> Iterator[_Webhook]:
    """A subscriber by webhook: a small HTTP server that checks signatures."""
    found = _Webhook("")

    class Handler(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:  # the handshake: yes, send your notifications here
            self.send_response(200)
            self.send_header("WebHook-Allowed-Origin", self.headers["WebHook-Request-Origin"])
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if found.subscription is not None and found.subscription.webhook_secret is not None:
                verify(found.subscription.webhook_secret, dict(self.headers), body)
            self.send_response(204)
            self.end_headers()
            demo.received("webhook", "bargains", json.loads(body).get("data") or {})

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing: the terminal shows what arrives."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _publish(demo: Demo, seconds: float | None, seed: int) -> int:
    """Publish auctions until interrupted, or for so many seconds."""
    end = None if seconds is None else time.monotonic() + seconds
    source = auctions.events(10**9, seed)
    published = 0
    try:
        while end is None or time.monotonic() < end:
            batch = [next(source) for _ in range(_AT_ONCE)]
            published += demo.client.publish(batch, source="auctions").published
            time.sleep(_EVERY)
        time.sleep(2 * _EVERY)  # the last ones arrive
    except KeyboardInterrupt:
        pass
    return published
