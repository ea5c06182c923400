"""The events of W7: log records, of which some are made to match a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from benchmarks.detection_constants import TAILS
from benchmarks.detection_model import (
    ALL,
    AND,
    CIDR,
    ENDS,
    EQUALS,
    OR,
    REGEX,
    STARTS,
    Rule,
    Selection,
    Source,
    Test,
)
from benchmarks.detection_pools import FIELDS, NUMBERS, SOURCES, Pools, zipf

Event = dict[str, Any]
Values = dict[str, Any]

FEWEST, MOST = 25, 35
"""Fields of an event, beside those of the log source."""
PLANTED = 0.55
"""Events that are made to match a rule; with it, an event has about 0.5 matches (measured)."""
FILTERED = 0.15
"""Planted events of a rule with filters that one of these holds back."""


class EventDraw:
    """Draws values of fields, a column at a time."""

    def __init__(self, rng: Generator, pools: Pools) -> None:
        self.rng, self.pools = rng, pools
        kinds: dict[str, Callable[[int], list[Any]]] = {
            "number": self._numbers,
            "digits": lambda n: [str(each) for each in self._numbers(n)],
            "hex": lambda n: [f"0x{each:x}" for each in rng.integers(0, 1 << 32, n)],
            "guid": self._guids,
            "time": self._times,
            "ip": self._addresses,
            "word": lambda n: self._picked(pools.names, n),
            "host": lambda n: [f"{each}-PC" for each in self._picked(pools.names, n)],
            "user": lambda n: [f"CORP\\{each}" for each in self._picked(pools.names, n)],
            "domain": lambda n: [f"www.{each}.com" for each in self._picked(pools.names, n)],
            "url": lambda n: [f"https://{each}" for each in self._sentences(n, 10, 60, "/")],
            "file": lambda n: [f"{each}.exe" for each in self._picked(pools.names, n)],
            "registry": lambda n: [f"HKLM\\{each}" for each in self._sentences(n, 20, 90, "\\")],
            "path": lambda n: self._picked(pools.paths, n),
            "folder": lambda n: [each.rsplit("\\", 1)[0] for each in self._picked(pools.paths, n)],
            "hashes": self._hashes,
            "command": lambda n: self._sentences(n, 20, 400),
            "words": lambda n: self._sentences(n, 20, 260),
            "script": lambda n: self._sentences(n, 200, 2_000),
        }
        self.kinds = kinds

    def column(self, source: Source, kind: str, count: int) -> list[Any]:
        """Values of a field."""
        if kind == "image":
            return [*map(self._recased, self._picked(self.pools.images(source), count))]
        return self.kinds[kind](count)

    def _picked(self, pool: list[str], count: int) -> list[str]:
        return [pool[each] for each in zipf(self.rng, len(pool), count)]

    def _recased(self, text: str) -> str:
        dice = self.rng.random()
        return (
            text.lower() if dice < 0.15 else text.upper() if dice > 0.9 and text.isascii() else text
        )

    def _sentences(self, count: int, shortest: int, longest: int, between: str = " ") -> list[str]:
        """Words of the vocabulary, so many that the lengths lie between two bounds, most short."""
        length = shortest * (longest / shortest) ** (self.rng.random(count) ** 1.3)
        needed = (length / 6).astype(np.int64) + 2
        words = iter(self._picked(self.pools.words, int(needed.sum())))
        upper = self.rng.random(count) < 0.1
        found = []
        for size, most, loud in zip(needed.tolist(), length.astype(np.int64).tolist(), upper):
            text = between.join([next(words) for _ in range(size)])[:most].ljust(shortest, "x")
            found.append(text.upper()[:most] if loud else text)
        return found

    def _numbers(self, count: int) -> list[int]:
        return [each + 10 for each in zipf(self.rng, NUMBERS, count)]

    def _guids(self, count: int) -> list[str]:
        drawn = self.rng.bytes(16 * count).hex()
        return [f"{{{drawn[n : n + 8]}-{drawn[n + 8 : n + 32]}}}" for n in range(0, 32 * count, 32)]

    def _hashes(self, count: int) -> list[str]:
        drawn = self.rng.bytes(48 * count).hex().upper()
        parts = [drawn[n : n + 96] for n in range(0, 96 * count, 96)]
        return [f"MD5={each[:32]},SHA256={each[32:]}" for each in parts]

    def _times(self, count: int) -> list[str]:
        second = self.rng.integers(0, 86_400, count).tolist()
        return [f"2026-03-01 {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}.000" for s in second]

    def _addresses(self, count: int) -> list[str]:
        return [
            ".".join(map(str, (10 if n % 2 else 192, 168, n >> 8 & 255, n & 255)))
            for n in self.rng.integers(0, 1 << 16, count).tolist()
        ]


class Plant:
    """Makes values with which an event matches a rule."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng

    def values(self, rule: Rule) -> Values:
        """The fields that the rule asks for, or that one of its filters asks for, too."""
        if rule.join == AND:
            selections = rule.selections
        else:
            others = rule.selections[0 if rule.join == OR else 1 :]
            chosen = others[int(self.rng.integers(0, len(others)))]
            selections = [chosen] if rule.join == OR else [rule.selections[0], chosen]
        if rule.filters and self.rng.random() < FILTERED:
            selections = [*selections, rule.filters[int(self.rng.integers(0, len(rule.filters)))]]
        return self._filled(selections)

    def _filled(self, selections: list[Selection]) -> Values:
        by_field: dict[str, list[Test]] = {}
        for selection in selections:
            for test in selection.tests:
                field = test.fields[int(self.rng.integers(0, len(test.fields)))]
                by_field.setdefault(field, []).append(test)
        return {field: self._value(tests) for field, tests in by_field.items()}

    def _value(self, tests: list[Test]) -> Any:
        start, middle, end = "", [], ""
        for test in tests:
            value = test.values[int(self.rng.integers(0, len(test.values)))]
            if isinstance(value, int):
                return value
            if test.operator == EQUALS:
                return self._recased(value)
            if test.operator == CIDR:
                address, length = value.split("/")
                return address if length == "32" else address.rsplit(".", 1)[0] + ".1"
            if test.operator == STARTS:
                start = value
            elif test.operator == ENDS:
                end = value
            elif test.operator == ALL:
                middle += [str(each) for each in test.values]
            else:
                middle.append(_example(value) if test.operator == REGEX else value)
        parts = [self._recased(part) for part in (start or "C:\\x", *middle)]
        return " ".join(parts) + (self._recased(end) or " /q")

    def _recased(self, text: str) -> str:
        """The text in another case, where each letter stays one letter."""
        if self.rng.random() < 0.5 or not text.isascii():
            return text
        return text.upper() if self.rng.random() < 0.5 else text.lower()


