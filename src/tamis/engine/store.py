"""What the engine keeps of its subscriptions beside the index: ids, texts, metadata, by slot.

    slots      0 ........ 999,999 | 1,000,000 ...          slots are given out once
    ids        Arrow, with a table | Python's strings, with a dict
    texts      Arrow               | Python's strings
               frozen: came at once  live: came one by one

A million subscriptions as Python objects would take gigabytes; in Arrow they take what their texts
take. An expression is parsed from its text when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.arrays.sharing import Bounded
from tamis.matching.setting import Slot
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamis.arrays.gathering import StringParts
    from tamis.arrays.string_table import StringTable
    from tamis.arrays.types import Flags, Int32s


EXPRESSIONS = 100_000
"""Expressions kept: some 100 MB at most. When there are more, all are forgotten."""
_FEW = 4
"""Strings from which on they are taken together."""
_AT_ONCE = 1 << 16
"""Strings of an array that are Python's at a time."""


class _Part(NamedTuple):
    """Strings in Arrow, and their buffers: one of them is read from these in a third of the time
    that Arrow takes for it."""

    first: Slot
    strings: pa.LargeStringArray
    offsets: memoryview
    data: memoryview

    @classmethod
    def of(cls, first: Slot, strings: pa.LargeStringArray) -> _Part:
        """The strings of the slots from the first on."""
        _, offsets, data = strings.buffers()
        ends = (
            memoryview(offsets or b"").cast("q")[strings.offset :][: len(strings) + 1].toreadonly()
        )
        return cls(first, strings, ends, memoryview(data or b"").toreadonly())

    def behind(self, parts: StringParts | None) -> StringParts:
        """The parts before this one, and this one, for kernels."""
        from tamis.arrays.gathering import StringParts

        _, offsets, data = self.strings.buffers()
        if parts is None:
            parts = StringParts.none()
        begin = 0 if offsets is None else offsets.address + 8 * self.strings.offset
        return parts.followed_by(
            self.first, len(self.strings), begin, 0 if data is None else data.address
        )

    def string(self, slot: Slot) -> str:
        """The string of a slot."""
        first, _, offsets, data = self
        return str(data[offsets[slot - first] : offsets[slot - first + 1]], "utf-8")


class _Column(NamedTuple):
    parts: tuple[_Part, ...]
    first: Slot
    tail: list[str]
    places: StringParts | None = None
    """The parts for kernels; None if there are none."""


class Strings:
    """A column of strings by slot that only grows: parts in Arrow, and a list behind them.

    Readers in other threads find every string that was there when they began.
    """

    def __init__(self) -> None:
        self._column = _Column((), 0, [])

    def __len__(self) -> int:
        return self._column.first + len(self._column.tail)

    def append(self, text: str) -> None:
        """Add one string."""
        self._column.tail.append(text)

    def extend(self, texts: pa.LargeStringArray) -> None:
        """Add many strings."""
        parts, first, tail, places = self._column
        for more in ([_array(tail)] if tail else []) + [texts]:
            part = _Part.of(first, more)
            parts, first, places = (*parts, part), first + len(more), part.behind(places)
        self._column = _Column(parts, first, [], places)

    def __getitem__(self, slot: Slot) -> str:
        parts, start, tail, _ = self._column
        if slot >= start:
            return tail[slot - start]
        for part in reversed(parts):
            if slot >= part.first:
                return part.string(slot)
        raise IndexError(slot)

    def __iter__(self) -> Iterator[str]:
        parts, _, tail, _ = self._column
        for part in parts:
            for start in range(0, len(part.strings), _AT_ONCE):
                yield from map(str, part.strings.slice(start, _AT_ONCE).to_pylist())
        yield from tail

    def some(self, slots: Sequence[Slot]) -> list[str]:
        """The strings of some slots."""
        if len(slots) >= _FEW:
            places = self._column.places
            found = None if places is None else places.strings(slots)
            if found is not None:
                return found
        return [self[slot] for slot in slots]

    def take(self, slots: NDArray[np.int32]) -> pa.Array[Any]:
        """The strings of many slots."""
        import pyarrow as pa

        column = self._column
        parts = [part.strings for part in column.parts]
        if column.tail or not parts:
            parts.append(_array(column.tail))
        if len(parts) == 1:
            return parts[0].take(slots)
        taken: Any = pa.chunked_array(parts, pa.large_string()).take(slots)
        strings: pa.Array[Any] = taken.combine_chunks()
        return strings

    def all(self) -> pa.LargeStringArray:
        """All strings in one array."""
        import pyarrow as pa

        parts, _, tail, _ = self._column
        if len(parts) == 1 and not tail:
            return parts[0].strings
        return pa.concat_arrays([*(part.strings for part in parts), _array(tail)])

    @property
    def nbytes(self) -> int:
        """Memory, roughly for the list."""
        parts, _, tail, _ = self._column
        return sum(part.strings.nbytes for part in parts) + sum(map(len, tail))


def _array(texts: list[str]) -> pa.LargeStringArray:
    import pyarrow as pa

    return pa.array(texts, pa.large_string())


