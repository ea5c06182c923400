"""Every error that Tamis raises on purpose.

    TamisError
    ├── ParseError           a text that is no subscription: line, column, caret, hint
    ├── SubscriptionError    a subscription that cannot be taken: unsafe variable, wrong constant
    │   └── UnsupportedError     well formed, but not for this engine
    ├── EventError           an event that cannot be read: place and remedy
    │   └── InvalidEventError    an event that breaks a rule of its schema
    ├── SchemaError          a schema that contradicts itself, an extension that is refused
    ├── LimitError           something from outside is larger than its documented limit
    ├── TaxonomyError        a taxonomy with a cycle, or an unknown term
    ├── DuplicateIdError     the id is taken
    ├── UnknownIdError       no such subscription (a KeyError too)
    ├── StorageError         a file that is damaged, foreign or of another version
    └── MissingExtraError    an optional dependency is not installed (an ImportError too)

    NeverMatchesWarning      a subscription that contradicts itself (a UserWarning)
    CostlyWarning            a subscription that costs every event dearly (a UserWarning)
    RejectedWarning          subscriptions of a table that could not be taken (a UserWarning)

A message says what, where, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any


class TamisError(Exception):
    """The root of all errors of Tamis."""


class ParseError(TamisError):
    """A text that cannot be read, with the place where reading stopped."""

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
    """A subscription that is well formed but cannot be taken."""


class UnsupportedError(SubscriptionError):
    """A subscription that uses a part of the language that this engine does not match."""


class EventError(TamisError):
    """An event that cannot be read."""


class InvalidEventError(EventError):
    """An event that breaks a rule of its schema; ``violations`` has all that it breaks."""

    def __init__(self, message: str, violations: tuple[Any, ...] = ()) -> None:
        self.violations = violations
        super().__init__(message, violations)

    def __str__(self) -> str:
        return str(self.args[0])


class SchemaError(TamisError):
    """A schema that contradicts itself, or an extension that would change what there is."""


class LimitError(TamisError):
    """Something from outside exceeds its limit (see docs/limits.md)."""


class TaxonomyError(TamisError):
    """A taxonomy that contradicts itself, or a term that it does not know."""


class DuplicateIdError(TamisError):
    """A subscription with this id exists already."""


class UnknownIdError(TamisError, KeyError):
    """No subscription has this id."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class StorageError(TamisError):
    """A file that cannot be loaded."""


class MissingExtraError(TamisError, ImportError):
    """An optional dependency is missing; the message says what to install."""


class NeverMatchesWarning(UserWarning):
    """A subscription contradicts itself: it is kept, and matches nothing."""


class CostlyWarning(UserWarning):
    """A subscription costs every event dearly: it is matched, but better had a selective clause."""


class IncompleteWarning(UserWarning):
    """Nobody can tell whether an event matches: an operator failed, or a limit was reached."""


class RejectedWarning(UserWarning):
    """Subscriptions of a table could not be taken; the others are matched without them."""


def suggestion(wrong: str, known: Iterable[str]) -> str | None:
    """A hint such as ``did you mean 'price'?``, or None if nothing is close."""
    close = difflib.get_close_matches(wrong[:100], islice(known, 10_000), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None
