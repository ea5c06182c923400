"""Plans and figures of segments, against their arrays and against what the kernels do."""

from __future__ import annotations

import json
import os
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import tamis
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes.layout import PRESENCE
from tamis.matching.covers.covers import cover_of
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.matching.planning import plan as module
from tamis.matching.planning.plan import Plan, Stats, plan_of, stats_of
from tamis.matching.planning.steps import EVALUATION, EVENT, MATCH, READ, SEARCH
from tamis.matching.segments.builder import SegmentBuilder
from tamis.matching.sieve.kernels import (
    BLOCK,
    enumerate_probes,
    flatten_points,
    look_up,
    make_probes,
    narrow,
)
from tamis.matching.sieve.keys import PROBE
from tamis.matching.sieve.signatures import COPY, TEST
from tamis.model.taxonomy.taxonomies import Taxonomies

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

CATEGORY = [f"category = 'c{i % 7}' and price < {i + 1}" for i in range(300)]
PAIRS = [f"seller = 's{i % 30}' and country = 'k{i % 9}'" for i in range(270)]
WINDOWS = [f"weight between {i} and {i + 10}" for i in range(200)]


def segment_of(*texts, first=0, terms=NO_TERMS):
    builder = SegmentBuilder(terms)
    for slot, text in enumerate(texts, first):
        builder.add(slot, cover_of(tamis.parse(text)))
    return builder.finish()


def group_of(plan, signature):
    (group,) = (group for group in plan.groups if group.signature == signature)
    return group


def test_equality_and_range():
    segment = segment_of(*CATEGORY)
    group = group_of(plan_of([segment]), "category = ?, price sorted")
    assert (group.keys, group.tests, group.residual, group.segment) == (7, 0, False, 0)
    assert group.probability == pytest.approx(PRESENCE**2)
    assert group.cost == pytest.approx(PROBE * PRESENCE**2 + COPY * group.met)
    ranks = {axis.key.path[0]: axis.size for axis in segment.axes}
    below = np.arange(2, ranks["price"])  # price < 1 is one rank, and no range
    by_hand = below.sum() / ranks["price"] / ranks["category"] * PRESENCE**2
    assert group.boxes == len(below)
    assert group.met == pytest.approx(by_hand)


def test_two_equalities():
    group = group_of(plan_of([segment_of(*PAIRS)]), "seller = ? and country = ?")
    assert (group.boxes, group.subscriptions, group.keys, group.tests) == (270, 270, 90, 0)
    sizes = 61 * 19
    assert group.met == pytest.approx(270 * PRESENCE**2 / sizes)


def test_windows_are_tested():
    plan = plan_of([segment_of(*WINDOWS)])
    windows = [group for group in plan.groups if "windows" in group.signature]
    assert sum(group.boxes for group in windows) > 150
    for group in windows:
        assert group.signature.startswith("weight sorted in windows of ")
        assert group.tests == 1
        assert group.cost == pytest.approx(PROBE * PRESENCE + TEST * group.met)


@pytest.mark.parametrize(
    "texts",
    [CATEGORY, PAIRS, WINDOWS, [*CATEGORY, *PAIRS, *WINDOWS, "title matches '[ab]'", "x != 5"]],
)
def test_probes_and_boxes_met_are_those_of_the_kernels(texts):
    segment = segment_of(*texts)
    rng = np.random.default_rng(5)
    events = 256 if PLAIN else 200_000
    size = [axis.size for axis in segment.axes]
    points = rng.integers(0, size, (events, len(size))).astype(np.int32)
    points[rng.random(points.shape) > PRESENCE] = -1
    paid, met = np.zeros(events), np.zeros(events)
    for sieve in (segment.plain.arrays, segment.checked.arrays):
        probes, event = make_probes(sieve, len(size)), 0
        while event < events:
            done, count = enumerate_probes(sieve, flatten_points(points), event, BLOCK, probes)
            np.add.at(paid, event + probes.owner[:count], 1)
            count = narrow(sieve, probes, look_up(sieve, probes, count))
            run = probes.stop[:count] - probes.start[:count]
            np.add.at(met, event + probes.owner[:count], run)
            event += done
    plan = plan_of([segment])
    for seen, expected in (
        (paid, sum(group.probability for group in plan.groups)),
        (met, sum(group.met for group in plan.groups)),
    ):
        error = seen.std() / np.sqrt(events)
        assert abs(seen.mean() - expected) < 4 * error


def test_steps_tell_what_is_read_searched_and_evaluated():
    plan = plan_of([segment_of("color = 'red'")])
    assert plan.steps == {
        "columns": EVENT + READ[AxisSort.STRING],
        "texts": 0,
        "evaluation": 0,
        "matches": MATCH * plan.groups[0].met,
    }
    texts = [f"title contains text 'oak{n}' and not title like 'a_{n}'" for n in range(10)]
    rest = plan_of([segment_of(*texts)])
    assert rest.steps["texts"] == SEARCH[AxisSort.SUBSTRINGS]
    assert rest.steps["evaluation"] == pytest.approx(
        EVALUATION * sum(group.met for group in rest.groups)
    )
    assert "texts 120 ns" in str(rest)
    assert "texts" not in str(plan)


