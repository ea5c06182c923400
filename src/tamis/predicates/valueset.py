"""Sets of values: what a predicate on one attribute is true of.

Values of each ordered kind lie on a line, and a set of them is a few ranges between *cuts*. A cut
lies just before or just after a value, so every range is half open and no end needs a flag:

    x < 5      [LEAST, before 5)            x = 5      [before 5, after 5)
    x <= 5     [LEAST, after 5)             x > 5      [after 5, GREATEST)

Ranges of one kind are sorted and disjoint. Booleans are a plain set; ``rest`` says whether
everything else is in it (NaN and bytes, which are on no line, but of which ``x != 5`` is true).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tamis.model.kinds import ORDERED, Kind, Value, kind_of

Cut = tuple[int, Value, int] | tuple[int]
Range = tuple[Cut, Cut]
Ranges = tuple[Range, ...]

LEAST: Cut = (-1,)
GREATEST: Cut = (1,)
_PLAIN = frozenset({int, str})


def before(value: Value) -> Cut:
    """The cut just before a value."""
    return (0, value, 0)


def after(value: Value) -> Cut:
    """The cut just after a value."""
    return (0, value, 1)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of values of any kinds."""

    ranges: Mapping[Kind, Ranges] = field(default_factory=dict)
    booleans: frozenset[bool] = frozenset()
    rest: bool = False

    def __and__(self, other: ValueSet) -> ValueSet:
        kinds = {
            kind: _intersection(self.ranges[kind], other.ranges[kind])
            for kind in self.ranges
            if kind in other.ranges
        }
        return ValueSet(
            _without_empty(kinds), self.booleans & other.booleans, self.rest and other.rest
        )

    def __or__(self, other: ValueSet) -> ValueSet:
        kinds = {
            kind: _union(self.ranges.get(kind, ()) + other.ranges.get(kind, ()))
            for kind in (*self.ranges, *other.ranges)
        }
        return ValueSet(kinds, self.booleans | other.booleans, self.rest or other.rest)

    def complement(self) -> ValueSet:
        """Everything else, of every kind."""
        kinds = {kind: _complement(self.ranges.get(kind, ())) for kind in sorted(ORDERED)}
        return ValueSet(
            _without_empty(kinds), frozenset({True, False}) - self.booleans, not self.rest
        )

    def __le__(self, other: ValueSet) -> bool:
        """Whether all of it is in the other."""
        if self is other:
            return True
        theirs = other.ranges
        for kind, ranges in self.ranges.items():
            if kind not in theirs or not _is_within(ranges, theirs[kind]):
                return False
        return self.booleans <= other.booleans and (other.rest or not self.rest)

    def isdisjoint(self, other: ValueSet) -> bool:
        """Whether no value is in both."""
        theirs = other.ranges
        for kind, ranges in self.ranges.items():
            if kind in theirs and _meet(ranges, theirs[kind]):
                return False
        return self.booleans.isdisjoint(other.booleans) and not (self.rest and other.rest)

    def with_cuts(self, moved: Callable[[Kind, Cut], Cut]) -> ValueSet:
        """The set with its cuts moved; ranges that vanish are gone, ranges that touch are one."""
        kinds = {
            kind: _union(
                [
                    (low, high)
                    for low, high in ((moved(kind, low), moved(kind, high)) for low, high in ranges)
                    if low < high
                ]
            )
            for kind, ranges in self.ranges.items()
        }
        return ValueSet(_without_empty(kinds), self.booleans, self.rest)

    @property
    def weight(self) -> int:
        """How many ranges and booleans it is made of."""
        return sum(map(len, self.ranges.values())) + len(self.booleans)

    def within(self, kind: Kind) -> ValueSet:
        """The values of one ordered kind."""
        return ValueSet(_without_empty({kind: self.ranges.get(kind, ())}))

    def __contains__(self, value: Value) -> bool:
        kind = kind_of(value)
        if kind is Kind.BOOLEAN:
            return value in self.booleans
        if kind is Kind.BYTES or value != value:
            return self.rest
        return any(low <= before(value) < high for low, high in self.ranges.get(kind, ()))

    @property
    def is_empty(self) -> bool:
        """Whether no value is in it."""
        return not (self.ranges or self.booleans or self.rest)


def range_of(kind: Kind, low: Cut, high: Cut) -> ValueSet:
    """The values of a kind between two cuts."""
    return ValueSet({kind: ((low, high),)}) if low < high else ValueSet()


