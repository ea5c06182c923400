"""Axes and boxes against the sets of values, the taxonomy and the oracle."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.matching.axes.axis import Axis, AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes import compiler as sides
from tamis.matching.boxes.compiler import MAX_AXES, MAX_BOXES, MAX_SIDES, Box, BoxCompiler
from tamis.matching.boxes.layout import Boxes
from tamis.matching.boxes.unresolved import BoxRows
from tamis.matching.covers.covers import Condition, cover_of
from tamis.matching.lines.taxonomy import NO_TERMS, TermLine, TermLines
from tamis.matching.points.of_events import points_of
from tamis.model.events.event import Event
from tamis.model.kinds import Kind, Value, to_value
from tamis.model.paths import Path
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Expression
from tamis.predicates.valueset import ValueSet
from tests.contract.naive import count_bindings, naive_match
from tests.matching.strategies import CONSTANTS, PARENTS, STRANGER, TEXTS, subscriptions
from tests.strategies import EXTRA, VALUES, attribute_expressions, events

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
TAXONOMY = {"red": ["blue"], "Red": ["red", ""], "10.0.0.1": []}
"""A taxonomy that knows all strings of ``tests.strategies``."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]

Bounds = dict[int, tuple[int, int]]
"""A box: the first and the last rank on each axis."""

RAW: list[Any] = [
    *(*VALUES, *EXTRA, *CONSTANTS, *TEXTS),
    *(0.5, 1.9999999999999998, 2**53, 2.0**53, 2**64 - 1, 2**63 - 1, 5e-324, -1e300),
    *(b"", b"red", math.nan, -math.nan),
    *(Timestamp(0), Timestamp(1), datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)),
]
SCALARS: list[Value] = [value for value in map(to_value, RAW) if value is not None]


def boxes_of(axes: BoxCompiler, condition: Condition) -> tuple[list[Box], bool]:
    """The boxes of a condition, and whether they say all that it does."""
    compiled = axes.compile(condition)
    return list(compiled.boxes), compiled.says_all and compiled.found is None


def terms_of(parents: dict[str, list[str]]) -> TermLines:
    return TermLines(Taxonomies(parents))


def resolved(
    axes: BoxCompiler, compiled: Iterable[list[Box]]
) -> tuple[list[Axis], list[list[Bounds]]]:
    """Finished axes, and for each of the given lists of boxes the ranks of those not empty."""
    rows = BoxRows()
    lists = list(compiled)
    for slot, boxes in enumerate(lists):
        for box in boxes:
            rows.add(slot, [[side] for side in box])
    finished = [builder.finish() for builder in axes.builders]
    found = rows.resolve([axis for axis, _ in finished], [each for _, each in finished])
    ranks: list[list[Bounds]] = [[] for _ in lists]
    for number, slot in enumerate(found.owner.tolist()):
        ranks[slot].append(bounds_of(found, number))
    return [axis for axis, _ in finished], ranks


def bounds_of(boxes: Boxes, number: int) -> Bounds:
    span = range(int(boxes.start[number]), int(boxes.start[number + 1]))
    found = {int(boxes.axis[row]): (int(boxes.low[row]), int(boxes.high[row])) for row in span}
    assert len(found) == len(span), "two intervals of one axis"
    assert all(0 <= low <= high < boxes.size[axis] for axis, (low, high) in found.items())
    return found


def stabs(point: Sequence[int], boxes: Iterable[Bounds]) -> bool:
    """Whether a point is in one of some boxes."""
    return any(
        all(low <= point[axis] <= high for axis, (low, high) in box.items()) for box in boxes
    )


def number_of(axes: Sequence[Axis], path: Path, sort: str) -> int:
    return [axis.key for axis in axes].index(AxisKey(path, sort))


def compiled_text(*texts: str, terms: TermLines = NO_TERMS) -> tuple[list[Axis], Any]:
    """The axes, and the boxes of each text, which all must be exact."""
    axes = BoxCompiler(terms)
    lists = []
    for text in texts:
        (condition,) = cover_of(tamis.parse(text)).conditions
        boxes, exact = boxes_of(axes, condition)
        assert exact
        lists.append(boxes)
    return resolved(axes, lists)