def test_every_sort_of_axes_has_a_cost():
    assert {*READ, *SEARCH} == {*AxisSort}
    assert all(sort.several_ranks for sort in SEARCH)


def test_groups_add_up_and_are_sorted_by_cost():
    segments = [
        segment_of(*CATEGORY, *WINDOWS, "title matches '[ab]'"),
        segment_of(*PAIRS, "color in ('red', 'blue')", first=1000),
    ]
    plan, stats = plan_of(segments), stats_of(segments)
    sieves = [sieve for each in segments for sieve in (each.plain, each.checked)]
    assert plan.boxes == stats.boxes == sum(len(sieve.arrays.slot) for sieve in sieves)
    assert stats.subscriptions == sum(len(segment.slots()) for segment in segments)
    assert stats.signatures == len(plan.groups)
    assert stats.keys == sum(group.keys for group in plan.groups)
    costs = [group.cost for group in plan.groups]
    assert costs == sorted(costs, reverse=True)
    assert plan.cost == stats.cost == pytest.approx(sum(costs) + sum(plan.steps.values()))
    assert {group.segment for group in plan.groups} == {0, 1}
    assert stats.segments == 2


def test_subscriptions_of_several_boxes_are_counted_once():
    texts = [f"color in ('red{i}', 'blue{i}') or shape = 's{i}'" for i in range(200)]
    segment = segment_of(*texts)
    plan = plan_of([segment])
    color, shape = group_of(plan, "color = ?"), group_of(plan, "shape = ?")
    assert (color.boxes, color.subscriptions) == (400, 200)
    assert (shape.boxes, shape.subscriptions) == (200, 200)
    assert stats_of([segment]).subscriptions == 200


def test_what_no_key_serves():
    segment = segment_of(*PAIRS, "x != 5", "not (seller = 's1')")
    plan = plan_of([segment])
    assert group_of(plan, "every event").probability == 1.0
    assert plan.unserved == (270, 271)
    assert plan.unserved_count == 2


def test_an_attribute_that_only_must_be_there_serves_nobody():
    texts = [f"title matches '[ab]{{{i + 1}}}'" for i in range(50)]
    alone = plan_of([segment_of(*texts)])
    group = group_of(alone, "title present")
    assert (group.boxes, group.residual, group.tests) == (50, True, 0)
    assert group.met == pytest.approx(50 * PRESENCE)
    assert alone.unserved == tuple(range(50))

    equal = [f"title = 't{i}'" for i in range(50)]
    mixed = plan_of([segment_of(*texts, *equal)])
    assert group_of(mixed, "title sorted").met == pytest.approx(50 * PRESENCE)
    assert group_of(mixed, "title = ?").boxes == 50
    assert mixed.unserved == tuple(range(50))


def test_unserved_slots_are_listed_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(module, "MOST_UNSERVED", 10)
    plan = plan_of([segment_of(*(f"title matches '[ab]{{{i + 1}}}'" for i in range(50)))])
    assert plan.unserved == tuple(range(10))
    assert plan.unserved_count == 50


def test_names_of_axes():
    numbers, strings = [f"z = {i}" for i in range(100)], [f"z = 'a{i}'" for i in range(100)]
    said = {group.signature for group in plan_of([segment_of(*numbers, *strings)]).groups}
    assert said == {"z (number) = ?", "z (string) = ?"}
    assert [group.signature for group in plan_of([segment_of(*numbers)]).groups] == ["z = ?"]


def test_an_axis_of_presence_is_there_for_every_event():
    plan = plan_of([segment_of(*(f"x{i % 2} is missing" for i in range(100)))])
    for name in ("x0", "x1"):
        group = group_of(plan, f"presence of {name} = ?")
        assert (group.probability, group.boxes) == (1.0, 50)


def test_terms_are_no_bytes_of_a_segment():
    taxonomy = tamis.Taxonomy({"chair": ["furniture"], "table": ["furniture"]})
    segment = segment_of("category is a 'furniture'", terms=TermLines(Taxonomies(taxonomy)))
    assert stats_of([segment]).bytes["lines"] == 0
    assert plan_of([segment]).boxes == 1


def test_bytes_are_those_of_the_arrays():
    segment = segment_of(*CATEGORY, *PAIRS, "title matches '[ab]'", "x != 5")
    stats = stats_of([segment])
    both = [segment.plain.arrays, segment.checked.arrays]
    assert stats.bytes["constants"] == sum(sieve.constant.nbytes for sieve in both)
    assert stats.bytes["tests"] == sum(sieve.tests.nbytes for sieve in both)
    assert stats.bytes["slots"] == sum(sieve.slot.nbytes for sieve in both)
    assert stats.bytes["table"] == sum(sieve.table.nbytes for sieve in both)
    lines = [line.arrays() for axis in segment.axes for line in axis.lines]
    assert stats.bytes["lines"] == sum(a.nbytes for arrays in lines for a in arrays.values()) > 0
    assert stats.nbytes - stats.bytes["lines"] == segment.plain.nbytes + segment.checked.nbytes


