"""Texts that must stand in whatever a pattern matches: what can be sought before the pattern is.

like '%oak%table_'                 oak, table
matches 'error (in|at) line [0-9]+'     "error ", " line "
"""

from __future__ import annotations

import re

from tamis.predicates.texts import like_characters

_QUANTIFIER = re.compile(r"\{\d+(,\d*)?\}")
_CLASSES = frozenset("dDwWsSbBAz")
"""Letters that stand, behind a backslash, for a class of characters or for a place."""
_GROUPS = ("(?:", "(?P<", "(?<")


def like_literals(pattern: str) -> list[str]:
    """The texts between the wildcards of a ``like`` pattern."""
    runs = [""]
    for wildcard, character in like_characters(pattern):
        if wildcard:
            runs.append("")
        else:
            runs[-1] += character
    return [run for run in runs if run]


def regex_literals(pattern: str) -> list[str]:
    """Texts that stand in whatever a regular expression matches; maybe not all of them.

    Groups are passed over, since there may be a choice in them. Where anything is in doubt (flags,
    rare escapes, a choice outside of groups) there are none.
    """
    runs, position = [""], 0
    while position < len(pattern):
        character = pattern[position]
        if character == "|":
            return []
        if character == "\\":
            escaped = pattern[position + 1 : position + 2]
            if escaped.isalnum() and escaped not in _CLASSES:
                return []
            if escaped in _CLASSES:
                runs.append("")
            else:
                runs[-1] += escaped
            position += 2
        elif character in "([":
            end = _behind(pattern, position)
            if end is None:
                return []
            runs.append("")
            position = end
        elif character in ".^$" or character == "+":
            runs.append("")
            position += 1
        elif character in "*?" or _QUANTIFIER.match(pattern, position):
            runs[-1] = runs[-1][:-1]
            runs.append("")
            found = _QUANTIFIER.match(pattern, position)
            position = found.end() if found else position + 1
        else:
            runs[-1] += character
            position += 1
    return [run for run in runs if run]


def _behind(pattern: str, start: int) -> int | None:
    """The place behind the group or the class that begins at ``start``; None if in doubt."""
    if pattern[start] == "[":
        return _behind_class(pattern, start)
    if pattern.startswith("(?", start) and not pattern.startswith(_GROUPS, start):
        return None
    position = start + 1
    while position < len(pattern):
        character = pattern[position]
        if character == ")":
            return position + 1
        if character == "\\":
            if pattern[position + 1 : position + 2] in ("Q", "E", "C"):
                return None
            position += 2
        elif character in "([":
            behind = _behind(pattern, position)
            if behind is None:
                return None
            position = behind
        else:
            position += 1
    return None


def _behind_class(pattern: str, start: int) -> int | None:
    position = start + 1
    if pattern.startswith("^", position):
        position += 1
    if pattern.startswith("]", position):
        position += 1
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 2
        elif pattern.startswith("[:", position):
            end = pattern.find(":]", position)
            if end < 0:
                return None
            position = end + 2
        elif pattern[position] == "]":
            return position + 1
        else:
            position += 1
    return None
