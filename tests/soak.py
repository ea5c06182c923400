"""The long runs: ``python -m tests.soak --seed 1`` sends 200,000 hostile inputs, and compares a
million pairs of subscriptions."""

from __future__ import annotations

import argparse
import resource
import sys
import warnings

from rich.progress import track

from tests.fuzz import findings
from tests.related import SUBSCRIPTIONS, Count, compare

CHUNK = 1_000
NONE = Count(0, 0, 0, 0)
MEMORY = 2_000_000
"""Kilobytes that the whole run may come to hold."""


def main() -> None:
    """Run all attacks and comparisons; exit with 1 if there was a finding."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=200_000)
    arguments.add_argument("--pairs", type=int, default=1_000_000)
    chosen = arguments.parse_args()
    warnings.simplefilter("ignore")
    found = _attack(chosen.seed, chosen.count) + _compare(chosen.seed, chosen.pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{peak // 1_000:,} MB at most")
    if found or peak > MEMORY:
        sys.exit(1)


def _attack(seed: int, count: int) -> int:
    """Send hostile input; how many findings there were."""
    found = 0
    for chunk in track(range(count // CHUNK), description="hostile input"):
        for finding in findings(seed * 10_000 + chunk, CHUNK):
            found += 1
            print(finding, file=sys.stderr)
    print(f"{count:,} hostile inputs, {found} findings")
    return found


def _compare(seed: int, pairs: int) -> int:
    """Compare pairs of subscriptions; how many of the relations events contradict."""
    rounds = -(-pairs // SUBSCRIPTIONS**2)
    counts = []
    found = 0
    for number in track(range(rounds), description="relations"):
        count, findings = compare(seed * 10_000 + number)
        counts.append(count)
        found += len(findings)
        for finding in findings:
            print(finding, file=sys.stderr)
    compared, covered, disjoint, merged = (sum(column) for column in zip(*counts, NONE))
    print(
        f"{compared:,} pairs of subscriptions ({covered:,} cover, {disjoint:,} are disjoint, "
        f"{merged:,} merged), {found} findings"
    )
    return found


if __name__ == "__main__":
    main()