def _example(pattern: str) -> str:
    """A text that a regular expression of a rule matches."""
    tail = next(tail for tail in TAILS if pattern.endswith(tail))
    return pattern.removesuffix(tail) + TAILS[tail]


def draw_events(rng: Generator, pools: Pools, rules: list[Rule], count: int) -> list[Event]:
    """Events of all sources; some are planted, each with one rule's constants."""
    shares = np.cumsum([source.events for source in SOURCES])
    number = np.searchsorted(shares, rng.random(count) * shares[-1])
    by_source: dict[int, list[Rule]] = {id(source): [] for source in SOURCES}
    for rule in rules:
        by_source[id(rule.source)].append(rule)
    draw, plant = EventDraw(rng, pools), Plant(rng)
    events: list[Event] = [{}] * count
    for at, source in enumerate(SOURCES):
        mine, chosen = np.flatnonzero(number == at), by_source[id(source)]
        planted: list[Values] = [{} for _ in mine]
        for row in np.flatnonzero(rng.random(len(mine)) < PLANTED).tolist() if chosen else ():
            planted[row] = plant.values(chosen[int(rng.integers(0, len(chosen)))])
        for row, event in zip(mine.tolist(), _records(draw, source, planted)):
            events[row] = event
    return events


def _records(draw: EventDraw, source: Source, planted: list[Values]) -> list[Event]:
    """A record of the source for each planted dict, with other fields around it."""
    count, fields = len(planted), list(source.fields)
    size = draw.rng.integers(FEWEST, min(MOST, len(fields)) + 1, count)
    score = draw.rng.random((count, len(fields)))
    score[:, [fields.index(n) for n in ("Image", "CommandLine") if n in fields]] += 0.5
    for row, values in enumerate(planted):
        score[row, [fields.index(name) for name in values]] += 1.0
    rank = np.argsort(np.argsort(-score, axis=1), axis=1)
    records: list[Event] = [dict(source.labels) for _ in planted]
    for column, name in enumerate(fields):
        rows = np.flatnonzero(rank[:, column] < size).tolist()
        for row, value in zip(rows, draw.column(source, source.fields[name], len(rows))):
            records[row][name] = planted[row].get(name, value)
    return records


def event_table(events: list[Event]) -> pa.Table:
    """The events as Arrow columns, null where a field is missing."""
    types = {"_product": "word", "_category": "word", "_service": "word"} | FIELDS
    return pa.table({
        name: pa.array(
            [event.get(name) for event in events], pa.int64() if kind == "number" else pa.string()
        )
        for name, kind in types.items()
    })  # fmt: skip
