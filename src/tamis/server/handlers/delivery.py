"""Delivery over HTTP: server-sent events, WebSocket, long poll; acknowledgement; dead letters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from tamis.broker import Page
from tamis.errors import TamisError
from tamis.server.handlers.arguments import (
    ID,
    LIMIT,
    access,
    id_of,
    integer_of,
    seconds_of,
    service_of,
)
from tamis.server.operation import JSON, Operation, Parameter
from tamis.server.problems import document_of
from tamis.server.requests import RequestError, decode_json, read_fields
from tamis.server.service import Caller, Service, check_role
from tamis.server.wire import (
    encoded,
    json_response,
    notification_form,
    page_form,
)

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request

_PAGE = 100
"""Notifications that a stream reads at a time: what a client that does not read can hold up."""
_FIRST_MESSAGE = 10.0
"""Seconds in which a WebSocket without headers must show its ticket or key."""
_REASON = 120
"""Bytes of the reason for which a WebSocket is closed; a frame takes no more."""
POLICY = 1008
"""The code with which a WebSocket is closed if the caller may not have it."""


async def _pages(
    service: Service, id: str, rights: dict[str, Any], after: int | None
) -> AsyncIterator[Page | None]:
    """The notifications of a subscription as they come; None is a heartbeat."""
    async with service.watch(id, rights) as wake:
        while not service.is_stopping.is_set():
            wake.clear()
            page = await service.call(_read, service, id, rights, after, _PAGE)
            after = page.position if page.gap is None else max(page.position, page.gap.upto)
            if page.notifications or page.gap:
                yield page
            if not page.more:
                try:
                    await asyncio.wait_for(wake.wait(), service.settings.heartbeat_seconds)
                except TimeoutError:
                    yield None


def _read(service: Service, id: str, rights: dict[str, Any], after: int | None, limit: int) -> Page:
    return service.broker.read(id, after=after, limit=limit, **service.current(rights))


def _position_of(request: HTTPConnection) -> int | None:
    """Where a client wants to go on: None is behind what was acknowledged."""
    given = request.headers.get("last-event-id")
    if given is not None:
        if not (given.isascii() and given.isdigit() and len(given) < 19):
            raise RequestError("the Last-Event-ID is not one of this stream")
        return int(given)
    if "after" not in request.query_params:
        return None
    return integer_of(request, "after", 0, 0)


async def stream(request: Request) -> Response:
    """Notifications as server-sent events."""
    service, id, rights = service_of(request), id_of(request), access(request)
    after = _position_of(request)
    await service.call(service.broker.subscription, id, **rights)  # errors before the stream

    async def body() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            async for page in _pages(service, id, rights, after):
                yield b": still here\n\n" if page is None else _as_events(page)
        except TamisError as error:  # such as a lease that ended: the client need not come back
            yield b"event: end\ndata: " + encoded(document_of(error)) + b"\n\n"

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(body(), 200, headers, media_type="text/event-stream")


def _as_events(page: Page) -> bytes:
    parts = []
    if page.gap is not None:
        gap = encoded({"count": page.gap.count, "upto": page.gap.upto})
        parts.append(b"id: %d\nevent: gap\ndata: %b\n\n" % (page.gap.upto, gap))
    for each in page.notifications:
        data = encoded(notification_form(each))
        parts.append(b"id: %d\nevent: notification\ndata: %b\n\n" % (each.position, data))
    return b"".join(parts)


async def notifications(request: Request) -> Response:
    """Notifications that wait, or that come within some seconds (long poll)."""
    service, id, rights = service_of(request), id_of(request), access(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    wait = seconds_of(request, "wait", service.settings.wait_seconds)
    after = _position_of(request)
    async with service.watch(id, rights) as wake:
        end = asyncio.get_running_loop().time() + wait
        while True:
            wake.clear()
            page = await service.call(_read, service, id, rights, after, limit)
            left = end - asyncio.get_running_loop().time()
            if page.notifications or page.gap or left <= 0 or service.is_stopping.is_set():
                return json_response(page_form(page), headers={"Cache-Control": "no-store"})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), left)


async def acknowledge(request: Request) -> Response:
    """Say that all notifications up to a position are done with."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    position = fields.integer("position")
    fields.done()
    if position is None or position < 0:
        raise RequestError("the field 'position' must be that of a notification")
    await service.durably(
        service.broker.acknowledge, id_of(request), upto=position, **access(request)
    )
    return Response(status_code=204)


