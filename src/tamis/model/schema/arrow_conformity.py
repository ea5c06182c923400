"""Whether the rows of a record batch conform to a schema, most of them decided by whole columns.

    columns ──> for each: present, of the domain, single ─┐
    types   ──> distinct sets, each with its view ────────┴──> rows that are valid for certain
                                                                others, as events, one by one

Only validity is decided by columns. What they leave open, among it all that is invalid, is decided
by ``conformity`` on events, which tells the rule and the reason.

This module imports pyarrow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from tamis.errors import EventError, LimitError, TamisError
from tamis.model.events.arrow_events import check_columns, is_text, read_arrow
from tamis.model.events.event import Event
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.model.schema.arrow_coercion import typed_columns
from tamis.model.schema.conformity import Rule, Violation, violations
from tamis.model.schema.domains import Domain, EnumeratedDomain, HierarchicalDomain, NumericDomain
from tamis.model.schema.views import View
from tamis.model.timestamp import Timestamp

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

Rows = NDArray[np.bool_]

_MOST_SETS = 64
"""Distinct sets of types that are decided by columns."""
_FLOAT_INTEGERS = 2**53
_FIRST = Timestamp.parse("0001-01-01").nanoseconds
_LAST = Timestamp.parse("9999-12-31T23:59:59.999999999").nanoseconds
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def rejected_rows(
    batch: pa.RecordBatch,
    schema: Schema,
    types: Collection[str] = (),
    limits: Limits = LIMITS,
) -> dict[int, Violation]:
    """The rows that are invalid, each with the first rule that it breaks."""
    check_columns(batch.schema.names, batch.schema.types)
    typed, _ = typed_columns(batch, schema)
    open_rows = np.flatnonzero(~_valid_rows(typed, schema, types, limits)).tolist()
    found = zip(open_rows, _violations(batch, open_rows, schema, types, limits), strict=True)
    return {row: violation for row, violation in found if violation is not None}


def _violations(
    batch: pa.RecordBatch, rows: list[int], schema: Schema, types: Collection[str], limits: Limits
) -> Iterator[Violation | None]:
    """What each of some rows breaks first; a row that is not an event breaks a rule of its own."""
    for event in _events(batch, rows, limits):
        if isinstance(event, Event):
            yield next(iter(violations(schema, schema.typed(event), types)), None)
        else:
            yield Violation(Rule.UNREADABLE, "", (), str(event))


def _events(batch: pa.RecordBatch, rows: list[int], limits: Limits) -> list[Event | TamisError]:
    """The events of some rows, or why they are none: read at once, and one by one if that fails."""
    try:
        return list(read_arrow(batch.take(pa.array(rows, pa.int64())), limits))
    except (EventError, LimitError, pa.ArrowException):
        return [_event(batch.slice(row, 1), limits) for row in rows]


def _event(row: pa.RecordBatch, limits: Limits) -> Event | TamisError:
    try:
        return next(read_arrow(row, limits))
    except (EventError, LimitError) as error:
        return type(error)(str(error).removeprefix("row 0: "))


# By columns.


class _Column(NamedTuple):
    """What is known of the rows of an attribute's column."""

    path: Path
    present: Rows
    fits: Rows | bool
    """Present rows whose values are in the domain for certain."""
    single: Rows | bool
    """Present rows with one value for certain."""
    is_mapping: bool = False
    size: NDArray[np.int64] | int = 1
    """How many values and keys an event has of it."""


def _valid_rows(
    batch: pa.RecordBatch, schema: Schema, types: Collection[str], limits: Limits
) -> Rows:
    """The rows that are valid for certain."""
    valid = np.zeros(batch.num_rows, bool)
    columns = [
        column
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
        if (name,) != schema.event_type
        for column in _columns(array, (name,), schema, limits)
    ]
    for named, rows in _sets_of_types(batch, schema, frozenset(types)):
        if named and all(each in schema.types for each in named):
            valid |= rows & _fitting(schema.view(named), columns, batch.num_rows)
    sizes = [column.size for column in columns]
    return valid & (sum(sizes, np.full(batch.num_rows, 100)) <= limits.values)


def _fitting(view: View, columns: list[_Column], count: int) -> Rows:
    """The rows that fit a view for certain."""
    fitting = np.ones(count, bool)
    missing = set(view.mandatory)
    for column in columns:
        annotation = view.annotations.get(column.path)
        if column.is_mapping and column.path in view.inner:
            continue
        if annotation is None or column.is_mapping:
            fitting &= ~column.present
            continue
        missing.discard(column.path)
        fitting &= column.fits | ~column.present
        if annotation.unique:
            fitting &= column.single | ~column.present
        if annotation.mandatory:
            fitting &= column.present
    return np.zeros(count, bool) if missing else fitting