def points(values: Iterable[Value]) -> ValueSet:
    """Exactly these values."""
    values = list(values)
    types = {*map(type, values)}
    if len(types) == 1 and types <= _PLAIN:  # as most are: then distinct ones are apart
        apart = sorted({*values})
        kind = kind_of(apart[0])
        return ValueSet({kind: tuple([(before(value), after(value)) for value in apart])})
    ranges: dict[Kind, list[Range]] = {}
    booleans = set()
    for value in values:
        if isinstance(value, bool):
            booleans.add(value)
        else:
            ranges.setdefault(kind_of(value), []).append((before(value), after(value)))
    return ValueSet({kind: _union(found) for kind, found in ranges.items()}, frozenset(booleans))


def is_points(ranges: Ranges) -> bool:
    """Whether ranges are single values, made by ``points``; they may be, even if it does not say
    so."""
    return all(len(low) == len(high) == 3 and low[1] is high[1] for low, high in ranges)


def combined(
    operation: Callable[[ValueSet, ValueSet], ValueSet], sets: Sequence[ValueSet]
) -> ValueSet:
    """Union or intersection of several, in pairs: one after another, n would cost n²."""
    while len(sets) > 1:
        odd = sets[len(sets) & ~1 :]
        sets = [*map(operation, sets[::2], sets[1::2]), *odd]
    return sets[0]


def union_of(sets: Iterable[ValueSet]) -> ValueSet:
    """The values that are in any of several sets."""
    ranges: dict[Kind, list[Range]] = {}
    booleans: set[bool] = set()
    rest = False
    for each in sets:
        for kind, found in each.ranges.items():
            ranges.setdefault(kind, []).extend(found)
        booleans |= each.booleans
        rest |= each.rest
    return ValueSet({kind: _union(all) for kind, all in ranges.items()}, frozenset(booleans), rest)


def prefixed(prefix: str) -> ValueSet:
    """The strings that begin with a prefix."""
    return prefixed_by_any((prefix,))


def prefixed_by_any(prefixes: Iterable[str]) -> ValueSet:
    """The strings that begin with one of some prefixes."""
    ranges: list[Range] = []
    for prefix in sorted(prefixes):
        above = successor(prefix)
        low, high = (0, prefix, 0), GREATEST if above is None else (0, above, 0)
        if ranges and low <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(high, ranges[-1][1])
        else:
            ranges.append((low, high))
    return ValueSet({Kind.STRING: tuple(ranges)})


def successor(prefix: str) -> str | None:
    """The least string above all that begin with the prefix; None if there is none."""
    while prefix:
        code = ord(prefix[-1])
        prefix = prefix[:-1]
        if code < 0x10FFFF:
            return prefix + chr(0xE000 if code == 0xD7FF else code + 1)
    return None


def _union(ranges: Collection[Range]) -> Ranges:
    if len(ranges) == 1:
        return tuple(ranges)
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _intersection(ours: Ranges, theirs: Ranges) -> Ranges:
    """Both are sorted, so one sweep over the two suffices."""
    common = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        low = max(ours[i][0], theirs[j][0])
        high = min(ours[i][1], theirs[j][1])
        if low < high:
            common.append((low, high))
        if ours[i][1] <= theirs[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def _is_within(ours: Ranges, theirs: Ranges) -> bool:
    if len(theirs) == 1:
        low, high = theirs[0]
        return low <= ours[0][0] and ours[-1][1] <= high
    j = 0
    for low, high in ours:
        while j < len(theirs) and theirs[j][1] < high:
            j += 1
        if j == len(theirs) or low < theirs[j][0]:
            return False
    return True


def _meet(ours: Ranges, theirs: Ranges) -> bool:
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i][1] <= theirs[j][0]:
            i += 1
        elif theirs[j][1] <= ours[i][0]:
            j += 1
        else:
            return True
    return False


def _complement(ranges: Ranges) -> Ranges:
    gaps = []
    start = LEAST
    for low, high in ranges:
        if start < low:
            gaps.append((start, low))
        start = high
    if start < GREATEST:
        gaps.append((start, GREATEST))
    return tuple(gaps)


def _without_empty(ranges: Mapping[Kind, Ranges]) -> dict[Kind, Ranges]:
    return {kind: found for kind, found in ranges.items() if found}
