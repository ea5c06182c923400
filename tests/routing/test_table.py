"""The routing table of one broker, and compaction of a whole table."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest

from tamis.errors import DuplicateIdError, UnknownIdError
from tamis.language.parser import parse
from tamis.predicates.relations import covers
from tamis.routing.compacting import compact
from tamis.routing.distribution import UniformIntegers
from tamis.routing.filters import Filter
from tamis.routing.merging import MergeRules
from tamis.routing.table import RoutingTable
from tests.routing.world import FACTS, matches, random_event, random_filter


@pytest.mark.parametrize("seed", range(3))
def test_events_go_where_they_are_wanted(seed: int) -> None:
    rng = random.Random(seed)
    table = RoutingTable(FACTS)
    there = {}
    for n in range(120):
        if there and rng.random() < 0.3:
            key = rng.choice(list(there))
            del there[key]
            table.remove(*key)
        key = rng.choice(["left", "right", "up"]), f"s{n}"
        there[key] = random_filter(rng)
        table.add(*key, there[key])
        if n % 40 == 20:
            table.merge(MergeRules())
    assert table.entries < len(table) == len(there)
    for _ in range(40):
        event = random_event(rng)
        wanted = {name for (name, _), each in there.items() if matches(each, event)}
        assert table.match(event) == wanted


def test_subscriptions_go_to_those_who_advertise() -> None:
    table = RoutingTable(FACTS)
    table.advertise("left", "cheap", parse("a < 5"))
    table.advertise("right", "dear", parse("a > 50"))
    assert table.towards(parse("a = 3")) == {"left"}
    assert table.towards(parse("a > 3 and b = 1")) == {"left", "right"}
    assert table.towards(parse("d = 3")) == {"left", "right"}
    table.unadvertise("left", "cheap")
    assert table.towards(parse("a = 3")) == set()


def test_advertisements_are_covered_and_merged_perfectly() -> None:
    table = RoutingTable(FACTS)
    for id, text in {"x": "a < 5", "y": "a < 3", "z": "a = 5", "far": "a = 40"}.items():
        table.advertise("left", id, parse(text))
    assert table.advertised == 3
    loose = MergeRules(1.0, distribution=UniformIntegers({"a": 50}))
    table.merge(loose)
    assert table.advertised == 2
    assert table.describe().splitlines()[1:] == [
        "left advertises",
        "  merger 1: a <= 5",
        "    x: a < 5",
        "      y: a < 3",
        "    z: a = 5",
        "  far: a = 40",
    ]
    assert table.towards(parse("a = 4")) == {"left"}
    assert table.towards(parse("a = 20")) == set()
    table.unadvertise("left", "x")
    assert table.towards(parse("a = 4")) == set()
    assert table.towards(parse("a = 2")) == table.towards(parse("a = 5")) == {"left"}


def test_what_is_routed_by_its_attributes_says_so() -> None:
    table = RoutingTable(FACTS)
    table.add("left", "x", parse("a < 9 and near('Bronx', ?d)"))
    assert table.describe().splitlines()[-1] == "  x: a < 9 (by attributes alone)"
    assert table.match({"a": 3}) == {"left"}
    table.add("left", "y", parse("near('Bronx', ?d)"))
    assert "y: true (by attributes alone)" in table.describe()
    assert table.match({"a": 10}) == {"left"}


def test_a_table_describes_itself() -> None:
    table = RoutingTable(FACTS)
    for id, text in {"x": "a < 9", "y": "a < 5", "z": "a = 9", "w": "b = 1"}.items():
        table.add("left", id, parse(text))
    table.advertise("right", "adv", parse("a > 1"))
    assert table.merge() == 1
    assert table.describe().splitlines() == [
        "4 subscriptions, 2 entries",
        "left",
        "  merger 1: a <= 9",
        "    x: a < 9",
        "      y: a < 5",
        "    z: a = 9",
        "  w: b = 1",
        "right advertises",
        "  adv: a > 1",
    ]
    picture = ElementTree.fromstring(table.svg())
    assert len(picture.findall("{http://www.w3.org/2000/svg}text")) == 8
    table.remove("left", "z")
    assert "merger" not in table.describe()
    assert table.match({"a": 8}) == {"left"}
    with pytest.raises(DuplicateIdError, match="remove it first"):
        table.add("left", "x", parse("a < 9"))
    with pytest.raises(UnknownIdError, match="no subscription 'z'"):
        table.remove("left", "z")
    with pytest.raises(UnknownIdError, match="no advertisement 'z'"):
        table.unadvertise("left", "z")


@pytest.mark.parametrize("seed", range(2))
def test_compaction_matches_what_the_table_matches(seed: int) -> None:
    rng = random.Random(seed)
    rows = {f"s{n}": random_filter(rng) for n in range(150)}
    found = compact(rows.items(), FACTS)
    merged = [member for merger in found.mergers for member in merger.members]
    assert sorted([*found.covered, *merged, *found.remaining]) == sorted(rows)
    assert found.size < len(rows) - len(found.covered)
    for id, coverer in found.covered.items():
        assert coverer not in found.covered
        regions = [Filter.of(rows[each], FACTS).region for each in (coverer, id)]
        assert covers(*regions)
    left = [rows[id] for id in found.remaining]
    left += [merger.filter.expression for merger in found.mergers]
    for _ in range(60):
        event = random_event(rng)
        assert any(matches(each, event) for each in left) == any(
            matches(each, event) for each in rows.values()
        )


def test_a_subscription_with_operators_may_be_covered_but_covers_nothing() -> None:
    texts = {"x": "a < 9 and near('Bronx', ?d)", "y": "a < 5", "z": "a < 3 and near('x', ?d)"}
    found = compact((id, parse(text)) for id, text in texts.items())
    assert (found.covered, sorted(found.remaining)) == ({"z": "y"}, ["x", "y"])
