"""Many subscriptions at once give what they give one by one, by whatever way they are compiled."""

from __future__ import annotations

import random
import warnings
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import (
    CostlyWarning,
    DuplicateIdError,
    Engine,
    NeverMatchesWarning,
    ParseError,
    SubscriptionError,
)
from tamis.engine import loading
from tamis.engine.subscriptions import MATCHERS
from tamis.language.parser import Parser
from tamis.language.template import Templates
from tamis.matching.boxes import compiler
from tamis.matching.boxes.shapes import shape_of
from tamis.model.kinds import Kind
from tamis.predicates.expression import Expression
from tamis.predicates.operands import Constant

TESTS = [
    "a = {n}",
    "a != {n}",
    "a < {n}",
    "a >= -{n}",
    "a between {n} and {m}",
    "a between {n}.5 and {m}",
    "not a between {n} and {m}",
    "a in ({n}, {m}, 's{n}')",
    "a not in ({n}, {m})",
    "a > {n} and a < {m}",
    "a > {n} and a > {m}",
    "a = {n} and a = {m}",
    "a != {n} and a != {m}",
    "b = 's{n}'",
    "b != 's{n}'",
    "b < 's{n}'",
    "b starts with 's{n}'",
    "b = 's{n}' ignoring case",
    "b = 'it''s {n}'",
    "b = r'\\{n}'",
    "b like 's{n}%'",
    "b like 's{n}'",
    "(a = {n}) is true",
    "a >= 0 unless b = 's{n}' or a = {m}",
    "c = timestamp '2026-01-0{d}'",
    "c > timestamp '2026-01-0{d}'",
    "a = {n} or b = 's{m}'",
    "a + {n} < {m}",
    "d = true and a = {n}",
    "a = {n} and e < {m} and f starts with 's'",
    "(a = {n} and f != 's{m}') or (e in ({n}, {m}) and f starts with '')",
    "e between {n} and {m} and f in ('s1', 's{n}', 's{m}') and a != {m}",
    "f starts with 's\U0010ffff' and e > {n} or f starts with '\U0010ffff'",
    "((e > {n}) and (f > 's{m}'))",
    "a is missing and b = 's{n}'",
    "a = {n} # comment",
    "true",
]
EVENTS = [
    {"a": 3},
    {"a": 3.5},
    {"a": -2},
    {"a": "s3"},
    {"b": "s3"},
    {"b": "s31"},
    {"b": "it's 3"},
    {"b": "\\3"},
    {"b": "S3"},
    {"a": [1, 5], "b": "s5"},
    {"a": 1, "d": True},
    {"c": date(2026, 1, 3)},
    {"a": float("nan")},
    {"a": 3, "e": 2, "f": "s3"},
    {"a": [2, 4], "e": [1, 6], "f": ["s3", "s\U0010ffffx", 5]},
    {},
]


