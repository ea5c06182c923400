"""Operators that run in other processes, which import them from here."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any


def sleepy(event: Any, seconds: float) -> bool:
    """Sleep, then say yes."""
    time.sleep(seconds)
    return True


def counted(event: Any, most: int, number: None) -> Iterator[int]:
    """Numbers."""
    yield from range(most)


def crash(event: Any, is_fatal: bool) -> bool:
    """Take the process down, or say yes."""
    if is_fatal:
        os._exit(1)
    return True