class Store:
    """The subscriptions of an engine by slot; slots of removed ones are not used again."""

    def __init__(self) -> None:
        self.ids = Strings()
        self.texts = Strings()
        self.metadata: dict[Slot, Mapping[str, Any]] = {}
        self.disabled: set[Slot] = set()
        self._removed: set[Slot] = set()
        self._tables: list[tuple[Slot, StringTable]] = []
        self._live: dict[str, Slot] = {}
        self._frozen = 0
        """Slots of all tables."""
        self.expressions: Bounded[Slot, Expression] = Bounded(EXPRESSIONS)
        """Some of those that were parsed."""

    def copy(self) -> Store:
        """The subscriptions as they are now; later changes do not concern it."""
        other = Store()
        other.ids, other.texts = self.ids, self.texts  # which only grow
        other.metadata, other.disabled = self.metadata.copy(), self.disabled.copy()
        other._live, other._removed = self._live.copy(), self._removed.copy()
        other._tables, other._frozen = self._tables.copy(), self._frozen
        other.expressions = self.expressions
        return other

    def keep(self, slot: Slot, expression: Expression) -> Expression:
        """Remember an expression, which then need not be parsed again."""
        self.expressions[slot] = expression
        return expression

    def describe(self, slot: Slot, metadata: Mapping[str, Any], enabled: bool) -> None:
        """Write down what belongs to a subscription beside its text."""
        if metadata:
            self.metadata[slot] = metadata
        if not enabled:
            self.disabled.add(slot)

    def renumbered(self, slots: NDArray[np.int32]) -> Store:
        """Another store of the subscriptions with these slots, in their order."""
        from tamis.arrays.string_table import StringTable

        other = Store()
        ids: Any = self.ids.take(slots)
        texts: Any = self.texts.take(slots)
        other.add_many(other.reserve_many(ids, texts), StringTable(ids))
        new = {old: slot for slot, old in enumerate(slots.tolist())}
        other.metadata = {new[slot]: each for slot, each in self.metadata.items()}
        other.disabled = {new[slot] for slot in self.disabled}
        return other

    def reserve(self, id: str, text: str) -> Slot:
        """A slot for a subscription, which is there when it is added."""
        slot = len(self.ids)
        self.ids.append(id)
        self.texts.append(text)
        return slot

    def add(self, id: str, slot: Slot) -> None:
        """Let the subscription of a reserved slot be there; its id is free."""
        self._live[id] = slot

    def reserve_many(self, ids: pa.LargeStringArray, texts: pa.LargeStringArray) -> Slot:
        """Slots for many subscriptions; return the first."""
        slot = len(self.ids)
        self.ids.extend(ids)
        self.texts.extend(texts)
        return slot

    def add_many(self, slot: Slot, table: StringTable) -> None:
        """Let many subscriptions be there, whose slots are reserved from one on, and whose ids are
        free and distinct."""
        self._tables.append((slot, table))
        self._frozen += len(table)

    def remove(self, id: str, slot: Slot) -> None:
        """Forget a subscription that is there."""
        if self._live.pop(id, None) is None:
            self._removed.add(slot)
        self.metadata.pop(slot, None)
        self.expressions.pop(slot, None)
        self.disabled.discard(slot)

    def present(self) -> Flags:
        """For each slot that was ever given out, whether its subscription is there."""
        import numpy as np

        found = np.zeros(len(self.ids), bool)
        for first, table in self._tables:
            found[first : first + len(table)] = True
        found[list(self._removed)] = False
        found[list(self._live.values())] = True
        return found

    def forget(self, slots: Iterable[Slot]) -> None:
        """Let slots of a frozen part be those of removed subscriptions."""
        self._removed.update(slots)

    def slot(self, id: str) -> Slot | None:
        """The slot of an id, or None."""
        slot = self._live.get(id)
        if slot is not None:
            return slot
        for first, table in self._tables:
            row = table.row(id)
            if row >= 0 and first + row not in self._removed:
                return first + row
        return None

    def taken(self, ids: pa.LargeStringArray) -> Iterator[int]:
        """The rows of those ids that exist already."""
        import numpy as np

        for first, table in self._tables:
            rows = table.rows(ids)
            for row in np.flatnonzero(rows >= 0).tolist():
                if first + int(rows[row]) not in self._removed:
                    yield row
        if self._live:
            yield from (row for row, id in enumerate(ids.to_pylist()) if id in self._live)

    def slots(self) -> Int32s:
        """The slots of all subscriptions, ascending."""
        import numpy as np

        return np.flatnonzero(self.present()).astype(np.int32)

    def __len__(self) -> int:
        return self._frozen - len(self._removed) + len(self._live)

    def tables(self) -> Sequence[tuple[Slot, StringTable]]:
        """The frozen parts."""
        return self._tables

    @property
    def id_bytes(self) -> int:
        """Memory of the ids and of the tables that find them."""
        return self.ids.nbytes + sum(table.table.nbytes for _, table in self._tables)

    @property
    def waste(self) -> int:
        """Slots of removed subscriptions."""
        return len(self.ids) - len(self)
