"""Feeds: what their items become, that each comes once, and what is refused, over loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tamis import Engine, Event, EventError, LimitError, Limits, StorageError
from tamis.cli.main import app
from tamis.graphs import rss
from tamis.graphs.fetching import fetch
from tamis.graphs.rss import Feeds, items_of
from tamis.model.rdf_terms import BlankNode, Iri

pytest.importorskip("feedparser")

RSS2 = b"""<rss version="2.0"><channel><title>T</title>
<item><title>One</title><link>http://x/1</link><category>jazz</category><category>live</category>
<pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate><author>Ann</author></item>
<item><title>Two</title><guid isPermaLink="false">two</guid></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>One</title>
<id>urn:1</id><link href="http://x/1"/><category term="jazz"/><author><name>Ann</name></author>
<updated>2003-06-10T04:00:00Z</updated></entry></feed>"""
RSS1 = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="http://x/"><title>T</title></channel>
<item rdf:about="http://x/1"><title>One</title><dc:subject>jazz</dc:subject>
<dc:creator rdf:parseType="Resource"><dc:title>Ann</dc:title></dc:creator></item></rdf:RDF>"""

JAZZ = "{ ?item a rss:item . ?item dc:subject 'jazz' . ?item rss:title ?title }"


WORDPRESS = RSS2.replace(
    b"<rss", b"<?xml version='1.0'?><rss xmlns:content='http://purl.org/rss/1.0/modules/content/'"
)
PREFIXED = b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a <feed> -->" + RSS1.replace(
    b"rdf:", b"r:"
).replace(b"xmlns:rdf", b"xmlns:r")
DOCUMENTS = {
    "rss 2.0": RSS2,
    "atom": ATOM,
    "rss 1.0": RSS1,
    "rss 2.0 with a module of 1.0": WORDPRESS,
    "rss 1.0 with another prefix": PREFIXED,
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_items_of_all_sorts_of_feeds(document: bytes) -> None:
    engine = Engine(limits=Limits(costly=float("inf")))
    engine.subscribe(JAZZ, id="jazz")
    first = items_of(document)[0]
    (match,) = engine.matches(Event({}, graph=first.graph))
    assert match.bindings == {"item": "http://x/1", "title": "One"}


def test_what_an_item_has() -> None:
    engine = Engine(limits=Limits(costly=float("inf")))
    recent = "{ ?i dc:date ?when . ?i dc:creator 'Ann' } and ?when > timestamp '2003-01-01'"
    engine.subscribe(recent, id="recent")
    one, two = items_of(RSS2)
    assert engine.match(Event({}, graph=one.graph)) == ["recent"]
    assert engine.match(Event({}, graph=two.graph)) == []
    assert [one.id, two.id] == ["http://x/1", "two"]
    (nested,) = items_of(RSS1)
    assert len(nested.graph) == 5  # with what is said of the creator, which is a blank node


@pytest.mark.parametrize(
    "document",
    [
        b"<rss version='2.0'><channel><item><title>x</title><link>/2</link></item></channel></rss>",
        b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>x</title><link href='/2'/></entry></feed>",
    ],
)
def test_links_are_relative_to_the_address_of_the_feed(document: bytes) -> None:
    (item,) = items_of(document, base="http://example.org/feeds/new")
    assert {subject for subject, _, _ in item.graph} == {Iri("http://example.org/2")}


def test_links_that_are_none() -> None:
    for link in (b"http://[", b"no address", b""):
        one, _ = items_of(RSS2.replace(b"http://x/1", link))
        assert one.id == (link.decode() or "One")
        assert {type(subject) for subject, _, _ in one.graph} == {BlankNode}


def test_refusals() -> None:
    for start in (b"<!DOCTYPE rss>", b'<!ENTITY a "b">'):
        with pytest.raises(EventError, match="at byte 0"):
            items_of(start + RSS2)
    for encoding in ("utf-16", "utf-32-be"):
        with pytest.raises(EventError, match="declares a document type"):
            items_of(f"<!DOCTYPE rss>{RSS2.decode()}".encode(encoding))
    with pytest.raises(EventError, match="not a feed"):
        items_of(b"<html></html>")
    with pytest.raises(LimitError):
        items_of(RSS2, limits=Limits(document=100))
    none = ("ftp://x/", "http://", "http://user@x/", "http://x:y/", "http://x:99999/", "http://[x/")
    for address in (*none, "http://" + "a" * 300, "http://x/a b"):
        with pytest.raises(EventError):
            fetch(address, private=True)


class Server(HTTPServer):
    """Serves one feed with validators, and redirections."""

    requests: list[str]


class Handler(BaseHTTPRequestHandler):
    """Answers as feeds do."""

    server: Any

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        if self.path == "/moved":
            self._answer(302, Location="/feed")
        elif self.path == "/circle":
            self._answer(302, Location="/circle")
        elif self.path == "/astray":
            self._answer(302, Location="http://[")
        elif self.path == "/slow":
            self._drip()
        elif self.path == "/%C3%BC?a=%20b":
            self._answer(200, RSS2)
        elif self.path != "/feed":
            self._answer(404)
        elif self.headers["If-None-Match"] == '"1"':
            self._answer(304)
        else:
            self._answer(200, RSS2, ETag='"1"')

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        """A byte now and then, for ever."""
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b" ")
                time.sleep(0.02)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.requests = []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def place(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_feeds_over_http(server: Server, tmp_path: Path) -> None:
    address = place(server, "/feed")
    feeds = Feeds(tmp_path / "state", private=True)
    assert len(feeds.new_items(address)) == 2
    assert feeds.new_items(address) == []  # 304
    feeds.save()
    again = Feeds(tmp_path / "state", private=True)
    assert again.new_items(address) == []
    assert len(again.new_items(place(server, "/moved"))) == 2  # another feed
    with pytest.raises(EventError, match="redirects more than"):
        again.new_items(place(server, "/circle"))
    with pytest.raises(EventError, match="404"):
        again.new_items(place(server, "/nothing"))
    with pytest.raises(EventError, match="cannot read"):
        again.new_items(place(server, "/astray"))
    assert fetch(place(server, "/ü?a=%20b"), private=True).body == RSS2
    with pytest.raises(EventError, match="takes longer than"):
        fetch(place(server, "/slow"), within=0.3, private=True)
    with pytest.raises(LimitError):
        fetch(address, most=100, private=True)
    with pytest.raises(EventError, match="not a public address"):
        Feeds().new_items(address)


def test_items_come_once(tmp_path: Path) -> None:
    feed = tmp_path / "feed.rss"
    feed.write_bytes(RSS2)
    feeds = Feeds()
    assert len(feeds.new_items(str(feed))) == 2
    feed.write_bytes(RSS2.replace(b"http://x/1", b"http://x/3"))
    assert [item.id for item in feeds.new_items(str(feed))] == ["http://x/3"]
    for state in ("[]", "{", '{"feed": 5}', '{"feed": {"seen": 5}}'):
        (tmp_path / "state").write_text(state)
        with pytest.raises(StorageError, match="delete it"):
            Feeds(tmp_path / "state")


def test_what_a_feed_has_now_is_never_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rss, "_REMEMBERED", 1)
    feed = tmp_path / "feed.rss"
    feed.write_bytes(RSS2)
    feeds = Feeds()
    assert len(feeds.new_items(str(feed))) == 2
    assert feeds.new_items(str(feed)) == []
    for number in range(3):
        feed.write_bytes(RSS2.replace(b"http://x/1", b"http://x/%d" % (5 + number)))
        assert len(feeds.new_items(str(feed))) == 1
    feed.write_bytes(b"<rss")
    with pytest.raises(EventError):
        feeds.new_items(str(feed))
    feed.write_bytes(RSS2.replace(b"http://x/1", b"http://x/7"))
    assert feeds.new_items(str(feed)) == []


@pytest.mark.filterwarnings("ignore::tamis.CostlyWarning")
def test_the_command(server: Server, tmp_path: Path) -> None:
    subscriptions = tmp_path / "subscriptions.ndjson"
    subscriptions.write_text(json.dumps({"id": "jazz", "subscription": JAZZ}))
    feed = tmp_path / "feed.rss"
    feed.write_bytes(RSS2)
    arguments = ["rss", str(feed), "-s", str(subscriptions), "--state", str(tmp_path / "state")]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    lines = [json.loads(line) for line in run.stdout.splitlines() if line[0] == "{"]
    assert lines == [{"feed": str(feed), "item": "http://x/1", "subscription": "jazz"}]
    run = CliRunner().invoke(app, [*arguments, place(server, "/feed")])
    assert run.exit_code == 1
    assert "not a public address" in run.output
    run = CliRunner().invoke(app, [*arguments, place(server, "/feed"), "--private"])
    assert run.exit_code == 0
    assert run.stdout.count('"jazz"') == 1
