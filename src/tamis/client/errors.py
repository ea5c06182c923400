"""Problem documents as errors: those of Tamis where there is one, with the broker's message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis import errors
from tamis.errors import TamisError


class ClientError(TamisError):
    """A broker that refused a request, or did not answer; ``problem`` is its problem document."""

    def __init__(self, message: str, status: int = 0, problem: Mapping[str, Any] | None = None):
        self.status = status
        """The status of the answer; 0 if there was none."""
        self.problem = dict(problem or {})
        super().__init__(message, status, problem)

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def name(self) -> str:
        """The kind of the problem, such as ``not-found``."""
        return str(self.problem.get("type", "")).rpartition("/")[2]


KINDS: Mapping[str, type[TamisError]] = {
    "no-key": errors.AuthenticationError,
    "unknown-key": errors.AuthenticationError,
    "forbidden": errors.ForbiddenError,
    "not-found": errors.UnknownIdError,
    "conflict": errors.ConflictError,
    "duplicate-id": errors.DuplicateIdError,
    "quota": errors.QuotaError,
    "limit": errors.LimitError,
    "too-long": errors.LimitError,
    "subscription": errors.SubscriptionError,
    "event": errors.EventError,
    "schema": errors.SchemaError,
    "unavailable": errors.UnavailableError,
}


def error_of(status: int, problem: Mapping[str, Any], source: str = "") -> TamisError:
    """The error that a problem document describes; ``source`` is the subscription that was sent."""
    name = str(problem.get("type", "")).rpartition("/")[2]
    detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
    if name == "syntax" and "line" in problem and source:
        position = _position(source, int(problem["line"]), int(problem["column"]))
        return errors.ParseError(
            str(problem.get("problem", detail)), source, position, problem.get("hint")
        )
    if name == "busy":
        return errors.BusyError(detail, float(problem.get("retry_after", 1.0)))
    if name == "invalid-event":
        return errors.InvalidEventError(detail, tuple(problem.get("violations", ())))
    if name in KINDS:
        return KINDS[name](detail)
    return ClientError(detail, status, problem)


def _position(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    before = sum(len(each) + 1 for each in lines[: line - 1])
    return min(len(text), before + column - 1)
