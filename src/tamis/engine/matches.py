"""The result of matching a batch: pairs of an event's row and a subscription's slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tamis.engine.store import Strings
from tamis.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray


class Matches:
    """Which events match which subscriptions; no id is looked up until asked for."""

    __slots__ = ("_ids", "event", "slot")

    def __init__(self, event: NDArray[np.int32], slot: NDArray[np.int32], ids: Strings) -> None:
        self.event = event
        """The rows of the events, ascending."""
        self.slot = slot
        """The slots of the subscriptions that they match."""
        self._ids = ids

    def ids(self) -> list[str]:
        """The subscriptions' ids, one for each pair."""
        return self._ids.take(self.slot).to_pylist()  # type: ignore[return-value]  # none is null

    def pairs(self) -> Iterator[tuple[int, str]]:
        """The pairs of an event's row and a subscription's id."""
        return zip(self.event.tolist(), self.ids(), strict=True)

    def to_arrow(self) -> pa.Table:
        """A table with the columns ``event`` and ``subscription``."""
        import pyarrow as pa

        return pa.table({"event": pa.array(self.event), "subscription": self._ids.take(self.slot)})

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame with the columns ``event`` and ``subscription``."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """A Polars frame with the columns ``event`` and ``subscription``."""
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
        return f"Matches({len(self):,} pairs)"
