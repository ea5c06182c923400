"""Nodes are frozen dataclasses, but for the way in which they are made."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from tamis.predicates.node import node


@node
class Pair:
    left: int
    right: int = 2


@node
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number <= 0:
            raise ValueError("not positive")


def test_fields_are_set_by_place_by_name_and_by_default() -> None:
    assert Pair(1) == Pair(1, 2) == Pair(right=2, left=1) == replace(Pair(5), left=1)
    assert [field.name for field in fields(Pair)] == ["left", "right"]  # type: ignore[arg-type]
    for arguments in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="argument"):
            Pair(*arguments)


def test_nodes_are_checked_when_they_are_made() -> None:
    assert Positive(1).number == 1
    with pytest.raises(ValueError, match="not positive"):
        Positive(0)


def test_nodes_are_immutable_and_hashable() -> None:
    with pytest.raises(FrozenInstanceError):
        Pair(1).left = 5  # type: ignore[misc]
    assert len({Pair(1), Pair(1, 2), Pair(1, 3)}) == 2
    assert not hasattr(Pair(1), "__dict__")


def test_nodes_can_be_copied_and_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pair(1))) == copy.copy(Pair(1)) == Pair(1)
