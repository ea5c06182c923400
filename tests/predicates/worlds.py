"""Small worlds in which relations can be decided by trying every event.

A world has predicates over a few constants, and so many values around these that two sets of
values differ in one of them if they differ at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from random import Random
from typing import Any

from tamis import Event, Taxonomy, parse
from tamis.bindings.evaluation import Trial
from tamis.bindings.evaluation import World as Evaluation
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Expression, Not, all_of
from tamis.predicates.facts import Facts, KnownFacts, conforms

TERMS = Taxonomy(
    {
        "chair": ["furniture"],
        "throne": ["chair", "regalia"],
        "crown": ["regalia"],
        "stool": ["chair"],
        "furniture": ["thing"],
        "regalia": ["thing"],
    }
)
ABSENT = object()


@dataclass(frozen=True)
class World:
    """Tests on ``x`` and ``y``, and the values that these may have."""

    tests: Sequence[str]
    values: Sequence[Any]
    contained: Sequence[Any] = ()
    """Those that tests ask for by ``contains``: lists are made with and without them."""
    kinds: dict[str, str] = field(default_factory=dict)
    integers: Sequence[str] = ()
    events: Sequence[dict[str, Any]] | None = None

    def facts(self, unique: Sequence[str] = (), *, typed: bool = False) -> KnownFacts:
        """What is known of the world's attributes."""
        kinds, integers = (self.kinds, self.integers) if typed else ({}, ())
        return KnownFacts(unique=unique, kinds=kinds, integers=integers, taxonomy=TERMS)

    def conjunctions(self, chance: Random, count: int) -> list[Expression]:
        """Conjunctions of one to four tests, some of them negated."""
        made = []
        for _ in range(count):
            parts = [
                parse(chance.choice(self.tests)) for _ in range(chance.choice((1, 1, 2, 2, 3, 4)))
            ]
            made.append(all_of(*(Not(part) if chance.random() < 0.2 else part for part in parts)))
        return made

    def all_events(self, facts: Facts) -> list[Event]:
        """Every event of the world that keeps the facts."""
        values = [v for v in self.values if conforms(Event({"x": v}), facts, [("x",)])]
        raws = self._two_attributes(values) if self.events is None else self.events
        paths = [("x",), ("y",), ("x", "y"), ("x", "z")]
        found = [Event(raw) for raw in raws]
        return [event for event in found if conforms(event, facts, paths)]

    def _two_attributes(self, values: Sequence[Any]) -> Iterator[dict[str, Any]]:
        xs = [ABSENT, [], {}, *values]
        for subset in _subsets(self.contained):
            xs += [[*subset, value] for value in values]
            others = [v for v in values if not any(v is one for one in subset)]
            xs += [others, list(subset)]
        for x, y in product(xs, [ABSENT, [], {}, 1, 2, 3, [1, 2, 3], [2, 3]]):
            yield {key: value for key, value in (("x", x), ("y", y)) if value is not ABSENT}


