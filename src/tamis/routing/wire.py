"""Messages as JSON, so that links may run over any transport: ``from_json(to_json(m)) == m``.

    {"verb": "publish", "sender": "b1", "receiver": "b2", "sender_session": [1, 0],
     "receiver_session": [1, 0], "id": "e7",
     "event": {"attributes": {"price": 3, "at": {"$timestamp": "2026-01-31T12:00:00Z"}}}}

What a message leaves at its default is left out. Values that JSON does not have are objects with
one key: ``$timestamp``, ``$bytes`` (base64), ``$float`` (nan, inf, -inf). A mapping of the event
whose keys begin with ``$`` stands in a ``$mapping``. Subscriptions have the form of
``tamis.to_json``. Payloads are objects of one process: an event that has some is refused.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tamis.errors import EventError, TamisError, suggestion
from tamis.language import json_form
from tamis.model.events.event import Event, Node
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, RdfTerm, RdfTriple
from tamis.model.timestamp import Timestamp
from tamis.routing.messages import NO_SESSION, Message, Session, Verb

Form = dict[str, Any]

_KEYS = ("verb", "sender", "receiver", "sender_session", "receiver_session", "version", "floor",
         "id", "expression", "path", "event")  # fmt: skip


def to_json(message: Message) -> Form:
    """The form of a message, ready for ``json.dumps``."""
    form: Form = {"verb": message.verb.value}
    form |= {"sender": message.sender, "receiver": message.receiver}
    for name in ("sender_session", "receiver_session"):
        if (session := getattr(message, name)) != NO_SESSION:
            form[name] = list(session)
    form |= {
        name: value for name in ("version", "floor", "id") if (value := getattr(message, name))
    }
    if message.expression is not None:
        form["expression"] = json_form.to_json(message.expression)
    if message.path:
        form["path"] = list(message.path)
    if message.event is not None:
        form["event"] = event_to_json(message.event)
    return form


def from_json(form: object) -> Message:
    """The message of a form; what is wrong with another form is said in the error."""
    if not isinstance(form, dict):
        raise TamisError(f"a message is an object, not a {type(form).__name__}")
    if unknown := [key for key in form if key not in _KEYS]:
        raise TamisError(_unknown("key of a message", str(unknown[0]), _KEYS))
    verb = _text(form, "verb")
    if verb not in set(Verb):
        raise TamisError(_unknown("verb", verb, [each.value for each in Verb]))
    expression, event = form.get("expression"), form.get("event")
    message = Message(
        Verb(verb),
        _text(form, "sender"),
        _text(form, "receiver"),
        _session(form, "sender_session"),
        _session(form, "receiver_session"),
        _number(form.get("version", 0), "version"),
        _number(form.get("floor", 0), "floor"),
        _text(form, "id", ""),
        None if expression is None else json_form.from_json(expression),
        _path(form.get("path", [])),
        None if event is None else event_from_json(event),
    )
    if (message.expression is not None) != (verb in (Verb.SUBSCRIBE, Verb.ADVERTISE)):
        raise TamisError(f"'expression' belongs to subscribe and advertise alone: {verb}")
    if (message.event is not None) != (verb == Verb.PUBLISH):
        raise TamisError(f"'event' belongs to publish alone: {verb}")
    return message


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    hint = suggestion(name, known) or f"there are {', '.join(known)}"
    return f"unknown {what} {name[:50]!r}; {hint}"


def _text(form: Form, key: str, default: str | None = None) -> str:
    text = form.get(key, default)
    if not isinstance(text, str):
        raise TamisError(f"{key!r} of a message is a string, not {text!r:.50}")
    return text


def _number(found: object, key: str) -> int:
    if type(found) is not int or not 0 <= found < 1 << 63:
        raise TamisError(f"{key!r} of a message is a number from 0 on, not {found!r:.50}")
    return found


def _session(form: Form, key: str) -> Session:
    found = form.get(key, NO_SESSION)
    if not isinstance(found, list | tuple) or len(found) != 2:
        raise TamisError(f"{key!r} of a message is a list of two numbers, not {found!r:.50}")
    return _number(found[0], key), _number(found[1], key)


def _path(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise TamisError(f"'path' of a message is a list of names, not {found!r:.50}")
    return tuple(found)


# --- events --------------------------------------------------------------------------------------


def event_to_json(source: Event | Mapping[str, Any]) -> Form:
    """The form of an event, with its graph."""
    event = Event.of(source)
    if event.payloads:
        names = ", ".join(sorted(event.payloads))
        raise EventError(f"payloads do not cross a link between brokers: {names}; drop them first")
    form: Form = {"attributes": {key: _form(each) for key, each in event.attributes.items()}}
    if event.graph is not None:
        form["graph"] = sorted([_term_form(term) for term in triple] for triple in event.graph)
    return form


def event_from_json(form: object) -> Event:
    """The event of a form."""
    if not isinstance(form, dict) or not isinstance(form.get("attributes"), dict):
        raise EventError("an event in a message is an object with 'attributes'")
    if unknown := form.keys() - {"attributes", "graph"}:
        raise EventError(f"an event in a message has no {min(map(str, unknown))[:50]!r}")
    graph = form.get("graph")
    if graph is not None and not isinstance(graph, list):
        raise EventError("the graph of an event in a message is a list of triples")
    attributes = {key: _node(each) for key, each in form["attributes"].items()}
    return Event(attributes, graph=None if graph is None else [_triple(each) for each in graph])


def _form(node: Node) -> Any:
    if isinstance(node, dict):
        form = {key: _form(each) for key, each in node.items()}
        return {"$mapping": form} if any(key.startswith("$") for key in node) else form
    if isinstance(node, list):
        return [_form(each) for each in node]
    if isinstance(node, Timestamp):
        return {"$timestamp": str(node)}
    if isinstance(node, bytes):
        return {"$bytes": b64encode(node).decode()}
    if isinstance(node, float) and not math.isfinite(node):
        return {"$float": str(node)}
    return node


def _node(form: Any) -> Any:
    if isinstance(form, list):
        return [_node(each) for each in form]
    if not isinstance(form, dict):
        return form
    ((key, value),) = form.items() if len(form) == 1 else (("", None),)
    if not key.startswith("$"):
        return {key: _node(each) for key, each in form.items()}
    if key == "$mapping" and isinstance(value, dict):
        return {key: _node(each) for key, each in value.items()}
    if key not in _VALUES or not isinstance(value, str):
        known = ", ".join(("$mapping", *_VALUES))
        raise EventError(f"{key[:50]!r} is not a value of an event; there are {known}")
    try:
        return _VALUES[key](value)
    except ValueError as error:
        raise EventError(f"{value[:50]!r} is not what {key} stands for: {error}") from error


_VALUES: dict[str, Callable[[str], Any]] = {
    "$timestamp": Timestamp.parse,
    "$bytes": lambda text: b64decode(text, validate=True),
    "$float": float,
}


def _term_form(term: RdfTerm) -> list[str]:
    if isinstance(term, Iri):
        return ["iri", term.value]
    if isinstance(term, BlankNode):
        return ["blank", term.label]
    return ["literal", term.lexical, term.datatype, *([term.language] if term.language else [])]


def _term(form: object) -> RdfTerm:
    match form:
        case ["iri", str(value)]:
            return Iri(value)
        case ["blank", str(label)]:
            return BlankNode(label)
        case ["literal", str(lexical), str(datatype)]:
            return RdfLiteral(lexical, datatype)
        case ["literal", str(lexical), str(datatype), str(language)]:
            return RdfLiteral(lexical, datatype, language)
    raise EventError(f"not a term of a graph: {form!r:.80}")


def _triple(form: object) -> RdfTriple:
    if not isinstance(form, list) or len(form) != 3:
        raise EventError(f"not a triple of a graph: {form!r:.80}")
    subject, predicate, thing = map(_term, form)
    if isinstance(subject, RdfLiteral) or not isinstance(predicate, Iri):
        raise EventError(f"not a triple of a graph: {form!r:.80}")
    return subject, predicate, thing
