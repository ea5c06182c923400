"""The ASGI application: every operation of the table behind one door, and the console beside it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from tamis import __version__
from tamis.broker import Broker
from tamis.errors import TamisError
from tamis.server.handlers import (
    administration,
    dead_letters,
    delivery,
    events,
    subscriptions,
    trials,
    undecided,
)
from tamis.server.logs import LOG, log
from tamis.server.openapi import openapi
from tamis.server.operation import Operation
from tamis.server.problems import problem_response
from tamis.server.requests import MethodError, MissingPathError
from tamis.server.service import Service, check_role
from tamis.server.settings import ServerSettings
from tamis.server.wire import json_response


async def document(request: Request) -> Response:
    """The OpenAPI document."""
    return json_response(request.app.state.document)


OPERATIONS: tuple[Operation, ...] = (
    *subscriptions.OPERATIONS,
    *trials.OPERATIONS,
    *events.OPERATIONS,
    *delivery.OPERATIONS,
    *dead_letters.OPERATIONS,
    *undecided.OPERATIONS,
    *administration.OPERATIONS,
    Operation(
        "GET",
        "/v1/openapi.json",
        document,
        "This document",
        "anyone",
        {200: "OpenApi"},
        tag="operation",
    ),
)
"""The HTTP API."""


class Endpoint:
    """A path of the API: finds the operation of the method, checks the caller, answers."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations
        self._allowed = ", ".join(sorted({*operations, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive, send)
        service: Service = scope["app"].state.service
        began = time.perf_counter()
        method = "GET" if request.method == "HEAD" else request.method
        operation = self._operations.get(method)
        name = "none" if operation is None else operation.name
        try:
            response = await self._answer(request, service, operation)
        except ClientDisconnect:
            return
        except Exception as error:
            response = problem_response(error)
            if not isinstance(error, TamisError):
                LOG.exception("a request failed", extra={"fields": {"path": request.url.path}})
        seconds = time.perf_counter() - began
        service.metrics.count(name, response.status_code, seconds)
        if service.settings.log_requests:
            log(
                "request",
                operation=name,
                status=response.status_code,
                milliseconds=round(seconds * 1000, 2),
                client=request.client.host if request.client else "",
            )
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.setdefault("Cache-Control", "no-store")
        await response(scope, receive, send)

    async def _answer(
        self, request: Request, service: Service, operation: Operation | None
    ) -> Response:
        if operation is None:
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={"Allow": self._allowed})
            raise MethodError(f"this address takes {self._allowed}", self._allowed)
        if operation.limited:
            caller = await service.caller(request)
            service.limit(caller)
            check_role(caller, operation.who)
            request.state.caller = caller
        return await operation.handler(request)


async def _missing(request: Request, error: Exception) -> Response:
    return problem_response(
        MissingPathError("there is nothing here; the API is described at /v1/openapi.json")
    )


async def _refused(request: Request, error: Exception) -> Response:
    return problem_response(error)


def application(broker: Broker, settings: ServerSettings) -> Starlette:
    """The application of a broker. Whoever opened the broker closes it."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation
    routes: list[BaseRoute] = [Route(path, Endpoint(found)) for path, found in paths.items()]
    routes.append(WebSocketRoute("/v1/subscriptions/{id}/socket", delivery.socket))

    if settings.console:
        from tamis.server.console.pages import console_routes

        routes += console_routes()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service = app.state.service = Service(broker, settings)
        async with service.running():
            yield

    middleware = []
    if settings.cors_origins:
        cors: dict[str, Any] = {
            "allow_origins": list(settings.cors_origins),
            "allow_methods": ["GET", "POST", "PATCH", "DELETE"],
            "allow_headers": ["Authorization", "Content-Type", "Tamis-Ticket", "Idempotency-Key"],
        }
        middleware.append(Middleware(CORSMiddleware, **cors))
    app = Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={404: _missing, TamisError: _refused},
        lifespan=lifespan,
    )
    app.state.operations = OPERATIONS
    app.state.document = openapi(OPERATIONS, __version__)
    app.router.redirect_slashes = False
    return app
