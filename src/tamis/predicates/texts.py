"""Tests on strings: folding of case, ``like``, and regular expressions in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

from tamis.errors import SubscriptionError

MAX_REGEX = 1_000
"""Characters in a regular expression or a ``like`` pattern."""
_REGEX_MEMORY = 1 << 20
"""Bytes that RE2 may spend on one expression: its own guard against expressions that explode."""

_SET_MEMORY = 1 << 24
"""The same for a set of expressions."""

_SPECIAL = frozenset(r"\.+*?()|[]{}^$")


_SHORT = 4_096
"""Characters of a text whose folded form is remembered."""


@lru_cache(maxsize=1)
def folds() -> dict[int, str]:
    """Unicode's simple case folding, as far as it keeps one code point one code point."""
    folds = {}
    for code in range(0x20000):  # no cased letters beyond the first two planes
        character = chr(code)
        for folded in (character.casefold(), character.lower()):
            if len(folded) == 1:
                if folded != character:
                    folds[code] = folded
                break
    return folds


def fold(text: str) -> str:
    """The text with case folded, code point by code point, so that its length stays."""
    if text.isascii():
        return text.lower()
    return _folded(text) if len(text) <= _SHORT else text.translate(folds())


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    """A text that is not long; several lines of an attribute ask for it one after the other."""
    return text.translate(folds())


@lru_cache(maxsize=1_000)
def compile_regex(pattern: str, *, ignore_case: bool = False) -> Any:
    """A compiled RE2 expression; its ``search`` takes time linear in the text."""
    import re2

    if len(pattern) > MAX_REGEX:
        raise SubscriptionError(
            f"a regular expression of {len(pattern):,} characters: the limit is {MAX_REGEX:,}"
        )
    try:
        return re2.compile(pattern, _options(_REGEX_MEMORY, ignore_case))
    except re2.error as error:
        reason = error.args[0]
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise SubscriptionError(
            f"{pattern[:100]!r} is not a regular expression in RE2's syntax: {said}"
        ) from error


def compile_set(patterns: Sequence[str], *, ignore_case: bool = False) -> Any:
    """Expressions that RE2 compiles, as a set; its ``Match`` gives the numbers of those that are
    found in a text, or None. None instead of the set if that would take too much memory."""
    import re2

    found = re2.Set.SearchSet(_options(_SET_MEMORY, ignore_case))
    for pattern in patterns:
        found.Add(pattern)
    try:
        found.Compile()
    except re2.error:
        return None
    return found


def _options(memory: int, ignore_case: bool) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    options.case_sensitive = not ignore_case
    return options


@lru_cache(maxsize=1_000)
def compile_like(pattern: str, *, ignore_case: bool = False) -> Any:
    """A ``like`` pattern as a regular expression: ``%`` any text, ``_`` any character."""
    return compile_regex(like_to_regex(pattern), ignore_case=ignore_case)


def like_parts(pattern: str) -> list[str] | None:
    """The texts between the ``%`` of a ``like`` pattern; None if it has a ``_``."""
    parts = [""]
    for wildcard, character in like_characters(pattern):
        if not wildcard:
            parts[-1] += character
        elif character == "%":
            parts.append("")
        else:
            return None
    return [parts[0], *filter(None, parts[1:-1]), parts[-1]] if len(parts) > 1 else parts


def is_like(text: str, pattern: str, *, ignore_case: bool = False) -> bool:
    """Whether a text is like a pattern; texts and ``%`` alone need no regular expression."""
    parts = None if ignore_case else _known_parts(pattern)
    if parts is None:
        return compile_like(pattern, ignore_case=ignore_case).search(text) is not None
    if len(parts) == 1:
        return text == parts[0]
    first, *inner, last = parts
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in inner:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@lru_cache(maxsize=10_000)
def _known_parts(pattern: str) -> list[str] | None:
    return like_parts(pattern)


def like_prefix(pattern: str) -> str:
    """The text before the first wildcard of a ``like`` pattern."""
    fixed = takewhile(lambda each: not each[0], like_characters(pattern))
    return "".join(character for _, character in fixed)


def like_characters(pattern: str) -> Iterator[tuple[bool, str]]:
    """The characters of a ``like`` pattern, each with whether it is a wildcard."""
    characters = iter(pattern)
    for character in characters:
        if character != "\\":
            yield character in "%_", character
            continue
        character = next(characters, "")
        if character not in ("%", "_", "\\"):
            raise SubscriptionError(
                f"a backslash in the like pattern {pattern[:100]!r} must stand before "
                "%, _ or another backslash"
            )
        yield False, character


def like_to_regex(pattern: str) -> str:
    """A ``like`` pattern as RE2 writes it."""
    if len(pattern) > MAX_REGEX // 2 - 10:
        raise SubscriptionError(
            f"a like pattern of {len(pattern):,} characters: the limit is {MAX_REGEX // 2 - 10:,}"
        )
    parts = []
    for wildcard, character in like_characters(pattern):
        if wildcard:
            parts.append(".*" if character == "%" else ".")
        else:
            parts.append("\\" + character if character in _SPECIAL else character)
    return rf"(?s)\A{''.join(parts)}\z"
