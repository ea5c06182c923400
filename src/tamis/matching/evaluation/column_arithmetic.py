"""Arithmetic on columns: ``price * quantity > 100`` of many points at once.

    price          80      2^60     'x'      9
    quantity       0.5     3        2        (missing)
    price * quantity
      values       40.0    –        –        –
      state        KNOWN   OPEN     NOTHING  NOTHING

The oracle calculates with integers of any size and with doubles. Columns do so as long as both give
the same number: integers of 64 bits among themselves, and doubles below 2**53, where a double that
is a whole number is that integer. All beyond stays OPEN, and the oracle decides on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from tamis.arrays.arrow_types import EXACT, decoded, is_text
from tamis.arrays.types import Int32s, Truths
from tamis.matching.points.of_events import Points
from tamis.model.kinds import Kind, kind_of
from tamis.predicates.expression import EQUALITIES, Comparison
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand
from tamis.predicates.truth import FALSE, OPEN

NOTHING, KNOWN, OTHER, UNSURE = range(4)
"""A term has no value; a number; a value that is no number; a value that the oracle must find."""
_CALCULATED: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
_COMPARED: dict[str, Any] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_FITS = float(2**62)
"""Whole results up to this one, as estimated by doubles, fit into 64 bits."""
_LEAST, _GREATEST = -(2**63), 2**63 - 1


class Numbers(NamedTuple):
    """What a term is at many points."""

    values: NDArray[Any]
    """int64 or float64; anything where the state is not KNOWN."""
    state: NDArray[np.int8]


def arithmetic_verdicts(node: Comparison, positive: bool, number: Int32s, points: Points) -> Truths:
    """What a comparison with arithmetic, or its negation, is at some points."""
    left, right = (_numbers(side, number, points) for side in (node.left, node.right))
    return compared_numbers(node.operator, positive, left, right)


def compared_numbers(operator: str, positive: bool, left: Numbers, right: Numbers) -> Truths:
    """What a comparison, or its negation, says of two columns of numbers."""
    first, second = left.values, right.values
    state = np.maximum(left.state, right.state)
    if first.dtype != second.dtype:
        first, second = first.astype(np.float64), second.astype(np.float64)
        unsure = ~(_is_comparable(first) & _is_comparable(second))
        state[(state == KNOWN) & unsure] = UNSURE
    truth = _COMPARED[operator](first, second) == positive
    if operator not in EQUALITIES:
        truth &= (first == first) & (second == second)
    verdicts: Truths = truth.astype(np.int8)
    verdicts[state != KNOWN] = OPEN
    differ = operator in EQUALITIES and (operator == "!=") == positive
    verdicts[(state == OTHER) & (left.state != right.state)] = differ
    verdicts[(left.state == NOTHING) | (right.state == NOTHING)] = FALSE
    return verdicts


def _numbers(term: Operand, number: Int32s, points: Points) -> Numbers:
    if isinstance(term, Arithmetic):
        sides = (_numbers(side, number, points) for side in (term.left, term.right))
        return _calculated(term.operator, *sides)
    if isinstance(term, Constant):
        one = _of_values([term.value])
        return Numbers(*(np.repeat(each, len(number)) for each in one))
    assert isinstance(term, Attribute)
    index = points.values[term.path][number]
    bound = np.flatnonzero(index >= 0)
    found = _of_leaves(points.leaves[term.path], index[bound]) if len(bound) else _of_values([])
    values = np.zeros(len(number), found.values.dtype)
    state = np.full(len(number), NOTHING, np.int8)
    values[bound], state[bound] = found
    return Numbers(values, state)


def _of_leaves(leaves: Any, index: Int32s) -> Numbers:
    if isinstance(leaves, list):
        return _of_values([leaves[i] for i in index.tolist()])
    return numbers_of_array(decoded(leaves).take(pa.array(index)))


def _calculated(symbol: str, left: Numbers, right: Numbers) -> Numbers:
    first, second = left.values, right.values
    state = np.maximum(left.state, right.state)
    state[state == OTHER] = NOTHING
    state[(left.state == NOTHING) | (right.state == NOTHING)] = NOTHING
    with np.errstate(all="ignore"):  # what overflows or is nothing is not KNOWN below
        ours, theirs = first.astype(np.float64), second.astype(np.float64)
        values = _CALCULATED[symbol](ours, theirs)
        if first.dtype == second.dtype == np.int64 and symbol != "/":
            fits = np.abs(values) < _FITS
            values = _CALCULATED[symbol](first, second)
        else:
            fits = _is_exact(ours) & _is_exact(theirs) & _is_exact(values)
    state[(state == KNOWN) & ~fits] = UNSURE
    if symbol == "/":
        state[(second == 0) & (state != NOTHING) & (right.state == KNOWN)] = NOTHING
    return Numbers(values, state)


def _is_exact(values: NDArray[np.float64]) -> Any:
    """Of doubles, whether each stands for one number only; NaN does not."""
    return np.abs(values) < EXACT


def _is_comparable(values: NDArray[np.float64]) -> Any:
    return _is_exact(values) | np.isnan(values)


def _of_values(found: list[Any]) -> Numbers:
    """The numbers among values of events, or of a constant."""
    kinds = [type(each) for each in found]
    whole = all(kind is int for kind in kinds)
    if whole and all(_LEAST <= each <= _GREATEST for each in found):
        return Numbers(np.array(found, np.int64), np.full(len(found), KNOWN, np.int8))
    values = [float(each) if kind in (int, float) else 0.0 for each, kind in zip(found, kinds)]
    state = [_state_of(each) for each in found]
    return Numbers(np.array(values), np.array(state, np.int8))


def _state_of(value: Any) -> int:
    if kind_of(value) is not Kind.NUMBER:
        return OTHER
    return KNOWN if isinstance(value, float) or abs(value) < EXACT else UNSURE


def numbers_of_array(array: Any) -> Numbers:
    """The numbers of a column without nulls."""
    kind, count = array.type, len(array)
    if types.is_integer(kind) and kind != pa.uint64():
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False).astype(np.int64)
        return Numbers(values, np.full(count, KNOWN, np.int8))
    if types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        return Numbers(values, np.full(count, KNOWN, np.int8))
    known_other = is_text(kind) or types.is_boolean(kind) or types.is_temporal(kind)
    return Numbers(np.zeros(count), np.full(count, OTHER if known_other else UNSURE, np.int8))
