"""Figures as a table: in text, in a terminal, in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table


class Cells(NamedTuple):
    """The heads of the columns, the rows, and a line below them."""

    head: list[str]
    rows: list[list[str]]
    below: str


class Tabular(ABC):
    """What is shown as a table: the first column to the left, figures to the right."""

    __slots__ = ()

    @abstractmethod
    def cells(self) -> Cells:
        """What the table says."""

    def __str__(self) -> str:
        head, rows, below = self.cells()
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        lines = [
            "   ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join([*lines, below])

    def __rich__(self) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        head, rows, below = self.cells()
        table = Table(box=SIMPLE_HEAD, caption=Text(below), caption_justify="left", pad_edge=False)
        table.padding = (0, 1, 0, 0)
        table.add_column(head[0], overflow="fold")
        for name in head[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _repr_html_(self) -> str:
        head, rows, below = self.cells()
        top = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(f"<tr>{_data(row)}</tr>" for row in rows)
        return (
            f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{escape(below)}</p>"
        )


class Holdings(Tabular):
    """A dataclass of figures about a matcher, its bytes by part, its fallbacks by reason."""

    __slots__ = ()

    bytes: Mapping[str, int]
    fallbacks: Mapping[str, int]

    @property
    def nbytes(self) -> int:
        """Memory of all parts."""
        return sum(self.bytes.values())

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data, for JSON."""
        return {**asdict(self), "nbytes": self.nbytes}  # type: ignore[call-overload]

    def named_rows(self, names: Iterable[str]) -> list[list[str]]:
        """A row for each of some figures, for the bytes of each part, and for each fallback."""
        rows = [[name, f"{getattr(self, name):,}"] for name in names]
        rows += [[f"bytes of {part}", f"{count:,}"] for part, count in self.bytes.items()]
        rows.append(["bytes", f"{self.nbytes:,}"])
        rows += [
            [f"rows read one by one: {why}", f"{count:,}"] for why, count in self.fallbacks.items()
        ]
        return rows


def figure(number: float) -> str:
    """A number with as many places as are worth reading."""
    if 0 < number < 0.01:
        return "< 0.01"
    return f"{number:,.2f}" if number < 100 else f"{number:,.0f}"


def _data(row: list[str]) -> str:
    left, *others = (escape(cell) for cell in row)
    right = "".join(f'<td style="text-align:right">{cell}</td>' for cell in others)
    return f'<td style="text-align:left">{left}</td>{right}'
