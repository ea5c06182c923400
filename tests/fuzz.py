"""Hostile input for everything that reads from outside: seeded, so that a failure can be had again.

Each *attack* makes one input and hands it to one reader. The reader may succeed or raise a
TamisError with a message; anything else, or more than a second, is a finding.
"""

from __future__ import annotations

import json
import random
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

import tamis
from tamis import Engine, Templates, from_json, parse, read_events, read_json, read_ndjson, to_json
from tamis.matching.covers.covers import cover_of
from tamis.model.limits import LIMITS

SECONDS = 1.0

TEXTS = [
    "category = 'Toy' and price < 5",
    "a in (1, 2, 'x') or not b between -1 and 1e3 and c is missing",
    "items.color = 'red' and items.price < 5 or `odd key`.x like '%a_' ignoring case",
    "x matches '(a+)+$' and ip in cidr ('10.0.0.0/8', '::/0')",
    "at > timestamp '2026-01-01T00:00:00Z' and a + b * 2 < c - 1",
    "near('Bronx', ?d, 5 km) and ?d < 9 and { ?s a foaf:Person ; foaf:name ?n FILTER (?n != 5) }",
    "prefix ex: <http://e/> { ?s ex:p 'x'@en , 5 , true . ?s ?p _:b }",
    r"t contains text 'a\n\u00e9\U0001f600' and r ends with r'\x' # comment",
]
WORDS = [
    *"and or not between in is a an contains text starts ends with like matches present".split(),
    *"missing true false timestamp ignoring case cidr prefix filter a b c items.price".split(),
    *"< <= = != ( ) { } , + - * / 'x' 5 ?x `q` 1e400 ' \" # \\ . é 😀 <http://x>".split(),
    *["9" * 50, "\x00", "\ud800", "\n"],
]
REGEXES = [
    "(a+)+$",
    "(a|a)*b",
    "((a{100}){100}){100}",
    "(?:x+x+)+y",
    "a{1000}",
    "[",
    "(?=x)",
    "\\1",
]
EVENT = tamis.Event(
    {"category": "Toy", "price": [3, 7], "items": [{"color": "red", "price": 1}], "x": "a" * 5_000}
)
TEMPLATES = Templates()
TRIED: Counter[int] = Counter()
"""How often a text was tried, by its hash."""


class Finding(NamedTuple):
    """An input on which something other than a clear refusal happened."""

    attack: str
    seed: int
    problem: str


def garbage(chance: random.Random) -> str:
    """Characters of all sorts."""
    letters = string.printable + "'\"`?{}<>=()éß😀\x00\ud800\u2028"
    return "".join(chance.choices(letters, k=chance.randrange(80)))


def mutated(chance: random.Random, text: str) -> str:
    """A text with a few characters removed, repeated, exchanged or put in."""
    characters = list(text)
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(characters) + 1)
        match chance.randrange(4):
            case 0:
                characters[place : place + chance.randrange(5)] = []
            case 1:
                characters[place:place] = characters[place : place + chance.randrange(20)]
            case 2:
                characters[place : place + 1] = [chance.choice(WORDS)]
            case _:
                characters[place:place] = garbage(chance)[:3]
    return "".join(characters)


def subscription_text(chance: random.Random) -> str:
    """A text that is, was, or might be taken for a subscription."""
    match chance.randrange(7):
        case 0:
            return garbage(chance)
        case 1:
            return " ".join(chance.choices(WORDS, k=chance.randrange(30)))
        case 2:
            opening = chance.choice(["(", "not ", "-", "{", "a = (", "not (", "p(", "{ ?s ?p "])
            return opening * chance.choice([1, 49, 51, 1_000, 30_000]) + "a = 1"
        case 3:
            literal = chance.choice(["9", "'" + "x" * 9 + "'", "1e", "a.", "\\", "?x "])
            return f"a = {literal * chance.choice([1, 100, 10_000])}"
        case 4:
            return f"x matches '{mutated(chance, chance.choice(REGEXES))}'"
        case 5:
            link = chance.choice([" and ", " or "])
            part = chance.choice(["a = {}", "(a{} = 1 or b = 2)", "not c{} like 'x'", "a != {}"])
            return link.join(part.format(index) for index in range(chance.choice([2, 30, 1_100])))
        case _:
            return mutated(chance, chance.choice(TEXTS))