# Sets of values.


@given(expressions=st.lists(attribute_expressions() | subscriptions(), min_size=1, max_size=5))
def test_intervals_hold_the_ranks_of_what_is_in_the_set(expressions: list[Expression]) -> None:
    sets: list[tuple[Path, ValueSet]] = [
        (path, values)
        for expression in expressions
        for condition in cover_of(expression).conditions
        for path, values in condition.sides.items()
        if not isinstance(path, AxisKey)
    ]
    axes = BoxCompiler()
    lists = []
    for path, values in sets:
        boxes, exact = boxes_of(axes, Condition({path: values}))
        assert exact
        assert all(len(box) == 1 for box in boxes)
        lists.append(boxes)
    finished, found = resolved(axes, lists)
    for (path, values), boxes in zip(sets, found, strict=True):
        number = number_of(finished, path, sides.sort_of(values))
        for value in SCALARS:
            rank = finished[number].rank(value)
            inside = [low <= rank <= high for box in boxes for low, high in box.values()]
            assert any(inside) is (value in values), (value, values)
            assert sum(inside) <= 1, "intervals overlap"


@given(expression=attribute_expressions(), data=st.data())
def test_boxes_hold_what_is_in_all_sets(expression: Expression, data: st.DataObject) -> None:
    plain = [
        {place: values for place, values in each.sides.items() if not isinstance(place, AxisKey)}
        for each in cover_of(expression).conditions
    ]
    conditions = [Condition(sides) for sides in plain if sides]
    axes = BoxCompiler()
    compiled = [boxes_of(axes, each) for each in conditions]
    assert all(exact for _, exact in compiled)
    finished, found = resolved(axes, [boxes for boxes, _ in compiled])
    for condition, boxes in zip(conditions, found, strict=True):
        values = {path: data.draw(st.sampled_from(SCALARS)) for path in condition.sides}
        point = [
            axis.rank(values[axis.key.path]) if axis.key.path in values else -1 for axis in finished
        ]
        expected = all(values[path] in allowed for path, allowed in condition.sides.items())
        assert stabs(point, boxes) is expected


@given(
    expressions=st.lists(attribute_expressions(), min_size=1, max_size=4),
    event=events().filter(lambda event: count_bindings(event) <= 100),
)
def test_boxes_hold_what_matches_and_exact_ones_nothing_else(
    expressions: list[Expression], event: dict[str, Any]
) -> None:
    """With literals: presence, ``is a``, and tests that only widen the box."""
    axes = BoxCompiler(terms_of(TAXONOMY))
    compiled = [
        [(*boxes_of(axes, each), each.whole) for each in cover_of(expression).conditions]
        for expression in expressions
    ]
    lists = [[box for boxes, _, _ in each for box in boxes] for each in compiled]
    finished, found = resolved(axes, lists)
    points = points_of([Event(event)], finished).ranks.tolist()
    for expression, each, boxes in zip(expressions, compiled, found, strict=True):
        stabbed = any(stabs(point, boxes) for point in points)
        if all(exact and whole for _, exact, whole in each):
            assert stabbed is naive_match(expression, event, TAXONOMY)
        else:
            assert stabbed or not naive_match(expression, event, TAXONOMY)


# Mixed axes.


def test_a_mixed_axis_has_the_lines_of_all_kinds_and_a_rest() -> None:
    texts = ("x != 5", "x != 'm'", "x != timestamp '2026-01-01'", "x != true")
    (axis,), found = compiled_text(*texts, "x < 'm' or x = 5")  # the last tells gaps apart
    assert axis.key.sort == AxisSort.MIXED
    moment = Timestamp.parse("2026-01-01")
    before, after = Timestamp(moment.nanoseconds - 1), Timestamp(moment.nanoseconds + 1)
    order: list[Value] = [4, 5, 6, "a", "m", "z", before, moment, after, False, True, b"x"]
    assert [axis.rank(value) for value in order] == [*range(12)]
    assert axis.rank(math.nan) == axis.rank(b"") == 11 == axis.size - 1
    both = [sorted(box[0] for box in boxes) for boxes in found[:4]]
    assert both == [[(0, 0), (2, 11)], [(0, 3), (5, 11)], [(0, 6), (8, 11)], [(0, 9), (11, 11)]]


