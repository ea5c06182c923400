"""The terms of a taxonomy on a line, so that the kinds of a term are few intervals.

Terms are numbered depth first, each below its first parent: in a tree, the kinds of a term are one
interval. A term with several parents stands below one of them and makes an interval of its own for
the others.

    furniture 0 ── chair 1 ── throne 2        is a furniture   0..2
    regalia 3                                 is a regalia     2..2, 3..3

Behind the terms is one rank for all strings that are none. Siblings are in the order of their
names, so that a taxonomy has one numbering, however it is written: files of segments rely on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.model.taxonomy import Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa


class TermLine:
    """The numbering of one taxonomy."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        children: dict[str, list[str]] = {}
        roots = []
        for term, parents in sorted(taxonomy.parents.items()):
            if parents:
                children.setdefault(parents[0], []).append(term)
            else:
                roots.append(term)
        self._number: dict[str, int] = {}
        stack = roots[::-1]
        while stack:
            term = stack.pop()
            self._number[term] = len(self._number)
            stack.extend(reversed(children.get(term, ())))
        self.size = len(self._number) + 1
        below: dict[str, list[int]] = {}
        for term in taxonomy:
            for ancestor in taxonomy.ancestors(term):
                below.setdefault(ancestor, []).append(self._number[term])
        self._intervals = {term: _runs(numbers) for term, numbers in below.items()}

    def kinds_of(self, term: str, positive: bool) -> list[tuple[int, int]]:
        """The intervals of the strings that are a kind of the term, or of those that are not."""
        intervals = self._intervals[term]
        if positive:
            return intervals
        ends = [-1, *(rank for interval in intervals for rank in interval), self.size]
        gaps = [(ends[i] + 1, ends[i + 1] - 1) for i in range(0, len(ends), 2)]
        return [(low, high) for low, high in gaps if low <= high]

    def rank(self, value: str) -> int:
        """The number of a term; of all other strings the last rank."""
        return self._number.get(value, self.size - 1)

    def ranks(self, array: pa.Array[Any]) -> NDArray[np.int32]:
        """The ranks of a column: -1 for nulls, and for what is no string."""
        import pyarrow.compute as pc
        from pyarrow import types

        if hasattr(array.type, "storage_type"):
            return self.ranks(array.storage)  # type: ignore[attr-defined]
        if types.is_run_end_encoded(array.type):
            array.validate(full=True)
            return self.ranks(pc.call_function("run_end_decode", [array]))
        kind: Any = array.type.value_type if types.is_dictionary(array.type) else array.type
        ranks = np.full(len(array), -1, np.int32)
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            encoded: Any = array
            if not types.is_dictionary(array.type):
                encoded = array.cast("string") if types.is_string_view(kind) else array
                encoded = encoded.dictionary_encode()
            else:
                array.validate(full=True)  # which alone looks at the indices
            words = encoded.dictionary.to_pylist()
            table = np.array([-1 if word is None else self.rank(word) for word in words], np.int32)
            valid = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
            indices = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
            ranks[valid] = table[indices]
        return ranks


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers as intervals."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
