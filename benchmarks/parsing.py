"""Bulk parsing: texts that differ only in constants, and texts that are all different.

The floors are 50,000 and 5,000 texts a second on one core. Every expression is checked against the
parser's before a time is taken.
"""

from __future__ import annotations

import random
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks.harness import best_of
from tamis import Expression, Templates, parse

COUNT = 20_000
FLOORS = {"one template": 50_000, "all different": 5_000}


def one_template(count: int, seed: int = 1) -> list[str]:
    """Saved searches as W2 has them: two equalities, a range, an inequality."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        low = chance.randrange(5_000)
        texts.append(
            f"a0 = 'v{chance.randrange(200)}' and a1 = 'v{chance.randrange(200)}' "
            f"and a3 between {low} and {low + 250} and a4 < {chance.randrange(5_000)}"
        )
    return texts


def all_different(count: int, seed: int = 1) -> list[str]:
    """As many predicates, but no two texts of the same shape."""
    chance = random.Random(seed)
    tests = ["= 'x'", "< 5", "between 1 and 9", "in (1, 2)", "like 'a%'", "is missing", "!= 7"]
    return [
        " and ".join(f"a{chance.randrange(10**6)} {chance.choice(tests)}" for _ in range(4))
        for _ in range(count)
    ]


def parse_all(texts: list[str]) -> list[Expression]:
    """Parse all texts with templates that know none of them."""
    return list(Templates().parse_many(texts))


def main() -> None:
    """Print the table."""
    table = Table("texts", "texts/s", "floor", "µs a text", title="Parsing, one core, best of five")
    for name, texts in {
        "one template": one_template(COUNT),
        "all different": all_different(COUNT // 5),
    }.items():
        assert parse_all(texts) == [parse(text) for text in texts]
        timing = best_of(partial(parse_all, texts))
        rate = len(texts) / timing.best
        table.add_row(name, f"{rate:,.0f}", f"{FLOORS[name]:,}", f"{1e6 / rate:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