def test_strings_that_no_set_tells_apart_have_one_rank() -> None:
    for texts in (["x != 'm'", "x != 'b'"], ["x in ('m', 'b')"]):
        (axis,), found = compiled_text(*texts)
        gaps = {axis.rank(value) for value in ("", "a", "c", "z", "m\0")}
        assert len(gaps) == 1
        assert gaps.isdisjoint({axis.rank("m"), axis.rank("b")})
        outside = "!=" in texts[0]
        assert all(stabs([*gaps], boxes) is outside for boxes in found)


def test_neighbouring_intervals_are_joined() -> None:
    (axis,), (boxes,) = compiled_text("x > 5 or x <= 'm' or x = false")
    assert axis.key.sort == AxisSort.MIXED
    # numbers 0 .. 1, strings 2 .. 3, timestamps 4, booleans 5 .. 6, rest 7
    assert sorted(box[0] for box in boxes) == [(1, 2), (5, 5)]
    assert axis.size == 8


def test_everything_is_one_interval() -> None:
    (axis,), (boxes,) = compiled_text("x = 5 or x != 5")
    assert [box[0] for box in boxes] == [(0, axis.size - 1)]


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("x < 5", {Kind.NUMBER}),
        ("x starts with 're'", {Kind.STRING}),
        ("x between timestamp '2026-01-01' and timestamp '2026-02-01'", {Kind.TIMESTAMP}),
        ("x = true", {Kind.BOOLEAN}),
        ("x in (true, false)", {Kind.BOOLEAN}),
        ("x = 1 or x = '1'", {AxisSort.MIXED}),
        ("x != 1", {AxisSort.MIXED}),
        ("not x < 5", {Kind.NUMBER}),
    ],
)
def test_the_sort_of_an_axis(text: str, kinds: set[str]) -> None:
    (axis,), _ = compiled_text(text)
    assert {axis.key.sort} == kinds


@pytest.mark.parametrize(
    "text, allowed", [("x = true", [1]), ("x = false", [0]), ("x in (true, false)", [0, 1])]
)
def test_booleans(text: str, allowed: list[int]) -> None:
    (axis,), (boxes,) = compiled_text(text)
    assert [rank for rank in (0, 1) if stabs([rank], boxes)] == allowed
    assert [axis.rank(value) for value in (False, True, 0, 1, "true", b"")] == [
        0,
        1,
        -1,
        -1,
        -1,
        -1,
    ]


def test_values_of_other_kinds_have_no_rank() -> None:
    axes, _ = compiled_text("x < 5", "x < 'm'", "x < timestamp '2026-01-01'")
    values: list[Value] = [1, math.nan, "a", Timestamp(0), True, b"x"]
    ranks = [[axis.rank(value) for value in values] for axis in axes]
    assert [[rank >= 0 for rank in row] for row in ranks] == [
        [True, False, False, False, False, False],
        [False, False, True, False, False, False],
        [False, False, False, True, False, False],
    ]


def test_one_side_may_have_more_intervals_than_boxes_are_allowed() -> None:
    (axis,), (boxes,) = compiled_text(f"x in ({', '.join(map(str, range(0, 4_000, 2)))})")
    assert len(boxes) == 2_000
    held = {rank for box in boxes for low, high in box.values() for rank in range(low, high + 1)}
    assert [number for number in range(4_000) if axis.rank(number) in held] == [*range(0, 4_000, 2)]


# Presence.


