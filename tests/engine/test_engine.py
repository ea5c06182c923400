"""The façade: ids, replacing, tables, and the collection."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tamis
from tamis import (
    CostlyWarning,
    DuplicateIdError,
    Engine,
    LimitError,
    Limits,
    NeverMatchesWarning,
    SubscriptionError,
    TamisError,
    TaxonomyError,
    UnknownIdError,
    attr,
)
from tamis.predicates.truth import FAILED

TOY = {"category": "Toy", "price": 3}


def toys() -> Engine:
    engine = Engine()
    engine.subscribe("category = 'Toy' and price < 5", id="cheap-toys")
    engine.subscribe("category = 'Toy'", id="toys")
    engine.subscribe("category = 'Car'", id="cars")
    return engine


def test_match() -> None:
    assert sorted(toys().match(TOY)) == ["cheap-toys", "toys"]
    assert toys().match({"category": "Toy", "price": 7}) == ["toys"]
    assert toys().match({}) == []


def test_three_notations() -> None:
    engine = Engine()
    engine.subscribe("price < 5", id="text")
    engine.subscribe(attr("price") < 5, id="python")
    engine.subscribe({"attribute": "price", "op": "<", "value": 5}, id="json")
    assert sorted(engine.match({"price": 3})) == ["json", "python", "text"]
    assert {each.expression for each in engine} == {attr("price") < 5}
    assert engine["python"].text == "price < 5"


def test_counting_and_first() -> None:
    engine = toys()
    assert engine.count(TOY) == 2
    assert engine.first(TOY) in ("cheap-toys", "toys")
    assert engine.first({"category": "Boat"}) is None
    assert len(engine.match(TOY, limit=1)) == 1
    assert engine.count_batch([TOY, {}, TOY]) == [2, 0, 2]


def test_ids() -> None:
    engine = toys()
    with pytest.raises(DuplicateIdError, match="replace=True"):
        engine.subscribe("price < 1", id="toys")
    assert engine.subscribe("price > 1", id="toys", replace=True) == "toys"
    assert sorted(engine.match(TOY)) == ["cheap-toys", "toys"]
    assert engine.match({"price": 2}) == ["toys"]
    random = engine.subscribe("price > 1")
    assert random in engine
    assert engine.subscribe("price > 1") != random
    for bad in (5, "", "x" * 1_001, "\ud800"):
        with pytest.raises(TamisError):
            engine.subscribe("price > 1", id=bad)  # type: ignore[arg-type]


def test_replacing_is_atomic() -> None:
    engine = toys()
    with pytest.raises(tamis.ParseError):
        engine.subscribe("price >", id="toys", replace=True)
    assert engine.match({"category": "Toy"}) == ["toys"]


def test_unsubscribe() -> None:
    engine = toys()
    engine.unsubscribe("toys")
    assert engine.match(TOY) == ["cheap-toys"]
    with pytest.raises(UnknownIdError, match="did you mean 'cheap-toys'"):
        engine.unsubscribe("cheap-toy")
    with pytest.raises(KeyError):
        engine["toys"]
    assert len(engine) == 2
    assert "toys" not in engine


def test_slots_of_removed_subscriptions_are_given_back() -> None:
    engine = toys()
    before = engine.match_batch([TOY])
    for round_ in range(3_000):
        engine.subscribe("price = 1", id=f"s{round_}")
        engine.unsubscribe(f"s{round_}")
    assert len(engine.subscriptions.index.store.ids) < 1_100
    assert sorted(before.ids()) == sorted(engine.match(TOY)) == ["cheap-toys", "toys"]


def test_enabled_and_disabled() -> None:
    engine = toys()
    engine.disable("toys")
    engine.disable("toys")
    assert engine.match(TOY) == ["cheap-toys"]
    assert not engine["toys"].enabled
    assert "1 disabled" in repr(engine)
    engine.enable("toys")
    assert engine.count(TOY) == 2
    engine.subscribe("true", id="off", enabled=False)
    assert engine.count(TOY) == 2
    with pytest.raises(SubscriptionError, match="enabled"):
        engine.subscribe("true", enabled="yes")  # type: ignore[arg-type]


def test_metadata() -> None:
    engine = Engine()
    owner = {"owner": {"name": "Ann"}, "tags": ["a"]}
    engine.subscribe("true", id="x", metadata=owner)
    owner["tags"].append("b")  # type: ignore[attr-defined]
    assert engine["x"].metadata == {"owner": {"name": "Ann"}, "tags": ["a"]}
    for bad in ({"x": object()}, [1], {"x": float("nan")}, "{", '{"x": NaN}', '{"x": 1e400}', 5):
        with pytest.raises(SubscriptionError, match="JSON object"):
            engine.subscribe("true", metadata=bad)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="metadata"):
        engine.subscribe("true", metadata={"x": "y" * 70_000})


ROWS = [{"id": "a", "subscription": "x = 1"}, {"id": "b", "subscription": "x > 0"}]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        iter(ROWS),
        [("a", "x = 1"), ("b", "x > 0")],
        {"a": "x = 1", "b": attr("x") > 0},
        pa.Table.from_pylist(ROWS),
        pa.RecordBatch.from_pylist(ROWS),
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
    ],
    ids=lambda table: type(table).__name__,
)
def test_subscribe_many(table: object) -> None:
    engine = Engine()
    assert engine.subscribe_many(table) == (["a", "b"], [])
    assert sorted(engine.match({"x": 1})) == ["a", "b"]


def test_subscribe_many_with_all_columns() -> None:
    engine = Engine()
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "subscription": ["x = 1", "x = 1", "x = 1"],
            "metadata": ['{"n": 1}', None, "{}"],
            "enabled": [True, False, None],
        }
    )
    engine.subscribe_many(table)
    assert engine["a"].metadata == {"n": 1}
    assert sorted(engine.match({"x": 1})) == ["a", "c"]


def test_subscribe_many_is_all_or_nothing() -> None:
    engine = toys()
    for faulty in ("y >", "?x < 1", "nowhere('x')"):
        with pytest.raises(SubscriptionError, match="row 1, id 'b'"):
            engine.subscribe_many([("a", "x = 1"), ("b", faulty)])
    with pytest.raises(SubscriptionError, match="row 0, id 'toys'"):
        engine.subscribe_many([("toys", "x = 1")])
    with pytest.raises(SubscriptionError, match="earlier row"):
        engine.subscribe_many([("a", "x = 1"), ("a", "x = 1")])
    with pytest.raises(SubscriptionError, match="row 0"):
        engine.subscribe_many([{"subscription": "x = 1"}])
    assert len(engine) == 3
    assert engine.match({"x": 1}) == []


def test_subscribe_many_collects_the_faulty() -> None:
    engine = toys()
    rows = [("a", "x = 1"), ("b", "y >"), ("toys", "x = 1"), (None, "x = 1"), ("c", "x = 1")]
    done = engine.subscribe_many(rows, errors="collect")
    assert done.ids == ["a", "c"]
    assert [(each.row, each.id) for each in done.rejected] == [(1, "b"), (2, "toys"), (3, None)]
    assert isinstance(done.rejected[0].error, tamis.ParseError)
    with pytest.raises(TamisError, match="'raise' or 'collect'"):
        engine.subscribe_many([], errors="ignore")  # type: ignore[arg-type]


def test_matches() -> None:
    matches = toys().match_batch([TOY, {"category": "Boat"}, {"category": "Car"}])
    assert matches.event.tolist() == [0, 0, 2]
    assert matches.slot.dtype == np.int32
    assert sorted(matches.pairs()) == [(0, "cheap-toys"), (0, "toys"), (2, "cars")]
    assert matches.to_arrow().column_names == ["event", "subscription"]
    assert matches.to_pandas()["event"].tolist() == [0, 0, 2]
    assert sorted(matches.to_polars()["subscription"]) == ["cars", "cheap-toys", "toys"]
    assert len(matches) == 3
    assert repr(matches) == "Matches(3 pairs)"
    assert toys().match_batch([]).to_arrow().num_rows == 0
    assert len(toys().match_batch([TOY, TOY], limit=1)) == 2


def test_matches_keep_their_ids_when_the_engine_changes() -> None:
    engine = toys()
    matches = engine.match_batch([TOY])
    engine.unsubscribe("toys")
    engine.subscribe("true", id="new")
    assert sorted(matches.ids()) == ["cheap-toys", "toys"]


def test_is_a_needs_a_taxonomy_that_knows_the_term() -> None:
    with pytest.raises(SubscriptionError, match="needs a taxonomy"):
        Engine().subscribe("x is a 'toy'")
    engine = Engine(taxonomy={"doll": ["toy"]})
    with pytest.raises(TaxonomyError, match="did you mean 'toy'"):
        engine.subscribe("x is a 'toyy'")
    engine.subscribe("x is a 'toy'", id="toys")
    assert engine.match({"x": "doll"}) == ["toys"]


@pytest.mark.parametrize("text", ["nearest('x')", "a = 1 or nearest('x', ?d) and ?d < 5"])
def test_an_unknown_operator_is_refused(text: str) -> None:
    with pytest.raises(SubscriptionError, match=r"unknown operator 'nearest'.*did you mean 'near'"):
        Engine().subscribe(text)
    with pytest.raises(SubscriptionError, match="did you mean 'nearer'"):
        Engine(operators={"nearer": lambda event, place: True}).subscribe(text)


def test_contradictions_are_kept_with_a_warning() -> None:
    engine = Engine()
    with pytest.warns(NeverMatchesWarning, match="'x' contradicts itself") as caught:
        engine.subscribe("a < 1 and a > 2", id="x")
    assert caught[0].filename == __file__
    assert engine.match({"a": 1}) == []


def test_bad_events_have_a_place() -> None:
    with pytest.raises(tamis.EventError, match=r"'a\.b'"):
        toys().match({"a": {"b": object()}})
    with pytest.raises(tamis.EventError, match="mapping"):
        toys().match([1])  # type: ignore[arg-type]
    with pytest.raises(tamis.EventError, match="row 1"):
        toys().match_batch([{}, {"a": object()}])


def test_limits_of_an_engine() -> None:
    engine = Engine(matcher="scan", limits=Limits(text=20, bindings=3, values=10))
    with pytest.raises(LimitError):
        engine.subscribe("a = 1 and b = 2 and c = 3")
    engine.subscribe("a.x = a.y", id="x")
    assert engine.match({"a": [{"x": 1, "y": 2}, {"x": 1, "y": 1}]}) == ["x"]
    beyond = {"a": {"x": [1, 2], "y": [3, 4]}}
    with pytest.warns(tamis.IncompleteWarning, match=r"4 bindings of a\.x, a\.y"):
        assert engine.match(beyond) == []
    assert engine.explain("x", beyond).truth == FAILED
    assert "4 bindings of a.x, a.y" in engine.explain("x", beyond).evidence
    with pytest.raises(LimitError, match="values and keys"):
        engine.match({"a": list(range(11))})


def test_many_lists_are_decided_apart() -> None:
    engine = Engine()
    engine.subscribe(" and ".join(f"a{index} = 7" for index in range(20)), id="x")
    event = {f"a{index}": list(range(1_000)) for index in range(20)}
    assert engine.match(event) == ["x"]
    event["a19"] = [8]
    assert engine.match(event) == []


def test_unknown_matcher() -> None:
    with pytest.raises(TamisError, match="did you mean 'scan'"):
        Engine(matcher="scann")


def test_save_and_load(tmp_path: Path) -> None:
    engine = Engine(taxonomy={"doll": ["toy"]}, prefixes={"ex": "http://e/"})
    engine.subscribe("x is a 'toy'  # with a comment", id="é", metadata={"n": 1})
    engine.subscribe("true", id="off", enabled=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine.subscribe("a < 1 and a > 2", id="never")
    engine.save(tmp_path / "engine")
    loaded = Engine.load(tmp_path / "engine")
    assert list(loaded) == list(engine)
    assert loaded["é"].text.endswith("comment")
    assert loaded.match({"x": "doll"}) == ["é"]
    assert loaded.taxonomy == engine.taxonomy
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


def test_plan_names_what_no_key_serves() -> None:
    engine = Engine()
    engine.subscribe_many(
        [(f"s{index}", f"seller = 'v{index}' and price < {index}") for index in range(2_000)]
    )
    with pytest.warns(CostlyWarning):
        engine.subscribe("title matches '[oO]'", id="oak")
    plan = engine.plan()
    assert "oak" in plan.unserved
    assert any("seller = ?" in group.signature for group in plan.groups)
    assert sum(group.subscriptions for group in plan.groups) == 2_001
    assert "oak" in str(plan)
    assert Engine(matcher="scan").plan().groups == ()


def test_stats() -> None:
    engine = Engine()
    engine.subscribe_many([(f"s{index}", f"a = {index} or b = {index}") for index in range(2_000)])
    stats = engine.stats()
    assert (stats.subscriptions, stats.boxes, stats.segments) == (2_000, 4_000, 1)
    assert stats.predicates == 4_000
    assert stats.bytes["texts"] >= sum(len(each.text) for each in engine)
    assert stats.nbytes == sum(stats.bytes.values())
    assert stats.cost > 0


@pytest.mark.parametrize("negation", ["", "not "])
@pytest.mark.parametrize(
    "test",
    [
        "x.a = 1",
        "x.a < 1",
        "x.a = 'v' ignoring case",
        "x.a in (1, 'v')",
        "x.a in ('v', 'w') ignoring case",
        "x.a between 1 and 2",
        "x.a is a 'toy'",
        "x.a contains 1",
        "x.a contains 'v' ignoring case",
        "x.a starts with 'v'",
        "x.a starts with 'v' ignoring case",
        "x.a like '%v%'",
        "x.a matches 'v'",
        "x.a in cidr '10.0.0.0/8'",
        "x.a is present",
        "x.a < y",
        "x.a + 1 > y",
        "(x.a = 1) is true",
        "(x.a = 1) is unknown",
        "(x.a is missing or x.b contains 1) is not false",
    ],
)
def test_attributes_are_all_that_a_subscription_asks_for(test: str, negation: str) -> None:
    engine = Engine(taxonomy={"doll": ["toy"]})
    engine.subscribe(f"y = 1 and {negation}{test}", id="s")
    assert engine.attributes() == frozenset({"x", "y"})
