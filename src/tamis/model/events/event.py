"""Events: nested mappings, with lists at any depth, in one canonical form.

    {"shop": "x", "items": [{"color": "red", "price": 3}, {"color": "blue"}]}

    path            values            present
    shop            'x'               yes
    items                             yes      (mappings are not values)
    items.color     'red', 'blue'     yes
    items.price     3                 yes
    items.size                        no

The canonical tree holds only dicts, lists and ``Value``s: nulls are gone (a null is a missing
attribute, a null element is dropped), sets and tuples are lists. Every reader ends here, so the
same data gives the same event whatever it came from.

Beside its attributes an event may carry an RDF graph, which patterns look at, and payloads, which
nothing but operators looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tamis.errors import EventError, LimitError
from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, Value, equal, to_value
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits
from tamis.model.paths import Path, format_path
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, RdfTriple

Node = Value | dict[str, "Node"] | list["Node"]

_SEQUENCES = (list, tuple, set, frozenset)
_PLAIN = frozenset({float, bool, type(None)})
_NONE: frozenset[str] = frozenset()
_NO_PAYLOADS: Mapping[str, Any] = {}


class Event:
    """One event: a canonical tree of mappings, lists and values, perhaps a graph and payloads."""

    __slots__ = ("attributes", "graph", "multiple", "payloads")

    attributes: dict[str, Node]
    multiple: frozenset[str]
    """The top-level keys with a list anywhere below; the others have exactly one binding."""
    graph: frozenset[RdfTriple] | None
    """The triples of its graph, if it has one."""
    payloads: Mapping[str, Any]
    """Objects by name, for operators."""

    def __init__(
        self,
        attributes: Mapping[str, Any],
        limits: Limits = LIMITS,
        *,
        graph: Iterable[RdfTriple] | None = None,
        payloads: Mapping[str, Any] | None = None,
    ) -> None:
        self.graph = None if graph is None else _graph(graph, limits)
        self.payloads = _NO_PAYLOADS if payloads is None else _payloads(payloads)
        flat = _flat(attributes, limits) if type(attributes) is dict else None
        if flat is not None:
            self.attributes, self.multiple = flat, _NONE
            return
        if not isinstance(attributes, Mapping):
            raise EventError(f"an event is a mapping, not a {type(attributes).__name__}")
        canonical = _Canonical(limits)
        self.attributes = canonical.mapping(attributes, (), 0)
        self.multiple = frozenset(canonical.multiple)

    @classmethod
    def of(cls, source: Event | Mapping[str, Any], limits: Limits = LIMITS) -> Event:
        """The event itself, or the event that a mapping describes."""
        return source if isinstance(source, Event) else cls(source, limits)

    def replaced(
        self, attributes: dict[str, Node], multiple: frozenset[str] | None = None
    ) -> Event:
        """The event with another canonical tree, and lists at the same keys or those given."""
        other = object.__new__(Event)
        other.attributes = attributes
        other.multiple = self.multiple if multiple is None else multiple
        other.graph, other.payloads = self.graph, self.payloads
        return other

    def with_graph(self, graph: frozenset[RdfTriple] | None) -> Event:
        """The event with another graph."""
        other = self.replaced(self.attributes)
        other.graph = graph
        return other

    def values(self, path: Path) -> Iterator[Value]:
        """All values at a path, over all lists on the way."""
        for node in self.nodes(path):
            if not isinstance(node, dict | list):
                yield node

    def present(self, path: Path) -> bool:
        """Whether there is anything at the path, even an empty mapping or list."""
        return any(True for _ in _walk(self.attributes, path, 0, lists=True))

    def nodes(self, path: Path) -> Iterator[Node]:
        """All mappings and values at a path, over all lists on the way."""
        return _walk(self.attributes, path, 0, lists=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Event)
            and _same(self.attributes, other.attributes)
            and self.graph == other.graph
            and _same_payloads(self.payloads, other.payloads)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds dicts and lists

    def __repr__(self) -> str:
        shown = [repr(self.attributes)]
        if self.graph is not None:
            shown.append(f"graph=<{len(self.graph):,} triples>")
        if self.payloads:
            shown.append(f"payloads=<{', '.join(sorted(self.payloads))}>")
        return f"Event({', '.join(shown)})"


def _walk(node: Node, path: Path, depth: int, *, lists: bool) -> Iterator[Node]:
    """What stands at the path below a node; with ``lists``, lists at its end count themselves."""
    if isinstance(node, list):
        if lists and depth == len(path):
            yield node
            return
        for element in node:
            yield from _walk(element, path, depth, lists=lists)
    elif depth == len(path):
        yield node
    elif isinstance(node, dict):
        child = node.get(path[depth])
        if child is not None:
            yield from _walk(child, path, depth + 1, lists=lists)


def single_node(node: Node, path: Path) -> Node | None:
    """What stands at a path that passes no list, or None."""
    for key in path:
        child = node.get(key) if isinstance(node, dict) else None
        if child is None:
            return None
        node = child
    return node


def single_value(node: Node, path: Path) -> Value | None:
    """The value at a path that passes no list, or None."""
    found = single_node(node, path)
    return None if isinstance(found, dict | list) else found


def _same(a: Node, b: Node) -> bool:
    """Whether two trees hold equal values of the same kinds at the same places."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    return not isinstance(b, dict | list) and equal(a, b)


