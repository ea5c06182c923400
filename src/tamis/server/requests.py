"""What a request carries: a body within its limit, JSON with the place of every error, and fields.

RequestError             400   a request that cannot be read
├── UnauthorizedError    401   no key, or an unknown one
├── CrossSiteError       403   a session without the token of its forms
├── MissingPathError     404   no such address
├── MethodError          405   no such method at this address
├── TooLongError         413   a body beyond its limit
├── MediaTypeError       415   a body of a media type that this address does not read
└── RateError            429   too many requests of one key
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tamis.errors import TamisError, suggestion

if TYPE_CHECKING:
    from starlette.requests import Request

    from tamis.server.budget import Budget


class RequestError(TamisError):
    """A request that cannot be read."""


class UnauthorizedError(RequestError):
    """A request without a key, or with an unknown one."""


class CrossSiteError(RequestError):
    """A request of a session that does not carry the session's token."""


class MissingPathError(RequestError):
    """An address that the server does not have."""


class MethodError(RequestError):
    """A method that the address does not have; ``allowed`` are those that it has."""

    def __init__(self, message: str, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(message, allowed)

    def __str__(self) -> str:
        return str(self.args[0])


class TooLongError(RequestError):
    """A body beyond its limit."""


class MediaTypeError(RequestError):
    """A body of a media type that the address does not read."""


class RateError(RequestError):
    """Too many requests; ``retry_after`` says in how many seconds the next one may come."""

    def __init__(self, message: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(message, retry_after)

    def __str__(self) -> str:
        return str(self.args[0])


def media_type(request: Request) -> str:
    """The media type of a body, without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive. A body that says it is too long is not read at all."""
    declared = request.headers.get("content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        _refuse(limit)
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            _refuse(limit)
        if chunk:
            yield chunk


def _refuse(limit: int) -> NoReturn:
    raise TooLongError(f"the body is longer than {limit:,} bytes, the limit of this address")


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body."""
    budget: Budget = request.app.state.service.bodies
    parts: list[bytes] = []
    size = counted = 0
    try:
        async for part in chunks(request, limit):
            counted += budget.take(size, len(part))
            size += len(part)
            parts.append(part)
        return b"".join(parts)
    finally:
        budget.give_back(counted)


async def read_fields(request: Request, limit: int) -> Fields:
    """The fields of a body that is one JSON object; an empty body has none."""
    body = await read_body(request, limit)
    if not body:
        return Fields({})
    if media_type(request) not in ("application/json", "application/merge-patch+json"):
        kind = media_type(request) or "no media type"
        raise MediaTypeError(f"the body has {kind!r}: send application/json")
    document = decode_json(body)
    if not isinstance(document, dict):
        raise RequestError("the body is not a JSON object: send {…}")
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise RequestError("a string has half of a surrogate pair, which no text has") from error
    return Fields(document)


def decode_json(body: bytes) -> Any:
    """A JSON document of strict UTF-8, without NaN."""
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RequestError(f"not valid UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        problem = error.msg[:1].lower() + error.msg[1:]
        place = f"line {error.lineno}, column {error.colno}"
        raise RequestError(f"not valid JSON: {problem} at {place}") from error
    except RecursionError as error:
        raise RequestError("the JSON is nested too deeply") from error
    except ValueError as error:  # an integer of thousands of digits
        raise RequestError(f"not valid JSON: {error}") from error


def _refuse_constant(constant: str) -> NoReturn:
    raise RequestError(f"not valid JSON: {constant} is not a finite number")


class Fields:
    """The fields of an object, each taken once with its kind; what nobody took is an error."""

    def __init__(self, document: Mapping[str, Any], place: str = "") -> None:
        self._rest = dict(document)
        self._place = place
        self._known: list[str] = []

    def text(self, name: str, default: str | None = None) -> str | None:
        """A string."""
        return self._take(name, str, "a string", default)  # type: ignore[no-any-return]

    def number(self, name: str, default: float | None = None) -> float | None:
        """A number."""
        return self._take(name, (int, float), "a number", default)  # type: ignore[no-any-return]

    def integer(self, name: str, default: int | None = None) -> int | None:
        """A whole number of at most 64 bits."""
        found = self._take(name, int, "a whole number", default)
        if found is not None and abs(found) >= 2**63:
            self._wrong(name, "a whole number of 64 bits")
        return found  # type: ignore[no-any-return]

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """A boolean."""
        return self._take(name, bool, "true or false", default)  # type: ignore[no-any-return]

    def object(self, name: str) -> dict[str, Any] | None:
        """An object, as it is."""
        return self._take(name, dict, "an object", None)  # type: ignore[no-any-return]

    def fields(self, name: str) -> Fields | None:
        """An object with fields of its own."""
        found = self.object(name)
        return None if found is None else Fields(found, f"{self._place}{name}.")

    def texts(self, name: str) -> list[str] | None:
        """An array of strings."""
        found = self._take(name, list, "an array of strings", None)
        if found is not None and not all(isinstance(each, str) for each in found):
            self._wrong(name, "an array of strings")
        return found  # type: ignore[no-any-return]

    def source(self, name: str) -> Any:
        """A subscription: text, or a form of JSON."""
        return self._take(name, (str, dict, list), "a text or a JSON form", None)

    def done(self) -> None:
        """Raise an error if there are fields that nobody took."""
        for name in self._rest:
            hint = suggestion(name, self._known)
            known = hint or f"there are {', '.join(self._known) or 'none'}"
            raise RequestError(f"unknown field {self._place + name[:100]!r}; {known}")

    def _take(self, name: str, kind: Any, noun: str, default: Any) -> Any:
        self._known.append(name)
        found = self._rest.pop(name, None)
        if found is None:
            return default
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            self._wrong(name, noun)
        return found

    def _wrong(self, name: str, noun: str) -> NoReturn:
        raise RequestError(f"the field {self._place + name!r} must be {noun}")