def _sets_of_types(
    batch: pa.RecordBatch, schema: Schema, default: frozenset[str]
) -> Iterator[tuple[frozenset[str], Rows]]:
    """The distinct sets of types of the rows, as far as columns tell."""
    index = batch.schema.get_field_index(schema.event_type[0])
    if index < 0:
        yield default, np.ones(batch.num_rows, bool)
        return
    column: Any = batch.column(index)
    if not _is_plain_text(column.type) and not (
        types.is_list(column.type) and _is_plain_text(column.type.value_type)
    ):
        return
    numbers: dict[Any, int] = {}
    coded = [
        numbers.setdefault(tuple(each) if isinstance(each, list) else each, len(numbers))
        for each in column.to_pylist()
    ]
    codes = np.array(coded, np.int64)
    for named, number in list(numbers.items())[:_MOST_SETS]:
        several = (named,) if isinstance(named, str) else named
        some = default if named is None else frozenset(each for each in several if each is not None)
        yield some, codes == number


def _columns(array: Any, path: Path, schema: Schema, limits: Limits) -> Iterator[_Column]:
    """The columns of attributes in an array; a struct has several."""
    kind = array.type
    if types.is_null(kind):
        return
    present = array.is_valid().to_numpy(zero_copy_only=False)
    if types.is_dictionary(kind) and _is_plain_text(kind.value_type):
        yield from _columns(array.dictionary_decode(), path, schema, limits)
    elif types.is_struct(kind):
        yield _Column(path, present, False, False, is_mapping=True)
        for field, child in zip(kind, array.flatten(), strict=True):
            yield from _columns(child, (*path, field.name), schema, limits)
    elif types.is_list(kind) or types.is_large_list(kind):
        yield _list_column(array, path, schema, limits, present)
    else:
        domain = schema.domain(path)
        fits = _fits(array, domain, limits) if domain is not None else False
        yield _Column(path, present, fits, True)


def _list_column(array: Any, path: Path, schema: Schema, limits: Limits, present: Rows) -> _Column:
    domain = schema.domain(path)
    elements = array.flatten()
    if domain is None or types.is_nested(elements.type):
        return _Column(path, present, False, False)
    parents = pc.list_parent_indices(array).to_numpy(zero_copy_only=False)
    valid = elements.is_valid().to_numpy(zero_copy_only=False)
    wrong = valid & ~(_fits(elements, domain, limits) | np.zeros(len(valid), bool))
    bad = np.bincount(parents[wrong], minlength=len(array))
    counts = np.bincount(parents[valid], minlength=len(array))
    lengths = np.bincount(parents, minlength=len(array))
    return _Column(path, present, bad == 0, counts == 1, size=lengths + 1)


def _fits(array: Any, domain: Domain, limits: Limits) -> Rows | bool:
    """The elements that are in a domain for certain."""
    kind = array.type
    if domain.kind is Kind.STRING and _is_plain_text(kind):
        short = _short(array, limits)
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            known = domain.values if isinstance(domain, EnumeratedDomain) else list(domain.taxonomy)
            return short & _rows(pc.is_in(array, value_set=pa.array(known, kind)))
        return short
    if domain.kind is Kind.BOOLEAN:
        return types.is_boolean(kind)
    if domain.kind is Kind.TIMESTAMP:
        return types.is_timestamp(kind) and _within_years(array)
    if domain.kind is Kind.BYTES and (types.is_binary(kind) or types.is_large_binary(kind)):
        return _short(array, limits)
    if isinstance(domain, NumericDomain):
        if types.is_integer(kind):
            return _integers_fit(array.fill_null(0).to_numpy(zero_copy_only=False), domain)
        if types.is_float32(kind) or types.is_float64(kind):
            return _floats_fit(array.cast(pa.float64()).fill_null(0).to_numpy(), domain)
    return False


def _integers_fit(values: NDArray[Any], domain: NumericDomain) -> Rows:
    fits = np.ones(len(values), bool)
    if domain.least is not None:
        fits &= values >= math.ceil(domain.least)
    if domain.greatest is not None:
        fits &= values <= math.floor(domain.greatest)
    return fits


def _floats_fit(values: NDArray[np.float64], domain: NumericDomain) -> Rows:
    bounds = [bound for bound in (domain.least, domain.greatest) if bound is not None]
    if any(abs(bound) > _FLOAT_INTEGERS for bound in bounds):
        return np.zeros(len(values), bool)
    fits = ~np.isnan(values)
    if domain.integer:
        fits &= np.isfinite(values) & (np.floor(values) == values)
    if domain.least is not None:
        fits &= values >= domain.least
    if domain.greatest is not None:
        fits &= values <= domain.greatest
    return fits


def _within_years(array: Any) -> bool:
    """Whether all timestamps are of the years that an event can have."""
    factor = _NANOSECONDS[array.type.unit]
    ends: Any = pc.min_max(array.cast(pa.int64())).as_py()
    least, greatest = ends["min"], ends["max"]
    return least is None or (least * factor >= _FIRST and greatest * factor <= _LAST)


def _short(array: Any, limits: Limits) -> Rows:
    """The elements that are not too long, whose bytes are at least as many as their characters."""
    lengths: Any = pc.binary_length(array)
    return lengths.fill_null(0).to_numpy(zero_copy_only=False) <= limits.string  # type: ignore[no-any-return]


def _is_plain_text(kind: Any) -> bool:
    return is_text(kind) and not types.is_dictionary(kind) and not types.is_string_view(kind)


def _rows(booleans: Any) -> Rows:
    found: Rows = booleans.fill_null(False).to_numpy(zero_copy_only=False)
    return found
