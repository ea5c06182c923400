"""The long runs: ``python -m tests.soak --seed 1`` sends 200,000 hostile inputs."""

from __future__ import annotations

import argparse
import resource
import sys
import warnings

from rich.progress import track

from tests.fuzz import findings

CHUNK = 1_000
MEMORY = 2_000_000
"""Kilobytes that the whole run may come to hold."""


def main() -> None:
    """Run all attacks; exit with 1 if there was a finding."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=200_000)
    chosen = arguments.parse_args()
    warnings.simplefilter("ignore")
    found = 0
    for chunk in track(range(chosen.count // CHUNK), description="hostile input"):
        for finding in findings(chosen.seed * 10_000 + chunk, CHUNK):
            found += 1
            print(finding, file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{chosen.count:,} hostile inputs, {found} findings, {peak // 1_000:,} MB at most")
    if found or peak > MEMORY:
        sys.exit(1)


if __name__ == "__main__":
    main()
