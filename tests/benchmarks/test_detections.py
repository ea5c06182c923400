"""W7 is what WORKLOADS says of it, and the same for the same seed."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks.detection_model import (
    ALL,
    AND,
    CIDR,
    CONTAINS,
    ENDS,
    EQUALS,
    FIRST,
    KEYWORD,
    OR,
    REGEX,
    STARTS,
    Rule,
    Selection,
    Source,
    Test,
)
from benchmarks.detection_pools import FIELDS, PATHS, SOURCES, WORDS, Pools
from benchmarks.detection_rules import DASHES, varied
from benchmarks.detections import Detections, w7
from tamis import parse


@pytest.fixture(scope="module")
def made() -> Detections:
    return w7(3_800, 1_000)


def all_tests(made: Detections) -> list[Test]:
    groups = [group for rule in made.rules for group in (*rule.selections, *rule.filters)]
    return [test for group in groups for test in group.tests]


def test_sources_fields_and_pools() -> None:
    assert len(SOURCES) == 12
    assert len({tuple(source.labels.items()) for source in SOURCES}) == 12
    creations = [source for source in SOURCES if source.category == "process_creation"]
    assert sum(source.rules for source in creations) == pytest.approx(0.37)
    assert sum(source.events for source in creations) == pytest.approx(0.40)
    assert sum(source.rules for source in SOURCES) == pytest.approx(1)
    assert sum(source.events for source in SOURCES) == pytest.approx(1)
    assert len(FIELDS) == 120
    assert all(FIELDS[name] == kind for source in SOURCES for name, kind in source.fields.items())
    pools = Pools(np.random.default_rng(1))
    assert (len(pools.words), len(pools.paths)) == (WORDS, PATHS)


def test_operators_and_fields_have_their_parts(made: Detections) -> None:
    tests = all_tests(made)
    operators = Counter(test.operator for test in tests)
    expected = {EQUALS: 0.27, ENDS: 0.27, CONTAINS: 0.26, ALL: 0.09, STARTS: 0.05, KEYWORD: 0.05,
                REGEX: 0.015, CIDR: 0.003}  # fmt: skip
    for operator, part in expected.items():
        assert operators[operator] / len(tests) == pytest.approx(part, abs=0.02), operator
    fields = Counter(test.fields[0] for test in tests if test.operator != KEYWORD)
    for field, part in {"Image": 0.25, "CommandLine": 0.24, "OriginalFileName": 0.06}.items():
        assert fields[field] / len(tests) == pytest.approx(part, abs=0.02), field


def test_alternatives_and_lengths(made: Detections) -> None:
    tests = [test for test in all_tests(made) if test.operator != ALL]
    counts = np.array([len(test.values) for test in tests])
    assert (counts == 1).mean() == pytest.approx(0.6, abs=0.03)
    assert ((counts > 1) & (counts <= 8)).mean() == pytest.approx(0.3, abs=0.04)
    assert sorted(counts)[-4:] == [64, 1_000, 2_400, 4_500]
    texts = [
        value
        for test in tests
        if test.operator not in (REGEX, CIDR) and len(test.values) <= 64
        for value in test.values
        if isinstance(value, str)
    ]
    lengths = [len(text) for text in texts]
    assert min(lengths) >= 2
    assert max(lengths) <= 64
    assert np.median(lengths) == pytest.approx(13, abs=1)
    assert 0.01 < np.mean([not text.isascii() for text in texts]) < 0.05
    contains = [test for test in tests if test.operator == CONTAINS]
    dashed = [test for test in contains if all(d in "".join(map(str, test.values)) for d in DASHES)]
    assert len(dashed) / len(contains) == pytest.approx(0.03, abs=0.01)
    assert sum(not dash.isascii() for dash in DASHES) == 4


def test_selections_and_filters(made: Detections) -> None:
    selections = [len(rule.selections) for rule in made.rules]
    assert np.median(selections) == 1
    assert 5 < max(selections) <= 34
    assert {rule.join for rule in made.rules} == {AND, OR, FIRST}
    filters = [len(rule.filters) for rule in made.rules]
    assert np.mean([count > 0 for count in filters]) == pytest.approx(0.22, abs=0.02)
    assert max(filters) <= 8


def test_events(made: Detections) -> None:
    labels = {"_product", "_category", "_service"}
    sizes = [len(event.keys() - labels) for event in made.events]
    assert min(sizes) >= 25
    assert max(sizes) <= 35
    encoded = [len(json.dumps(event, ensure_ascii=False).encode()) for event in made.events]
    assert 1_300 <= np.mean(encoded) <= 1_600
    assert any(not event.get("CommandLine", "").isascii() for event in made.events)
    values = [(name, value) for event in made.events for name, value in event.items()]
    assert all(isinstance(value, int) == (FIELDS.get(name) == "number") for name, value in values)
    creations = [event.get("_category") == "process_creation" for event in made.events]
    assert np.mean(creations) == pytest.approx(0.4, abs=0.05)


def test_the_table_has_the_events_with_nulls_where_fields_are_missing(made: Detections) -> None:
    rows = made.table().to_pylist()
    assert [{k: v for k, v in row.items() if v is not None} for row in rows] == made.events


def test_the_same_seed_gives_the_same_workload() -> None:
    first, second, other = w7(60, 50), w7(60, 50), w7(60, 50, seed=8)
    assert first == second
    assert first.rules != other.rules
    assert first.events != other.events


def test_more_rules_are_copies_with_other_constants() -> None:
    few, many = w7(3_800, 1), w7(2 * 3_800, 1)
    assert many.rules[:3_800] == few.rules
    for rule, copy in zip(few.rules, many.rules[3_800:]):
        assert (rule.source, rule.join) == (copy.source, copy.join)
        for before, after in zip(rule.selections, copy.selections, strict=True):
            assert before != after
            assert [t.operator for t in before.tests] == [t.operator for t in after.tests]
    assert sum(len(test.values) > 64 for test in all_tests(many)) == 3


def test_varied() -> None:
    assert varied(Test(("x",), ENDS, ("\\cmd.exe",)), 28, 2).values == ("\\ccbamd.exe",)
    assert varied(Test(("x",), EQUALS, (5, 6)), 1, 2).values == (2_005, 2_006)
    assert varied(Test(("x",), EQUALS, ("5",)), 1, 2).values == ("2005",)


def test_texts() -> None:
    source = Source("windows", "", "security", 1, 1, {"a": "word", "c-uri": "url", "n": "number"})
    tests = [
        Test(("a",), ENDS, ("\\o'x", "y")),
        Test(("n",), EQUALS, (1, 2)),
        Test(("c-uri",), EQUALS, ("q",)),
        Test(("c-uri",), ALL, ("q", "r")),
    ]
    rule = Rule(source, [Selection(tests)], AND, [Selection([Test(("a",), REGEX, (r"k\d",))])])
    assert rule.text() == (
        "_product = 'windows' and _service = 'security' and ((a ends with '\\\\o\\'x' ignoring "
        "case or a ends with 'y' ignoring case) and n in (1, 2) and `c-uri` = 'q' ignoring case "
        "and (`c-uri` contains text 'q' ignoring case and `c-uri` contains text 'r' ignoring case))"
        " unless (a matches 'k\\\\d' ignoring case)"
    )
    others = [Selection([Test((f,), STARTS, ("v",))]) for f in ("a", "c-uri")]
    first = Selection([Test(("a", "c-uri"), KEYWORD, ("k",))])
    assert (
        Rule(source, [first, *others], FIRST, [])
        .text()
        .endswith(
            " and (a contains text 'k' ignoring case or `c-uri` contains text 'k' ignoring case)"
            " and (a starts with 'v' ignoring case or `c-uri` starts with 'v' ignoring case)"
        )
    )


def test_every_text_can_be_read(made: Detections) -> None:
    for rule in made.rules[::10]:
        parse(rule.text())
