"""Parsing: many texts, which differ only in constants or in everything, and single texts.

The floors are 50,000 and 5,000 texts a second on one core. Every expression is checked against the
parser's before a time is taken. The single texts, short and very long ones, are parsed in full each
time; only the names of their attributes are known, as they are to an engine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
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


def rule(count: int, seed: int = 1) -> str:
    """A detection rule: tests of texts, with an exception."""
    chance = random.Random(seed)
    names = ["CommandLine", "Image", "ParentImage", "OriginalFileName", "User", "event.action"]
    tests = ["contains text", "ends with", "starts with"]

    def some(count: int) -> str:
        return " or ".join(
            f"{chance.choice(names)} {chance.choice(tests)} "
            rf"'\\tool{chance.randrange(10**6)}.exe' ignoring case"
            for _ in range(count)
        )

    part = count // 3
    return f"({some(part)}) and not ({some(part)}) and ({some(count - 2 * part)}) unless User = 'x'"


def single_texts() -> Iterator[tuple[str, str, int]]:
    """The name of each, the text, and how many operands it has (a value of a list is one)."""
    values = ", ".join(map(str, range(100, 110)))
    yield "two comparisons", "category = 'Toy' and price < 5", 2
    yield "four lists", " and ".join(f"{name} in ({values})" for name in "abcd"), 40
    yield "a rule", rule(30), 31
    yield "a long rule", rule(300), 301
    for count in (4_500, 50_000):
        alternatives = (f"a{number % 10} = 'v{number}'" for number in range(count))
        yield "alternatives", " or ".join(alternatives), count
    pairs = (f"(a{number % 10} = 'v{number}' and b < {number})" for number in range(4_500))
    yield "alternatives of two", " or ".join(pairs), 9_000


def parse_again(text: str, times: int) -> None:
    """Parse one text so many times."""
    for _ in range(times):
        parse(text)


def print_single_texts() -> None:
    """Print what single texts take."""
    title = "Parsing one text, best of nine"
    table = Table("text", "characters", "operands", "µs", "µs an operand", title=title)
    for name, text, operands in single_texts():
        expression = parse(text)
        assert parse(str(expression)) == expression
        times = max(1, 2_000 // operands)
        taken = 1e6 * best_of(partial(parse_again, text, times), repeats=9).best / times
        sizes = (f"{len(text):,}", f"{operands:,}")
        table.add_row(name, *sizes, f"{taken:,.1f}", f"{taken / operands:.2f}")
    Console().print(table)


def main() -> None:
    """Print the tables."""
    print_many_texts()
    print_single_texts()


def print_many_texts() -> None:
    """Print how many texts are parsed in a second."""
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
