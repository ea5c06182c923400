"""Attribute paths: ``new.price`` is the key ``price`` inside the mapping ``new``.

Write a key that is not a plain word in backticks (```a.b`.c``), and double a backtick inside it.
"""

from __future__ import annotations

import re

from tamis.errors import ParseError

Path = tuple[str, ...]

RESERVED = frozenset({"and", "or", "not", "true", "false", "null"})
"""The words that stand in backticks when they are an attribute's name."""

KEY = r"(?:[^\W\d]\w*|`(?:[^`]|``)*`)"
DOTTED = rf"{KEY}(?:\.{KEY})*"
_PLAIN = re.compile(r"[^\W\d]\w*")
_KEY = re.compile(KEY)
_DOTTED = re.compile(DOTTED)


def parse_path(text: str) -> Path:
    """The keys of a dotted path."""
    if text.isidentifier() and text.isascii():
        return (text,)
    if not _DOTTED.fullmatch(text):
        hint = "write a.b for nested keys, and put a key that is not a plain word in backticks"
        raise ParseError(f"{text[:100]!r} is not an attribute path", text, 0, hint)
    return tuple(_unquote(key) for key in _KEY.findall(text))


def format_path(path: Path) -> str:
    """The dotted form of a path, quoted where needed; ``parse_path`` gives the path back."""
    if len(path) == 1 and path[0].lower() in RESERVED:
        return f"`{path[0]}`"
    return ".".join(key if _PLAIN.fullmatch(key) else _quote(key) for key in path)


def _quote(key: str) -> str:
    return "`" + key.replace("`", "``") + "`"


def _unquote(key: str) -> str:
    return key[1:-1].replace("``", "`") if key[0] == "`" else key
