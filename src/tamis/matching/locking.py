"""A lock that a forked process does not inherit: whoever held it is not there to give it back."""

from __future__ import annotations

import os
import threading
import weakref


class Lock:
    """A lock that its holder may take again; free in every forked process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def renew(self) -> None:
        """Be free, whoever holds it."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock.renew()


os.register_at_fork(after_in_child=_after_fork)
