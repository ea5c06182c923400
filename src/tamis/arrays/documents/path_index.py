"""The paths that somebody asks for, as a tree in flat arrays that kernels walk by keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.arrow_buffers import frozen
from tamis.arrays.documents.tokens import next_hash
from tamis.arrays.hash_table import empty_slots, put_slot
from tamis.arrays.types import Buckets, Bytes, Flags, Numbers, Offsets
from tamis.model.paths import Path

_LOW = (1 << 31) - 1


class PathTables(NamedTuple):
    """What kernels are given of the tree. Node 0 is its root, the document."""

    table: Buckets
    """Hash table from a node and a key to the node below."""
    parents: Numbers
    key_offsets: Offsets
    """Where the key of each node begins in ``key_bytes``."""
    key_bytes: Bytes
    asked: Flags
    """Which nodes are asked for themselves, and not only on the way to others."""


class PathIndex:
    """A tree of paths: their keys, and the nodes below each node."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.keys: list[str] = [""]
        self.children: list[dict[str, int]] = [{}]
        parents = [-1]
        asked = [False]
        for path in sorted(set(paths)):
            node = 0
            for key in path:
                child = self.children[node].get(key)
                if child is None:
                    child = self.children[node][key] = len(self.keys)
                    self.keys.append(key)
                    self.children.append({})
                    parents.append(node)
                    asked.append(False)
                node = child
            asked[node] = True
        self.tables = self._tables(parents, asked)

    def _tables(self, parents: list[int], asked: list[bool]) -> PathTables:
        encoded = [key.encode() for key in self.keys]
        table = empty_slots(len(encoded))
        for node in range(1, len(encoded)):
            put_slot(table, (_hash(encoded[node]) + parents[node] * 0x9E3779B1) & _LOW, node)
        lengths: Any = [len(key) for key in encoded]
        return PathTables(
            frozen(table, np.int64),
            frozen(parents, np.int32),
            frozen(np.concatenate(([0], np.cumsum(lengths))), np.int64),
            frozen(np.frombuffer(b"".join(encoded), np.uint8), np.uint8),
            frozen(asked, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.keys)


def _hash(key: bytes) -> int:
    found = 0
    for byte in key:
        found = next_hash(found, byte)
    return found