@given(event=events(), path=st.sampled_from([("a",), ("items",), ("items", "color"), ("n", "m")]))
def test_presence(event: dict[str, Any], path: Path) -> None:
    name = ".".join(path)
    axes, (present, missing) = compiled_text(f"{name} is present", f"{name} is missing")
    ((rank,),) = points_of([Event(event)], axes).ranks.tolist()
    assert (rank, axes[0].size, axes[0].key.sort) == (
        axes[0].presence(Event(event)),
        2,
        AxisSort.PRESENCE,
    )
    expected = naive_match(tamis.parse(f"{name} is present"), event)
    assert stabs([rank], present) is expected
    assert stabs([rank], missing) is not expected


def test_presence_beside_a_value() -> None:
    axes, (boxes,) = compiled_text("a > 1 and b is missing and c is present")
    for event, expected in [
        ({"a": 2, "c": {}}, True),
        ({"a": [1, 2], "c": []}, True),
        ({"a": 2, "b": [], "c": 1}, False),
        ({"a": 2}, False),
        ({"c": 1}, False),
    ]:
        points = points_of([Event(event)], axes).ranks.tolist()
        assert any(stabs(point, boxes) for point in points) is expected


# Terms.

NAMES = "abcdefgh"


@st.composite
def taxonomies(draw: Any) -> Taxonomy:
    """Graphs without cycles: the parents of a term come before it; terms in any order."""
    parents = {
        term: draw(st.lists(st.sampled_from(NAMES[:number]), max_size=3)) if number else []
        for number, term in enumerate(NAMES[: draw(st.integers(1, len(NAMES)))])
    }
    order = draw(st.permutations(list(parents)))
    return Taxonomy({term: parents[term] for term in order})


@given(taxonomy=taxonomies())
def test_kinds_of_a_term(taxonomy: Taxonomy) -> None:
    line = TermLine(taxonomy)
    words = [*taxonomy, STRANGER, "", "A"]
    assert {line.rank(term) for term in taxonomy} == {*range(len(taxonomy))}
    assert {line.rank(word) for word in words if word not in taxonomy} == {len(taxonomy)}
    assert line.size == len(taxonomy) + 1
    for ancestor in taxonomy:
        kinds, others = line.kinds_of(ancestor, True), line.kinds_of(ancestor, False)
        for word in words:
            rank = line.rank(word)
            is_kind = any(low <= rank <= high for low, high in kinds)
            assert is_kind is taxonomy.is_a(word, ancestor)
            assert any(low <= rank <= high for low, high in others) is not is_kind
        ends = [rank for interval in sorted(kinds + others) for rank in interval]
        assert ends == sorted(ends)
        for each in (kinds, others):
            gaps = [low - high for (_, high), (low, _) in pairwise(each)]
            assert all(gap > 1 for gap in gaps), "neighbours are not joined"


def test_the_kinds_of_a_term_of_a_tree_are_one_interval() -> None:
    rng = np.random.default_rng(5)
    parents = {f"t{n}": [f"t{rng.integers(n)}"] if n else [] for n in range(300)}
    taxonomy = Taxonomy(parents)
    line = TermLine(taxonomy)
    assert all(len(line.kinds_of(term, True)) == 1 for term in taxonomy)


@given(taxonomy=taxonomies(), data=st.data())
def test_the_numbering_is_that_of_the_content(taxonomy: Taxonomy, data: st.DataObject) -> None:
    terms = sorted(taxonomy)
    for _ in range(data.draw(st.integers(0, 4))):
        term = data.draw(st.sampled_from([*terms, "x", "y"]))
        lower = taxonomy.descendants(term)
        free = [other for other in (*terms, "z") if other not in lower]
        taxonomy.add(term, data.draw(st.lists(st.sampled_from(free), max_size=2)) if free else [])
    parents = dict(taxonomy.parents)
    order = data.draw(st.permutations(list(parents)))
    other = Taxonomy({term: parents[term] for term in order})
    ours, theirs = TermLine(taxonomy), TermLine(other)
    for term in taxonomy:
        assert ours.rank(term) == theirs.rank(term)
        assert ours.kinds_of(term, True) == theirs.kinds_of(term, True)
        ranks = [ours.rank(kind) for kind in taxonomy.descendants(term)]
        intervals = ours.kinds_of(term, True)
        assert sorted(ranks) == [rank for low, high in intervals for rank in range(low, high + 1)]


