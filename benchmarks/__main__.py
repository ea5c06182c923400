"""All benchmarks, one after the other: ``python -m benchmarks``, or ``make bench``."""

from benchmarks import parsing

parsing.main()
