"""Relations: how many pairs of prepared subscriptions are compared in a second.

The floor is 200,000 tests a second on one core, of conjunctions as W2 has them, and 100,000 of such
as are so much alike that a test looks at several attributes. What is found is checked against a
sample of events before a time is taken.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks.harness import best_of
from benchmarks.parsing import one_template
from tamis import Event, KnownFacts, parse
from tamis.bindings.evaluation import Trial
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.regions import Region
from tamis.predicates.relations import covers, overlaps

COUNT = 300
"""Subscriptions; each is compared with each."""
FLOORS = {"W2": 200_000, "alike": 100_000}
UNIQUE = KnownFacts(unique=["a0", "a1", "a3", "a4"])

Test = Callable[[Region, Region], bool]


def alike(count: int, seed: int = 1) -> list[str]:
    """As W2 has them, but with so few values that a test seldom ends at the first attribute."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        low = chance.randrange(5)
        texts.append(
            f"a0 = 'v{chance.randrange(2)}' and a1 in ('v0', 'v{chance.randrange(3)}') "
            f"and a3 between {low} and {low + chance.randrange(5)} and a4 < {chance.randrange(9)}"
        )
    return texts


def prepared(texts: list[str], facts: Facts = NO_FACTS) -> list[Region]:
    """The regions of all texts."""
    return [Region.of(parse(text), facts) for text in texts]


def count_pairs(test: Test, regions: list[Region]) -> int:
    """Of how many pairs a relation holds."""
    return sum(test(a, b) for a in regions for b in regions)


def check(regions: list[Region]) -> None:
    """Hold the relations of all pairs against what events match."""
    trials = list(_trials())
    matched = [
        {number for number, trial in enumerate(trials) if trial.matches(region.expression)}
        for region in regions
    ]
    for a, ours in zip(regions, matched):
        for b, theirs in zip(regions, matched):
            assert not covers(a, b) or ours >= theirs
            assert overlaps(a, b) or not ours & theirs


def _trials(seed: int = 1) -> Iterator[Trial]:
    chance = random.Random(seed)
    for _ in range(200):
        words = {name: f"v{chance.randrange(3)}" for name in ("a0", "a1")}
        yield Trial(Event({**words, "a3": chance.randrange(9), "a4": chance.randrange(9)}))


def main() -> None:
    """Print the table."""
    table = Table(
        "subscriptions", "relation", "pairs/s", "floor", "µs a pair", "holds of",
        title="Relations of prepared conjunctions, one core, best of five",
    )  # fmt: skip
    check(prepared(alike(100), UNIQUE))
    for name, texts in {"W2": one_template(COUNT), "alike": alike(COUNT)}.items():
        for test, regions in ((covers, prepared(texts)), (overlaps, prepared(texts, UNIQUE))):
            timing = best_of(partial(count_pairs, test, regions))
            rate = COUNT**2 / timing.best
            found = count_pairs(test, regions) / COUNT**2
            shown = (f"{rate:,.0f}", f"{FLOORS[name]:,}", f"{1e6 / rate:.2f}", f"{found:.1%}")
            table.add_row(name, test.__name__, *shown)
    Console().print(table)


if __name__ == "__main__":
    main()