def attack_text(chance: random.Random) -> None:
    """The parser, the templates, the printer, the normal form and the oracle."""
    text = subscription_text(chance)
    TRIED[hash(text)] += 1
    if TRIED[hash(text)] > 2:  # the large ones repeat; the second time, the templates know them
        return
    expression = parse(text)
    assert parse(str(expression)) == expression, text
    assert TEMPLATES.parse(text) == expression, text
    cover_of(expression)
    engine = Engine(taxonomy={"doll": ["toy"]})
    engine.subscribe(text, id="x")
    assert engine.explain("x", EVENT).matches == (engine.match(EVENT) == ["x"]), text


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and some that JSON has not."""
    kind = chance.randrange(11 if depth < 4 else 8)
    if kind == 8:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind >= 9:
        keys = [
            *[
                "and",
                "or",
                "not",
                "attribute",
                "op",
                "value",
                "values",
                "left",
                "right",
                "call",
                "pattern",
            ],
            "é",
            "",
        ]
        return {chance.choice(keys): value(chance, depth + 1) for _ in range(chance.randrange(4))}
    return [None, True, 2**70, -1, 0.5, float("nan"), garbage(chance), chance.choice(WORDS)][kind]


def attack_json_form(chance: random.Random) -> None:
    """The JSON form: mutated forms of valid expressions, and forms of nothing."""
    if chance.random() < 0.3:
        from_json(value(chance))
        return
    if chance.random() < 0.1:
        form: Any = {"attribute": "a", "op": "=", "value": 1}
        for _ in range(chance.choice([10, 60, 3_000])):
            form = {"not": form} if chance.random() < 0.5 else {"and": [form, form]}
        from_json(form)
        return
    plain = json.dumps(to_json(parse(chance.choice(TEXTS))))
    form = json.loads(plain)
    spot = form
    while isinstance(spot, dict | list) and spot and chance.random() < 0.8:
        place = chance.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        if chance.random() < 0.4:
            spot[place] = value(chance)
        spot = spot[place]
    from_json(form)


def attack_json_event(chance: random.Random) -> None:
    """JSON and NDJSON, whole and broken."""
    match chance.randrange(4):
        case 0:
            document = chance.choice(['{"a":', "[", '{"a":[', '"']) * chance.choice([1, 60, 5_000])
        case 1:
            document = mutated(chance, json.dumps(value(chance)))
        case 2:
            document = (
                '{"a": ' + chance.choice(["9" * 5_000, "1e999", "NaN", "-", '"\\ud800"']) + "}"
            )
        case _:
            document = garbage(chance)
    data = document.encode("utf-8", "surrogatepass")
    if chance.random() < 0.2:
        data = chance.randbytes(chance.randrange(60))
    if chance.random() < 0.5:
        read_json(data)
    else:
        list(read_ndjson(data.splitlines()))


def attack_mapping(chance: random.Random) -> None:
    """Python's own objects as events."""
    odd = [object(), 1j, {1: 2}, {1}, range(3), b"x", "\ud800", value(chance), {"a": value(chance)}]
    deep: Any = 1
    for _ in range(chance.choice([1, 49, 51, 900])):
        deep = [deep] if chance.random() < 0.5 else {"a": deep}
    events = [{"a": chance.choice(odd)}, chance.choice(odd), {"a": deep}]
    list(read_events([chance.choice(events)]))


ARROW: list[Callable[[], pa.Array[Any]]] = [
    lambda: pa.array([1, None], pa.duration("s")),
    lambda: pa.array([1, None], pa.time64("ns")),
    lambda: pa.array([1, None], pa.month_day_nano_interval()) if False else pa.nulls(2),
    lambda: pa.array([[("k", 1), ("k", 2)], None], pa.map_(pa.string(), pa.int64())),
    lambda: pa.array([[(1, 1)], None], pa.map_(pa.int64(), pa.int64())),
    lambda: pa.array([2**62, None], pa.timestamp("s")),
    lambda: pa.array([-(2**63), None], pa.timestamp("ns", "Europe/Paris")),
    lambda: pa.array([b"\xff", None], pa.binary()),
    lambda: pa.array(["x", None], pa.string_view()),
    lambda: pa.array(["x", None]).dictionary_encode(),
    lambda: pa.array([[{"a": [None, 1]}], None]),
    lambda: pa.array([2**64 - 1, None], pa.uint64()),
    lambda: pa.array([0.5, None], pa.float16()),
    lambda: pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    ),
    lambda: pa.StringArray.from_buffers(
        2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    ),
]


def attack_arrow(chance: random.Random) -> None:
    """Arrow tables with unexpected types, names and contents."""
    names = [chance.choice(["a", "a.b", "", "é", "a"]) for _ in range(chance.randrange(1, 4))]
    list(read_events(pa.Table.from_arrays([chance.choice(ARROW)() for _ in names], names=names)))


ATTACKS: dict[str, tuple[float, Callable[[random.Random], None]]] = {
    "text": (0.5, attack_text),
    "json form": (0.2, attack_json_form),
    "json event": (0.15, attack_json_event),
    "mapping": (0.1, attack_mapping),
    "arrow": (0.05, attack_arrow),
}
"""The attacks, each with its share of the inputs."""


def findings(seed: int, count: int) -> Iterator[Finding]:
    """Run ``count`` attacks and tell what went wrong."""
    global TEMPLATES
    first = Engine()
    first.subscribe("a != 1 and b like '%x'", id="x")
    first.match(EVENT)  # loads the kernels, which no attack should be blamed for
    chance = random.Random(seed)
    names = chance.choices(list(ATTACKS), [share for share, _ in ATTACKS.values()], k=count)
    for number, name in enumerate(names):
        own = seed * 1_000_003 + number
        problem, taken = _attack(name, own)
        if taken > SECONDS:  # the first use of a kernel loads it; a slow reader stays slow
            TRIED.clear()
            TEMPLATES = Templates()
            taken = _attack(name, own)[1]
        if taken > SECONDS:
            problem = f"took {taken:.1f} s"
        if problem:
            yield Finding(name, own, problem)


def _attack(name: str, seed: int) -> tuple[str, float]:
    """What went wrong in one attack, if anything, and the reader's time."""
    problem = ""
    tracer = sys.gettrace()
    sys.settrace(None)  # it is the reader's time that counts, not that of measuring coverage,
    start = time.thread_time()  # nor that of threads which earlier tests left
    try:
        ATTACKS[name][1](random.Random(seed))
    except tamis.TamisError as error:
        if not str(error).strip() or len(str(error)) > 2_000:
            problem = f"no useful message: {str(error)[:100]!r}"
    except Exception as error:  # whatever it is, it is what this looks for
        problem = f"{type(error).__name__}: {str(error)[:200]}"
    taken = time.thread_time() - start
    sys.settrace(tracer)
    return problem, taken


assert LIMITS.text == 1_000_000, "the attacks are made for the default limits"
