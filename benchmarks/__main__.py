"""All benchmarks, one after the other: ``python -m benchmarks [--quick]``, or ``make bench``."""

import argparse
from importlib.util import find_spec

from benchmarks import parsing, relations, rules, sieve, taxonomy
from benchmarks.report import Run

parser = argparse.ArgumentParser(prog="python -m benchmarks")
parser.add_argument("--quick", action="store_true", help="100k subscriptions instead of 1M")
options = parser.parse_args()

parsing.main()
taxonomy.main(["--quick"] if options.quick else [])
relations.main()
rules.main(["--quick"] if options.quick else [])
results = sieve.main(["--quick"] if options.quick else [])
if find_spec("matplotlib") is None:
    print("no picture: matplotlib is not installed (it comes with the extra 'dev')")
else:
    from benchmarks.plot import plot

    picture = results.with_suffix(".png")
    plot(Run.load(results), picture)
    print(f"picture in {picture}")
