"""How many examples Hypothesis tries: ``@examples(40)`` tries 40 in the suite, ten times as many in
the soak, and half of them, or a few more, in the fast tests and without the JIT.

A number in ``settings`` would be the same everywhere, and the soak no deeper than the suite.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_SUITE = 200
"""Examples of a test that names no number, in the profile of the suite."""
_FEW = 20


def examples(count: int, **more: Any) -> settings:
    """Settings for about ``count`` examples, as the profile multiplies them."""
    several = count * settings().max_examples // _SUITE
    return settings(max_examples=max(several, min(count, _FEW)), **more)
