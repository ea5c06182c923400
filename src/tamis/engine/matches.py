"""The result of matching a batch: pairs of an event's row and a subscription's slot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.engine.store import Strings
from tamis.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamis.bindings.evaluation import Answer
    from tamis.matching.pairs import Pairs

Bindings = Mapping[str, Any]
"""The values of a subscription's variables, by their names."""


class Match(NamedTuple):
    """A subscription that an event matches."""

    id: str
    bindings: Bindings


class Incomplete(NamedTuple):
    """A pair that is not a match, but might be one if nothing had failed."""

    event: int
    subscription: str
    reason: str

    def __str__(self) -> str:
        return f"the subscription {self.subscription!r} cannot be decided: {self.reason}"


def incomplete_of(
    ids: Strings, matched: Sequence[int], answers: Mapping[int, Answer]
) -> list[Incomplete]:
    """What of one event's answers is not a match, by slot, but says why."""
    left = answers.keys() - set(matched)
    return [Incomplete(0, ids[slot], answers[slot].reason) for slot in sorted(left)]


class EventMatches(list[Match]):
    """The matches of one event, and the pairs that nobody can decide."""

    def __init__(self, ids: Strings, slots: Sequence[int], answers: Mapping[int, Answer]) -> None:
        bindings = (answers[slot].solution if slot in answers else {} for slot in slots)
        super().__init__(map(Match, ids.some(slots), bindings))
        self.incomplete = incomplete_of(ids, slots, answers) if answers else []


class Matches:
    """Which events match which subscriptions; no id is looked up until asked for."""

    __slots__ = ("_answers", "_failed", "_ids", "event", "slot")

    def __init__(self, pairs: Pairs, ids: Strings) -> None:
        self._failed: Pairs | None = None
        if pairs.answer is not None:
            failed = pairs.failed()
            pairs, self._failed = pairs.take(~failed), pairs.take(failed)
        self.event: NDArray[np.int32] = pairs.row
        """The rows of the events, ascending."""
        self.slot: NDArray[np.int32] = pairs.slot
        """The slots of the subscriptions that they match."""
        self._answers = pairs.answer
        self._ids = ids

    def ids(self) -> list[str]:
        """The subscriptions' ids, one for each pair."""
        return self._ids.take(self.slot).to_pylist()  # type: ignore[return-value]  # none is null

    def pairs(self) -> Iterator[tuple[int, str]]:
        """The pairs of an event's row and a subscription's id."""
        return zip(self.event.tolist(), self.ids(), strict=True)

    @property
    def has_bindings(self) -> bool:
        """Whether any subscription that matches may have variables."""
        return self._answers is not None

    @property
    def bindings(self) -> list[Bindings]:
        """For each pair the values of the subscription's variables; empty without variables."""
        if self._answers is None:
            return [{} for _ in range(len(self))]
        return [{} if answer is None else answer.solution for answer in self._answers]

    @property
    def incomplete(self) -> list[Incomplete]:
        """The pairs that nobody can decide, because an operator failed or a limit was reached."""
        if self._failed is None or self._failed.answer is None:
            return []
        ids = self._ids.some(self._failed.slot.tolist())
        triples = zip(self._failed.row.tolist(), ids, self._failed.answer, strict=True)
        return [Incomplete(row, id, answer.reason) for row, id, answer in triples]

    def to_arrow(self) -> pa.Table:
        """A table with the columns ``event`` and ``subscription`` and, if subscriptions have
        variables, ``bindings``: JSON."""
        import pyarrow as pa

        columns = {"event": pa.array(self.event), "subscription": self._ids.take(self.slot)}
        if self._answers is not None:
            texts = [json.dumps(each, default=str) for each in self.bindings]
            columns["bindings"] = pa.array(texts, pa.large_string())
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame with the columns of ``to_arrow``."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """A Polars frame with the columns of ``to_arrow``."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("to_polars() needs Polars: pip install polars") from error
        frame: Any = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __len__(self) -> int:
        return len(self.event)

    def __repr__(self) -> str:
        left = 0 if self._failed is None else len(self._failed.row)
        aside = f", {left:,} incomplete" if left else ""
        return f"Matches({len(self):,} pairs{aside})"
