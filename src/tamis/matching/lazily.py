"""Attributes that are made when they are first asked for, without a lock.

``functools.cached_property`` of Python 3.11 holds one for all objects of a class: readers would
wait for each other, and a forked process for ever. Here two threads may both make the value; one
stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


class lazy(Generic[Made]):  # noqa: N801  (it is a decorator)
    """A property whose value is kept in the object."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Made:
        made = owner.__dict__[self._make.__name__] = self._make(owner)
        return made
