"""Documents as columns: what a scan reads, the plain reader reads too, and as the same."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis.arrays.documents.documents import (
    Documents,
    DocumentTables,
    JsonDocuments,
    VariantDocuments,
    decoded,
)
from tamis.arrays.documents.path_index import PathIndex
from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.events.readers import read_arrow
from tamis.model.limits import LIMITS, Limits
from tamis.model.timestamp import Timestamp
from tests.variants import column_of

PATHS = [("a",), ("a", "b"), ("c", "d"), ("c", "d", "e"), ("é",), ("",)]


def decode(documents: Documents, limits: Limits = LIMITS) -> DocumentTables:
    rows = np.arange(len(documents.valid))
    return decoded(documents, rows, PathIndex(PATHS), limits)


def check(documents: Documents, limits: Limits = LIMITS) -> DocumentTables:
    """What is in columns is what the plain reader finds at the paths."""
    found = decode(documents, limits)
    seen = [*found.blank.tolist(), *found.aside.tolist()]
    for part in found.parts:
        part.table.validate(full=True)
        seen += part.rows.tolist()
        for row, event in zip(part.rows.tolist(), read_arrow(part.table), strict=True):
            assert_same(event, documents.event(row, limits))
    assert sorted(seen) == list(range(len(documents.valid)))
    return found


def assert_same(ours: Event, theirs: Event) -> None:
    for path in PATHS:
        assert ours.present(path) is theirs.present(path), path
        ours_at, theirs_at = Counter(map(shown, ours.values(path))), Counter()
        theirs_at.update(map(shown, theirs.values(path)))
        assert ours_at == theirs_at, path


def shown(value: Any) -> str:
    """A value and its kind; a float that is whole is the integer."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return repr(value)


def of_json(*texts: str | bytes | None) -> JsonDocuments:
    raw = [each.encode() if isinstance(each, str) else each for each in texts]
    return JsonDocuments(pa.array(raw, pa.large_binary()))


def is_aside(text: str | bytes) -> bool:
    return len(check(of_json(text)).aside) == 1


# JSON.

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.sampled_from([0, 1, 1.5, 2**53, 2**53 + 1, "x", "\n", "😀", '"', "\\"])
)
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "é", "", "other"])
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, TREES, max_size=4)


