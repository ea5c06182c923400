"""A million pairs of subscriptions: what is said of them, against what events match.

Subscriptions are made by templates over a few attributes and constants, so that many cover others.
Each is tried by the oracle on the same few hundred events, which gives a set of matches as bits; a
relation of two is then one operation on these.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tamis import Event, Expression, KnownFacts, parse
from tamis.model.paths import parse_path
from tamis.predicates.expression import Not, all_of, any_of
from tamis.predicates.facts import Facts, conforms
from tamis.predicates.hull import hull, intersect
from tamis.predicates.regions import Region
from tamis.predicates.relations import covers, overlaps
from tests.predicates.worlds import TERMS, Truths

SUBSCRIPTIONS = 250
"""In one round; each is compared with each."""
EVENTS = 300
MERGED = 0.004
"""The part of all pairs of which intersection and hull are made too."""

PATHS = ("a", "b", "n.m", "items", "items.price", "items.color")
NUMBERS = (0, 1, 1.5, 2, 3, 4)
WORDS = ("chair", "throne", "crown", "furniture", "regalia", "ch", "Chair")
VALUES = (*NUMBERS, *WORDS, True, False)

_ON_NUMBERS = (
    "= {n}", "!= {n}", "< {n}", "<= {n}", "> {n}", ">= {n}", "between {n} and {m}",
    "in ({n}, {m})", "not in ({n}, {m})", "contains {n}",
)  # fmt: skip
_ON_WORDS = (
    "= '{w}'", "!= '{w}'", "< '{w}'", ">= '{w}'", "in ('{w}', '{v}')", "contains '{w}'",
    "starts with 'c'", "starts with 'ch'", "like 'ch%'", "like '%r%'", "ends with 'r'",
    "ends with 'ir'", "contains text 'ai'", "matches '^c'", "= '{w}' ignoring case",
    "is a '{w}'", "is a 'furniture'", "is a 'regalia'",
)  # fmt: skip
_ON_ANY = ("is present", "is missing", "= true", "!= false", "< b", "= n.m")


class Count(NamedTuple):
    """What was said of the pairs of a round."""

    pairs: int
    covered: int
    disjoint: int
    merged: int


def expressions(chance: Random, count: int) -> Iterator[Expression]:
    """Subscriptions of one to four tests; some with alternatives, some negated."""
    for _ in range(count):
        parts = [_test(chance) for _ in range(chance.choice((1, 1, 2, 2, 3, 4)))]
        if len(parts) > 1 and chance.random() < 0.25:
            parts = [any_of(*parts[:2]), *parts[2:]]
        yield all_of(*parts)


def _test(chance: Random) -> Expression:
    sort = chance.choice((_ON_NUMBERS, _ON_NUMBERS, _ON_WORDS, _ON_WORDS, _ON_ANY))
    n, m = sorted(chance.sample(NUMBERS, 2))
    w, v = chance.sample(WORDS, 2)
    test = parse(f"{chance.choice(PATHS)} {chance.choice(sort).format(n=n, m=m, w=w, v=v)}")
    return Not(test) if chance.random() < 0.12 else test


def facts(chance: Random) -> Facts:
    """Facts about some of the attributes."""
    kinds = {path: chance.choice(("number", "string")) for path in PATHS if chance.random() < 0.1}
    return KnownFacts(
        unique=[path for path in PATHS if chance.random() < 0.35],
        integers=[path for path in PATHS if chance.random() < 0.1],
        kinds=kinds,
        taxonomy=TERMS,
    )


def events(chance: Random, known: Facts, count: int) -> list[Event]:
    """Events near the constants, that keep the facts."""
    paths = [parse_path(path) for path in PATHS]
    found: list[Event] = []
    while len(found) < count:
        event = Event(_event(chance))
        if conforms(event, known, paths):
            found.append(event)
    return found


def _event(chance: Random) -> dict[str, Any]:
    event: dict[str, Any] = {key: _value(chance) for key in "ab" if chance.random() < 0.8}
    if chance.random() < 0.6:
        event["n"] = {"m": _value(chance)}
    if chance.random() < 0.8:
        items = [_item(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        event["items"] = items[0] if len(items) == 1 else items
    return event


def _item(chance: Random) -> Any:
    if chance.random() < 0.2:
        return _value(chance)
    return {key: _value(chance) for key in ("price", "color") if chance.random() < 0.8}


def _value(chance: Random) -> Any:
    shape = chance.random()
    if shape < 0.7:
        return chance.choice(VALUES)
    return [chance.choice(VALUES) for _ in range(chance.choice((0, 1, 2, 2, 3)))]


def compare(seed: int) -> tuple[Count, list[str]]:
    """Compare all pairs of a round; what was said, and what events contradict."""
    chance = Random(seed)
    known = facts(chance)
    tried = events(chance, known, EVENTS)
    made = list(expressions(chance, SUBSCRIPTIONS))
    matched = Truths(made).masks(tried)
    regions = [Region.of(each, known) for each in made]
    findings: list[str] = []
    covered = disjoint = merged = 0
    for a, ours in zip(regions, matched):
        for b, theirs in zip(regions, matched):
            if covers(a, b):
                covered += 1
                if theirs & ~ours:
                    findings.append(f"covers: seed {seed}: {a.expression} | {b.expression}")
            if not overlaps(a, b):
                disjoint += 1
                if ours & theirs:
                    findings.append(f"disjoint: seed {seed}: {a.expression} | {b.expression}")
            if chance.random() < MERGED:
                merged += 1
                findings += _merge(a, b, ours, theirs, tried)
    return Count(len(made) ** 2, covered, disjoint, merged), findings


def _merge(a: Region, b: Region, ours: int, theirs: int, tried: list[Event]) -> Iterator[str]:
    pair = f"{a.expression} | {b.expression}"
    around = hull(a.expression, b.expression, a.facts)
    both = intersect(a.expression, b.expression)
    made = [around, both, all_of(a.expression, b.expression)]
    outer, inner, joined = Truths(made).masks(tried)
    if (ours | theirs) & ~outer or not all(covers(Region.of(around, a.facts), x) for x in (a, b)):
        yield f"hull {around}: {pair}"
    if inner != joined or inner & ~(ours & theirs):
        yield f"intersection {both}: {pair}"
