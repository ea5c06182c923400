"""Merged segments, and their parts: boxes out of sieves, lines and axes out of several."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.bindings.evaluation import World
from tamis.language.parser import parse
from tamis.matching.axes.axis import Axis
from tamis.matching.batch import batches
from tamis.matching.boxes import compiler as sides
from tamis.matching.boxes.layout import Boxes, Statistics
from tamis.matching.covers.covers import cover_of
from tamis.matching.evaluation.nodes import TEST
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.lines.forms import FORM_LINES
from tamis.matching.lines.line import UNUSED, USED, WIDE
from tamis.matching.lines.registry import (
    BooleanLine,
    Line,
    number_line,
    string_line,
    timestamp_line,
)
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.segments import merging
from tamis.matching.segments.matcher import SieveMatcher
from tamis.matching.segments.merging import TooManyAxesError, merged
from tamis.matching.segments.segment import Segment
from tamis.matching.setting import Setting
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.unbuild import boxes_of
from tamis.model.limits import LIMITS
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.expression import Expression
from tests.contract.naive import count_bindings
from tests.contract.strategies import dense_events, dense_expressions
from tests.matching.lines.test_lines import (
    Cut,
    cuts_of,
    instants,
    naive_rank,
    numbers,
    stored,
    texts,
)
from tests.matching.sieve.test_sieve import (
    SIZES,
    brute_force,
    pairs_of,
    random_boxes,
    random_points,
)
from tests.matching.strategies import PARENTS, record_batch, sample, subscriptions
from tests.strategies import attribute_expressions, events

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
BOXES, SUBSCRIPTIONS, EVENTS = (100, 60, 40) if PLAIN else (1500, 240, 120)

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
]


# Boxes out of sieves.


def rows_of(boxes: Boxes) -> list[tuple[int, tuple[tuple[int, int, int], ...]]]:
    """The slot and the constraints of each box."""
    constraints = list(zip(boxes.axis.tolist(), boxes.low.tolist(), boxes.high.tolist()))
    spans = pairwise(boxes.start.tolist())
    return sorted(
        (slot, tuple(constraints[first:stop]))
        for slot, (first, stop) in zip(boxes.owner.tolist(), spans, strict=True)
    )


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_boxes_come_back(name: str, repeated: bool) -> None:
    rng = np.random.default_rng(len(name))
    size = np.array(SIZES[name])
    boxes = random_boxes(rng, BOXES, size, repeated=repeated)
    sieve = BoxSieve(boxes)
    found = boxes_of(sieve.arrays, sieve.size)
    assert rows_of(found) == rows_of(boxes)
    points = random_points(rng, 50, size)
    assert np.array_equal(pairs_of(BoxSieve(found).match(points)), brute_force(boxes, points))


def test_boxes_come_back_from_required_attributes() -> None:
    """Two ranges: one is sorted, the attribute of the other merely required, then tested."""
    rng = np.random.default_rng(8)
    n, size = BOXES, np.array([1001, 1001, 1001])
    pair = np.sort(np.array([rng.choice(3, 2, replace=False) for _ in range(n)]), axis=1)
    low, high = np.sort(rng.integers(0, 1001, (2, n, 2)), axis=0)
    low, high = np.where(rng.random((n, 2)) < 0.4, 0, low), np.where(low % 3 == 0, 1000, high)
    boxes = Boxes(
        np.arange(0, 2 * n + 1, 2), pair.ravel(), low.ravel(), high.ravel(), np.arange(n), size
    )
    sieve = BoxSieve(boxes)
    required = (sieve.arrays.stride == 0) & (sieve.arrays.attribute[:, :3] < 3)
    assert required.any(), "no signature has a required attribute"
    assert rows_of(boxes_of(sieve.arrays, sieve.size)) == rows_of(boxes)


def test_boxes_come_back_from_a_file_and_from_nothing() -> None:
    size = np.array([5, 70_000])
    boxes = random_boxes(np.random.default_rng(1), 50, size)
    arrays = {name: frozen(array) for name, array in BoxSieve(boxes).to_arrays().items()}
    sieve = BoxSieve.from_arrays(arrays)
    assert rows_of(boxes_of(sieve.arrays, sieve.size)) == rows_of(boxes)
    empty = BoxSieve(random_boxes(np.random.default_rng(1), 0, size))
    assert rows_of(boxes_of(empty.arrays, empty.size)) == []


def frozen(array: Any) -> Any:
    """A copy that cannot be written, as if it were mapped from a file."""
    array = np.asarray(array)
    copy = np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
    assert not copy.flags.writeable
    return copy


# Lines: what lies between two used cuts is the same before and after.


def check_lines(
    make: Callable[..., Any], lists: list[list[Cut]], values: list[Any], data: st.DataObject
) -> Line:
    """The merged line of some cuts of each list."""
    made = [make([c for c, _ in cuts], np.array([a for _, a in cuts], bool)) for cuts in lists]
    lines = [line for line, _ in made]
    uses, kept = [], []
    for (line, positions), cuts in zip(made, lists):
        chosen = data.draw(st.lists(st.sampled_from(cuts), max_size=10)) if cuts else []
        use = np.full(line.size - 1, UNUSED)
        use[[positions[cuts.index(cut)] for cut in chosen]] = USED
        uses.append(use)
        kept.append({cut: positions[cuts.index(cut)] for cut in chosen})
    whole, positions = type(lines[0]).merged(lines, uses)
    for same in (
        whole,
        stored(whole),
        type(whole).merged([stored(line) for line in lines], uses)[0],
    ):
        for value in values:
            rank = same.rank(value)
            assert 0 <= rank < same.size
            for own, found in zip(kept, positions):
                for cut, position in own.items():
                    assert (rank > found[position]) == bool(naive_rank([cut], value)), (cut, value)
    assert whole.size <= len({cut for own in kept for cut in own}) + 1, "more cuts than there were"
    for own, found in zip(kept, positions):
        order = sorted(own)
        assert all(found[own[a]] <= found[own[b]] for a, b in pairwise(order))
    return whole


def check_column(line: Line, values: list[Any], arrow_type: pa.DataType) -> None:
    ranks = line.ranks(pa.array(values, arrow_type))
    assert ranks.tolist() == [line.rank(value) for value in values]


def lists_of(constants: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Cut]]]:
    return st.lists(cuts_of(constants), min_size=1, max_size=4)


@given(lists=lists_of(numbers), values=st.lists(numbers, max_size=20), data=st.data())
def test_lines_of_numbers(lists: Any, values: Any, data: st.DataObject) -> None:
    constants = [constant for cuts in lists for constant, _ in cuts]
    line = check_lines(number_line, lists, [*values, *constants], data)
    whole = [value for value in values if isinstance(value, int)]
    check_column(line, [value for value in values if isinstance(value, float)], pa.float64())
    check_column(line, [value for value in whole if value < 2**63], pa.int64())
    check_column(line, [value for value in whole if value >= 0], pa.uint64())


@given(lists=lists_of(texts), values=st.lists(texts, max_size=20), data=st.data())
def test_lines_of_strings(lists: Any, values: Any, data: st.DataObject) -> None:
    constants = [constant for cuts in lists for constant, _ in cuts]
    line = check_lines(string_line, lists, [*values, *constants], data)
    check_column(line, values, pa.string())


@given(lists=lists_of(instants), values=st.lists(instants, max_size=20), data=st.data())
def test_lines_of_timestamps(lists: Any, values: Any, data: st.DataObject) -> None:
    constants = [constant for cuts in lists for constant, _ in cuts]
    check_lines(timestamp_line, lists, [*values, *constants], data)


def test_cuts_without_a_number_between_them_are_one() -> None:
    one, _ = number_line([2**53], np.array([True]))
    other, _ = number_line([2**53 + 1], np.array([False]))
    line, positions = type(one).merged([one, other], [np.full(1, USED)] * 2)
    assert line.size == 2
    assert [found.tolist() for found in positions] == [[0], [0]]


def points_line(words: Sequence[str], alike: bool = True) -> Any:
    """The line of the cuts before and after each word."""
    after = np.tile([False, True], len(words))
    return string_line([word for word in words for _ in range(2)], after, gaps_alike=alike)[0]


@pytest.mark.parametrize("alike", [True, False])
def test_gaps_are_alike_if_they_are_in_all_lines(alike: bool) -> None:
    lines = [points_line(["b", "d"]), points_line(["a", "d"], alike)]
    line, positions = type(lines[0]).merged(lines, [np.full(4, USED)] * 2)
    assert line.gaps_alike is alike
    assert [found.tolist() for found in positions] == [[2, 3, 4, 5], [0, 1, 4, 5]]
    assert [line.rank(word) for word in "abcd"] == [1, 3, 0 if alike else 4, 5]


def test_gaps_are_told_where_an_interval_reaches_over_constants() -> None:
    line = points_line(["a", "b", "c"])
    whole, positions = type(line).merged([line], [np.array([WIDE, 0, 0, 0, 0, USED], np.uint8)])
    assert not whole.gaps_alike
    assert [whole.rank(word) for word in ("", "a", "b", "c", "d")] == [0, 1, 1, 1, 2]
    assert positions[0][[0, 5]].tolist() == [0, 1]


@pytest.mark.parametrize("form", FORM_LINES)
def test_lines_of_forms_stay_what_they_are(form: str) -> None:
    lines = [FORM_LINES[form].of(points_line(words)) for words in (["40a000000"], ["40b000000"])]
    whole, _ = type(lines[0]).merged(lines, [np.full(2, USED)] * 2)
    assert type(whole) is FORM_LINES[form]
    assert whole.size == 5


def test_lines_of_booleans() -> None:
    line, positions = BooleanLine.merged([BooleanLine()] * 2, [np.zeros(1, np.uint8)] * 2)
    assert line.size == 2
    assert [found.tolist() for found in positions] == [[0], [0]]


# Segments: a matcher with one merged segment against one with the parts.

TAXONOMIES = Taxonomies(PARENTS)


class Subscriptions:
    """Subscriptions by slot, and matchers for them."""

    def __init__(self, expressions: Mapping[int, Expression]) -> None:
        self.expressions = dict(expressions)

    def matcher(self) -> SieveMatcher:
        world = World(TAXONOMIES, LIMITS)
        return SieveMatcher(Setting(world, self.expressions.__getitem__, Fallbacks()))

    def apart(self, count: int) -> SieveMatcher:
        """A matcher with as many segments."""
        matcher = self.matcher()
        for number in range(count):
            load = matcher.load()
            for slot, expression in self.expressions.items():
                if slot % count == number:
                    load.add(slot, cover_of(expression))
            load.install()
        return matcher

    def of(self, segment: Segment) -> SieveMatcher:
        """A matcher with this one segment."""
        matcher = self.matcher()
        matcher.install(segment)
        return matcher


def of_texts(*texts: str) -> Subscriptions:
    return Subscriptions({slot: parse(text) for slot, text in enumerate(texts)})


def found_by(matcher: SieveMatcher, source: Any) -> list[tuple[int, int]]:
    pairs, start = [], 0
    for batch in batches(source):
        for each in matcher.view().match_batch(batch, None):
            pairs += zip((each.row + start).tolist(), each.slot.tolist(), strict=True)
        start += len(batch)
    assert len(pairs) == len(set(pairs)), "a pair came twice"
    return sorted(pairs)


@cache
def some_subscriptions(number: int) -> Subscriptions:
    strategy = attribute_expressions() | dense_expressions() | subscriptions()
    return Subscriptions(dict(enumerate(sample(strategy, SUBSCRIPTIONS, number))))


@cache
def some_events(number: int) -> list[dict[str, Any]]:
    small = st.one_of(events(), dense_events()).filter(lambda event: count_bindings(event) <= 300)
    return [*sample(small, EVENTS, number), {}]


def sources(number: int) -> list[Any]:
    return [
        some_events(number),
        *(record_batch(number + seed, columns=4, rows=30, depth=seed) for seed in range(4)),
    ]


def some_gone(number: int, part: float) -> Any:
    """New slots of what is left, in another order; -1 for a part."""
    rng = np.random.default_rng(number)
    gone = rng.random(SUBSCRIPTIONS) < part
    slots = rng.permutation(SUBSCRIPTIONS)
    return np.where(gone, -1, slots).astype(np.int32)


def renumbered(subscriptions: Subscriptions, slots: Any) -> Subscriptions:
    return Subscriptions(
        {int(slots[old]): e for old, e in subscriptions.expressions.items() if slots[old] >= 0}
    )


@pytest.mark.parametrize("count, number", [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_merged_segments_match_what_their_parts_match(count: int, number: int) -> None:
    subscriptions = some_subscriptions(number)
    apart = subscriptions.apart(count)
    together = subscriptions.of(merged(apart.segments()))
    matches = 0
    for source in sources(number):
        expected = found_by(apart, source)
        assert found_by(together, source) == expected
        matches += len(expected)
    assert matches > EVENTS, "hardly anything matches"


@pytest.mark.parametrize("count, part", [(1, 0.5), (2, 0.2), (3, 0.9), (2, 1.0)])
def test_what_is_gone_does_not_match(count: int, part: float) -> None:
    subscriptions = some_subscriptions(count)
    apart = subscriptions.apart(count)
    slots = some_gone(count, part)
    segment = merged(apart.segments(), slots)
    assert set(segment.slots().tolist()) <= set(slots[slots >= 0].tolist())
    together = renumbered(subscriptions, slots).of(segment)
    for source in sources(count):
        expected = [(row, int(slots[slot])) for row, slot in found_by(apart, source)]
        assert found_by(together, source) == sorted(pair for pair in expected if pair[1] >= 0)


def test_nothing_is_left() -> None:
    apart = some_subscriptions(0).apart(2)
    segment = merged(apart.segments(), np.full(SUBSCRIPTIONS, -1, np.int32))
    assert not segment.axes
    assert not segment.sought
    assert not segment.evaluation.literals
    assert segment.most_slot == -1
    assert found_by(Subscriptions({}).of(segment), [{"a": 1}, {}]) == []


def test_merging_again_and_again_is_merging_once() -> None:
    subscriptions = some_subscriptions(3)
    first, *others = subscriptions.apart(4).segments()
    segment = first
    for other in others:
        segment = merged([segment, other])
    together = subscriptions.of(segment)
    for source in sources(3):
        assert found_by(together, source) == found_by(subscriptions.apart(4), source)


def test_a_merged_segment_takes_no_more_than_one_built_whole() -> None:
    subscriptions = some_subscriptions(1)
    (whole,) = subscriptions.apart(1).segments()
    segment = merged(subscriptions.apart(3).segments())
    assert sorted(axis.key for axis in segment.axes) == sorted(axis.key for axis in whole.axes)
    sizes = {axis.key: axis.size for axis in whole.axes}
    assert all(axis.size <= sizes[axis.key] for axis in segment.axes)
    assert set(segment.evaluation.literals) == set(whole.evaluation.literals)
    assert len(segment.evaluation.literals) == len(whole.evaluation.literals)


# Files.


def reloaded(segment: Segment) -> Segment:
    arrays = {name: frozen(array) for name, array in segment.arrays("x/").items()}
    return Segment.from_arrays(segment.header(), arrays, "x/", TermLines(TAXONOMIES))


def test_a_merged_segment_is_stored() -> None:
    subscriptions = some_subscriptions(0)
    segment = merged(subscriptions.apart(2).segments())
    for source in sources(0):
        expected = found_by(subscriptions.of(segment), source)
        assert found_by(subscriptions.of(reloaded(segment)), source) == expected


def test_loaded_segments_are_merged() -> None:
    subscriptions = some_subscriptions(0)
    apart = subscriptions.apart(3)
    first, *others = apart.segments()
    segment = merged([reloaded(first), *others[:1], *map(reloaded, others[1:])])
    for source in sources(0):
        assert found_by(subscriptions.of(segment), source) == found_by(apart, source)


@pytest.mark.skipif(PLAIN, reason="nothing is compiled")
def test_kernels_are_compiled_once_for_each_width_of_ranks() -> None:
    from tamis.arrays import string_union
    from tamis.matching.boxes import layout as boxes
    from tamis.matching.segments import axis_merging
    from tamis.matching.sieve import unbuild

    segments = some_subscriptions(0).apart(2).segments()
    merged([*segments, reloaded(segments[0])], some_gone(0, 0.2))
    once: list[Any] = [merging.move_boxes, axis_merging.mark_uses, string_union._merge]
    once += [unbuild.spread_keys]
    twice: list[Any] = [unbuild.count_constraints, unbuild.write_constraints]
    twice += [boxes.copy_constraints]  # which published algorithms use on labels
    assert all(len(kernel.signatures) == 1 for kernel in once)
    assert all(len(kernel.signatures) <= 2 for kernel in twice)


# Single cases.


def axes_of(segment: Segment) -> dict[str, int]:
    return {str(axis.key): axis.size for axis in segment.axes}


def test_cuts_and_axes_go_with_their_subscriptions() -> None:
    texts = ["a < 5 and b = 'x'", "a < 7", "a < 5", "title like '%oak%t_ble'", "c contains 'new'"]
    apart = of_texts(*texts).apart(2)
    segment = merged(apart.segments(), np.array([-1, -1, 2, -1, -1], np.int32))
    assert axes_of(segment) == {"a (number)": 2}
    assert not segment.sought
    assert not segment.evaluation.literals
    assert segment.valued == []


def test_a_literal_of_two_segments_is_one() -> None:
    apart = of_texts("a = 1 and t matches 'x.y'", "b = 1 and t matches 'x.y'").apart(2)
    segment = merged(apart.segments())
    assert len(segment.evaluation.literals) == 1
    assert np.count_nonzero(segment.evaluation.nodes.kind == TEST) == 1


@pytest.mark.parametrize("gone", [False, True])
def test_gaps_that_one_segment_tells_and_another_does_not(gone: bool) -> None:
    texts = ["s != 'm'", "s < 'p'", "s in ('a', 'z')", "not s starts with 'n'", "s = 'm'"]
    subscriptions = of_texts(*texts)
    slots = np.array([0, -1 if gone else 1, 2, 3, 4], np.int32)
    apart = subscriptions.apart(2)
    together = subscriptions.of(merged(apart.segments(), slots))
    rows: list[dict[str, Any]] = [
        {"s": word} for word in ("", "a", "b", "m", "n", "no", "o", "p", "q", "z", "zz")
    ]
    rows += [{"s": 1}, {}]
    expected = [pair for pair in found_by(apart, rows) if slots[pair[1]] >= 0]
    assert found_by(together, rows) == expected


def test_widened_sets_still_hold_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their boxes reach over constants at which none of them ends."""
    monkeypatch.setattr(sides, "MAX_BOXES", 4)
    texts = [
        "s in ('b', 'd', 'f') and t in ('b', 'd', 'f')",
        "s in (1, 'b', 'd', 'f') and t in ('b', 'd', 'f', timestamp '2026-01-01T00:00:00Z')",
        "s = 'c'",
    ]
    subscriptions = of_texts(*texts)
    apart = subscriptions.apart(1)
    rows = [{"s": s, "t": t} for s in "abcdefg" for t in "abcdefg"]
    expected = found_by(apart, rows)
    assert len(expected) == 9 + 9 + 7
    assert found_by(subscriptions.of(merged(apart.segments())), rows) == expected