def _subsets(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [chosen for size in range(len(values) + 1) for chosen in combinations(values, size)]


def _nested() -> list[dict[str, Any]]:
    """Lists of items that are values, or have values and lists in them."""
    inner = [ABSENT, 1, 2, 3, 0, [], [1, 2, 3], [0, 1, 3], [0, 2]]
    items: list[Any] = [1, 2]
    items += [
        {key: value for key, value in (("y", y), ("z", z)) if value is not ABSENT}
        for y, z in product(inner, inner[:4])
    ]
    several = [list(pair) for pair in combinations(items, 2)]
    some = [1, 2, {"y": 1}, {"y": 2}, {"y": 0}, {"y": 3, "z": 2}, {"z": 1}, {"z": 3}]
    triples = [list(chosen) for size in (3, 4) for chosen in combinations(some, size)]
    return [{}, *({"x": x} for x in ([], *items, *several, *triples))]


class Truths:
    """What the oracle says of expressions, each of which is tried on an event once, however many
    sets of events it is in."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self.expressions = expressions
        self._known: dict[str, list[bool]] = {}

    def masks(self, events: Sequence[Event]) -> list[int]:
        """For each expression the events that it matches, as bits."""
        found = [0] * len(self.expressions)
        for number, event in enumerate(events):
            for place, matches in enumerate(self._of(event)):
                found[place] |= matches << number
        return found

    def _of(self, event: Event) -> list[bool]:
        name = repr(event)
        if name not in self._known:
            trial = Trial(event, _EVALUATION)
            self._known[name] = [trial.matches(each) for each in self.expressions]
        return self._known[name]


_EVALUATION = Evaluation(Taxonomies(TERMS))
_OTHERS = ["y = 1", "y != 1", "y in (1, 2)", "y is present", "y is missing", "x is present"]
_MOMENTS = [Timestamp.parse(f"2026-01-0{day}") for day in range(1, 6)]

WORLDS = {
    "numbers": World(
        [
            *("x = 1", "x = 2", "x < 2", "x <= 2", "x > 1", "x >= 1", "x != 1", "x in (1, 3)"),
            *("x between 1 and 2", "x between 2 and 3", "x not in (1, 2)", "x contains 1"),
            *("x contains 2", "x = 2.5", "x > 1.5", "x = 'a'", "x != 'a'", *_OTHERS),
        ],
        [0, 1, 1.2, 1.5, 1.7, 2, 2.2, 2.5, 2.7, 3, 4, "a", True, float("nan")],
        contained=[1, 2],
        kinds={"x": "number", "y": "number"},
    ),
    "integers": World(
        [
            *("x = 1", "x = 2", "x < 2", "x <= 2", "x > 1", "x >= 1", "x != 1", "x in (1, 3)"),
            *("x between 1 and 2", "x between 2 and 3", "x > 1.5", "x < 2.5", "x < 3", "x > 2"),
            *("x contains 1", "x contains 2", "x contains 1.5", "x != 'a'", *_OTHERS),
        ],
        [0, 1, 2, 3, 4],
        contained=[1, 2],
        integers=["x", "y"],
    ),
    "strings": World(
        [
            *("x = 'a'", "x = 'ba'", "x < 'b'", "x <= 'b'", "x > 'a'", "x >= 'ba'", "x != 'b'"),
            *("x in ('a', 'ba')", "x between 'a' and 'b'", "x starts with 'b'", "x like 'ba%'"),
            *("x starts with ''", "x starts with 'ba'", "x like 'a'", "x contains 'b'"),
            *("x > 'b' and x < 'b\\u0000'", "x >= ''", "x = 1", *_OTHERS),
        ],
        ["", "a", "ab", "b", "b\0", "b0", "ba", "bab", "bb", "c", 1, 2],
        contained=["b"],
        kinds={"x": "string", "y": "number"},
    ),
    "terms": World(
        [
            *("x is a 'furniture'", "x is a 'chair'", "x is a 'regalia'", "x is a 'throne'"),
            *("x is a 'thing'", "x = 'throne'", "x in ('chair', 'crown')", "x = 'stool'"),
            *("x != 'chair'", "x < 'd'", "x contains 'crown'", "x is a 'ghost'", *_OTHERS),
        ],
        [*TERMS, "ghost", "a", "else", 1],
        contained=["crown"],
        kinds={"x": "string"},
    ),
    "others": World(
        [
            *("x = true", "x = false", "x != true", "x in (true, 1)", "x contains true"),
            *("x = timestamp '2026-01-02'", "x < timestamp '2026-01-04'"),
            *("x >= timestamp '2026-01-02'", "x != timestamp '2026-01-02'"),
            *("x between timestamp '2026-01-02' and timestamp '2026-01-04'", "x > 0", *_OTHERS),
        ],
        [True, False, 0, 1, 2, *_MOMENTS, b"", "a"],
        contained=[True],
        kinds={"x": "timestamp"},
    ),
    "nested": World(
        [
            *("x = 1", "x != 1", "x.y = 1", "x.y != 1", "x.y > 1", "x.z = 2", "x.z in (1, 2)"),
            *("x is present", "x is missing", "x.y is present", "x.y is missing", "x.z is missing"),
            *("x contains 1", "x.y contains 1", "x.y contains 2"),
        ],
        [],
        events=_nested(),
    ),
}
"""Of every sort of domain on which relations between conjunctions are exact."""
