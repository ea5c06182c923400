"""Engines with a schema: what they take, what they match, extension, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.errors import ParseError, SchemaError, SubscriptionError
from tamis.predicates.expression import Expression
from tamis.predicates.truth import TRUE
from tests.examples import examples
from tests.predicates.test_resolving import EVENTS, EXPRESSIONS, SCHEMA, direct
from tests.schemas import E1, PAPER, paper_schema

MATCHERS = pytest.mark.parametrize("matcher", ["scan", "sieve"])
PAPERS = "event_type contains 'antiques' and furniture_category < 'dining table'"
ROUND = {**E1, "furniture_category": "round table"}


@MATCHERS
def test_the_subscription_of_the_paper(matcher: str) -> None:
    engine = tamis.Engine(schema=paper_schema(), matcher=matcher)
    engine.subscribe(PAPERS, id="dining")
    assert engine.match(ROUND) == ["dining"]
    assert engine.match({**E1, "furniture_category": "dining table"}) == []
    assert engine.match({**ROUND, "event_type": ["furniture"]}) == []
    assert engine.match({**ROUND, "event_type": ["antiques"]}) == ["dining"]
    assert engine["dining"].text == PAPERS
    assert engine.explain("dining", ROUND).matches
    assert engine.schema == paper_schema()


def test_events_are_not_validated_by_matching() -> None:
    engine = tamis.Engine(schema=PAPER)
    engine.subscribe("price < 5", id="a")
    assert engine.match({"price": 3, "anything": "else"}) == ["a"]


@MATCHERS
@pytest.mark.parametrize("many", [1, 1_200])
def test_what_is_refused(matcher: str, many: int) -> None:
    engine = tamis.Engine(schema=SCHEMA, matcher=matcher)
    wrong = {
        "prise < {}": "did you mean 'price'?",
        "price = '{}'": "'price' has numbers",
        "period = '{}'": "is not a value of 'period'",
        "score = 11{}": "is not a value of 'score'",
        "sold > 'the {}th'": "is not an ISO 8601 timestamp",
        "furniture_category < '{}'": "is not a value of 'furniture_category'",
        "material < {}": "'material' has strings",
    }
    rows = [(f"{text} {n}", text.format(n)) for text in wrong for n in range(many // 7 + 1)]
    rows += [(f"right {n}", f"price < {n}") for n in range(3)]
    ids, rejected = engine.subscribe_many(rows, errors="collect")
    assert ids == ["right 0", "right 1", "right 2"]
    assert len(rejected) == len(rows) - 3
    for each in rejected:
        assert wrong[each.id.rsplit(" ", 1)[0]] in str(each.error)
    assert sorted(engine.match({"price": 1})) == ["right 2"]
    with pytest.raises(SubscriptionError):
        engine.subscribe_many(rows)


def test_an_unknown_attribute_is_located() -> None:
    engine = tamis.Engine(schema=SCHEMA)
    with pytest.raises(
        ParseError, match="unknown attribute 'prise'; did you mean 'price'"
    ) as caught:
        engine.subscribe("price < 5 and prise > 1")
    assert caught.value.column == 15
    with pytest.raises(SubscriptionError, match="unknown attribute 'prise'"):
        engine.subscribe(tamis.attr("prise") < 5)
    with pytest.raises(SubscriptionError, match="unknown attribute 'prise'"):
        engine.subscribe({"attribute": "prise", "op": "<", "value": 5})
    with pytest.raises(SubscriptionError, match="'price' has numbers"):
        engine.cost("price < 'x'")


@MATCHERS
def test_many_at_once_as_one_by_one(matcher: str) -> None:
    texts = [
        *(f"price < {n} and material = 'm{n % 7}'" for n in range(400)),
        *(f"sold < '2026-01-{n % 28 + 1:02}' and price > {n}" for n in range(400)),
        *(f"period >= '{('XVI', 'XVII', 'XVIII')[n % 3]}' and price > {n}" for n in range(400)),
        *(f"furniture_category > 'dining table' or price = {n}" for n in range(400)),
        *(f"event_type contains 'antiques' and score < {n}" for n in range(20)),
        *(f"sold > timestamp '2026-01-{n % 28 + 1:02}' and price > {n}" for n in range(100)),
    ]
    at_once = tamis.Engine(schema=SCHEMA, matcher=matcher)
    at_once.subscribe_many([(str(n), text) for n, text in enumerate(texts)])
    single = tamis.Engine(schema=SCHEMA, matcher="scan")
    for n, text in enumerate(texts):
        single.subscribe(text, id=str(n))
    for event in (
        {"price": 50, "material": "m3", "sold": "2026-01-15", "period": "XVII", "score": 3},
        {"price": [5, 300], "furniture_category": "table", "event_type": ["antiques"], "score": 3},
        {"furniture_category": ["chair", "outdoor"], "period": 5, "sold": "soon"},
    ):
        assert sorted(at_once.match(event)) == sorted(single.match(event))


@MATCHERS
def test_shapes_one_by_one(matcher: str) -> None:
    engine = tamis.Engine(schema=SCHEMA, matcher=matcher)
    for n in range(5):  # from the second on, the template is known
        engine.subscribe(f"period > '{('XVI', 'XVII')[n % 2]}'", id=f"period {n}")
        engine.subscribe(f"price < {n} and sold > '2026-01-0{n + 1}'", id=f"sold {n}")
    found = engine.match({"period": "XVII", "price": 2, "sold": "2026-01-05T12:00Z"})
    assert sorted(found) == ["period 0", "period 2", "period 4", "sold 3", "sold 4"]


# Timestamps.

AT = tamis.Schema(
    attributes={"at": "timestamp", "log.at": "timestamp", "note": "string"}, types={"t": {}}
)
TEXTS = {
    "old": "at < '2026-01-01'",
    "new": "at >= timestamp '2026-01-01T00:00:00Z'",
    "logged": "log.at = '2026-05-05'",
    "noted": "note = '2026-05-05'",
}
ROWS: list[dict[str, Any]] = [
    {"at": "2025-12-31T23:59:59.999999999Z", "note": "2026-05-05"},
    {"at": "2026-01-01T01:00:00+01:00", "log": {"at": "2026-05-05"}},
    {"at": "someday"},
    {"log": {"at": "2026-05-05T00:00"}},
    {},
]
FOUND = [{"old", "noted"}, {"new", "logged"}, set(), {"logged"}, set()]


@MATCHERS
def test_timestamps_in_strings(matcher: str) -> None:
    engine = tamis.Engine(schema=AT, matcher=matcher)
    engine.subscribe_many(TEXTS)
    assert [set(engine.match(row)) for row in ROWS] == FOUND
    assert [set(engine.match(tamis.Event(row))) for row in ROWS] == FOUND
    assert engine.count(ROWS[0]) == 2
    assert engine.first(ROWS[3]) == "logged"
    table = pa.Table.from_struct_array(pa.array(ROWS))
    flat = table.drop_columns(["log"])
    readable = flat.filter(pa.array([True, True, False, True, True]))
    for source, expected in (
        (ROWS, FOUND),
        (table, FOUND),
        (flat, [found - {"logged"} for found in FOUND]),
        (readable, [found - {"logged"} for found in FOUND[:2] + FOUND[3:]]),
    ):
        matches = engine.match_batch(source)
        pairs = {(row, id) for row, id in matches.pairs()}
        assert pairs == {(row, id) for row, ids in enumerate(expected) for id in ids}
        assert engine.count_batch(source) == [len(ids) for ids in expected]
    engine.learn(ROWS)
    engine.settle()
    assert engine.explain("old", ROWS[0]).matches


# Extension.


@MATCHERS
def test_extension_is_live(matcher: str) -> None:
    schema = tamis.Schema(attributes={"price": "number"}, types={"t": {"price": "optional unique"}})
    engine = tamis.Engine(schema=schema, matcher=matcher)
    for n in range(3):
        engine.subscribe(f"price < {n}", id=f"price {n}")
    with pytest.raises(ParseError):
        engine.subscribe("category <= 'table'", id="tables")
    new = engine.extend(
        {"domains": PAPER["domains"], "attributes": {"category": "category", "period": "period"}}
    )
    assert new.version == 2
    assert engine.schema is new
    engine.subscribe("category <= 'table' and price < 2", id="tables")
    engine.subscribe_many([(f"p {n}", f"period >= 'XVII' and price < {n}") for n in range(1_100)])
    found = engine.match({"category": "dining table", "price": 1, "period": "XVI"})
    assert sorted(found) == ["price 2", "tables"]
    assert len(engine.match({"period": "XVIII", "price": 1_000})) == 99
    with pytest.raises(SchemaError, match="attribute creation"):
        engine.extend({"attributes": {"price": "string"}})
    assert engine.schema is new


def test_without_a_schema_there_is_nothing_to_extend() -> None:
    assert tamis.Engine().schema is None
    with pytest.raises(SchemaError, match=r"Engine\(schema=…\)"):
        tamis.Engine().extend({})


def test_taxonomies_are_those_of_the_schema() -> None:
    with pytest.raises(SchemaError, match="a schema has its own taxonomies"):
        tamis.Engine(schema=PAPER, taxonomy={"a": ["b"]})
    engine = tamis.Engine(schema=PAPER)
    with pytest.raises(SchemaError, match="nothing changes"):
        engine.change_taxonomy({"a": ["b"]})


# Files, and subscriptions that come and go.


@MATCHERS
def test_save_and_load(matcher: str, tmp_path: Path) -> None:
    engine = tamis.Engine(schema=SCHEMA, matcher=matcher)
    engine.extend({"attributes": {"more": "period"}})
    engine.subscribe_many({"a": PAPERS, "b": "sold < '2026-01-01'", "c": "more > 'XVI'"})
    engine.subscribe("period > 'XVI'", id="d", enabled=False)
    engine.save(tmp_path / "engine")
    again = tamis.Engine.load(tmp_path / "engine")
    assert again.schema == engine.schema
    assert again.schema is not None
    assert again.schema.version == 2
    event = {**ROUND, "sold": "2025-01-01", "more": "XVIII", "period": "XVII"}
    assert sorted(again.match(event)) == sorted(engine.match(event)) == ["a", "b", "c"]
    for each in (engine, again):
        each.enable("d")
        assert "d" in each.match(event)
        assert each["b"].expression == tamis.parse("sold < timestamp '2026-01-01'")
    with pytest.raises(ParseError, match="unknown attribute"):
        again.subscribe("wheels = 4")


def test_a_subscription_can_be_taken_again() -> None:
    engine = tamis.Engine(schema=SCHEMA)
    engine.subscribe("period > 'XVI' and sold < '2026-01-01'", id="a")
    other = tamis.Engine(schema=SCHEMA)
    other.subscribe(engine["a"].expression, id="b")
    other.subscribe_many(engine)
    assert sorted(other.match({"period": "XVII", "sold": "2025-01-01"})) == ["a", "b"]


def test_blocks_are_read_by_the_schema() -> None:
    engine = tamis.Engine(schema=SCHEMA)
    rows = [(f"{n}", f"period >= 'XVII' and price < {n}") for n in range(30)]
    engine.subscribe_blocks(engine.read_blocks(rows))
    assert len(engine.match({"period": "XVII", "price": 9})) == 20


@pytest.mark.slow
@examples(60)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=8), st.lists(EVENTS, min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_matching_is_what_the_orders_say(
    expressions: list[Expression], events: list[dict[str, Any]]
) -> None:
    engine = tamis.Engine(schema=SCHEMA)
    for n, expression in enumerate(expressions):
        engine.subscribe(str(expression), id=str(n))
    for event in events:
        expected = {str(n) for n, each in enumerate(expressions) if direct(each, event) == TRUE}
        assert set(engine.match(event)) == expected


@MATCHERS
def test_attributes_have_the_taxonomies_of_their_domains(matcher: str, tmp_path: Path) -> None:
    schema = {
        "domains": {
            "thing": {"kind": "hierarchical", "parents": {"chair": ["furniture"]}},
            "person": {"kind": "hierarchical", "parents": {"chair": ["official"]}},
        },
        "attributes": {"what": "thing", "who": "person"},
        "types": {"note": {"what": "optional multiple", "who": "optional unique"}},
    }
    engine = tamis.Engine(schema=schema, matcher=matcher)
    engine.subscribe("what <= 'furniture'", id="thing")
    engine.subscribe("who is a 'official' and what < 'furniture'", id="both")
    with pytest.raises(SubscriptionError, match="furniture"):
        engine.subscribe("who is a 'furniture'")
    engine.save(tmp_path / "engine")
    for each in (engine, tamis.Engine.load(tmp_path / "engine")):
        assert each.match({"what": "chair"}) == ["thing"]
        assert each.match({"who": "chair"}) == []
        assert sorted(each.match({"who": "chair", "what": ["chair"]})) == ["both", "thing"]
        assert each.match({"who": "chair", "what": "furniture"}) == ["thing"]


def test_relations_by_a_schema() -> None:
    schema = paper_schema()
    assert tamis.covers("period <= 'XVII'", "period < 'XVII'", schema)
    assert not tamis.covers("period < 'XVII'", "period <= 'XVII'", schema)
    assert not tamis.overlaps("price < 1", "price > 2", schema)
    assert tamis.overlaps("price < 1", "price > 2")
    assert tamis.equivalent("quantity in (4, 5)", "quantity between 4 and 5", schema)
    assert tamis.covers(
        "furniture_category >= 'round table'", "furniture_category = 'table'", schema
    )
    found = tamis.relation("furniture_category < 'table'", "period > 'XVI'", schema)
    assert found.both is not None
    assert not schema.unique(("a", "b"))
