"""Words of an event's ``text``."""

from __future__ import annotations

import re
from functools import lru_cache

from tamis.model.events.event import Event
from tamis.operators.registry import operator

_WORD = re.compile(r"\w+")


def words_of(event: Event) -> frozenset[str] | None:
    """The words of the text, folded; None if there is no text."""
    text = event.attributes.get("text")
    return frozenset(_WORD.findall(text.casefold())) if isinstance(text, str) else None


@lru_cache(maxsize=10_000)
def _folded(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for each in words for word in _WORD.findall(each.casefold()))


@operator("word: string, *more: string", reads=("text",), prepare=words_of)
def keywords(words: frozenset[str] | None, *wanted: str) -> bool | None:
    """Whether the text has all these words, whatever their case."""
    return None if words is None else _folded(wanted) <= words
