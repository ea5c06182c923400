"""Many events at once: batch by batch, on one thread or on several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tamis.errors import TamisError
from tamis.matching.batch import Batch
from tamis.matching.protocol import View

if TYPE_CHECKING:
    from tamis.matching.pairs import Pairs

_LEAST = 1_024
"""Rows below which a batch is not worth dividing among threads."""


class _Job(NamedTuple):
    """Work, and what came or will come of it."""

    work: Callable[[], list[Pairs]]
    done: Future[list[Pairs]]


def pairs_of(
    view: View, events: Iterable[Batch], limit: int | None, threads: int = 1
) -> Iterator[Pairs]:
    """The pairs of all events, in chunks."""
    if not isinstance(threads, int) or threads < 1:
        raise TamisError(f"threads must be a whole number of at least 1, not {threads!r}")
    parts = _parts(events, threads)
    if threads == 1:
        for start, batch in parts:
            for pairs in view.match_batch(batch, limit):
                yield pairs.shifted(start)
        return
    with ThreadPoolExecutor(threads - 1, "tamis-matching") as pool:
        yield from _in_turns(pool, view, parts, limit, 2 * threads)


def _parts(several: Iterable[Batch], threads: int) -> Iterator[tuple[int, Batch]]:
    """Batches in as many parts as there are threads, each with its first row."""
    start = 0
    for batch in several:
        for first, part in batch.parts(max(_LEAST, -(-len(batch) // threads))):
            yield start + first, part
        start += len(batch)


def _in_turns(
    pool: ThreadPoolExecutor,
    view: View,
    parts: Iterator[tuple[int, Batch]],
    limit: int | None,
    ahead: int,
) -> Iterator[Pairs]:
    """The pairs of parts that threads match, in their order; few parts are held at once.

    The caller is one of the threads: it matches what no other has begun."""

    def matched(start: int, batch: Batch) -> list[Pairs]:
        return [pairs.shifted(start) for pairs in view.match_batch(batch, limit)]

    waiting: deque[_Job] = deque()
    for start, batch in parts:
        work = partial(matched, start, batch)
        waiting.append(_Job(work, pool.submit(work)))
        if len(waiting) >= ahead:
            yield from _first(waiting)
    while waiting:
        yield from _first(waiting)


def _first(waiting: deque[_Job]) -> list[Pairs]:
    """What came of the job that has waited longest; until then others are done here."""
    for number, (work, done) in enumerate(waiting):
        if waiting[0].done.done():
            break
        if done.cancel():
            done = Future()
            done.set_result(work())
            waiting[number] = _Job(work, done)
    return waiting.popleft().done.result()
