"""Errors as problem documents (RFC 9457): one table from the kind of an error to its status."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from tamis import errors
from tamis.errors import ParseError, TamisError
from tamis.server import requests
from tamis.server.openapi import PROBLEM


class Problem(NamedTuple):
    """A kind of problem: its status, the last part of its address, and its title."""

    status: int
    name: str
    title: str


PROBLEMS: Mapping[type[Exception], Problem] = {
    requests.RequestError: Problem(400, "bad-request", "The request cannot be read"),
    requests.UnauthorizedError: Problem(401, "no-key", "This needs a key or a ticket"),
    requests.CrossSiteError: Problem(403, "cross-site", "The session's token is missing"),
    requests.MissingPathError: Problem(404, "no-such-address", "There is nothing at this address"),
    requests.MethodError: Problem(405, "no-such-method", "This address has no such method"),
    requests.TooLongError: Problem(413, "too-long", "The body is too long"),
    requests.MediaTypeError: Problem(415, "media-type", "This media type is not read here"),
    requests.RateError: Problem(429, "too-many-requests", "Too many requests"),
    errors.AuthenticationError: Problem(401, "unknown-key", "Nobody has this key"),
    errors.ForbiddenError: Problem(403, "forbidden", "Neither key nor ticket allows this"),
    errors.UnknownIdError: Problem(404, "not-found", "There is no such thing"),
    errors.ConflictError: Problem(409, "conflict", "This id was used for something else"),
    errors.DuplicateIdError: Problem(409, "duplicate-id", "This id is in use"),
    errors.QuotaError: Problem(403, "quota", "The key has used up what it may have"),
    errors.LimitError: Problem(422, "limit", "Something is larger than its limit"),
    errors.ParseError: Problem(422, "syntax", "The subscription has a syntax error"),
    errors.SubscriptionError: Problem(422, "subscription", "The subscription is refused"),
    errors.EventError: Problem(422, "event", "The event cannot be read"),
    errors.InvalidEventError: Problem(422, "invalid-event", "The event breaks its schema"),
    errors.SchemaError: Problem(422, "schema", "The schema is refused"),
    errors.TaxonomyError: Problem(422, "taxonomy", "The taxonomy is refused"),
    errors.TimestampError: Problem(422, "timestamp", "This is not an instant"),
    errors.BrokerError: Problem(422, "refused", "The broker refuses this"),
    errors.MissingExtraError: Problem(501, "not-installed", "The broker lacks a package for this"),
    errors.BusyError: Problem(429, "busy", "The broker is busy"),
    errors.UnavailableError: Problem(503, "unavailable", "The broker cannot do this now"),
    errors.StorageError: Problem(503, "storage", "The storage of the broker is damaged"),
    errors.TamisError: Problem(422, "refused", "The broker refuses this"),
}
"""What each kind of error is over HTTP; a kind that is not here is what its base class is."""

INTERNAL = Problem(500, "internal", "Something went wrong in the broker")


def problem_of(error: BaseException) -> Problem:
    """The kind of problem that an error is."""
    for kind in type(error).__mro__:
        if kind in PROBLEMS:
            return PROBLEMS[kind]
    return INTERNAL


def document_of(error: BaseException) -> dict[str, Any]:
    """The problem document of an error; of an unforeseen one it says nothing but that."""
    problem = problem_of(error)
    found: dict[str, Any] = {
        "type": f"/problems/{problem.name}",
        "title": problem.title,
        "status": problem.status,
        "detail": str(error) if isinstance(error, TamisError) else problem.title,
    }
    if isinstance(error, ParseError):
        found |= {"line": error.line, "column": error.column, "problem": error.problem}
        if error.hint:
            found["hint"] = error.hint
    if isinstance(error, errors.InvalidEventError):
        found["violations"] = [str(violation) for violation in error.violations]
    found |= getattr(error, "problem_fields", {})
    return found


def problem_response(error: BaseException) -> Response:
    """The answer to a request that failed."""
    document = document_of(error)
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    elif document["status"] == 503:
        headers["Retry-After"] = "1"
    if document["status"] == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="tamis"'
    if isinstance(error, requests.MethodError):
        headers["Allow"] = error.allowed
    if isinstance(error, requests.TooLongError):
        headers["Connection"] = "close"  # the rest of the body is not read
    body = json.dumps(document, ensure_ascii=False).encode(errors="replace")
    return Response(body, document["status"], headers, media_type=PROBLEM)
