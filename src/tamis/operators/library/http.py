"""Questions to a service over HTTP, for models that live elsewhere.

    use_service("mob", "http://models.local/mob", reads=("camera", "frame"))

    ask('mob', ?people) and ?people > 50

All calls of a round are one POST of ``{"calls": [{"event": {…}, "arguments": […]}, …]}``, where a
variable is null. The answer is ``{"results": [true, false, null, [1, 2], …]}``, one for each call.
A service that does not answer, or answers 5xx, is asked again, twice, after a pause that doubles.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx

from tamis.errors import TamisError, suggestion
from tamis.model.events.event import Event
from tamis.operators.registry import operator

ATTEMPTS = 3
PAUSE = 0.1
"""Seconds before the second attempt."""
MOST_BYTES = 16_777_216
"""Bytes of an answer."""


class Service(NamedTuple):
    """A service by its address."""

    url: str
    reads: tuple[str, ...]
    timeout: float
    client: httpx.Client


_SERVICES: dict[str, Service] = {}


def use_service(name: str, url: str, reads: tuple[str, ...], timeout: float = 10.0) -> None:
    """Add a service; it is sent the attributes that it reads, and nothing else."""
    if not url.startswith(("http://", "https://")):
        raise TamisError(f"a service has an address like http://…, not {url!r}")
    _SERVICES[name] = Service(url, reads, timeout, httpx.Client(timeout=timeout))


@operator("service: string, *?arguments", batch=True)
def ask(events: Sequence[Event], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a service over HTTP says of the event."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, argument in enumerate(arguments):
        groups[argument[0]].append(place)
    given: list[Any] = [None] * len(events)
    for name, places in groups.items():
        service = _SERVICES.get(name)
        if service is None:
            results: Sequence[Any] = [_unknown(name)] * len(places)
        else:
            calls = [
                {
                    "event": {key: events[n].attributes.get(key) for key in service.reads},
                    "arguments": arguments[n][1:],
                }
                for n in places
            ]
            results = _posted(service, calls)
        for place, result in zip(places, results):
            given[place] = result
    return given


def _unknown(name: str) -> LookupError:
    return LookupError(f"no service {name!r}; {suggestion(name, _SERVICES) or 'see use_service'}")


def _posted(service: Service, calls: list[dict[str, Any]]) -> list[Any]:
    body = json.dumps({"calls": calls}, default=str)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            status, content = _answer(service, body)
            if status < 500:
                break
            problem: Exception = OSError(f"the service answered {status}")
        except httpx.TransportError as error:
            problem = error
        if attempt == ATTEMPTS:
            raise problem
        time.sleep(PAUSE * 2 ** (attempt - 1))
    if status != HTTPStatus.OK:
        raise OSError(f"the service answered {status}")
    given = json.loads(content)
    results = given.get("results") if isinstance(given, dict) else None
    if not isinstance(results, list) or len(results) != len(calls):
        raise ValueError(f"the service gave no list of {len(calls)} results")
    return results


def _answer(service: Service, body: str) -> tuple[int, bytes]:
    """The status and the content of an answer, which is read no further than a limit."""
    headers = {"content-type": "application/json"}
    content = bytearray()
    with service.client.stream("POST", service.url, content=body, headers=headers) as response:
        for part in response.iter_bytes():
            content += part
            if len(content) > MOST_BYTES:
                raise ValueError(f"an answer of more than {MOST_BYTES:,} bytes")
    return response.status_code, bytes(content)
