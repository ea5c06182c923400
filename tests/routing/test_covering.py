"""Covering over whole tables: the answers of ``covers`` and ``overlaps``, pair by pair."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import DuplicateIdError
from tamis.language.parser import parse
from tamis.predicates.facts import NO_FACTS, Facts, KnownFacts
from tamis.predicates.relations import covers, overlaps
from tamis.routing import box_index, filter_set, filters
from tamis.routing.box_groups import GROUPS
from tamis.routing.covering import CoveringTable
from tamis.routing.filter_set import FilterSet
from tamis.routing.filters import Filter, FilterReader
from tests.examples import examples

FACTS = KnownFacts(unique=["a", "b", "c"], integers=["a"])

PREDICATES = [
    *("a = 3", "a < 5", "a <= 4", "a > 2", "a >= 3", "a between 2 and 4", "a != 3", "a in (1, 3)"),
    *("b = 'x'", "b = 'a long string'", "b starts with 'a long'", "b > 'a'", "b = 3", "b <= 4"),
    *("c contains 1", "c = 1", "c in (1, 2)", "c contains 2", "not c contains 3", "c is present"),
    *("d = true", "d != false", "d is missing", "d like '%x'", "d = 'ax'", "a < 1e300"),
    *("b < timestamp '2020-01-01T00:00:00.001Z'", "a > 2.5", "a < 9007199254740993"),
]


def random_texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        parts = rng.sample(PREDICATES, rng.randint(1, 3))
        text = " and ".join(parts)
        if rng.random() < 0.15:
            text = f"({text}) or {rng.choice(PREDICATES)}"
        texts.append(text)
    return texts


@pytest.mark.parametrize("facts", [NO_FACTS, FACTS], ids=["no facts", "facts"])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_pairs(seed: int, facts: Facts) -> None:
    there = {n: Filter.of(parse(text), facts) for n, text in enumerate(random_texts(seed, 90))}
    known: FilterSet[int] = FilterSet(facts)
    for number, filter in there.items():
        known.add(number, filter)
    for number in list(there)[::7]:
        known.remove(number)
        del there[number]
    for text in [*random_texts(seed + 100, 25), "not (a = 1)", "(a = 1) is not true"]:
        new = Filter.of(parse(text), facts)
        regions = {number: filter.region for number, filter in there.items()}
        up = {n for n, region in regions.items() if covers(region, new.region)}
        down = {n for n, region in regions.items() if covers(new.region, region)}
        meet = {n for n, region in regions.items() if overlaps(region, new.region)}
        assert set(known.covering(new)) == up, text
        assert (known.coverer(new) in up) if up else known.coverer(new) is None, text
        assert set(known.covered(new)) == down, text
        if not new.never_matches:
            never = {n for n in there if there[n].never_matches}
            assert set(known.overlapping(new)) == meet - never, text


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 14), st.sampled_from(random_texts(5, 60))), max_size=40))
def test_roots_are_what_nothing_covers(changes: list[tuple[int, str]]) -> None:
    table: CoveringTable[int] = CoveringTable(FACTS)
    roots: set[int] = set()
    for key, text in changes:
        if key in table:
            change = table.remove(key)
        else:
            change = table.add(key, Filter.of(parse(text), FACTS))
        roots = (roots - set(change.removed)) | set(change.added)
        assert roots == set(table.roots)
        for one in table:
            parent = table.parent(one)
            if parent is None:
                assert one in roots
            else:
                assert covers(table[parent].region, table[one].region)
        for one in roots:
            for other in roots - {one}:
                assert not covers(table[one].region, table[other].region)


@pytest.mark.parametrize("seed", range(4))
def test_many_plain_boxes_come_and_go(seed: int) -> None:
    """Coverers with many boxes below them, whose places are found all at once."""
    rng = random.Random(seed)
    table: CoveringTable[int] = CoveringTable(FACTS)
    reader = FilterReader(FACTS)
    for key in range(400):
        ranges = {name: sorted(rng.choices(range(12), k=2)) for name in rng.sample("abc", 2)}
        text = " and ".join(f"{name} between {x} and {y}" for name, (x, y) in ranges.items())
        table.add(key, reader.read(parse(text if key % 40 else text.partition(" and a")[0])))
    for key in range(0, 400, 40):
        table.remove(key)
    for key in rng.sample(list(table.roots), 20):
        table.remove(key)
        roots = {one: table[one].region for one in table.roots}
        for one in table:
            covered = [
                other for other in roots if other != one and covers(roots[other], table[one].region)
            ]
            assert (table.parent(one) is not None) == (one not in roots)
            assert (one in roots) != bool(covered)


@pytest.mark.parametrize("facts", [NO_FACTS, FACTS], ids=["no facts", "facts"])
def test_a_reader_makes_the_same_filters(facts: Facts) -> None:
    reader = FilterReader(facts)
    texts = [*random_texts(3, 150), "a = 1 and a < 5", "x = 1 and x.y = 2", "x.y = 1 and x.z < 3"]
    for text in texts * 2:
        read, made = reader.read(parse(text)), Filter.of(parse(text), facts)
        assert (read.sides, read.exact, read.is_partial) == (
            made.sides,
            made.exact,
            made.is_partial,
        )
        assert read.never_matches == made.never_matches
        assert sorted(read.predicates or []) == sorted(made.predicates or []), text
        assert (read.predicates is None) == (made.predicates is None)


def test_a_reader_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "MAX_KNOWN", 10)
    reader = FilterReader()
    for n in range(50):
        assert reader.read(parse(f"a < {n}")).exact
    assert len(reader._known) <= 10


def test_removing_a_coverer_restores_what_it_covered() -> None:
    table: CoveringTable[str] = CoveringTable()
    for n in range(50):
        table.add(f"{n}", Filter.of(parse(f"a = {n} and b > {n % 5}")))
    assert len(table.roots) == 50
    change = table.add("all", Filter.of(parse("a < 45")))
    assert (change.added, len(change.removed), len(table.roots)) == (["all"], 45, 6)
    change = table.remove("all")
    assert (len(change.added), change.removed, len(table.roots)) == (45, ["all"], 50)


@pytest.mark.parametrize(
    ("text", "part", "is_partial"),
    [
        ("a < 5", "a < 5", False),
        ("a < 5 and near('Bronx', ?d) and ?d < 9", "a < 5", True),
        ("near('Bronx', ?d)", "true", True),
        ("(a < 5 and near('x', ?d)) or (b = 1 and near('y', ?d))", "a < 5 or b = 1", True),
    ],
)
def test_patterns_and_operators_are_not_routed_by(text: str, part: str, is_partial: bool) -> None:
    filter = Filter.of(parse(text))
    assert (filter.expression, filter.is_partial) == (parse(part), is_partial)


def test_an_index_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_index, "KEPT", 20)
    known: FilterSet[int] = FilterSet()
    for n in range(300):
        known.add(n, Filter.of(parse(f"a{n % 50} = {n} and b < {n}")))
        if n >= 10:
            known.remove(n - 10)
    assert known.exact.groups.state[GROUPS] < 60
    assert sorted(known.covered(Filter.of(parse("b < 295")))) == list(range(290, 296))


@pytest.mark.parametrize("seed", range(3))
def test_values_that_no_filter_asks_for_are_forgotten(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Their numbers are given to others, which must not be taken for them."""
    monkeypatch.setattr(filter_set, "KEPT", 8)
    rng = random.Random(seed)
    table: CoveringTable[int] = CoveringTable(FACTS)
    for key in range(400):
        low = key // 4
        tests = [f"a = {rng.randrange(low, low + 6)}", f"b = 'v{rng.randrange(low, low + 6)}'"]
        if key % 5 == 0:
            tests[0] = f"a between {low} and {low + 3}"
        new = Filter.of(parse(" and ".join(rng.sample(tests, rng.randint(1, 2)))), FACTS)
        regions = {root: table[root].region for root in table.roots}
        up = {root for root, region in regions.items() if covers(region, new.region)}
        assert set(table.roots.covering(new)) == up
        assert set(table.roots.covered(new)) == {
            root for root, region in regions.items() if covers(new.region, region)
        }
        assert bool(up) == (not table.add(key, new).added)
        if len(table) > 20:
            table.remove(min(table))
        table.roots.covering(Filter.of(parse(f"a = {10_000 + key}"), FACTS))
    assert len(table.roots.axes._uses) < 120


def test_a_key_may_be_there_once() -> None:
    table: CoveringTable[str] = CoveringTable()
    filter = Filter.of(parse("a = 1"))
    table.add("x", filter)
    with pytest.raises(DuplicateIdError, match="there is a filter 'x' already; remove it first"):
        table.add("x", filter)
    assert len(table) == 1