def texts(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        parts = chance.sample(TESTS[:-1], chance.choice([1, 1, 2, 3]))
        if any("#" in part for part in parts):
            parts = parts[-1:]
        numbers = {"n": chance.randrange(9), "m": chance.randrange(9), "d": chance.randrange(1, 9)}
        found.append(
            " and ".join(f"({part})" for part in parts[:-1]) + " and " if parts[1:] else ""
        )
        found[-1] += parts[-1]
        found[-1] = found[-1].format(**numbers)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("matcher", MATCHERS)
def test_bulk_gives_what_single_ones_give(
    matcher: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 20 if matcher == "gough" else 1_500  # of more, its tree would be too large
    monkeypatch.setattr(loading, "_BULK", min(count, 1_000))
    rows = [(f"s{index}", text) for index, text in enumerate(texts(count, seed))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NeverMatchesWarning)
        warnings.simplefilter("ignore", CostlyWarning)
        bulk = Engine(matcher=matcher)
        bulk.subscribe_many(rows)
        single = Engine(matcher="scan")
        for id, text in rows:
            single.subscribe(text, id=id)
    assert len(bulk) == len(single)
    for event in EVENTS:
        assert sorted(bulk.match(event)) == sorted(single.match(event)), event
    assert [each.text for each in bulk] == [text for _, text in rows]


def numbered(count: int) -> list[tuple[object, object]]:
    return [(f"s{index}", f"a = {index}") for index in range(count)]


def test_faulty_rows_of_a_large_table() -> None:
    rows = numbered(2_000)
    faults = {
        3: ("s3", "a = "),
        5: ("s4", "a = 5"),
        7: (None, "a = 7"),
        9: ("s9", "a = 99999999999999999999"),
        11: ("known", "a = 11"),
        13: ("s13", 13),
        15: ("s15", "nowhere('x')"),
    }
    for index, row in faults.items():
        rows[index] = row
    engine = Engine()
    engine.subscribe("b = 1", id="known")
    for index in faults:
        faulty = [*numbered(2_000)[:1_500], rows[index]]
        with pytest.raises(SubscriptionError, match="row 1500"):
            engine.subscribe_many(faulty)
    assert len(engine) == 1
    done = engine.subscribe_many(rows, errors="collect")
    assert [each.row for each in done.rejected] == sorted(faults)
    assert isinstance(done.rejected[0].error, ParseError)
    assert isinstance(done.rejected[1].error, DuplicateIdError)
    assert len(engine) == 1 + len(done.ids) == 1 + 2_000 - len(faults)
    assert engine.match({"a": 4}) == ["s4"]
    assert engine.match({"a": 9}) == engine.match({"a": 11}) == []
    assert engine.match({"b": 1}) == ["known"]


def test_replacing_many() -> None:
    engine = Engine()
    engine.subscribe_many(numbered(2_000))
    engine.disable("s7")
    rows = [(f"s{index}", f"a = {index + 1}") for index in range(1_000, 3_000)]
    with pytest.raises(SubscriptionError, match="replace=True"):
        engine.subscribe_many(rows)
    engine.subscribe_many(rows, replace=True)
    assert len(engine) == 3_000
    assert engine.match({"a": 1_500}) == ["s1499"]
    assert engine.match({"a": 1_000}) == []
    assert engine.match({"a": 7}) == []


def test_metadata_and_disabled_rows_of_a_large_table() -> None:
    table = pa.table(
        {
            "id": [f"s{index}" for index in range(1_200)],
            "subscription": [f"a = {index}" for index in range(1_200)],
            "metadata": ['{"n": 1}' if index == 5 else None for index in range(1_200)],
            "enabled": [index != 6 for index in range(1_200)],
        }
    )
    engine = Engine()
    engine.subscribe_many(table)
    assert engine["s5"].metadata == {"n": 1}
    assert not engine["s6"].enabled
    assert engine.match({"a": 6}) == []
    engine.enable("s6")
    assert engine.match({"a": 6}) == ["s6"]
    assert engine.match({"a": 5}) == ["s5"]


def test_contradictions_of_a_large_table_are_reported() -> None:
    rows = [*numbered(1_200), ("never", "a between 5 and 1"), ("fine", "a between 1 and 5")]
    engine = Engine()
    with pytest.warns(NeverMatchesWarning, match="'never'"):
        engine.subscribe_many(rows)
    assert sorted(engine.match({"a": 3})) == ["fine", "s3"]


def test_memory_comes_back_when_most_are_removed() -> None:
    engine = Engine()
    engine.subscribe_many(numbered(3_000))
    for index in range(2_500):
        engine.unsubscribe(f"s{index}")
    assert len(engine) == 500
    assert len(engine.subscriptions.index.store.ids) < 2_000
    assert engine.match({"a": 2_700}) == ["s2700"]
    assert engine.match({"a": 100}) == []


ORDER_MATTERS = [
    "a > 1 and a > 2",
    "a != 1 and a != 2",
    "a = 1 and a > 2",
    "a = 1 or b = 2",
    "b starts with 'x' ignoring case",
    "not b starts with 'x'",
    "b like 'x'",
    "(a = 1) is true",
    "(a = 1) is not true",
    "not (a = 1 and b = 2)",
]


@pytest.mark.parametrize("text", ORDER_MATTERS)
def test_no_shape_where_the_order_of_constants_matters(text: str) -> None:
    assert shape(text) is None


@pytest.mark.parametrize(
    ("text", "sides", "ranges"),
    [
        ("a = 1 and b = 'x'", 2, [1, 1]),
        ("a > 1 and a < 2", 1, [1]),
        ("a in (1, 2, 3)", 1, [3]),
        ("a != 1 and b < 'x'", 2, [2, 1]),
        ("b starts with 'x' and a = 1", 2, [1, 1]),
        ("not a between 1 and 2", 1, None),
    ],
)
def test_shapes(text: str, sides: int, ranges: list[int] | None) -> None:
    found = shape(text)
    if ranges is None:
        assert found is None
    else:
        assert found is not None
        assert [len(side.ranges) for side in found.sides] == ranges


def shape(text: str):  # type: ignore[no-untyped-def]
    templates = Templates()
    templates.parse(text)
    split = templates.split(text)
    template = templates.template(split)
    assert template is not None
    kinds = [Kind.STRING if literal[0] == "'" else Kind.NUMBER for literal in split.literals]
    return shape_of(lambda values: template.build([Constant(v) for v in values]), kinds)


@given(st.lists(st.integers(-3, 3) | st.sampled_from([0.5, 2**53 + 1, 2**64 - 1]), min_size=1))
def test_columns_of_mixed_numbers(values: list[float]) -> None:
    rows = [*numbered(1_000), *((f"x{i}", f"b <= {value!r}") for i, value in enumerate(values))]
    engine = Engine()
    engine.subscribe_many(rows)
    for event in (0, 0.5, 1, 2**53, 2**53 + 1, 2**64 - 1):
        expected = sorted(f"x{i}" for i, value in enumerate(values) if event <= value)
        assert sorted(engine.match({"b": event})) == expected


# Conjunctions by their predicates.

NAMES = [f"n{number}" for number in range(12)]
PREDICATES = [
    "{name} = {n}",
    "{name} != {n}",
    "{name} < {n}",
    "{name} between {n} and {m}",
    "{name} in ({n}, {m}, 's{n}')",
    "{name} = 's{n}'",
    "{name} starts with '{n}'",
    "{name} is present",
    "{name} = true",
]


def varied(count: int, seed: int) -> list[tuple[str, str]]:
    """Conjunctions and small disjunctions, hardly two of them of one template."""
    chance = random.Random(seed)

    def conjunction() -> str:
        names = chance.choices(NAMES, k=chance.randrange(1, 5))  # some twice
        return " and ".join(
            chance.choice(PREDICATES).format(
                name=name, n=chance.randrange(6), m=chance.randrange(6)
            )
            for name in names
        )

    texts = []
    for _ in range(count):
        parts = [conjunction() for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        texts.append(" or ".join(f"({part})" for part in parts) if parts[1:] else parts[0])
    return [(f"s{number}", text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("matcher", ["sieve", "naive"])
@pytest.mark.filterwarnings("ignore")
def test_conjunctions_by_their_predicates(matcher: str) -> None:
    rows = varied(2_000, 7)
    bulk, single = Engine(matcher=matcher), Engine(matcher="scan")
    bulk.subscribe_many(rows)
    for id, text in rows:
        single.subscribe(text, id=id)
    chance = random.Random(8)
    values = [*range(6), *(f"s{n}" for n in range(6)), "31", True, 2.5]
    for _ in range(30):
        event = {name: chance.choice(values) for name in chance.sample(NAMES, 8)}
        event["n3"] = chance.choices(values, k=2)
        assert sorted(bulk.match(event)) == sorted(single.match(event)), event
    assert len(bulk.match_batch([event])) == len(single.match(event))


def test_most_of_them_need_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser sees the predicates, not the subscriptions."""
    rows = [
        (str(number), f"n{number % 7} = {number} and m{number % 11} > 3 and o{number % 13} != 'x'")
        for number in range(1_001)
    ]
    parsed = []
    parse = Parser.parse

    def counted(parser: Parser) -> Expression:
        parsed.append(parser)
        return parse(parser)

    monkeypatch.setattr(Parser, "parse", counted)
    engine = Engine()
    engine.subscribe_many(rows)
    assert len(parsed) < 100
    assert engine.match({"n3": 10, "m10": 4, "o10": "y"}) == ["10"]


def test_no_room_for_the_axes_of_some_conjunctions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MAX_AXES", 9)
    rows = varied(1_200, 9)
    bulk, single = Engine(), Engine(matcher="scan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bulk.subscribe_many(rows)
        for id, text in rows:
            single.subscribe(text, id=id)
    for event in (dict.fromkeys(NAMES, 3), dict.fromkeys(NAMES, "s2")):
        assert sorted(bulk.match(event)) == sorted(single.match(event))
