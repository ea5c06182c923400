"""The data cases of the contract, and the values that JSON cannot say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.graphs.reader import read_graph
from tamis.model.events.event import Event
from tamis.model.timestamp import Timestamp
from tests.contract.arrow import table_of

CASES = Path(__file__).parent / "cases"
SEQUENCES = Path(__file__).parent / "sequences.json"

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NANOSECONDS = re.compile(r"\.\d{7,}")


@dataclass(frozen=True)
class Case:
    """A subscription, an event, and whether the one matches the other."""

    group: str
    name: str
    subscription: str
    event: dict[str, Any]
    matches: bool
    why: str
    taxonomy: dict[str, list[str]] | None = None
    graph: str | None = None
    """The event's graph, in Turtle."""
    truth: str | None = None
    """What it is if it does not match: false, unknown or failed."""
    solutions: list[dict[str, Any]] | None = None
    """All values of the variables that make it match."""

    @property
    def source(self) -> Any:
        """The event as an engine takes it: a mapping, or with a graph an ``Event``."""
        if self.graph is None:
            return self.event
        return Event(self.event, graph=self._triples)

    @cached_property
    def _triples(self) -> Any:
        return read_graph(self.graph)

    @cached_property
    def table(self) -> pa.Table | None:
        """The event between two empty rows; None if Arrow cannot say it, or it has a graph."""
        return table_of(self.event) if self.graph is None else None

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


def read_cases() -> list[Case]:
    """All cases of all files."""
    return [
        Case(path.stem, **case)
        for path in sorted(CASES.glob("*.json"))
        for case in json.loads(path.read_text(), object_hook=unwrapped)
    ]


def read_sequences() -> list[dict[str, Any]]:
    """The sequences of changes."""
    sequences: list[dict[str, Any]] = json.loads(SEQUENCES.read_text(), object_hook=unwrapped)
    return sequences


def unwrapped(node: dict[str, Any]) -> Any:
    """The value that a wrapper such as ``{"$float": "nan"}`` stands for."""
    if len(node) == 1:
        ((key, text),) = node.items()
        if key == "$timestamp":
            return _moment(text)
        if key == "$float":
            return float(text)
        if key == "$bytes":
            return bytes.fromhex(text)
        if key == "$decimal":
            return Decimal(text)
    return node


def _moment(text: str) -> date | Timestamp:
    """A date, a datetime, naive or aware as the text is, or what only a Timestamp can hold."""
    if _DATE.fullmatch(text):
        return date.fromisoformat(text)
    return Timestamp.parse(text) if _NANOSECONDS.search(text) else datetime.fromisoformat(text)


ALL = read_cases()
OF_VARIABLES = ("calls", "patterns", "variables")
"""The groups with variables, operators and graphs; ``tests.contract.operators`` has the former."""
GROUPS = {group: list(cases) for group, cases in groupby(ALL, key=lambda case: case.group)}
"""The cases by the file that they stand in."""
