"""Figures of what is sought in texts: many substrings, many regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness import best_of
from benchmarks.report import Row
from tamis import Engine

if TYPE_CHECKING:
    from benchmarks.sieve import Bench

LENGTH = 500
SUBSTRINGS, PATTERNS = 100_000, 10_000
EVENTS, FEW = 10_000, 300


def words(rng: np.random.Generator, count: int, length: int) -> list[str]:
    """Random words."""
    letters = rng.integers(ord("a"), ord("z") + 1, (count, length), np.uint8)
    return [row.tobytes().decode() for row in letters]


def texts(rng: np.random.Generator, count: int, planted: list[str]) -> Any:
    """Events with a text of 500 letters each, in which a few words are planted."""
    found = []
    for text in words(rng, count, LENGTH):
        for choice in rng.integers(0, len(planted), rng.integers(0, 4)).tolist():
            word = planted[choice]
            at = int(rng.integers(0, LENGTH - len(word)))
            text = text[:at] + word + text[at + len(word) :]
        found.append(text)
    return pa.table({"text": pa.array(found, pa.string())})


def one_by_one(bench: Bench, figure: str, engine: Engine, events: Any) -> None:
    """Some of the events once more, one after the other, from dicts."""
    rows = events[:FEW].to_pylist()
    assert sum(len(engine.match(row)) for row in rows) == len(engine.match_batch(events[:FEW]))
    timing = best_of(lambda: [engine.match(row) for row in rows])
    bench.add(figure, "match", "µs an event", timing, 1e6 / FEW, len(engine), floor=False)


def substrings(bench: Bench) -> None:
    """A text of 500 letters against a substring of 8 letters for each subscription."""
    rng = np.random.default_rng(1)
    sought = words(rng, SUBSTRINGS, 8)
    engine = Engine()
    engine.subscribe_many({str(i): f"text contains text '{w}'" for i, w in enumerate(sought)})
    events = texts(rng, EVENTS, sought)
    found = engine.match_batch(events[:FEW])
    expected = sum(
        int(pc.sum(pc.match_substring(events["text"][:FEW], word)).as_py())
        for word in {sought[slot] for slot in found.slot.tolist()}
    )
    assert len(found) == expected > 0
    timing = best_of(lambda: len(engine.match_batch(events)))
    bench.add("100k substrings", "match_batch", "µs an event", timing, 1e6 / EVENTS, SUBSTRINGS)
    one_by_one(bench, "100k substrings", engine, events)


def patterns(bench: Bench) -> None:
    """Regular expressions with a literal of four letters or more, against RE2 for each of them."""
    rng = np.random.default_rng(2)
    heads, tails = words(rng, PATTERNS, 5), words(rng, PATTERNS, 4)
    written = [f"{head}[0-9a-f]+{tail}?" for head, tail in zip(heads, tails, strict=True)]
    engine = Engine()
    engine.subscribe_many({str(i): f"text matches '{p}'" for i, p in enumerate(written)})
    planted = [head + "b7" + tail for head, tail in zip(heads, tails, strict=True)]
    events = texts(rng, EVENTS, planted)

    def each() -> int:
        column = events["text"][:FEW]
        return sum(
            int(pc.sum(pc.match_substring_regex(column, pattern)).as_py()) for pattern in written
        )

    assert len(engine.match_batch(events[:FEW])) == each() > 0
    ours = best_of(lambda: len(engine.match_batch(events)))
    theirs = best_of(each, repeats=2, warm_up=False)
    bench.add("10k patterns", "match_batch", "µs an event", ours, 1e6 / EVENTS, PATTERNS)
    one_by_one(bench, "10k patterns", engine, events)
    more = EVENTS / FEW  # events that ours is timed on
    value, low = more * theirs.best / ours.best, more * theirs.best / ours.worst
    high = more * theirs.worst / ours.best
    must, aim = bench.floor("10k patterns, times RE2")
    row = Row(
        "10k patterns, times RE2", PATTERNS, "match_batch", "x", value, low, high, must, aim,
        more=True,
    )  # fmt: skip
    bench.run.rows.append(row)