@given(taxonomy=taxonomies(), data=st.data())
def test_is_a_through_boxes(taxonomy: Taxonomy, data: st.DataObject) -> None:
    first, second = (data.draw(st.sampled_from(sorted(taxonomy))) for _ in range(2))
    texts = [
        f"x is a '{first}'",
        f"not x is a '{first}'",
        f"x is a '{first}' and x is a '{second}'",
    ]
    axes = BoxCompiler(TermLines(Taxonomies(taxonomy)))
    lists, exact = zip(
        *(boxes_of(axes, cover_of(tamis.parse(text)).conditions[0]) for text in texts)
    )
    assert exact[:2] == (True, True)
    (axis,), (kinds, others, both) = resolved(axes, lists)
    for word in (*taxonomy, STRANGER):
        rank = [axis.rank(word)]
        assert stabs(rank, kinds) is taxonomy.is_a(word, first)
        assert stabs(rank, others) is not taxonomy.is_a(word, first)
        if taxonomy.is_a(word, first) and taxonomy.is_a(word, second):
            assert stabs(rank, both)
    assert [axis.rank(value) for value in (1, True, b"a", Timestamp(0))] == [-1] * 4


@pytest.mark.parametrize("matcher", ["sieve", "scan"])
def test_is_a_of_several_parents(matcher: str) -> None:
    engine = tamis.Engine(matcher=matcher, taxonomy=PARENTS)
    taxonomy = Taxonomy(PARENTS)
    for term in taxonomy:
        engine.subscribe(f"x is a '{term}'", id=f"is {term}")
        engine.subscribe(f"not x is a '{term}'", id=f"not {term}")
    for word in (*taxonomy, STRANGER):
        expected = [f"{'is' if taxonomy.is_a(word, term) else 'not'} {term}" for term in taxonomy]
        assert sorted(engine.match({"x": word})) == sorted(expected)
    assert engine.match({"x": 1}) == engine.match({"x": []}) == engine.match({}) == []


# Too many boxes, too many axes.


def _choices(name: str, count: int) -> str:
    return f"{name} in ({', '.join(str(3 * number) for number in range(count))})"


@pytest.mark.parametrize("counts", [(33, 32), (2, 600), (11, 10, 10), (1, 2_000, 2), (40, 40, 40)])
def test_widened_sides_are_a_superset_and_not_exact(counts: tuple[int, ...]) -> None:
    names = "abc"[: len(counts)]
    assert math.prod(counts) > MAX_BOXES
    (condition,) = cover_of(tamis.parse(" and ".join(map(_choices, names, counts)))).conditions
    axes = BoxCompiler()
    boxes, exact = boxes_of(axes, condition)
    assert not exact
    assert len(boxes) <= max(MAX_BOXES, *counts)
    finished, (found,) = resolved(axes, [boxes])
    assert len(found) == len(boxes)
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = [3 * int(rng.integers(count)) for count in counts]
        point = [axis.rank(value) for axis, value in zip(finished, values, strict=True)]
        assert stabs(point, found)
        point[int(rng.integers(len(point)))] = -1
        assert not stabs(point, found)


def test_as_many_boxes_as_allowed_are_exact() -> None:
    (condition,) = cover_of(tamis.parse(f"{_choices('a', 8)} and {_choices('b', 8)}")).conditions
    boxes, exact = boxes_of(BoxCompiler(), condition)
    assert (len(boxes), exact) == (MAX_BOXES, True)


def test_a_long_condition_becomes_fewer_boxes() -> None:
    text = " and ".join(f"a{number} != 1" for number in range(1_000))
    (condition,) = cover_of(tamis.parse(text)).conditions
    boxes, exact = boxes_of(BoxCompiler(), condition)
    assert not exact
    assert 1 < sum(map(len, boxes)) <= MAX_SIDES
    engine = tamis.Engine()
    engine.subscribe(text, id="x")
    event = {f"a{number}": 2 for number in range(1_000)}
    assert engine.match(event) == ["x"]
    assert engine.match(event | {"a77": 1}) == []


