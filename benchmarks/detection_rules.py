"""The rules of W7: a base of random rules, and copies of them with other constants.

One test of each selection has rare constants (``detection_constants``). So a rule hardly ever
matches by chance, but many of its tests do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from benchmarks.detection_constants import Constants, network
from benchmarks.detection_model import (
    ALL,
    AND,
    CIDR,
    CONTAINS,
    ENDS,
    EQUALS,
    FIRST,
    KEYWORD,
    OR,
    REGEX,
    STARTS,
    Rule,
    Selection,
    Source,
    Test,
)
from benchmarks.detection_pools import SOURCES, Pools

BASE = 3_800
"""Rules that are drawn; more are copies of these with varied constants."""
LARGE = (
    (4_500, "network_connection", "DestinationHostname", EQUALS),
    (2_400, "image_load", "OriginalFileName", EQUALS),
    (1_000, "process_creation", "Hashes", CONTAINS),
)
"""The three large rules by their alternatives, fewer in proportion if there are less than BASE."""
FEW, MANY = 8, 64
"""Alternatives of a test. At most one test of all selections has more than a few, nor has more
than one test of all filters: few rules of a real base multiply long lists."""
OPERATORS = {
    EQUALS: 0.27, ENDS: 0.36, CONTAINS: 0.25, ALL: 0.085, STARTS: 0.06, REGEX: 0.015, CIDR: 0.003,
}  # fmt: skip
"""Weights with which the parts come out that WORKLOADS.md gives: where a field is tested already,
another operator is drawn, and more often for ``ends with``, most of which test the image."""
KEYWORDS = 0.13
"""Selections that are a keyword, of those that need not hold together with others."""
WEIGHTS: dict[str, dict[str, float]] = {
    EQUALS: {"OriginalFileName": 10, "Image": 8, "EventID": 3, "file": 1, "number": 1, "digits": 1,
             "word": 1, "user": 1, "registry": 1, "domain": 2, "hex": 0.5},
    ENDS: {"Image": 60, "ParentImage": 6, "TargetFilename": 12, "ImageLoaded": 12, "image": 0.5,
           "path": 3, "registry": 6, "command": 0.5, "domain": 6, "url": 4, "user": 0.3},
    CONTAINS: {"CommandLine": 20, "Image": 7, "ScriptBlockText": 20, "TargetObject": 12,
               "command": 1, "words": 1, "path": 2, "registry": 1, "url": 6, "folder": 0.3,
               "hashes": 0.5, "user": 0.3},
    ALL: {"CommandLine": 30, "ScriptBlockText": 30, "command": 1, "words": 2, "registry": 3,
          "url": 4},
    STARTS: {"Image": 8, "image": 1, "path": 3, "registry": 4, "folder": 1, "CommandLine": 2,
             "words": 1, "user": 1},
    REGEX: {"CommandLine": 10, "script": 10, "command": 1, "words": 2, "path": 2, "url": 4},
    CIDR: {"ip": 1},
}  # fmt: skip
"""How often an operator tests a field: by its name, else by its kind."""
DASHES = "-‐–—―"
KEPT = 0.2
"""Tests that a copy has unchanged; never all tests of a selection."""
TAGS = 26**3
TRIES = 20
SOUGHT = {CONTAINS, ALL, REGEX}
T = TypeVar("T")


class RuleDraw:
    """Draws rules of a base.

    ``_most`` is how many alternatives the next test may have, ``_tested`` the fields that were
    tested in the same conjunction.
    """

    def __init__(self, rng: Generator, pools: Pools) -> None:
        self.rng, self.constants = rng, Constants(rng, pools)
        self._most, self._tested = MANY, dict[str, str]()
        addressed = sum(source.rules for source in SOURCES if "ip" in source.fields.values())
        self._with_ip = OPERATORS | {CIDR: OPERATORS[CIDR] / addressed}
        self._without = OPERATORS | {CIDR: 0.0}

    def rule(self, source: Source) -> Rule:
        """A random rule for a source."""
        count = self._pick({1: 0.6, 2: 0.2, 3: 0.1, 4: 0.05, 5: 0.04, 6: 0.01})
        join = AND if count == 1 else self._pick({AND: 0.4, OR: 0.6})
        self._most = MANY
        if count > 5:
            count, join, self._most = int(self.rng.integers(6, 35)), OR, FEW
        elif count > 2 and self.rng.random() < 0.2:
            join = FIRST
        selections: list[Selection] = []
        for _ in range(count):
            if join == OR or not selections:
                self._tested = {}
            alone = join == OR or count == 1
            is_keyword = alone and self.rng.random() < KEYWORDS
            selections.append(self._keyword(source) if is_keyword else self._selection(source))
        return Rule(source, selections, join, self._filters(source))

    def _filters(self, source: Source) -> list[Selection]:
        if self.rng.random() >= 0.22:
            return []
        self._most, filters = MANY, []
        for _ in range(min(int(self.rng.geometric(0.5)), 8)):
            self._tested = {}
            count = self._pick({1: 0.6, 2: 0.3, 3: 0.1})
            tests = [self._test(source, self.rng.random() < 0.3) for _ in range(count)]
            filters.append(Selection(tests))
        return filters

    def _keyword(self, source: Source) -> Selection:
        values = [self.constants.word() for _ in range(int(self.rng.integers(1, 5)))]
        return Selection([Test(tuple(source.texts), KEYWORD, tuple(values))])

    def _selection(self, source: Source) -> Selection:
        count = self._pick({1: 0.45, 2: 0.35, 3: 0.15, 4: 0.05})
        rare = int(self.rng.integers(0, count))
        chance = self.rng.random(count) < 0.4
        return Selection([self._test(source, n == rare or bool(chance[n])) for n in range(count)])

    def _test(self, source: Source, rare: bool) -> Test:
        operator, field = self._target(source)
        if operator == CONTAINS and self.rng.random() < 0.03:
            word = self.constants.word()
            return Test((field,), operator, tuple(f" {dash}{word}" for dash in DASHES))
        count = int(self.rng.integers(2, 5)) if operator == ALL else self._alternatives()
        draw = self.constants.rare if rare or count > FEW else self.constants.common
        drawn = dict.fromkeys(draw(source, field, operator) for _ in range(count))
        return Test((field,), operator, tuple(drawn))

    def _target(self, source: Source) -> tuple[str, str]:
        """An operator and a field; a field twice only if texts are sought in it."""
        chances = self._with_ip if "ip" in source.fields.values() else self._without
        for _ in range(TRIES):
            operator = self._pick(chances)
            table = WEIGHTS[operator]
            field = self._pick({n: table.get(n, table.get(k, 0)) for n, k in source.fields.items()})
            if field not in self._tested or {operator, self._tested[field]} <= SOUGHT:
                self._tested[field] = operator
                return operator, field
        return CONTAINS, "Computer"

    def _alternatives(self) -> int:
        dice = self.rng.random()
        if dice < 0.6:
            return 1
        if dice < 0.86 or self._most == FEW:
            return int(self.rng.integers(2, FEW + 1))
        self._most = FEW
        return int(self.rng.integers(FEW + 1, MANY + 1))

    def _pick(self, weights: dict[T, float]) -> T:
        sums = np.cumsum(list(weights.values()))
        return list(weights)[int(np.searchsorted(sums, self.rng.random() * sums[-1], "right"))]


def draw_rules(rng: Generator, pools: Pools, count: int) -> list[Rule]:
    """The rules: a base, and copies of it until there are enough."""
    draw, size = RuleDraw(rng, pools), min(count, BASE)
    shares = np.cumsum([source.rules for source in SOURCES])
    picked = np.searchsorted(shares, rng.random(size) * shares[-1])
    rules = [draw.rule(SOURCES[number]) for number in picked.tolist()]
    for number, (most, category, field, operator) in enumerate(LARGE[:size]):
        source = next(source for source in SOURCES if source.category == category)
        alternatives = range(max(most * size // BASE, MANY + 1))
        values = tuple(draw.constants.rare(source, field, operator) for _ in alternatives)
        test = Test((field,), operator, values)
        rules[size * (number + 1) // 4] = Rule(source, [Selection([test])], AND, [])
    base = list(rules)
    while len(rules) < count:
        rules += _copies(rng, base[: count - len(rules)])
    return rules


def _copies(rng: Generator, base: list[Rule]) -> Iterator[Rule]:
    """A copy of each rule, in which at least one test of each selection has other constants."""
    groups = [group for rule in base for group in (*rule.selections, *rule.filters)]
    count = sum(len(group.tests) for group in groups)
    kept = (rng.random(count) < KEPT).tolist()
    tags, places = rng.integers(0, TAGS, count).tolist(), rng.integers(1, 8, count).tolist()
    changed = iter(rng.integers(0, 1 << 30, len(groups)).tolist())
    numbers = iter(range(count))

    def copied(group: Selection) -> Selection:
        first = next(changed) % len(group.tests)
        tests = []
        for at, (test, n) in enumerate(zip(group.tests, numbers)):
            keep = kept[n] and at != first
            tests.append(test if keep else varied(test, tags[n], places[n]))
        return Selection(tests)

    for rule in base:
        selections = [copied(group) for group in rule.selections]
        yield Rule(rule.source, selections, rule.join, [copied(group) for group in rule.filters])


def varied(test: Test, tag: int, place: int) -> Test:
    """The test with other constants: three letters within each, or another number."""
    letters = chr(97 + tag % 26) + chr(97 + tag // 26 % 26) + chr(97 + tag // 676)
    if test.operator == CIDR:
        return Test(test.fields, CIDR, (network(8 * tag + place, 24),))
    values: list[str | int] = []
    for value in test.values[:MANY]:
        if isinstance(value, int):
            values.append(value + 1_000 * (tag + 1))
        elif value.isdigit():
            values.append(str(int(value) + 1_000 * (tag + 1)))
        else:
            values.append(value[:place] + letters + value[place:])
    return Test(test.fields, test.operator, tuple(values))