def test_distinct_predicates():
    assert stats_of([segment_of(*PAIRS)]).predicates == 30 + 9
    assert stats_of([segment_of(*CATEGORY)]).predicates == 7 + 300
    assert stats_of([segment_of(*WINDOWS, *WINDOWS)]).predicates == 200
    several = segment_of(*CATEGORY, *PAIRS, *WINDOWS, "price > 7", "title matches '[ab]'")
    stats = stats_of([several])
    assert stats.predicates == 307 + 39 + 200 + 1 + 1  # and that there is a title
    assert stats_of([several, several]).predicates == 2 * stats.predicates
    assert stats.axes == stats_of([several, several]).axes == len(several.axes)
    assert AxisKey(("price",), AxisSort.NUMBER) in {axis.key for axis in several.axes}


@pytest.mark.parametrize("count", [0, 1], ids=["no segment", "no subscription"])
def test_nothing(count):
    segments = [segment_of() for _ in range(count)]
    plan, stats = plan_of(segments), stats_of(segments)
    assert plan == Plan((), (), 0)
    assert (stats.subscriptions, stats.boxes, stats.keys, stats.cost) == (0, 0, 0, 0)
    assert stats.segments == len(segments)
    for each in (plan, stats):
        assert str(each)
        assert rendered(each)
        assert each._repr_html_().startswith("<table>")


def test_a_subscription_that_nothing_matches_has_no_box():
    assert plan_of([segment_of("x < 5 and x > 7")]).boxes == 0


def test_a_subscription_that_everything_matches():
    plan = plan_of([segment_of("true")])
    (group,) = plan.groups
    assert (group.signature, group.boxes, group.tests, group.met) == ("every event", 1, 0, 1.0)
    assert group.cost == pytest.approx(PROBE + COPY)
    assert plan.unserved == (0,)


def rendered(shown):
    out = StringIO()
    Console(file=out, width=140).print(shown)
    return out.getvalue()


def test_rendering_of_a_plan():
    plan = plan_of([segment_of(*CATEGORY, *PAIRS), segment_of("title matches '[ab]'", first=1000)])
    lines = str(plan).splitlines()
    assert lines[0].split("  ")[0] == "access key"
    assert lines[0].endswith("segment")
    assert f"subscriptions that no key serves: {plan.unserved_count} (0, 1000)" in lines[-1]
    assert len(lines) == len(plan.groups) + 2
    for text in (str(plan), rendered(plan), plan._repr_html_()):
        assert "category = ?, price sorted" in text
        assert "1, oracle" in text
    assert repr(plan).startswith(f"Plan(groups={len(plan.groups)}, boxes=571, unserved=")
    assert "segment" not in str(plan_of([segment_of(*PAIRS)])).splitlines()[0]


def test_names_are_escaped_and_no_markup():
    plan = plan_of([segment_of(*(f"`[b]<i>` = {i}" for i in range(100)))])
    assert "&lt;i&gt;" in plan._repr_html_()
    assert "<i>" not in plan._repr_html_()
    assert "[b]<i>" in rendered(plan)


def test_only_the_most_expensive_groups_are_shown(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    plan = plan_of([segment_of(*CATEGORY, *PAIRS, *WINDOWS)])
    lines = str(plan).splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith(f"and {len(plan.groups) - 1} more, ")
    assert len(plan.to_dict()["groups"]) == len(plan.groups)


def test_rendering_of_figures():
    stats = stats_of([segment_of(*CATEGORY)])
    assert isinstance(stats, Stats)
    for text in (str(stats), rendered(stats), stats._repr_html_()):
        assert "bytes of constants" in text
    assert repr(stats).startswith("Stats(subscriptions=300, boxes=300, segments=1, nbytes=")


def test_plain_data():
    segments = [segment_of(*CATEGORY, "title matches '[ab]'")]
    plan, stats = plan_of(segments), stats_of(segments)
    said = json.loads(json.dumps(plan.to_dict()))
    assert said["groups"][0]["signature"] == plan.groups[0].signature
    assert said["unserved"] == list(plan.unserved)
    assert said["unserved_count"] == plan.unserved_count
    figures = json.loads(json.dumps(stats.to_dict()))
    assert figures["bytes"] == stats.bytes
    assert figures["nbytes"] == stats.nbytes


def test_what_is_sought_is_a_key():
    plan = plan_of([segment_of(*(f"title like '%oak{i}%'" for i in range(50)))])
    assert plan.unserved == ()
    assert sum(group.boxes for group in plan.groups) == 50


def test_a_subscription_with_several_conditions_counts_once() -> None:
    engine = tamis.Engine()
    engine.subscribe_many(
        {
            str(n): f"a = {n} and x < y or a = {n + 5_000} and x > y or b contains text 'x{n}'"
            for n in range(1_200)
        }
    )
    engine.settle()
    segments = engine.subscriptions.index.matcher.segments()
    assert stats_of(segments).subscriptions == 1_200
    assert {group.subscriptions for group in plan_of(segments).groups} == {1_200}