def test_widened_sides_match_exactly() -> None:
    texts = {
        "all": " and ".join(_choices(name, 40) for name in "abc"),
        "mixed": " and ".join(f"not {_choices(name, 40)}" for name in "abc"),
    }
    engines = [tamis.Engine(matcher=matcher) for matcher in ("sieve", "scan")]
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = [
        {name: int(rng.integers(-5, 125)) for name in "abc"} for _ in range(300)
    ]
    rows += [{name: 3 * int(rng.integers(40)) for name in "abc"} for _ in range(100)]
    rows += [
        {name: [1, 3, "x"] for name in "abc"},
        {"a": 1, "b": 2},
        {"a": 0, "b": b"", "c": math.nan},
    ]
    found = []
    for engine in engines:
        engine.subscribe_many(texts)
        found.append(sorted(engine.match_batch(rows).pairs()))
    assert found[0] == found[1]
    assert {id for _, id in found[0]} == {"all", "mixed"}


def test_more_attributes_than_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 60 if PLAIN else MAX_AXES + 100
    if PLAIN:
        monkeypatch.setattr(sides, "MAX_AXES", 40)
    texts = {f"p{n}": f"k{n} > {n % 3} and common = {n % 2}" for n in range(count)}
    texts |= {f"q{n}": f"k{n} is present and not k{n} = 2" for n in range(count)}
    texts |= {f"r{n}": f"k{n} like '%a%' or k{n} is a 'warm'" for n in range(0, count, 7)}
    engines = [tamis.Engine(matcher=matcher, taxonomy=PARENTS) for matcher in ("sieve", "scan")]
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    for _ in range(8):
        keys = rng.choice(count, 10, replace=False).tolist() + [0, count - 1]
        values: list[Any] = [0, 1, 2, 3, "red", "a", [1, 2, "warm"], [], True]
        row = {f"k{key}": values[int(rng.integers(len(values)))] for key in keys}
        rows.append({**row, "common": int(rng.integers(2))})
    found = []
    for engine in engines:
        engine.subscribe_many(texts)
        found.append(sorted(engine.match_batch(rows).pairs()))
        assert sorted(engine.match(rows[0])) == [id for row, id in found[-1] if row == 0]
    assert found[0] == found[1]
    assert len(found[0]) > 20


def test_an_axis_beyond_the_last_is_left_to_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sides, "MAX_AXES", 2)
    axes = BoxCompiler(terms_of(PARENTS))
    texts = ["a = 1 and b = 2", "a = 1 and c = 2", "c is present", "c is a 'warm'", "b = 3"]
    exact = [boxes_of(axes, cover_of(tamis.parse(text)).conditions[0])[1] for text in texts]
    assert exact == [True, False, False, False, True]
    assert len(axes.builders) == 2


@settings(max_examples=settings().max_examples // 2)
@given(
    expressions=st.lists(attribute_expressions(), min_size=3, max_size=8),
    rows=st.lists(events().filter(lambda event: count_bindings(event) <= 100), max_size=3),
    axes=st.integers(0, 4),
    boxes=st.integers(1, 4),
)
def test_whatever_is_left_out_of_the_boxes_the_oracle_decides(
    expressions: list[Expression], rows: list[dict[str, Any]], axes: int, boxes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides, "MAX_AXES", axes)
        patch.setattr(sides, "MAX_BOXES", boxes)
        engine = tamis.Engine(matcher="sieve", taxonomy=TAXONOMY)
        engine.subscribe_many({str(number): one for number, one in enumerate(expressions)})
        found = sorted(engine.match_batch(rows).pairs())
    assert found == sorted(
        (row, str(number))
        for row, event in enumerate(rows)
        for number, expression in enumerate(expressions)
        if naive_match(expression, event, TAXONOMY)
    )
