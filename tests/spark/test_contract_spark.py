"""The contract through Spark: all events against all subscriptions, in few jobs.

Every event of a taxonomy meets every subscription of it, not only that of its own case. The pairs
must be those of the oracle, and those of the cases as they say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tamis.engine.engine import Engine
from tests.contract.arrow import _InexpressibleError, _prepared, _type_of
from tests.contract.reading import ALL as EVERY
from tests.contract.reading import OF_VARIABLES, Case
from tests.spark.oracle import Pairs, pairs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBER = "number of the case"
"""The column with the event's id, of which no subscription speaks."""

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]

ALL = [case for case in EVERY if case.group not in OF_VARIABLES]
"""The cases that speak of attributes alone; columns have no operators, and graphs are in test_graphs.py."""


def by_taxonomy() -> list[list[Case]]:
    """The cases that one engine can hold."""

    def written(case: Case) -> str:
        return json.dumps(case.taxonomy, sort_keys=True)

    return [list(cases) for _, cases in groupby(sorted(ALL, key=written), key=written)]


@pytest.fixture(scope="module", params=by_taxonomy(), ids=len)
def cases(request: pytest.FixtureRequest) -> list[Case]:
    """Cases of one taxonomy."""
    found: list[Case] = request.param
    return found


def table_of(cases: list[Case]) -> pa.Table:
    """Their subscriptions, whose ids are long."""
    ids = pa.array(range(len(cases)), pa.int64())
    return pa.table({"id": ids, "subscription": [case.subscription for case in cases]})


def check(found: Pairs, events: dict[int, dict[str, Any]], cases: list[Case]) -> None:
    """Compare with the oracle, and with what the cases of these events say."""
    scan = Engine(matcher="scan", taxonomy=cases[0].taxonomy)
    scan.subscribe_many([(str(id), case.subscription) for id, case in enumerate(cases)])
    expected = {(number, int(id)) for number, event in events.items() for id in scan.match(event)}
    assert found == expected
    wrong = [cases[id] for id in events if ((id, id) in found) is not cases[id].matches]
    assert not wrong


# Events as JSON.


def as_json(event: dict[str, Any]) -> str | None:
    try:
        return json.dumps(event, allow_nan=False)
    except (TypeError, ValueError):
        return None


def test_json(spark: SparkSession, cases: list[Case]) -> None:
    documents = {number: as_json(case.event) for number, case in enumerate(cases)}
    rows = [(number, text) for number, text in documents.items() if text is not None]
    events = spark.createDataFrame(rows, f"`{NUMBER}` long, document string")
    matches = tamis.spark.match(
        events,
        spark.createDataFrame(table_of(cases)),
        event_id=NUMBER,
        column="document",
        taxonomy=cases[0].taxonomy,
    )
    check(pairs(matches), {number: cases[number].event for number, _ in rows}, cases)


# Events as columns: those go into one table whose attributes have the same types.

Bucket = dict[int, dict[str, Any]]


def bucket_type(bucket: Bucket, key: str) -> Any:
    """The type of a column as Spark has it; raises if there is none."""
    return in_spark(_type_of(event.get(key) for event in bucket.values()))


def in_spark(kind: Any) -> Any:
    """An Arrow type as Spark has it: 64 bits without a sign are a decimal."""
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        raise _InexpressibleError
    if pa.types.is_struct(kind):
        if kind.num_fields == 0:
            raise _InexpressibleError
        return pa.struct([(field.name, in_spark(field.type)) for field in kind])
    return pa.list_(in_spark(kind.value_type)) if pa.types.is_list(kind) else kind


def buckets(cases: list[Case]) -> list[Bucket]:
    """The events that can be columns, in as few tables as a first fit gives."""
    found: list[Bucket] = []
    for number, case in enumerate(cases):
        if "" in case.event or not all(map(is_expressible, case.event.values())):
            continue
        for bucket in found:
            joined = {**bucket, number: case.event}
            if fits(joined, case.event):
                bucket[number] = case.event
                break
        else:
            found.append({number: case.event})
    return found


def is_expressible(value: Any) -> bool:
    return fits({0: {"value": value}}, ["value"])


def fits(bucket: Bucket, keys: Any) -> bool:
    try:
        return all(bucket_type(bucket, key) is not None for key in keys)
    except _InexpressibleError:
        return False


def frame_of(spark: SparkSession, bucket: Bucket) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    names = sorted({key for event in bucket.values() for key in event})
    kinds = {name: bucket_type(bucket, name) for name in names}
    columns = {
        name: pa.array([_prepared(event.get(name), kind) for event in bucket.values()], kind)
        for name, kind in kinds.items()
    }
    table = pa.table({NUMBER: pa.array(bucket, pa.int64()), **columns})
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


@pytest.fixture
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    """Columns may differ in case alone."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def test_columns(spark: SparkSession, case_sensitive: None, cases: list[Case]) -> None:
    index = tamis.spark.Index.of(table_of(cases), taxonomy=cases[0].taxonomy)
    found: Pairs = set()
    events: Bucket = {}
    for bucket in buckets(cases):
        events |= bucket
        found |= pairs(tamis.spark.match(frame_of(spark, bucket), index, event_id=NUMBER))
    check(found, events, cases)


def test_nearly_all_cases_are_run() -> None:
    texts = columns = neither = 0
    for cases in by_taxonomy():
        numbers = {number for bucket in buckets(cases) for number in bucket}
        for number, case in enumerate(cases):
            text = as_json(case.event) is not None
            texts += text
            columns += number in numbers
            neither += not text and number not in numbers
    assert texts > 0.85 * len(ALL)
    assert columns > 0.9 * len(ALL)
    assert neither < 0.01 * len(ALL)
