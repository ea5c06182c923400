"""The constants of many texts of one template as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamis.errors import TamisError
from tamis.language.cursor import negative_value, timestamp_value
from tamis.language.lexer import string_value
from tamis.language.template import Template
from tamis.matching.boxes.shapes import Column, Shape
from tamis.predicates.operands import Constant

_EXACT = 15
"""Digits that a double holds for certain."""


def columns_of(template: Template, literals: Sequence[Sequence[str]]) -> list[Column] | None:
    """The constants of many rows; None if a column cannot hold one of them."""
    try:
        return [_column(convert, texts) for convert, texts in zip(template.convert, zip(*literals))]
    except (TamisError, ValueError, pa.ArrowException):
        return None


def _column(convert: Callable[[str], Any], texts: Sequence[str]) -> Column:
    """The values of literals of one sort."""
    if convert is string_value:
        if any("\\" in text or text[0] in text[1:-1] or text[0] in "rR" for text in texts):
            return pa.array([string_value(text) for text in texts], pa.large_string())
        return pa.array([text[1:-1] for text in texts], pa.large_string())
    if convert is timestamp_value:
        return [timestamp_value(text) for text in texts]
    if max(map(len, texts)) > _EXACT:
        return [Constant(convert(text)).value for text in texts]
    strings = pa.array(texts, pa.string())
    whole = all(map(str.isdigit, texts))
    numbers = strings.cast(pa.int64() if whole else pa.float64()).to_numpy()
    if not np.isfinite(numbers).all():
        raise ValueError("a constant must be finite")
    return -numbers if convert is negative_value else numbers


def contradictory(shape: Shape, columns: Sequence[Column], rows: int) -> NDArray[np.bool_]:
    """The rows whose lower end lies above the upper one, so that they never match, and those whose
    prefix has no successor."""
    crossed = np.zeros(rows, bool)
    for column in columns[shape.holes :]:
        crossed |= column.is_null().to_numpy(zero_copy_only=False)
    for low, high in shape.crossing:
        ours, theirs = columns[low], columns[high]
        if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
            crossed |= ours > theirs
        elif isinstance(ours, pa.Array) and isinstance(theirs, pa.Array):
            crossed |= pc.greater(ours, theirs).to_numpy(zero_copy_only=False)
        else:
            pairs = zip(_listed(ours), _listed(theirs), strict=True)
            crossed |= np.fromiter((a > b for a, b in pairs), bool, rows)
    return crossed


def _listed(column: Column) -> list[Any]:
    if isinstance(column, list):
        return column
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return values


def filtered(column: Column, kept: NDArray[np.bool_]) -> Column:
    if isinstance(column, list):
        return [value for value, keep in zip(column, kept.tolist()) if keep]
    return column[kept] if isinstance(column, np.ndarray) else column.filter(pa.array(kept))
