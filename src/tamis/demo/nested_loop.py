"""What matching takes without Tamis: a join of auctions and rules, for which Spark has only the
nested loop. It is measured on a slice of the auctions, where both must find the same pairs.

    id          form   texts                      numbers   kinds
    seller-7    2      [seller-311]               [12, 48]
    kind-9      6      [antique, Oslo]            [65]      [rocking chair, radio, …]
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.demo import auctions, data

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tamis.demo.stream import DemoPlan
    from tamis.spark import Index

_SLICE = 100
"""Auctions of the slice."""
_SQL = {
    "antiques": "array_contains(r.kinds, e.category) AND e.city = 'Oslo' AND e.price < n[0]",
    "search": "e.category = t[0] AND e.city = t[1] AND e.condition = t[2] AND e.price < n[0]",
    "seller": "e.seller.name = t[0] AND e.price BETWEEN n[0] AND n[1]",
    "bidder": "exists(e.bids, bid -> bid.by = t[0] AND bid.amount > n[0])",
    "cities": (
        "e.city IN (t[0], t[1], t[2]) AND e.category = t[3] AND e.condition = t[4] "
        "AND e.price < n[0]"
    ),
    "closing": "e.closes < t[0] AND e.seller.name = t[1]",
    "kind": (
        "array_contains(r.kinds, e.category) AND e.city = t[1] AND e.seller.rating >= 4.8D "
        "AND e.price < n[0]"
    ),
    "title": "startswith(e.title, concat_ws(' ', t[0], t[1], t[2])) AND e.city = t[3]",
    "either": (
        "e.city = t[0] AND (e.category = t[1] OR startswith(e.title, concat_ws(' ', t[2], t[3]))) "
        "AND e.price < n[0]"
    ),
    "like": "e.seller.name = t[0] AND e.title LIKE concat('%', t[1], '%', t[2])",
}
"""The templates of the subscriptions in SQL, over an auction ``e`` and the columns of a rule."""
_NUMBERS = ("amount", "low", "top")


class Loop(NamedTuple):
    """A measured nested loop."""

    auctions: int
    """How many were joined."""
    matches: int
    """What it found; Tamis found the same pairs."""
    seconds: float

    def hours(self, events: int) -> float:
        """The hours that so many auctions would take."""
        return self.seconds * events / self.auctions / 3600


def measured(plan: DemoPlan, spark: SparkSession, index: Index, rows: Sequence[data.Row]) -> Loop:
    """Join some auctions with the subscriptions; raises if Tamis finds other pairs."""
    from tamis.spark import match

    count = min(_SLICE, plan.events)
    events = data.auctions(spark.range(count).selectExpr("id AS n"), plan.seed).cache()
    rules = spark.createDataFrame(rule_table(rows)).cache()
    events.count()
    rules.count()
    join = joined(events, rules)
    started = time.perf_counter()
    theirs = {tuple(row) for row in join.collect()}
    seconds = time.perf_counter() - started
    found = match(events, index, event_id="auction").select("event_id", "subscription_id")
    ours = {tuple(row) for row in found.collect()}
    events.unpersist()
    rules.unpersist()
    if ours != theirs:
        raise AssertionError(f"the nested loop and Tamis differ: {sorted(ours ^ theirs)[:5]}")
    return Loop(count, len(ours), seconds)


def joined(events: DataFrame, rules: DataFrame) -> DataFrame:
    """The pairs of an auction and a rule that it satisfies."""
    from pyspark.sql import functions as F  # noqa: N812

    tests = (re.sub(r"\b([tn])\[", _column, sql) for sql in _SQL.values())
    cases = " ".join(f"WHEN {form} THEN {test}" for form, test in enumerate(tests))
    condition = F.expr(f"CASE r.form {cases} END")
    pairs = events.alias("e").join(F.broadcast(rules.alias("r")), condition)
    return pairs.selectExpr("e.auction AS event_id", "r.id AS subscription_id")


def _column(found: re.Match[str]) -> str:
    return "r.texts[" if found[1] == "t" else "r.numbers["


def rule_table(rows: Sequence[data.Row]) -> pa.Table:
    """Subscriptions as rows of a table, with their constants as columns."""
    import pyarrow as pa

    forms = {name: (number, *_pattern(name)) for number, name in enumerate(_SQL)}
    rules = []
    for row in rows:
        number, pattern, names = forms[row.id.split("-")[0]]
        found = pattern.fullmatch(str(row.text))
        assert found is not None, row
        rules.append((row.id, number, *_constants(names, found.groups())))
    fields: dict[str, Any] = {
        "id": pa.string(),
        "form": pa.int32(),
        "texts": pa.list_(pa.string()),
        "numbers": pa.list_(pa.float64()),
        "kinds": pa.list_(pa.string()),
    }
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rules), fields.values())]
    return pa.table(columns, [*fields])


def _constants(names: Sequence[str], values: Sequence[str]) -> tuple[Any, Any, Any]:
    """The constants of a subscription: texts, numbers, and all kinds of a term."""
    pairs = [*zip(names, values)]
    kinds = [value for name, value in pairs if name == "kind"]
    return (
        [value for name, value in pairs if name not in _NUMBERS],
        [float(value) for name, value in pairs if name in _NUMBERS],
        _KINDS[kinds[0]] if kinds else _KINDS["antique"],
    )


def _pattern(name: str) -> tuple[re.Pattern[str], list[str]]:
    """What finds the constants of a template in a text, and their names."""
    parts = [(said, name) for said, name, _, _ in Formatter().parse(data.TEMPLATES[name])]
    text = "".join(re.escape(said) + ("(.+?)" if name else "") for said, name in parts)
    return re.compile(text), [name for _, name in parts if name]


def _below(kind: str) -> list[str]:
    """What is sold of a kind."""
    return [sold for sold in auctions.SOLD if kind in _above(sold)]


def _above(term: str) -> set[str]:
    parents = auctions.TAXONOMY.get(term, ())
    return {term, *(above for parent in parents for above in _above(parent))}


_KINDS = {kind: _below(kind) for kind in auctions.TAXONOMY}