async def socket(websocket: WebSocket) -> None:
    """Notifications over a WebSocket, and acknowledgements back over it.

    A client that cannot send headers, such as a browser, shows its ticket or key in its first
    message: ``{"ticket": "…"}``. The broker sends a notification a message; the client sends
    ``{"acknowledge": position}``.
    """
    service = service_of(websocket)
    await websocket.accept()
    try:
        caller = await _caller_of(websocket, service)
        check_role(caller, "ticket")
        rights: dict[str, Any] = {"by": caller.identity, "ticket": caller.ticket}
        id = str(websocket.path_params["id"])
        await service.call(service.broker.subscription, id, **rights)
        sender = asyncio.create_task(_send(websocket, service, id, rights, _position_of(websocket)))
        receiver = asyncio.create_task(_receive(websocket, service, id, rights))
        done, rest = await asyncio.wait((sender, receiver), return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for task in done:
            task.result()
        await websocket.close()
    except WebSocketDisconnect:
        return
    except (TamisError, RequestError) as error:
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # it may be gone by now
            await websocket.send_text(encoded({"problem": document_of(error)}).decode())
            reason = str(error).encode()[:_REASON].decode(errors="ignore")
            await websocket.close(POLICY, reason)


async def _caller_of(websocket: WebSocket, service: Service) -> Caller:
    """Who opened a WebSocket: by headers, or by its first message."""
    caller = await service.caller(websocket)
    service.limit(caller)
    if caller.has_key or caller.ticket is not None:
        return caller
    try:
        given = await asyncio.wait_for(_message(websocket), _FIRST_MESSAGE)
    except TimeoutError as error:
        raise RequestError("show the ticket or a key in the first message") from error
    ticket, key = given.get("ticket"), given.get("key")
    if isinstance(key, str):
        identity = await service.identify(key, websocket)
        caller = Caller(identity, None, f"key {identity.key}")
        service.limit(caller)
        return caller
    return caller._replace(ticket=ticket if isinstance(ticket, str) else None)


async def _message(websocket: WebSocket) -> dict[str, Any]:
    """The next message of a client."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text = message.get("text")
    found = None if text is None else decode_json(text.encode(errors="replace"))
    if not isinstance(found, dict):
        raise RequestError("a message is a text with a JSON object")
    return found


async def _send(
    websocket: WebSocket, service: Service, id: str, rights: dict[str, Any], after: int | None
) -> None:
    async for page in _pages(service, id, rights, after):
        if page is None:
            continue  # the server's pings keep the connection
        if page.gap is not None:
            gap = {"gap": {"count": page.gap.count, "upto": page.gap.upto}}
            await websocket.send_text(encoded(gap).decode())
        for each in page.notifications:
            await websocket.send_text(encoded(notification_form(each)).decode())


async def _receive(websocket: WebSocket, service: Service, id: str, rights: dict[str, Any]) -> None:
    while True:
        position = (await _message(websocket)).get("acknowledge")
        if not isinstance(position, int) or isinstance(position, bool) or position < 0:
            raise RequestError('send {"acknowledge": position}')
        now = await service.call(service.current, rights)
        await service.durably(service.broker.acknowledge, id, upto=position, **now)


POSITION = Parameter(
    "after",
    "query",
    "The position to go on behind; without it, behind what was acknowledged.",
    {"type": "integer", "minimum": 0},
)
WAIT = Parameter(
    "wait", "query", "Seconds to wait for the first one.", {"type": "number", "minimum": 0}
)
LAST_EVENT_ID = Parameter(
    "Last-Event-ID",
    "header",
    "Where a stream broke off; it goes on behind it.",
    {"type": "string", "pattern": "^[0-9]{1,18}$"},
)

OPERATIONS = (
    Operation(
        "GET",
        "/v1/subscriptions/{id}/stream",
        stream,
        "Watch notifications (server-sent events)",
        "ticket",
        {200: "text"},
        tag="delivery",
        about="Each message is a notification; its id is the position. A browser, or any client "
        "that sends Last-Event-ID, goes on where it was. A message 'gap' says that retention "
        "removed some. A WebSocket at /v1/subscriptions/{id}/socket gives the same and takes "
        "acknowledgements.",
        parameters=(ID, POSITION, LAST_EVENT_ID),
        answer_type="text/event-stream",
    ),
    Operation(
        "GET",
        "/v1/subscriptions/{id}/notifications",
        notifications,
        "Read notifications (long poll)",
        "ticket",
        {200: "Notifications"},
        tag="delivery",
        parameters=(ID, POSITION, LIMIT, WAIT, LAST_EVENT_ID),
    ),
    Operation(
        "POST",
        "/v1/subscriptions/{id}/acknowledge",
        acknowledge,
        "Acknowledge notifications",
        "ticket",
        {204: None},
        tag="delivery",
        about="All notifications up to the position are done with and will not come again.",
        parameters=(ID,),
        body={JSON: "Acknowledgement"},
        example='{"position": 17}',
    ),
)
