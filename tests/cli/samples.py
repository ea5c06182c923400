"""Events, subscriptions and their matches, and how to write and read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typer.testing import Result

Run = Callable[..., Result]

EVENTS = [
    {"category": "toy", "price": 3, "tags": ["new"]},
    {"category": "chair", "price": 250, "bids": [{"by": "ada", "amount": 9}]},
    {"category": "toy", "price": 30},
]
SUBSCRIPTIONS = [
    {"id": "cheap", "subscription": "price < 5"},
    {"id": "toys", "subscription": "category = 'toy'"},
]
TAXONOMY = {"chair": ["furniture"], "toy": []}
SCHEMA = {
    "domains": {"category": {"kind": "hierarchical", "parents": TAXONOMY}},
    "attributes": {
        "category": "category",
        "price": "number",
        "tags": "string",
        "bids.by": "string",
        "bids.amount": "number",
    },
    "types": {
        "auction": {
            "category": "mandatory unique",
            "price": "optional unique",
            "tags": "optional multiple",
            "bids.by": "optional multiple",
            "bids.amount": "optional multiple",
        }
    },
}
EXTENSION = {
    "attributes": {"colour": "string"},
    "types": {"auction": {"colour": "optional unique"}, "lot": {"price": "mandatory unique"}},
}
MATCHES = [(0, "cheap"), (0, "toys"), (2, "toys")]


def write_ndjson(path: Path, rows: Sequence[Any]) -> None:
    """Write one row a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def pairs(lines: str) -> list[tuple[int, str]]:
    """The matches in lines of NDJSON."""
    rows = [json.loads(line) for line in lines.splitlines()]
    return [(row["event"], row["subscription"]) for row in rows]
