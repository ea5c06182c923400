"""Streams of events, one JSON object a line, which are published as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from tamis.broker import Identity, Outcome, Publication
from tamis.errors import BusyError, TamisError
from tamis.server.event_bodies import LINE, line_publications
from tamis.server.handlers.arguments import caller_of, service_of
from tamis.server.requests import TooLongError, chunks
from tamis.server.wire import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tamis.server.service import Service

_GROUP = 500
"""Lines that are published together, at most."""
_PATIENCE = 20
"""How often a stream waits for a busy broker before it is refused; only its own reader waits."""


async def publish_lines(request: Request, source: str, key: str | None) -> Response:
    """Publish lines as they arrive. Lines before one that is wrong stay published, and the problem
    says how many."""
    service, rights = service_of(request), {"by": caller_of(request).identity}
    sums = sums_of([])
    number = 1
    try:
        async for lines in _groups(request, service):
            size = sum(map(len, lines))
            found, problem = await service.read(size, line_publications, lines, number, source, key)
            number += len(lines)
            if found:
                rights = await service.call(service.current, rights)  # the key may be revoked
                outcomes = await _patiently(service, found, rights["by"])
                service.metrics.count_events(len(found))
                sums = {name: sums[name] + more for name, more in sums_of(outcomes).items()}
            if problem is not None:
                raise problem
    except TamisError as error:
        error.problem_fields = sums  # type: ignore[attr-defined]
        raise
    return json_response(sums)


def sums_of(outcomes: list[Outcome]) -> dict[str, int]:
    """How many events there were, and what became of them together."""
    return {
        "published": len(outcomes),
        "matched": sum(each.matched for each in outcomes),
        "repeated": sum(each.repeated for each in outcomes),
    }


async def _patiently(service: Service, found: list[Publication], by: Identity) -> list[Outcome]:
    """Publish, waiting while the broker is busy: a stream slows down rather than fails."""
    publish: Callable[..., Future[list[Outcome]]] = service.broker.publish
    for _ in range(_PATIENCE):
        try:
            return await service.durably(publish, found, by=by)
        except BusyError as error:
            await asyncio.sleep(min(error.retry_after, 1.0))
    return await service.durably(publish, found, by=by)


async def _groups(request: Request, service: Service) -> AsyncIterator[list[bytes]]:
    """The lines of a body, some of those together that arrived together."""
    rest: list[bytes] = []
    size = counted = 0
    try:
        async for part in chunks(request, service.settings.stream_bytes):
            *lines, last = part.split(b"\n")
            if lines:
                lines[0] = b"".join([*rest, lines[0]])
                rest.clear()
                service.bodies.give_back(counted)
                size = counted = 0
                for first in range(0, len(lines), _GROUP):
                    yield lines[first : first + _GROUP]
            counted += service.bodies.take(size, len(last))
            size += len(last)
            rest.append(last)
            if size > LINE:
                raise TooLongError(f"a line is longer than {LINE:,} bytes")
        if size:
            yield [b"".join(rest)]
    finally:
        service.bodies.give_back(counted)
