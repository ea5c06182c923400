"""What segments hold, by which access keys, and what an event is expected to cost.

    access key                    boxes   subscriptions   keys   P(probe)    met      ns       tests
    title present                    40              40      1       0.75  30.00  101.25   1, oracle
    category = ?, price sorted      299             299      7       0.56   6.46   12.96           0

A group is a signature of one segment. The figures are about one point of an event in a batch (an
event with lists has several), and leave out the time that the oracle takes: see ``access``. What an
event pays before and behind the keys is in the steps: see ``steps``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tamis.arrays.distinct import distinct
from tamis.arrays.types import Int64s
from tamis.matching.axes.axis import Axis
from tamis.matching.planning.access import (
    access_of,
    constraints_of,
    owners_of,
    words_of,
)
from tamis.matching.planning.steps import steps_of
from tamis.matching.planning.tables import Cells, Holdings, Tabular, figure
from tamis.matching.segments.content_sieve import Expectations
from tamis.matching.segments.segment import Segment
from tamis.matching.sieve.build import Sieve

MOST_UNSERVED = 1_000
"""Slots that a plan lists of those that no key serves."""
MOST_NAMED = 10
"""Those of them that are shown."""
MOST_ROWS = 30
"""Groups that a plan shows."""

_PARTS = {"constants": "constant", "tests": "tests", "slots": "slot", "table": "table"}
"""Parts of a sieve that are one array; all others describe signatures."""


@dataclass(frozen=True, slots=True)
class Group:
    """The boxes under one signature of one segment."""

    signature: str
    boxes: int
    subscriptions: int
    keys: int
    probability: float
    """That an event has the attributes, and pays the probe."""
    met: float
    """Boxes that an event is expected to meet, be they tested or copied."""
    cost: float
    """Nanoseconds that an event is expected to pay."""
    tests: int
    """Tests of each box that is met."""
    residual: bool
    """Whether the oracle decides on the boxes that pass."""
    segment: int


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Tabular):
    """The access keys of subscriptions, the most expensive first."""

    groups: tuple[Group, ...]
    unserved: tuple[int | str, ...]
    """Slots, in an engine's plan ids, at most ``MOST_UNSERVED``, that no key serves: with a box
    that every event meets, or every event that has some attributes, whatever their values."""
    unserved_count: int
    steps: Mapping[str, float] = field(default_factory=dict)
    """Nanoseconds that an event is expected to pay besides: to read columns, to search texts, to
    evaluate what boxes do not say, and for its matches."""
    schedule: Any = None
    """In an engine's plan, the operator calls and their order (``CallPlan``); None without."""

    @property
    def boxes(self) -> int:
        """Boxes of all groups."""
        return sum(group.boxes for group in self.groups)

    @property
    def cost(self) -> float:
        """Nanoseconds that an event is expected to pay."""
        return sum(group.cost for group in self.groups) + sum(self.steps.values())

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, for JSON."""
        return {"cost": self.cost, "boxes": self.boxes, **asdict(self)}

    def compared(self, later: Plan) -> Comparison:
        """What changed from this plan to a later one."""
        return Comparison(self, later)

    def __repr__(self) -> str:
        return (
            f"Plan(groups={len(self.groups):,}, boxes={self.boxes:,},"
            f" unserved={self.unserved_count:,}, cost={figure(self.cost)} ns)"
        )

    def cells(self) -> Cells:
        """The most expensive groups, and the sum of all."""
        head = "access key,boxes,subscriptions,keys,P(probe),met,ns,tests".split(",")
        several = len({group.segment for group in self.groups}) > 1
        rows = [_row(group, several) for group in self.groups[:MOST_ROWS]]
        rest = self.groups[MOST_ROWS:]
        more = f"and {len(rest):,} more, {figure(sum(g.cost for g in rest))} ns; " if rest else ""
        besides = [f"{step} {figure(cost)} ns" for step, cost in self.steps.items() if cost]
        said = f", of which {', '.join(besides)}" if besides else ""
        below = f"{figure(self.cost)} ns an event{said}; subscriptions that no key serves: "
        names = ", ".join(str(each) for each in self.unserved[:MOST_NAMED])
        named = f" ({names}{', …' if self.unserved_count > MOST_NAMED else ''})" if names else ""
        return Cells(
            [*head, "segment"] if several else head,
            rows,
            f"{more}{below}{self.unserved_count:,}{named}",
        )


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Tabular):
    """What each access key serves in two plans, and at what cost; the greatest change first."""

    before: Plan
    after: Plan

    def __repr__(self) -> str:
        return f"Comparison(cost={figure(self.before.cost)} ns to {figure(self.after.cost)} ns)"

    def cells(self) -> Cells:
        """A row for each access key of either plan."""
        ours, theirs = _by_signature(self.before), _by_signature(self.after)
        rows = [(name, *ours[name], *theirs[name]) for name in {**ours, **theirs}]
        rows.sort(key=lambda row: -abs(row[4] - row[2]))
        shown = [
            [name, f"{boxes:,}", f"{others:,}", figure(cost), figure(other)]
            for name, boxes, cost, others, other in rows[:MOST_ROWS]
        ]
        return Cells(
            ["access key", "boxes before", "after", "ns before", "after"],
            shown,
            f"{figure(self.before.cost)} ns an event before, {figure(self.after.cost)} ns after",
        )


def _by_signature(plan: Plan) -> defaultdict[str, tuple[int, float]]:
    """Boxes and cost of each signature, over all segments."""
    found: defaultdict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for group in plan.groups:
        boxes, cost = found[group.signature]
        found[group.signature] = boxes + group.boxes, cost + group.cost
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Stats(Holdings):
    """How much segments hold."""

    subscriptions: int
    boxes: int
    axes: int
    """Distinct ones: an axis that two segments have is one."""
    predicates: int
    """Distinct constraints (axis, low, high) of boxes, those of each segment for themselves; what
    only the oracle can tell is not among them."""
    signatures: int
    keys: int
    segments: int
    bytes: Mapping[str, int]
    """By part: constants, tests, slots, table, signatures, lines."""
    cost: float
    """Nanoseconds that an event is expected to pay."""
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    """Rows of columns that had to be read one by one, by reason."""

    def __repr__(self) -> str:
        return (
            f"Stats(subscriptions={self.subscriptions:,}, boxes={self.boxes:,},"
            f" segments={self.segments:,}, nbytes={self.nbytes:,}, cost={figure(self.cost)} ns)"
        )

    def cells(self) -> Cells:
        """A row for each figure."""
        names = "subscriptions boxes axes predicates signatures keys segments".split()
        return Cells(["what", "count"], self.named_rows(names), f"{figure(self.cost)} ns an event")


def plan_of(segments: Sequence[Segment], statistics: Expectations | None = None) -> Plan:
    """The access keys that the subscriptions of some segments have, and what they cost events of
    which that much is known."""
    groups: list[Group] = []
    unserved = [np.empty(0, np.int64)]
    steps: Counter[str] = Counter()
    for number, segment in enumerate(segments):
        first = len(groups)
        for residual, sieve, slot, axes in _sieves(segment):
            known = None if statistics is None else statistics(axes)
            access = access_of(sieve, slot, axes, known)
            columns = [column.tolist() for column in (*access[:-1], sieve.width)]
            for words, figures in zip(words_of(sieve, axes), zip(*columns)):
                row: tuple[Any, ...] = (words, *figures, residual, number)
                groups.append(Group(*row))
            unserved.append(access.unserved)
        passed = sum(group.met for group in groups[first:] if group.residual)
        matched = sum(group.met for group in groups[first:]) - passed
        if len(groups) > first:
            steps.update(steps_of(segment, passed, matched))
    groups.sort(key=lambda group: -group.cost)
    slots = distinct(np.concatenate(unserved))
    return Plan(tuple(groups), tuple(slots[:MOST_UNSERVED].tolist()), len(slots), dict(steps))


def stats_of(segments: Sequence[Segment], statistics: Expectations | None = None) -> Stats:
    """How much some segments hold; each slot is in one of them."""
    parts = dict.fromkeys([*_PARTS, "signatures", "lines"], 0)
    subscriptions, predicates = 0, 0
    for segment in segments:
        codes, slots = [], []
        for _, sieve, slot, axes in _sieves(segment):
            codes.append(constraints_of(sieve, axes))
            slots.append(slot)
            arrays = {k: v for k, v in sieve._asdict().items() if isinstance(v, np.ndarray)}
            for part, name in _PARTS.items():
                parts[part] += arrays.pop(name).nbytes
            parts["signatures"] += sum(array.nbytes for array in arrays.values())
        subscriptions += len(distinct(np.concatenate(slots)))
        predicates += len(distinct(np.concatenate(codes)))
        parts["lines"] += sum(map(_line_bytes, segment.axes))
    plan = plan_of(segments, statistics)
    return Stats(
        subscriptions=subscriptions,
        boxes=plan.boxes,
        axes=len({axis.key for segment in segments for axis in segment.axes}),
        predicates=predicates,
        signatures=len(plan.groups),
        keys=sum(group.keys for group in plan.groups),
        segments=len(segments),
        bytes=parts,
        cost=plan.cost,
    )


def _sieves(segment: Segment) -> Iterator[tuple[bool, Sieve, Int64s, list[Axis]]]:
    """The sieves of a segment: whether what they find is tested further, the slot of each box, and
    the axes."""
    table = segment.evaluation.entries.slot
    for number, (sieve, axes) in enumerate(segment.sieves()):
        owner = owners_of(sieve.arrays)
        yield number > 0, sieve.arrays, table[owner].astype(np.int64) if number else owner, axes


def _line_bytes(axis: Axis) -> int:
    """Memory of an axis; the terms of a taxonomy are shared, and not counted."""
    return sum(array.nbytes for line in axis.lines for array in line.arrays().values())


def _row(group: Group, several: bool) -> list[str]:
    counts = (group.boxes, group.subscriptions, group.keys)
    figures = (group.probability, group.met, group.cost)
    tests = f"{group.tests}, oracle" if group.residual else str(group.tests)
    row = [group.signature, *(f"{n:,}" for n in counts), *map(figure, figures), tests]
    return [*row, str(group.segment)] if several else row
