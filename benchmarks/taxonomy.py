"""Taxonomies: building, the compiled is-a test, and terms that are added live.

The floors are a second for 100,000 terms, 100 ns for a test and a millisecond for a new term. They
hold for a tree, and for a graph in which one term of ten has two or three parents; both are also
measured at ten times the size, without floors. Before a time is taken, some thousand answers are
checked by climbing to all ancestors.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.compiled_is_a import find_kind_pairs
from benchmarks.harness import REPEATS, best_of, use_one_core
from benchmarks.report import short
from tamis import Taxonomy

SIZES = (100_000, 1_000_000)
PAIRS = 1_000_000
ADDED = 10_000
CHECKED = 2_000
FLOORS = {"build": 1.0, "test": 100.0, "add": 1_000.0}


def graph(size: int, several: float, seed: int = 1) -> dict[str, list[str]]:
    """Terms below random earlier ones, some of them below two or three."""
    chance = random.Random(seed)
    return {f"term-{n}": some_parents(chance, n, several) for n in range(size)}


def some_parents(chance: random.Random, size: int, several: float) -> list[str]:
    """Parents among the first terms."""
    count = chance.choice((2, 3)) if chance.random() < several else 1
    return [f"term-{chance.randrange(size)}" for _ in range(count)] if size else []


def additions(size: int, several: float) -> list[tuple[str, list[str]]]:
    """New terms with their parents."""
    chance = random.Random(2)
    return [(f"new-{n}", some_parents(chance, size, several)) for n in range(ADDED)]


def check(taxonomy: Taxonomy) -> None:
    """Hold some compiled tests, half of them true ones, against climbing."""
    chance = random.Random(3)
    terms = chance.choices(list(taxonomy), k=CHECKED)
    others = [
        chance.choice(sorted(taxonomy.ancestors(term))) if place % 2 else chance.choice(terms)
        for place, term in enumerate(terms)
    ]
    below, above = (np.array([*map(taxonomy.number, each)], np.int32) for each in (terms, others))
    found = np.empty(CHECKED, np.bool_)
    find_kind_pairs(taxonomy.labels, below, above, found)
    expected = [other in taxonomy.ancestors(term) for term, other in zip(terms, others)]
    assert found.tolist() == expected


def test_seconds(taxonomy: Taxonomy) -> float:
    """What a test of random pairs takes."""
    rng = np.random.default_rng(4)
    below, above = rng.integers(0, len(taxonomy), (2, PAIRS), np.int32)
    found = np.empty(PAIRS, np.bool_)
    return best_of(partial(find_kind_pairs, taxonomy.labels, below, above, found)).best / PAIRS


def add_seconds(taxonomy: Taxonomy, new: list[tuple[str, list[str]]]) -> np.ndarray:
    """What each addition takes: the best of several runs, on copies, of the same additions."""
    best = np.full(len(new), np.inf)
    for _ in range(REPEATS):
        changing = taxonomy.copy()
        gc.collect()
        gc.disable()
        ticks = [time.perf_counter()]
        for term, parents in new:
            changing.add(term, parents)
            ticks.append(time.perf_counter())
        gc.enable()
        best = np.minimum(best, np.diff(ticks))
    check(changing)
    return best


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.taxonomy")
    parser.add_argument("--core", type=int, help="the core to stay on; the last by default")
    parser.add_argument("--quick", action="store_true", help="100k terms only")
    options = parser.parse_args(arguments)
    use_one_core(options.core)
    title = "Taxonomies, one core, best of five"
    table = Table("terms", "graph", "build, s", "is a, ns", "add, µs", "worst, µs", title=title)
    table.add_row(
        "100k", "floor", *(f"≤ {FLOORS[each]:,.0f}" for each in ("build", "test", "add", "add"))
    )
    for size in SIZES[:1] if options.quick else SIZES:
        for name, several in (("tree", 0.0), ("1 in 10 with 2–3 parents", 0.1)):
            parents = graph(size, several)
            taxonomy = Taxonomy(parents)
            check(taxonomy)
            build = best_of(partial(Taxonomy, parents), warm_up=False).best
            test = test_seconds(taxonomy) * 1e9
            add = add_seconds(taxonomy, additions(size, several)) * 1e6
            figures = f"{build:.2f}", f"{test:.0f}", f"{add.mean():.0f}", f"{add.max():.0f}"
            table.add_row(short(size), name, *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
