"""Feeds as publications: RSS 1.0 as it is, RSS 2.0 and Atom mapped to the same terms.

    rdf:type rss:item     rss:title  rss:link  rss:description
    dc:creator  dc:date (xsd:dateTime)  dc:subject, one for each category

Each item is a publication of its own: of RSS 1.0 all triples about it, with those about blank nodes
that it leads to. Its subject is the item's IRI: its link, or its id if that is an IRI.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tamis.errors import EventError, MissingExtraError, StorageError, SubscriptionError
from tamis.graphs.fetching import Response, fetch
from tamis.graphs.reader import read_graph
from tamis.model.limits import LIMITS, Limits, check_limit
from tamis.model.rdf_terms import (
    PREFIXES,
    RDF_TYPE,
    XSD,
    BlankNode,
    Iri,
    RdfLiteral,
    RdfTerm,
    RdfTriple,
)

RSS, DC = PREFIXES["rss"], PREFIXES["dc"]
_ITEM = Iri(RSS + "item")
_DECLARED = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_RDF = re.compile(rb"(?:\xef\xbb\xbf|\s|<\?.*?\?>|<!--.*?-->)*+<(?:[\w.-]+:)?RDF\s[^>]*", re.DOTALL)
"""The beginning of an RDF document up to the end of its first tag, where its namespaces are."""
_RSS_1 = re.compile(rb"""["']http://purl\.org/rss/1\.0/["']""")
_REMEMBERED = 10_000
"""Items of one feed that are remembered, besides those that it has now: the latest that it had. A
feed rarely has more than a hundred."""


class Item(NamedTuple):
    """One item of a feed."""

    id: str
    graph: frozenset[RdfTriple]


def items_of(document: bytes, *, base: str = "", limits: Limits = LIMITS) -> list[Item]:
    """The items of a feed, of whatever sort it is."""
    check_limit(len(document), limits.document, "bytes in one feed")
    declared = _DECLARED.search(document) or _DECLARED.search(document.replace(b"\0", b""))
    if declared:  # in an encoding of one byte a letter, or of two or four
        raise EventError(
            f"the feed declares a document type or an entity at byte {declared.start()}, "
            "which is refused"
        )
    start = _RDF.match(document)
    if start and _RSS_1.search(start[0]):
        return list(
            _items_of_rdf(read_graph(document, "rss 1.0", base=base or None, limits=limits))
        )
    return list(_items_of_entries(_entries(document, base)))


def _items_of_rdf(graph: frozenset[RdfTriple]) -> Iterator[Item]:
    about: dict[RdfTerm, list[RdfTriple]] = {}
    for triple in graph:
        about.setdefault(triple[0], []).append(triple)
    for subject, triples in about.items():
        if any(p.value == RDF_TYPE and value == _ITEM for _, p, value in triples):
            found: set[RdfTriple] = set()
            left: list[RdfTerm] = [subject]
            seen: set[RdfTerm] = {subject}
            while left:
                for triple in about.get(left.pop(), ()):
                    found.add(triple)
                    if isinstance(triple[2], BlankNode) and triple[2] not in seen:
                        seen.add(triple[2])
                        left.append(triple[2])
            name = subject.value if isinstance(subject, Iri) else _digest(found)
            yield Item(name, frozenset(found))


def _digest(triples: set[RdfTriple]) -> str:
    """A name for an item without one: what is said about it, but for blank nodes."""
    return json.dumps(
        sorted(str(value) for _, _, value in triples if not isinstance(value, BlankNode))
    )


def _entries(document: bytes, base: str) -> list[Any]:
    try:
        import feedparser  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError(
            "RSS 2.0 and Atom need feedparser: pip install 'tamis[rss]'"
        ) from error
    headers = {"content-location": base}
    # of bytes, since a string might be taken for an address
    parsed = feedparser.parse(io.BytesIO(document), response_headers=headers)
    if not parsed.version:
        raise EventError("this is not a feed of RSS or Atom")
    entries: list[Any] = parsed.entries
    return entries


def _items_of_entries(entries: list[Any]) -> Iterator[Item]:
    for entry in entries:
        link, name = entry.get("link"), entry.get("id") or entry.get("link") or entry.get("title")
        subject = _iri(link) or _iri(entry.get("id")) or BlankNode("item")
        triples: set[RdfTriple] = {(subject, Iri(RDF_TYPE), _ITEM)}
        texts = {
            RSS + "title": entry.get("title"),
            RSS + "link": link,
            RSS + "description": entry.get("summary"),
            DC + "creator": entry.get("author"),
        }
        for label, text in texts.items():
            if text:
                triples.add((subject, Iri(label), _literal(text)))
        for tag in entry.get("tags", ()):
            if tag.get("term"):
                triples.add((subject, Iri(DC + "subject"), _literal(tag["term"])))
        moment = entry.get("published_parsed") or entry.get("updated_parsed")
        if moment is not None:
            text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*moment[:6])
            triples.add((subject, Iri(DC + "date"), RdfLiteral(text, XSD + "dateTime")))
        yield Item(str(name or _digest(triples)), frozenset(triples))


def _iri(text: Any) -> Iri | None:
    if not isinstance(text, str):
        return None
    try:
        return Iri(text) if urlsplit(text).scheme else None
    except (SubscriptionError, ValueError):
        return None


def _literal(text: str) -> RdfLiteral:
    return RdfLiteral(text.encode("utf-8", "replace").decode())


def _is_memory(state: Any) -> bool:
    """Whether this is what ``Feeds`` remembers."""
    return isinstance(state, dict) and all(
        isinstance(each, dict) and isinstance(each.get("seen"), list) for each in state.values()
    )


class Feeds:
    """Reads feeds again and again, and gives each item once.

    What it remembers, validators of HTTP and ids of items, is kept in a file if there is one.
    """

    def __init__(
        self,
        state: Path | None = None,
        *,
        private: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        self._path = state
        self._private = private
        self._limits = limits
        self._state: dict[str, Any] = {}
        if state is not None and state.exists():
            try:
                self._state = json.loads(state.read_text("utf-8"))
            except ValueError as error:
                raise StorageError(f"{state} is not the memory of feeds: delete it") from error
            if not _is_memory(self._state):
                raise StorageError(f"{state} is not the memory of feeds: delete it")

    def new_items(self, feed: str) -> list[Item]:
        """The items of a feed, a file or an address, that were not given before."""
        memory = self._state.get(feed, {"seen": []})
        found = self._response(feed, memory)
        if found.body is None:
            return []
        items: dict[str, Item] = {}
        for item in items_of(found.body, base=found.address, limits=self._limits):
            items.setdefault(item.id, item)
        seen = dict.fromkeys(memory["seen"])
        earlier = [id for id in seen if id not in items]
        self._state[feed] = {
            "seen": [*earlier[-_REMEMBERED:], *items],
            "etag": found.etag,
            "modified": found.modified,
        }
        return [item for id, item in items.items() if id not in seen]

    def _response(self, feed: str, memory: dict[str, Any]) -> Response:
        if not feed.startswith(("http://", "https://")):
            path = Path(feed)
            check_limit(path.stat().st_size, self._limits.document, "bytes in one feed")
            return Response(path.resolve().as_uri(), path.read_bytes())
        return fetch(
            feed,
            etag=memory.get("etag"),
            modified=memory.get("modified"),
            most=self._limits.document,
            private=self._private,
        )

    def save(self) -> None:
        """Write what is remembered."""
        if self._path is not None:
            other = self._path.with_name(self._path.name + ".tmp")
            other.write_text(json.dumps(self._state), "utf-8")
            other.replace(self._path)
