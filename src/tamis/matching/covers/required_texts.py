"""Texts that must stand in whatever a pattern matches: what can be sought before the pattern is.

like '%oak%table_'                      oak; table
matches 'error (in|at) line [0-9]+'     "error "; "in" or "at"; " line "
matches '(?i)(mimi|lsa)dump'            "mimi" or "lsa"; "dump"; without regard to case

Alternatives give what the best text of each gives together, one of which must stand there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tamis.predicates.texts import like_characters

_QUANTIFIER = re.compile(r"(?:[*?]|(\+)|\{\d+(?:,\d*)?\})\??")
_CLASSES = frozenset("dDwWsSbBAz")
"""Letters that stand, behind a backslash, for a class of characters or for a place."""
_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|([imsU-]*):))?(?!\?)")
_FLAGS = re.compile(r"\(\?([imsU-]+)\)")
_DEEPEST = 50
"""Groups within each other that are looked into."""
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)

Texts = frozenset[str]
"""Texts of which one must be found."""


class RequiredTexts(NamedTuple):
    """What must be found in whatever matches: one text of each set."""

    texts: list[Texts]
    ignore_case: bool = False


def like_literals(pattern: str) -> list[str]:
    """The texts between the wildcards of a ``like`` pattern."""
    runs = [""]
    for wildcard, character in like_characters(pattern):
        if wildcard:
            runs.append("")
        else:
            runs[-1] += character
    return [run for run in runs if run]


def required_by_regex(pattern: str) -> RequiredTexts:
    """Texts that stand in whatever a regular expression, which RE2 takes, matches; maybe not all
    of them. Where anything is in doubt (rare escapes, classes of Unicode) there are none."""
    reader = _Reader(pattern)
    try:
        texts = reader.alternatives()
    except _DoubtError:
        return RequiredTexts([])
    return RequiredTexts(texts if reader.at == len(pattern) else [], reader.ignore_case)


class _DoubtError(Exception):
    """The pattern has something that is not understood here."""


class _Run:
    """What one alternative requires so far: the sets behind, and the text that is growing."""

    def __init__(self) -> None:
        self.sets: list[Texts] = []
        self.text = ""

    def end(self) -> None:
        """Let the text grow no further."""
        if self.text:
            self.sets.append(frozenset({self.text}))
            self.text = ""


class _Reader:
    """Reads a regular expression once, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0
        self._depth = 0
        self.ignore_case = False
        """Whether a part of it ignores case, so that all must be sought so."""

    def alternatives(self) -> list[Texts]:
        """What is required up to the end, or up to a closing parenthesis."""
        several = [self._sequence()]
        while self._pattern.startswith("|", self.at):
            self.at += 1
            several.append(self._sequence())
        if len(several) == 1:
            return several[0]
        if not all(several):
            return []
        best = (max(each, key=lambda texts: min(map(len, texts))) for each in several)
        return [frozenset().union(*best)]

    def _sequence(self) -> list[Texts]:
        run, pattern = _Run(), self._pattern
        while self.at < len(pattern) and pattern[self.at] not in "|)":
            inner = self._item(run)
            while (repeated := _QUANTIFIER.match(pattern, self.at)) is not None:
                self.at = repeated.end()
                if repeated[1] is None:  # perhaps it does not occur at all
                    run.text = run.text[:-1] if inner is None else run.text
                    inner = []
                elif inner is None:
                    self._refuse_more()
                    run.end()
            if inner is not None:
                run.end()
                run.sets += inner
        run.end()
        return run.sets

    def _refuse_more(self) -> None:
        """Doubt a quantifier that is not about the item before it."""
        if _QUANTIFIER.match(self._pattern, self.at):
            raise _DoubtError

    def _item(self, run: _Run) -> list[Texts] | None:
        """Step over one item. None if it was a character, which the text has grown by; else what
        is required by what stands there instead."""
        pattern, character = self._pattern, self._pattern[self.at]
        if character == "(":
            return self._group()
        if character == "[":
            found = _CLASS.match(pattern, self.at)
            if found is None:
                raise _DoubtError
            self.at = found.end()
            return []
        self.at += 1
        if character in ".^$":
            return []
        if character == "\\":
            character = pattern[self.at : self.at + 1]
            self.at += 1
            if character in _CLASSES:
                return []
            if character.isalnum() or not character:
                raise _DoubtError
        run.text += character
        return None

    def _group(self) -> list[Texts]:
        flags = _FLAGS.match(self._pattern, self.at)
        if flags is not None:
            self.at = flags.end()
            self.ignore_case |= "i" in flags[1]
            self._refuse_more()  # which would be about what stands before the flags
            return []
        begin = _GROUP.match(self._pattern, self.at)
        if begin is None or self._depth == _DEEPEST:
            raise _DoubtError
        self.at = begin.end()
        self.ignore_case |= "i" in (begin[1] or "")
        self._depth += 1
        inner = self.alternatives()
        self._depth -= 1
        if not self._pattern.startswith(")", self.at):
            raise _DoubtError
        self.at += 1
        return inner
