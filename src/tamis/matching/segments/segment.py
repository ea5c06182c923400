"""A segment: some subscriptions as conditions, immutable once built.

    events ──axes──> points ──plain────────────────────────> matches
                        ├──────checked──> pairs ──┐
                        └─found──sought──> pairs ──┴─evaluation──┬──> matches
                                                               └──oracle──> matches

Subscriptions whose boxes say all that they say are in ``plain``: a stabbed box is a match. The
conditions of all others have numbers. Boxes of conditions that need something to be found (a
text in a title) are in a sieve for the axis of what was found there; the rest are in ``checked``.
What a condition does not say is evaluated when it holds (evaluation/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.sharing import lazy
from tamis.arrays.string_file import string_arrays, strings_of
from tamis.arrays.types import Int32s, Numbers, Slots
from tamis.language.parser import parse
from tamis.matching.axes.axis import Axis, AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.boxes.layout import Boxes
from tamis.matching.evaluation.entries import CERTAIN, Candidates, Entries, Verdicts
from tamis.matching.evaluation.evaluation import Evaluation
from tamis.matching.evaluation.nodes import Nodes
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.points.contents import EventSearch, FoundThings
from tamis.matching.points.of_events import Points
from tamis.matching.points.of_lists import choices_of
from tamis.matching.points.of_one_event import RANKS, Point, Projection
from tamis.matching.segments.content_sieve import ContentSieve, Expectations
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.unbuild import boxes_of
from tamis.model.events.event import Event
from tamis.model.kinds import Value
from tamis.model.timestamp import Timestamp
from tamis.predicates.normal import Literal


class Segment:
    """Boxes in the rank space of some axes."""

    def __init__(
        self,
        axes: Sequence[Axis],
        plain: BoxSieve,
        checked: BoxSieve,
        sought: Sequence[ContentSieve],
        evaluation: Evaluation,
    ) -> None:
        self.axes = list(axes)
        self.plain = plain
        self.checked = checked
        self.sought = list(sought)
        self.evaluation = evaluation
        keys = (each.found.axis.key for each in sought)
        searched = {key.path for key in keys if key.sort is not AxisSort.CONTAINED}
        self.valued = sorted({*evaluation.paths, *searched})
        """The attributes whose values are asked for, not only their ranks."""
        self.is_plain = not len(evaluation.entries.slot)
        """Whether boxes say all."""

    @classmethod
    def of_boxes(
        cls, axes: Sequence[Axis], boxes: Boxes, statistics: Expectations | None = None
    ) -> Segment:
        """A segment of subscriptions that are boxes and no more."""
        none = np.empty(0, np.int32)
        nothing = Boxes(np.zeros(1, np.int64), none, none, none, none, boxes.size)
        plain = BoxSieve(boxes, None if statistics is None else statistics(axes))
        return cls(axes, plain, BoxSieve(nothing), [], Evaluation.none())

    @lazy
    def projection(self) -> Projection:
        """The way from one event to its point."""
        projection = Projection(self.axes, RANKS)
        for path in self.valued:
            projection.bind(path)
        return projection

    def warm_up(self) -> None:
        """Make what is made when it is first needed, before an event has to wait for it."""
        samples: list[Value] = [0, 0.5, 2**63, "", Timestamp(0)]
        for axis in self.axes:
            for value in samples:
                axis.rank(value)
        self.plain.match_one(self.projection.point(Event({})))

    def stab(self, points: Points, limit: int | None = None) -> Iterator[tuple[Int32s, Int32s]]:
        """Points and the slots of the plain boxes that they stab, in chunks; each pair once, at
        most ``limit`` for each point."""
        for chunk in self.plain.chunks(points.ranks, limit):
            yield chunk.event, chunk.slot

    def candidates(self, points: Points, batch: Batch) -> Candidates:
        """What the other boxes find, without the pairs that are evaluated to be none."""
        point, condition, found = self.met(points, batch)
        return self.evaluation.candidates(point, condition, points, found, batch)

    def met(self, points: Points, batch: Batch) -> tuple[Int32s, Numbers, list[FoundThings]]:
        """Points and the conditions of the other boxes that they meet, and what was found."""
        found = [each.found.find(points, batch) for each in self.sought]
        hits = [(chunk.event, chunk.slot) for chunk in self.checked.chunks(points.ranks)]
        for sieve, things in zip(self.sought, found):
            hits += sieve.hits(points, things)
        nothing = np.empty(0, np.int32)
        point = np.concatenate([nothing, *(each for each, _ in hits)])
        condition = np.concatenate([nothing, *(each for _, each in hits)])
        return point, condition, found

    def verdicts(self, event: Event, point: Point) -> Verdicts:
        """What the other boxes say of one event, which is one point."""
        conditions, ranks = self.checked.match_one(point), np.frombuffer(point, np.int32)
        found = list(self._search.ranks_in(event)) if self.sought else []
        for number, things in found:
            conditions += self.sought[number].owners(ranks, things)
        return self.evaluation.verdicts(conditions, ranks, found, len(self.sought), event)

    def listed(self, event: Event) -> Verdicts | None:
        """What all boxes say of one event with long lists; None if these are too long."""
        choices = choices_of(event, self.axes)
        if choices is None:
            return None
        verdicts = Verdicts(dict.fromkeys(self.plain.match_choices(choices).tolist()), {})
        several = [self.checked.match_choices(choices)]
        in_texts = [np.empty(0, np.int32)]
        for each in self.sought:
            ranks = each.found.ranks_in(event)
            if ranks:
                contained = each.found.axis.key.sort is AxisSort.CONTAINED
                (several if contained else in_texts).append(each.owners_of_choices(choices, ranks))
        slot, node, _ = self.evaluation.entries
        conditions = np.concatenate(several)
        certain = node[conditions] == CERTAIN
        verdicts.certain.update(dict.fromkeys(slot[conditions[certain]].tolist()))
        left = np.concatenate((conditions[~certain], *in_texts))
        verdicts.open.update(dict.fromkeys(slot[left].tolist()))
        return verdicts

    @lazy
    def _search(self) -> EventSearch:
        return EventSearch([each.found for each in self.sought])

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The segment as named flat arrays."""
        import pyarrow as pa

        parts = {f"axes/{number}/": axis.arrays() for number, axis in enumerate(self.axes)}
        parts |= {"plain/": self.plain.to_arrays(), "checked/": self.checked.to_arrays()}
        for number, each in enumerate(self.sought):
            parts[f"found/{number}/"] = each.found.axis.arrays()
            parts[f"sought/{number}/"] = each.to_arrays()
        literals = self.evaluation.literals
        texts = pa.array([str(predicate) for predicate, _ in literals], pa.large_string())
        parts["tests/"] = string_arrays(texts)
        parts["tests/"]["positive"] = np.array([positive for _, positive in literals], bool)
        parts["entries/"] = self.evaluation.entries._asdict()
        parts["nodes/"] = self.evaluation.nodes._asdict()
        return {
            prefix + part + name: array
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }

    def header(self) -> dict[str, Any]:
        """What the arrays do not tell: path and sort of each axis."""
        found = [each.found.axis for each in self.sought]
        return {"axes": _keys(self.axes), "found": _keys(found)}

    @classmethod
    def from_arrays(
        cls,
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        prefix: str,
        terms: TermLines,
    ) -> Segment:
        """The segment of ``arrays`` and ``header``."""
        parts = _by_part(arrays, prefix)
        axes = _axes(header["axes"], parts, "axes", terms)
        found = _axes(header["found"], parts, "found", terms)
        sought = [
            ContentSieve.from_arrays(axis, parts[f"sought/{number}"])
            for number, axis in enumerate(found)
        ]
        tests = parts["tests"]
        texts: Any = strings_of(tests).to_pylist()
        literals = [
            Literal(parse(text), positive)
            for text, positive in zip(texts, tests["positive"].tolist(), strict=True)
        ]
        evaluation = Evaluation(Entries(**parts["entries"]), Nodes(**parts["nodes"]), literals)
        plain = BoxSieve.from_arrays(parts["plain"])
        return cls(axes, plain, BoxSieve.from_arrays(parts["checked"]), sought, evaluation)

    def slots(self) -> Slots:
        """The slots of all subscriptions, ascending."""
        is_there = np.zeros(self.most_slot + 1, np.bool_)
        is_there[self.plain.slots()] = True
        is_there[self.evaluation.entries.slot] = True
        return np.flatnonzero(is_there).astype(np.int32)

    @lazy
    def subscriptions(self) -> int:
        """How many subscriptions there are."""
        return len(self.slots())

    def box_slots(self) -> Slots:
        """The slot of each box."""
        table = self.evaluation.entries.slot
        slots = [self.plain.slots()]
        slots += [table[sieve.slots()] for sieve in (self.checked, *(s.sieve for s in self.sought))]
        return np.concatenate(slots)

    def slots_of_terms(self) -> Slots:
        """The slots of the boxes that are about the terms of a taxonomy."""
        about = np.array([axis.key.sort is AxisSort.TERM for axis in self.axes] + [False])
        if not about.any():
            return np.empty(0, np.int32)
        found = [np.empty(0, np.int32)]
        several = [boxes_of(each.arrays, each.size) for each in (self.plain, self.checked)]
        several += [each.boxes(len(self.axes)) for each in self.sought]
        for number, boxes in enumerate(several):
            asks = about[boxes.axis]
            box = np.repeat(np.arange(len(boxes.owner)), np.diff(boxes.start))[asks]
            slots = boxes.owner[box]
            found.append(self.evaluation.entries.slot[slots] if number else slots)
        return np.concatenate([*found, self.evaluation.slots_about(about)])

    @property
    def boxes(self) -> int:
        """How many boxes there are."""
        return sum(len(sieve.arrays.slot) for sieve, _ in self.sieves())

    @lazy
    def most_slot(self) -> int:
        """The greatest slot, or -1."""
        slot = self.plain.arrays.slot
        others = self.evaluation.entries.slot
        most = max(slot.max(initial=-1), (~slot).max(initial=-1), others.max(initial=-1))
        return int(most)

    @property
    def nbytes(self) -> int:
        """Memory of the boxes."""
        return sum(sieve.nbytes for sieve, _ in self.sieves()) + self.evaluation.nbytes

    def sieves(self) -> Iterator[tuple[BoxSieve, list[Axis]]]:
        """All sieves, the plain one first, with their axes."""
        yield self.plain, self.axes
        yield self.checked, self.axes
        for each in self.sought:
            yield each.sieve, each.axes(self.axes)


def _keys(axes: Sequence[Axis]) -> list[Any]:
    return [[list(axis.key.path), axis.key.sort] for axis in axes]


def _by_part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, dict[str, NDArray[Any]]]:
    """The arrays below a prefix by part: "plain", "sought/3"."""
    numbered = ("axes", "found", "sought")
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    for name in arrays:
        if name.startswith(prefix):
            part, _, rest = name[len(prefix) :].partition("/")
            if part in numbered:
                number, _, rest = rest.partition("/")
                part = f"{part}/{number}"
            parts.setdefault(part, {})[rest] = arrays[name]
    return parts


def _axes(
    header: Any, parts: Mapping[str, Mapping[str, NDArray[Any]]], part: str, terms: TermLines
) -> list[Axis]:
    return [
        Axis.from_arrays(
            AxisKey(tuple(path), AxisSort(sort)), parts.get(f"{part}/{number}", {}), terms
        )
        for number, (path, sort) in enumerate(header)
    ]
