"""What people do on Spark today: rules as a table, joined with the events, or looped over.

Rules are columns: a string for an equality, a lower and an upper bound for numbers; null is
don't-care. All of them give pairs of an event's and a rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.workloads import BETWEEN, EQUAL, GREATER, INTEGERS, LESS, STRINGS, Workload

TEXTS = [f"a{a}" for a in range(STRINGS)]
NUMBERS = [f"a{a}" for a in range(STRINGS, 6)]


def rule_table(workload: Workload) -> pa.Table:
    """The subscriptions of W1 or W2 as columns, by the number of the subscription."""
    p = workload.predicates
    count = len(workload.slot)
    columns: dict[str, Any] = {"id": pa.array(np.arange(count))}
    for a, name in enumerate(workload.attributes):
        mine = p.attribute == a
        rows, value, operator = p.conjunction[mine], p.value[mine], p.operator[mine]
        if name in TEXTS:
            texts = np.full(count, None, object)
            texts[rows] = np.asarray(workload.universes[a])[value[:, 0]]
            columns[name] = pa.array(texts, pa.string())
            continue
        low, high = np.full(count, -1), np.full(count, -1)
        first, last = value[:, 0], value[:, -1]
        low[rows] = np.select([operator == LESS, operator == GREATER], [0, first + 1], first)
        ends = [operator == LESS, operator == GREATER, operator == BETWEEN, operator == EQUAL]
        high[rows] = np.select(ends, [first - 1, np.full_like(first, INTEGERS), last, first])
        free = np.ones(count, bool)
        free[rows] = False
        columns[f"{name}_low"] = pa.array(low, pa.int64(), mask=free)
        columns[f"{name}_high"] = pa.array(high, pa.int64(), mask=free)
    return pa.table(columns)


def _allowed(names: list[str]) -> Column:
    """Whether a rule ``r`` allows the values of an event ``e``."""
    tests = []
    for name in names:
        value = F.col(f"e.{name}")
        if name in TEXTS:
            rule = F.col(f"r.{name}")
            tests.append(rule.isNull() | (rule == value))
        else:
            low, high = F.col(f"r.{name}_low"), F.col(f"r.{name}_high")
            tests.append(low.isNull() | ((value >= low) & (value <= high)))
    return reduce(and_, tests)


def nested_loop(events: DataFrame, rules: DataFrame) -> DataFrame:
    """A join on all columns of the rules, for which Spark has only the nested loop."""
    condition = _allowed([*TEXTS, *NUMBERS])
    joined = events.alias("e").join(F.broadcast(rules.alias("r")), condition)
    return joined.select(F.col("e.id").alias("event_id"), F.col("r.id").alias("subscription_id"))


def equi_join(events: DataFrame, rules: DataFrame) -> DataFrame:
    """The join that an expert writes for W2: equal a0 and a1, the rest as a filter."""
    equal = (F.col("e.a0") == F.col("r.a0")) & (F.col("e.a1") == F.col("r.a1"))
    joined = events.alias("e").join(F.broadcast(rules.alias("r")), equal)
    kept = joined.where(_allowed(["a2", *NUMBERS]))
    return kept.select(F.col("e.id").alias("event_id"), F.col("r.id").alias("subscription_id"))


def pandas_loop(events: DataFrame, rules: DataFrame) -> DataFrame:
    """A function over pandas frames that tries one rule after another on all rows of a frame."""
    listed = [row.asDict() for row in rules.collect()]

    def tried(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            columns = {name: frame[name].to_numpy() for name in frame.columns}
            found = [_pairs(columns, rule) for rule in listed]
            yield pd.concat([pd.DataFrame(columns=["event_id", "subscription_id"]), *found])

    return events.mapInPandas(tried, "event_id long, subscription_id long")


def _pairs(columns: dict[str, Any], rule: dict[str, Any]) -> pd.DataFrame:
    kept = np.ones(len(columns["id"]), bool)
    for name in TEXTS:
        if rule[name] is not None:
            kept &= columns[name] == rule[name]
    for name in NUMBERS:
        if rule[f"{name}_low"] is not None:
            kept &= columns[name] >= rule[f"{name}_low"]
            kept &= columns[name] <= rule[f"{name}_high"]
    return pd.DataFrame({"event_id": columns["id"][kept], "subscription_id": rule["id"]})


def generated(session: SparkSession, count: int, partitions: int, sparse: bool) -> DataFrame:
    """Events of W2, or of W1 if ``sparse``, made from their numbers within Spark."""
    words = F.array(*(F.lit(f"v{i:03d}") for i in range(200)))
    hashed = {a: F.xxhash64("id", F.lit(a)) for a in range(6)}
    columns = []
    for a in range(6):
        if a < STRINGS:
            column = F.get(words, F.pmod(hashed[a], F.lit(200)).cast("int"))
        else:
            column = F.pmod(hashed[a], F.lit(INTEGERS))
        if sparse:
            column = F.when(F.shiftrightunsigned(hashed[a], 40) % 2 == 0, column)
        columns.append(column.alias(f"a{a}"))
    return session.range(0, count, 1, partitions).select("id", *columns)
