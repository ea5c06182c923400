"""Locks that a forked process does not inherit: whoever held one is not there to give it back."""

from __future__ import annotations

import os
import threading
import weakref


class Locked:
    """Has a lock that its holder may take again; in every forked process it is free."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKED.add(self)


_LOCKED: weakref.WeakSet[Locked] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_LOCKED):
        each._lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