def _same_payloads(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether payloads are the same objects, or say that they are equal."""
    return a.keys() == b.keys() and all(a[key] is b[key] or (a[key] == b[key]) is True for key in a)


def _graph(triples: Iterable[RdfTriple], limits: Limits) -> frozenset[RdfTriple]:
    """The triples as a set, each of them checked."""
    if not isinstance(triples, Iterable):
        raise EventError(f"a graph is an iterable of triples, not {triples!r}")
    found = set()
    for triple in triples:
        subject, predicate, value = triple if _is_triple(triple) else (None, None, None)
        if not (
            isinstance(subject, Iri | BlankNode)
            and isinstance(predicate, Iri)
            and isinstance(value, Iri | BlankNode | RdfLiteral)
        ):
            raise EventError(
                f"{str(triple)[:100]} is not a triple of an IRI or blank node, an IRI, and a term; "
                "read_graph makes them from Turtle"
            )
        found.add((subject, predicate, value))
        if len(found) > limits.triples:
            raise LimitError(f"the graph of an event has at most {limits.triples:,} triples")
    return frozenset(found)


def _payloads(raw: Any) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping) or not all(isinstance(name, str) for name in raw):
        raise EventError("payloads are a mapping from names to objects")
    return dict(raw)


def _is_triple(raw: Any) -> bool:
    return isinstance(raw, tuple) and len(raw) == 3


def _flat(raw: dict[Any, Any], limits: Limits) -> dict[str, Node] | None:
    """A mapping as most events are, flat and of plain values, without its nulls; None if it needs
    a closer look."""
    if len(raw) > limits.values:
        return None
    longest = limits.string
    has_nulls = False
    for key, value in raw.items():
        kind = type(value)
        if type(key) is not str or not key.isascii():
            return None
        if kind is str:
            if len(value) > longest or not (value.isascii() or _is_unicode(value)):
                return None
        elif value is None:
            has_nulls = True
        elif kind is int:
            if not LEAST_INTEGER <= value <= GREATEST_INTEGER:
                return None
        elif kind is not float and kind is not bool:
            return None
    if has_nulls:
        return {key: value for key, value in raw.items() if value is not None}
    return raw.copy()


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Canonical:
    """Builds one canonical tree, counting what it takes in."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.count = 0
        self.multiple: set[str] = set()

    def mapping(self, raw: Mapping[Any, Any], path: Path, depth: int) -> dict[str, Node]:
        tree: dict[str, Node] = {}
        for key, value in raw.items():
            inside = (*path, self.key(key, path))
            node = self.node(value, inside, depth + 1)
            if node is not None:
                tree[inside[-1]] = node
        return tree

    def node(self, raw: Any, path: Path, depth: int) -> Node | None:
        self.count += 1
        if self.count > self.limits.values:
            raise LimitError(f"an event holds at most {self.limits.values:,} values and keys")
        if depth > MAX_DEPTH:
            raise LimitError(f"an event is at most {MAX_DEPTH} levels deep ({_place(path)})")
        if type(raw) is str:
            if raw.isascii() and len(raw) <= self.limits.string:
                return raw
        elif type(raw) in _PLAIN:
            return raw  # type: ignore[no-any-return]  # most values need no second look
        if isinstance(raw, Mapping):
            return self.mapping(raw, path, depth)
        if isinstance(raw, _SEQUENCES) or _is_array(raw):
            self.multiple.add(path[0])
            nodes = (self.node(element, path, depth + 1) for element in raw)
            return [node for node in nodes if node is not None]
        try:
            value = to_value(raw)
        except ValueError as error:
            raise EventError(f"{error}, at {_place(path)}") from error
        if isinstance(value, str | bytes) and len(value) > self.limits.string:
            raise LimitError(
                f"a string of {len(value):,} at {_place(path)}: the limit is {self.limits.string:,}"
            )
        return value

    def key(self, key: Any, path: Path) -> str:
        if type(key) is str and key.isascii():
            return key
        if not isinstance(key, str):
            raise EventError(
                f"a key under {_place(path)} is of type {type(key).__name__}, no string"
            )
        try:
            canonical = to_value(key)
        except ValueError as error:
            raise EventError(f"{error}, as a key under {_place(path)}") from error
        assert isinstance(canonical, str)
        return canonical


def _is_array(raw: Any) -> bool:
    """NumPy arrays (as pandas gives for list columns) count as lists."""
    return type(raw).__module__ == "numpy" and getattr(raw, "ndim", 0) > 0


def _place(path: Path) -> str:
    text = repr(format_path(path)) if path else "the top"
    return text if len(text) <= 100 else text[:100] + "…"
