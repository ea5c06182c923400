"""What threads and forked processes share: values made on first use or by key, and locks."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")
Key = TypeVar("Key")
Item = TypeVar("Item")


class lazy(Generic[Made]):  # noqa: N801  (it is a decorator)
    """A property whose value is kept in the object, without a lock.

    ``functools.cached_property`` of Python 3.11 holds one for all objects of a class: readers would
    wait for each other, and a forked process for ever. Here two threads may both make the value;
    one stays.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Made:
        made = owner.__dict__[self._make.__name__] = self._make(owner)
        return made


class Bounded(dict[Key, Item]):
    """What was made once, by key. When it is full, it is emptied: to know what was not used for
    long would cost every use."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, item: Item) -> None:
        if len(self) >= self._most and key not in self:
            self.clear()
        super().__setitem__(key, item)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Look for no cycles meanwhile: where very many objects are made and none of them is in a
    cycle, looking at all of them again and again takes half of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Lockable:
    """Has a lock that its holder may take again. It is free in every forked process, because the
    thread that held it is not there to give it back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKED.add(self)


_LOCKED: weakref.WeakSet[Lockable] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_LOCKED):
        each._lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
