"""Gryphon's tree with its optimisations switched on and off."""

from __future__ import annotations

from typing import Any

from benchmarks.workloads import LEVELS

PLAIN = "gryphon, plain"
COLLAPSED = "stars collapsed"
SUCCESSORS, AGGRESSIVE = "successor sets", "aggressive sets"
FACTORED = ("factored on 1", "factored on 2", "factored on 3")

_NOTHING: dict[str, Any] = {"collapse": False, "order": range(LEVELS)}
_STARS = _NOTHING | {"collapse": True}

VARIANTS: dict[str, dict[str, Any]] = {
    PLAIN: _NOTHING,
    COLLAPSED: _STARS,
    SUCCESSORS: _STARS | {"successors": "plain"},
    AGGRESSIVE: _STARS | {"successors": "aggressive"},
    **{name: _STARS | {"factoring": count} for count, name in enumerate(FACTORED, 1)},
}
"""The options of each variant; the attributes stand in the order of their popularity."""