def test_boxes_between_cuts_that_become_one_are_gone() -> None:
    subscriptions = of_texts(f"a > {2**53} and a < {2**53 + 1}", "a = 5")
    segment = merged(subscriptions.apart(2).segments())
    assert segment.slots().tolist() == [1]


def test_too_many_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = of_texts("a = 1 and b = 2", "c = 1").apart(2).segments()
    monkeypatch.setattr(merging, "MAX_AXES", 2)
    with pytest.raises(TooManyAxesError, match="3 axes"):
        merged(segments)
    assert len(merged(segments, np.array([0, -1], np.int32)).axes) == 2
    sought = of_texts("a contains 1", "b contains 1").apart(2).segments()
    monkeypatch.setattr(merging, "MAX_FOUND", 1)
    with pytest.raises(TooManyAxesError, match="2 of found things"):
        merged(sought)


def test_statistics_change_no_result() -> None:
    subscriptions = some_subscriptions(2)
    asked: list[Sequence[Axis]] = []

    def expected(axes: Sequence[Axis]) -> Statistics:
        asked.append(axes)
        return Statistics(np.linspace(0.01, 1.0, len(axes)), [None] * len(axes))

    segments = subscriptions.apart(2).segments()
    segment = merged(segments, statistics=expected)
    assert len(asked) == 1 + len(segment.sought)
    assert all(axes[-1].key.sort.several_ranks for axes in asked[1:])
    plain = subscriptions.of(merged(segments))
    assert found_by(subscriptions.of(segment), some_events(2)) == found_by(plain, some_events(2))
