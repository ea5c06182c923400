"""The OpenAPI 3.1 document of the HTTP API, made from the table of operations and the schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from tamis.server.operation import JSON, Operation, Parameter
from tamis.server.schemas import SCHEMAS

PROBLEM = "application/problem+json"
_ALWAYS = (400, 404, 429, 503)
"""Statuses that every operation may answer with: a parameter that cannot be read, a broker that is
busy or stops."""

_DESCRIPTION = """\
Content-based publish/subscribe: a subscription says which events you care about, and the broker
tells you about each of them.

Send your key as `Authorization: Bearer KEY`. Whoever creates a subscription gets a ticket; send it
as `Tamis-Ticket: TICKET` to read, renew, change or delete the subscription without a key. Neither
belongs in an address. Every error is a problem document (RFC 9457).
"""


def openapi(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """The document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tamis broker",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key."},
                "ticket": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Tamis-Ticket",
                    "description": "The ticket of one subscription.",
                },
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [_parameter(each) for each in operation.parameters],
        "responses": _responses(operation),
        "security": _security(operation.who),
    }
    if operation.about:
        found["description"] = operation.about
    if operation.body:
        found["requestBody"] = {
            "required": operation.body_required,
            "content": {kind: {"schema": _schema(name)} for kind, name in operation.body.items()},
        }
    return found


def _security(who: str) -> list[dict[str, list[str]]]:
    if who == "anyone":
        return []
    return [{"ticket": []}, {"key": []}] if who == "ticket" else [{"key": []}]


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required or parameter.where == "path",
        "description": parameter.about,
        "schema": dict(parameter.schema),
    }


def _responses(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, name in operation.answers.items():
        found[str(status)] = {"description": HTTPStatus(status).phrase}
        if name is not None:
            found[str(status)]["content"] = {operation.answer_type: {"schema": _schema(name)}}
    statuses = {*_ALWAYS, *operation.problems}
    if operation.who != "anyone":
        statuses |= {401, 403}
    if operation.body:
        statuses |= {413, 415, 422}
    for status in sorted(statuses):
        found[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {PROBLEM: {"schema": _schema("Problem")}},
        }
    return found


def _schema(name: str) -> dict[str, Any]:
    if name == "text":
        return {"type": "string"}
    return {"$ref": f"#/components/schemas/{name}"}


__all__ = ["JSON", "PROBLEM", "openapi"]
