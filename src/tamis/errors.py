"""Every error that Tamis raises on purpose.

    TamisError
    ├── ParseError           a syntax error in a subscription: line, column, caret, hint
    ├── SubscriptionError    a subscription that Tamis rejects: unsafe variable, wrong constant
    │   └── UnsupportedError     well formed, but this engine cannot match it
    ├── EventError           an event that cannot be read: where, and what to do
    │   └── InvalidEventError    an event that breaks a rule of its schema
    ├── SchemaError          a schema that contradicts itself, or an invalid extension
    ├── LimitError           input that is larger than its documented limit
    ├── TaxonomyError        a taxonomy with a cycle, or an unknown term
    ├── TimestampError       not an instant between the years 1 and 9999 (also a ValueError)
    ├── DuplicateIdError     the id is already in use
    ├── UnknownIdError       no subscription has this id (also a KeyError)
    ├── StorageError         a damaged file, a foreign one, or one of another version
    ├── BrokerError          a request that a broker refuses
    │   ├── AuthenticationError  nobody has this key, or it was revoked
    │   ├── ForbiddenError       neither key nor ticket allows this
    │   ├── ConflictError        the same id was used for something else
    │   ├── QuotaError           the key has used up what it may have
    │   ├── BusyError            too much is waiting: try again after ``retry_after`` seconds
    │   └── UnavailableError     the storage does not answer, or the broker is closed
    └── MissingExtraError    an optional dependency is not installed (also an ImportError)

    NeverMatchesWarning      a subscription that contradicts itself (a UserWarning)
    CostlyWarning            a subscription that slows down every event (a UserWarning)
    RejectedWarning          faulty subscriptions in a table (a UserWarning)
    OperatorWarning          an operator that failed repeatedly is switched off (a UserWarning)

A message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any


class TamisError(Exception):
    """The base class of all errors that Tamis raises."""


class ParseError(TamisError):
    """A text with a syntax error, and the position where parsing stopped."""

    def __init__(self, problem: str, text: str, position: int, hint: str | None = None) -> None:
        self._arguments = (problem, text, position, hint)
        self.problem = problem
        self.hint = hint
        self.line = text.count("\n", 0, position) + 1
        start = text.rfind("\n", 0, position) + 1
        self.column = position - start + 1
        end = text.find("\n", position)
        self.source = text[start : end if end >= 0 else len(text)]
        super().__init__(problem)

    def __reduce__(self) -> tuple[type[ParseError], tuple[object, ...]]:
        return type(self), self._arguments

    def __str__(self) -> str:
        head = f"line {self.line}, column {self.column}: {self.problem}"
        if self.hint:
            head += f"; {self.hint}"
        first = max(0, self.column - 61)
        window = self.source[first : first + 120]
        shown = "".join(character if character.isprintable() else " " for character in window)
        return f"{head}\n  {shown}\n  {' ' * (self.column - 1 - first)}^"


class SubscriptionError(TamisError):
    """A well-formed subscription that Tamis rejects."""


class UnsupportedError(SubscriptionError):
    """A subscription that uses a part of the language that this engine cannot match."""


class EventError(TamisError):
    """An event that cannot be read."""


class InvalidEventError(EventError):
    """An event that breaks rules of its schema; ``violations`` lists all of them."""

    def __init__(self, message: str, violations: tuple[Any, ...] = ()) -> None:
        self.violations = violations
        super().__init__(message, violations)

    def __str__(self) -> str:
        return str(self.args[0])


class SchemaError(TamisError):
    """A schema that contradicts itself, or an extension that would change an existing part."""


class LimitError(TamisError):
    """Some input exceeds its limit (see docs/limits.md)."""


class TaxonomyError(TamisError):
    """A taxonomy that contradicts itself, or an unknown term."""


class TimestampError(TamisError, ValueError):
    """A value that is not an instant between the years 1 and 9999."""


class DuplicateIdError(TamisError):
    """A subscription with this id already exists."""


class UnknownIdError(TamisError, KeyError):
    """No subscription has this id."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class StorageError(TamisError):
    """A file that cannot be loaded."""


class BrokerError(TamisError):
    """A request that a broker refuses."""


class AuthenticationError(BrokerError):
    """Nobody has this key, or it was revoked."""


class ForbiddenError(BrokerError):
    """Neither the key nor the ticket allows what was asked for."""


class ConflictError(BrokerError):
    """An event id or an idempotency key that was used before, for something else."""


class QuotaError(BrokerError):
    """A key has used up what it may have."""


class BusyError(BrokerError):
    """Too much is waiting; nothing was done. Try again after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(message, retry_after)

    def __str__(self) -> str:
        return str(self.args[0])


class UnavailableError(BrokerError):
    """The broker cannot reach its storage, or is closed; nothing was acknowledged."""


class MissingExtraError(TamisError, ImportError):
    """An optional dependency is missing; the message says what to install."""


class NeverMatchesWarning(UserWarning):
    """A subscription contradicts itself: the engine keeps it, but it never matches."""


class CostlyWarning(UserWarning):
    """A subscription slows down every event: give it a selective clause."""


class IncompleteWarning(UserWarning):
    """Nobody can tell whether an event matches: an operator failed, or a limit was reached."""


class OperatorWarning(UserWarning):
    """An operator failed repeatedly and is switched off for a while."""


class RejectedWarning(UserWarning):
    """Some subscriptions of a table are faulty; Tamis matches the others without them."""


def suggestion(wrong: str, known: Iterable[str]) -> str | None:
    """A hint such as ``did you mean 'price'?``, or None if nothing is close."""
    close = difflib.get_close_matches(wrong[:100], islice(known, 10_000), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None