@given(st.lists(OBJECTS | st.none(), max_size=6), st.booleans(), st.sampled_from([None, 1]))
def test_json(trees: list[Any], ascii: bool, indent: int | None) -> None:
    texts = [
        None if tree is None else json.dumps(tree, ensure_ascii=ascii, indent=indent)
        for tree in trees
    ]
    check(of_json(*texts))


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"a"', '"b"', '"c"', '"d"', " ", "\n", "\\", "u00e9", "1", "-"]
    + ["0", ".5", "e3", "E-2", "true", "false", "null", "nan", '"\\n"', '"\\ud83d\\ude00"', '{"a":1}']
    + ['"x\\ud800"', '"\x01"', "é", "18446744073709551616", "9223372036854775808", "1e400", "\ufeff"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
@example('{"a":1}{"a":2}')
@example('{"a":1,}')
@example('{"a":1,"a":1}')
@example('{"a":-}')
@example('{"a":01}')
@example('{"a":1.}')
@example('{"a":.5}')
@example('{"a":1e}')
@example('{"a":[1,]}')
@example('{"a":tru}')
@example('{"\\u0061":1}')
@example('{"other":{"x":1,"x":1}}')
def test_nothing_is_read_that_the_reader_refuses(text: str) -> None:
    check(of_json(text, '{"a":' + text + "}", '{"other":' + text + "}", '{"a":1} ' + text))


@given(st.binary(max_size=8))
@example(b"\xed\xa0\x80")
@example(b"\xc0\xaf")
@example(b"\xf4\x90\x80\x80")
@example(b"\xc3")
def test_bytes_that_are_no_utf8(raw: bytes) -> None:
    check(of_json(b'{"a":"' + raw + b'"}', b'{"other":"' + raw + b'"}', b'{"' + raw + b'":1}', raw))


@pytest.mark.parametrize(
    "number",
    "0 -0 7 -7 9007199254740993 999999999999999999 1000000000000000000 9223372036854775807 "
    "-9223372036854775807 9223372036854775808 18446744073709551615 0.1 -0.0 1e22 1E+5 12345.678e-3 "
    "1.7976931348623157 0.30000000000000004 9007199254740993.0 1e-300 123456789012345678e-18".split(),
)
def test_numbers(number: str) -> None:
    found = check(of_json(f'{{"a": {number}}}'))
    (part,) = found.parts
    (value,) = part.table.column("a").to_pylist()
    assert value == json.loads(number)
    assert isinstance(value, int) is isinstance(json.loads(number), int)


def test_numbers_of_one_path_get_one_type() -> None:
    found = check(of_json('{"a":1}', '{"a":2.5}', '{"a":3}'))
    assert [part.table.column("a").type for part in found.parts] == [pa.float64()]
    large = check(of_json('{"a":9007199254740993}', '{"a":2.5}', '{"a":0.5}'))
    assert [part.table.column("a").type for part in large.parts] == [pa.float64(), pa.int64()]
    wide = check(of_json('{"a":18446744073709551615}', '{"a":1}', '{"a":-1}', '{"a":2}'))
    assert {str(part.table.column("a").type) for part in wide.parts} == {"int64", "uint64"}


def test_kinds_of_one_path_are_told_apart() -> None:
    texts = ['{"a":1}', '{"a":"x"}', '{"a":true}', '{"a":{"b":1}}', '{"a":[1,2]}', '{"a":["y"]}']
    found = check(of_json(*texts * 3))
    assert not len(found.aside)
    assert len(found.parts) == 4
    mixed = check(of_json('{"a":[1,"x"]}'))
    assert mixed.aside.tolist() == [0]


def test_lists_in_lists_are_one() -> None:
    found = check(
        of_json('{"a":[[1,2],[3]]}', '{"a":[]}', '{"a":[null]}', '{"c":[[{"d":1}],{"d":2}]}')
    )
    assert not len(found.aside)
    assert is_aside('{"a":[[],[1]]}')  # an inner list that is empty binds nothing


def test_blanks_and_nulls() -> None:
    found = check(of_json("", " \n", None, "{}"))
    assert found.blank.tolist() == [0, 1]
    assert found.aside.tolist() == [2]


@pytest.mark.parametrize(
    "limits, text",
    [
        (Limits(values=2), '{"a":[1,2]}'),
        (Limits(values=2), '{"other":[1,2]}'),
        (Limits(string=2), '{"other":"xyz"}'),
        (Limits(document=10), '{"other":1}'),
        (LIMITS, '{"other":' + "[" * 51 + "]" * 51 + "}"),
    ],
)
def test_limits(limits: Limits, text: str) -> None:
    found = check(of_json(text), limits)
    assert found.aside.tolist() == [0]
    with pytest.raises((EventError, LimitError)):
        of_json(text).event(0, limits)


def test_many_keys_and_deep_documents() -> None:
    wide = {f"k{i}": i for i in range(5_000)}
    deep: Any = 1
    for _ in range(49):
        deep = [deep]
    found = check(of_json(json.dumps({**wide, "a": 1}), json.dumps({"a": deep})))
    assert not len(found.aside)
    twice = json.dumps({**wide, "a": 1})[:-1] + ', "k7": 1}'
    assert is_aside(twice)


def test_a_slice_of_a_column() -> None:
    column = pa.array([f'{{"a":{i}}}' for i in range(20)]).slice(7, 5)
    (part,) = check(JsonDocuments(column)).parts
    assert part.table.column("a").to_pylist() == [7, 8, 9, 10, 11]


# Variants.

MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
OTHERS = (
    st.binary(max_size=3)
    | MOMENTS
    | MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))
    | st.dates(date(1, 1, 2), date(9999, 12, 30))
    | st.decimals(-(10**20), 10**20, places=4)
    | st.decimals(-(10**6), 10**6, places=2)
    | st.integers(-(10**15), 10**15).map(lambda micros: Timestamp(micros * 1000))
    | st.sampled_from([math.nan, math.inf, Decimal("1.0"), Decimal("12345678901234567.0")])
)
VARIANTS = st.recursive(
    SCALARS | OTHERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(KEYS, VARIANTS, max_size=4) | st.none(), max_size=6),
    st.integers(1, 4),
)
def test_variants(trees: list[Any], width: int) -> None:
    check(VariantDocuments(column_of(trees, width)))


def test_a_variant_of_everything() -> None:
    tree = {
        "a": {"b": [1, 300, 70_000, 2**40, 2**62, -1]},
        "c": {"d": "x" * 100, "f": [True, False, None]},
        "é": Decimal("0.25"),
        "": datetime(2020, 1, 1, tzinfo=UTC),
        **{f"k{i}": {"x": i} for i in range(300)},
    }
    for width in (1, 2, 3, 4):
        documents = VariantDocuments(column_of([tree, tree], width))
        (part,) = check(documents).parts
        assert documents.event(0, LIMITS) == Event(tree)
        assert part.table.column("é").to_pylist() == [0.25, 0.25]


@given(
    st.dictionaries(KEYS, VARIANTS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=3),
    st.booleans(),
)
def test_broken_variants(tree: Any, changes: list[tuple[int, int]], keys: bool) -> None:
    """They are left to the reader, which refuses them, unless they say something else."""
    name = "metadata" if keys else "value"
    row = column_of([tree])[0].as_py()
    changed = bytearray(row[name])
    for place, byte in changes:
        changed[place % len(changed)] = byte
    row[name] = bytes(changed)
    broken = pa.array([row], column_of([tree]).type)
    found = decode(VariantDocuments(broken))
    if found.parts:
        check(VariantDocuments(broken))
    cut = {**row, name: bytes(changed[: len(changed) // 2])}
    assert len(decode(VariantDocuments(pa.array([cut], broken.type))).parts) <= 1


def test_a_variant_that_is_no_object() -> None:
    documents = VariantDocuments(column_of([[1], 5, None]))
    assert check(documents).aside.tolist() == [0, 1, 2]
    with pytest.raises(EventError, match="an event is an object, but the variant has a list"):
        documents.event(0, LIMITS)
