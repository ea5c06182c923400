"""Prepares an installation for a fast start of sessions: ``python -m tamis.spark.prepare``."""

from __future__ import annotations

import sys

from tamis.spark.archive import prepare

if __name__ == "__main__":
    print(f"sessions start faster with {prepare()}", file=sys.stderr)
