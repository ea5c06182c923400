"""W1, W1-tiny and W2 to W5 of WORKLOADS.md: raw values, texts, and the same as boxes of ranks.

Constants and events are indices into an attribute's universe, which is sorted: order of indices
is order of values. Ranks follow DESIGN.md section 4: 2i+1 for the i-th distinct constant of an
attribute, even numbers for the gaps. `in` and `!=` are several intervals, hence several boxes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from tamis.matching.boxes.layout import Boxes, Statistics

EQUAL, NOT_EQUAL, LESS, GREATER, BETWEEN, PREFIX, IN = range(7)
SYMBOLS = ("=", "!=", "<", ">")
Integers = NDArray[np.int64]


class Predicates(NamedTuple):
    """Predicates sorted by conjunction, then attribute.

    `value[:, 0]` is the constant; BETWEEN and PREFIX go to `value[:, 1]`; IN has `count` values.
    """

    conjunction: Integers
    attribute: Integers
    operator: Integers
    value: Integers
    count: Integers  # of intervals: alternatives of the predicate


@dataclass
class Workload:
    """Subscriptions and events of one experiment."""

    name: str
    universes: list[NDArray[np.str_] | range]
    predicates: Predicates
    slot: Integers  # the subscription of each conjunction
    events: Integers  # [events, k], -1 where absent
    mass: list[NDArray[np.float64] | None]  # over the universe; None: uniform

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [f"a{a}" for a in range(len(self.universes))]

    @property
    def presence(self) -> NDArray[np.float64]:
        """How often events have each attribute."""
        return (self.events >= 0).mean(axis=0)

    def event_table(self) -> pa.Table:
        """Return the events as Arrow columns, null where absent."""
        columns = {}
        for name, universe, index in zip(
            self.attributes, self.universes, self.events.T, strict=True
        ):
            if isinstance(universe, range):
                columns[name] = pa.array(index, pa.int64(), mask=index < 0)
            else:
                code = pa.array(np.maximum(index, 0), pa.int32(), mask=index < 0)
                columns[name] = pa.DictionaryArray.from_arrays(
                    code, pa.array(universe)
                ).dictionary_decode()
        return pa.table(columns)

    def texts(self) -> Iterator[str]:
        """Yield each subscription as text, such as `a0 = 'v017' and a3 < 4711`."""
        bounds = np.searchsorted(self.predicates.conjunction, np.arange(len(self.slot) + 1))
        order = np.argsort(self.slot, kind="stable")
        ends = np.flatnonzero(np.diff(self.slot[order], append=-1)) + 1
        for first, end in zip(np.concatenate(([0], ends[:-1])), ends, strict=True):
            sides = [self._conjunction_text(bounds[c], bounds[c + 1]) for c in order[first:end]]
            yield sides[0] if len(sides) == 1 else " or ".join(f"({side})" for side in sides)

    def _conjunction_text(self, begin: int, end: int) -> str:
        parts = []
        for p in range(begin, end):
            a, operator = int(self.predicates.attribute[p]), int(self.predicates.operator[p])
            count = int(self.predicates.count[p])
            universe, name = self.universes[a], f"a{a}"
            raw = [universe[int(v)] for v in self.predicates.value[p]]
            quoted = [f"'{v}'" if isinstance(v, str) else str(v) for v in raw]
            if operator == IN:
                parts.append(f"{name} in ({', '.join(quoted[:count])})")
            elif operator == PREFIX:
                parts.append(f"{name} starts with '{_common_prefix(raw[0], raw[1])}'")
            elif operator == BETWEEN:
                parts.append(f"{name} between {quoted[0]} and {quoted[1]}")
            else:
                parts.append(f"{name} {SYMBOLS[operator]} {quoted[0]}")
        return " and ".join(parts)

    def to_ranks(self) -> tuple[Boxes, NDArray[np.int32], Statistics]:
        """Return boxes, points (int32 [events, k]) and statistics in rank space."""
        p, k = self.predicates, len(self.universes)
        alternatives = int(p.count.max(initial=1))
        low = np.zeros((len(p.count), alternatives), np.int32)
        high = np.zeros_like(low)
        points = np.full(self.events.shape, -1, np.int32)
        size, mass = np.ones(k, np.int64), []
        order = np.argsort(p.attribute, kind="stable")
        bounds = np.searchsorted(p.attribute[order], np.arange(k + 1))
        for a in range(k):
            mine = order[bounds[a] : bounds[a + 1]]
            used = np.zeros(len(self.universes[a]), bool)
            used[p.value[mine]] = True
            rank = (2 * np.cumsum(used) - used).astype(np.int32)
            size[a] = 2 * int(used.sum()) + 1
            low[mine], high[mine] = rank_intervals(
                p.operator[mine], rank[p.value[mine]], size[a], alternatives
            )
            there = self.events[:, a] >= 0
            points[there, a] = rank[self.events[there, a]]
            weight = np.ones(len(used)) if self.mass[a] is None else self.mass[a]
            mass.append(np.bincount(rank, weights=weight, minlength=size[a]))
        boxes = expand_boxes(p, low, high, self.slot, size)
        return boxes, points, Statistics(self.presence, mass)


def _common_prefix(first: str, last: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=True)) if a != b), 4)
    return first[: min(length, 4)]


def rank_intervals(operator, rank, size, alternatives):
    """Return low and high [predicates, alternatives] of predicates on one attribute."""
    first, last = rank[:, :1], rank[:, min(1, rank.shape[1] - 1)][:, None]
    kind = operator[:, None]
    low = np.where(kind == LESS, 0, np.where(kind == GREATER, first + 1, first))
    high = np.where(kind == LESS, first - 1, np.where(kind == GREATER, size - 1, first))
    high = np.where((kind == BETWEEN) | (kind == PREFIX), last, high)
    low, high = np.repeat(low, alternatives, axis=1), np.repeat(high, alternatives, axis=1)
    several = operator == IN
    low[several] = high[several] = rank[several][:, :alternatives]
    if alternatives > 1:
        unequal = operator == NOT_EQUAL
        low[unequal, 0], high[unequal, 0] = 0, rank[unequal, 0] - 1
        low[unequal, 1], high[unequal, 1] = rank[unequal, 0] + 1, size - 1
    return low, high


def expand_boxes(p: Predicates, low, high, slot: Integers, size: Integers) -> Boxes:
    """Return one box for each way to pick an alternative of every predicate of a conjunction."""
    begin = np.searchsorted(p.conjunction, np.arange(len(slot) + 1))
    length = np.diff(begin)
    stride, ways = np.ones(len(p.count), np.int64), np.ones(len(slot), np.int64)
    for position in range(int(length.max(initial=0))):
        longer = np.flatnonzero(length > position)
        stride[begin[longer] + position] = ways[longer]
        ways[longer] *= p.count[begin[longer] + position]
    conjunction = np.repeat(np.arange(len(slot)), ways)
    number = np.arange(len(conjunction)) - np.repeat(np.cumsum(ways) - ways, ways)
    start = np.concatenate(([0], np.cumsum(length[conjunction])))
    box = np.repeat(np.arange(len(conjunction)), length[conjunction])
    row = begin[conjunction[box]] + np.arange(len(box)) - start[box]
    pick = number[box] // stride[row] % p.count[row]
    return Boxes(
        start, p.attribute[row].astype(np.int32), low[row, pick], high[row, pick],
        slot[conjunction].astype(np.int32), size,
    )  # fmt: skip


# --- W1, W1-tiny, W2, W3: six attributes ---------------------------------------------------------

STRINGS, INTEGERS = 3, 5000


def le_subscribe(
    n: int, events: int, p: float = 0.5, values: int = 200, seed: int = 1, name: str = "W1"
) -> Workload:
    """W1: six optional attributes; a0-a2 strings with equality, a3-a5 integers with =, <, >."""
    rng = default_rng(seed)
    tested = rng.random((n, 6)) < 0.5
    give_one_test(rng, tested)
    conjunction, attribute = np.nonzero(tested)
    is_string = attribute < STRINGS
    constant = rng.integers(0, np.where(is_string, values, INTEGERS))
    is_equal = is_string | (rng.random(len(attribute)) < p)
    operator = np.where(is_equal, EQUAL, rng.choice((LESS, GREATER), len(attribute)))
    predicates = Predicates(
        conjunction, attribute, operator, constant[:, None], np.ones_like(operator)
    )
    return six_attributes(name, values, rng, predicates, n, rng.random((events, 6)) < 0.5)


def give_one_test(rng: Generator, tested: NDArray[np.bool_]) -> None:
    """Give one random attribute to each subscription that tests none."""
    empty = np.flatnonzero(~tested.any(axis=1))
    tested[empty, rng.integers(0, tested.shape[1], len(empty))] = True


def w1(n: int, events: int, seed: int = 1) -> Workload:
    """W1 with p = 0.5."""
    return le_subscribe(n, events, seed=seed)


def w1_tiny(n: int, events: int, seed: int = 1) -> Workload:
    """W1 with three values for each string."""
    return le_subscribe(n, events, values=3, seed=seed, name="W1-tiny")


def w3(n: int, events: int, seed: int = 1) -> Workload:
    """W1 with p = 1: equality only."""
    return le_subscribe(n, events, p=1.0, seed=seed, name="W3")


def w2(n: int, events: int, seed: int = 1) -> Workload:
    """W2: a0 and a1 equal, a3 within 250, a4 and a5 one-sided with probability 0.5; all present."""
    rng = default_rng(seed)
    tested = np.ones((n, 6), bool)
    tested[:, 2] = False
    tested[:, 4:] = rng.random((n, 2)) < 0.5
    conjunction, attribute = np.nonzero(tested)
    is_range = attribute == 3
    constant = rng.integers(
        0, np.where(attribute < 2, 200, np.where(is_range, INTEGERS - 250, INTEGERS))
    )
    one_sided = rng.choice((LESS, GREATER), len(attribute))
    operator = np.where(attribute < 2, EQUAL, np.where(is_range, BETWEEN, one_sided))
    value = np.column_stack((constant, np.where(is_range, constant + 250, constant)))
    predicates = Predicates(conjunction, attribute, operator, value, np.ones_like(operator))
    return six_attributes("W2", 200, rng, predicates, n, np.ones((events, 6), bool))


def six_attributes(
    name: str,
    values: int,
    rng: Generator,
    predicates: Predicates,
    n: int,
    present: NDArray[np.bool_],
) -> Workload:
    """Finish a workload over six attributes: universes and uniform events."""
    words = np.array([f"v{i:0{len(str(values - 1))}d}" for i in range(values)])
    universes = [words] * STRINGS + [range(INTEGERS)] * 3
    events = np.column_stack(
        [rng.integers(0, len(universe), len(present)) for universe in universes]
    )
    return Workload(
        name, universes, predicates, np.arange(n), np.where(present, events, -1), [None] * 6
    )


# --- W4: Gryphon's simulation --------------------------------------------------------------------

LEVELS, CHOICES = 30, 5  # attributes, and values of each
POPULAR, DECAY = 0.98, 0.85  # attribute i is tested with probability POPULAR * DECAY^i


def w4(n: int, events: int, matches: float | None = None, seed: int = 1) -> Workload:
    """W4: equality on thirty attributes of five values, the first ones tested more often.

    With ``matches``, popularity decays at the rate at which an event matches so many of the n
    subscriptions on average.
    """
    rng = default_rng(seed)
    decay = DECAY if matches is None else decay_for(matches / n)
    tested = rng.random((n, LEVELS), np.float32) < POPULAR * decay ** np.arange(LEVELS)
    give_one_test(rng, tested)
    conjunction, attribute = np.nonzero(tested)
    zipf = 1.0 / np.arange(1, CHOICES + 1)
    value = draw_words(rng, zipf / zipf.sum(), len(attribute))
    operator = np.full(len(attribute), EQUAL)
    predicates = Predicates(
        conjunction, attribute, operator, value[:, None], np.ones_like(operator)
    )
    return Workload(
        "W4", [range(CHOICES)] * LEVELS, predicates, np.arange(n),
        rng.integers(0, CHOICES, (events, LEVELS)), [None] * LEVELS,
    )  # fmt: skip


def matching_chance(decay: float) -> float:
    """How likely it is that a random event matches a random subscription of W4."""
    tested = POPULAR * decay ** np.arange(LEVELS)
    return float(np.prod(1 - tested * (1 - 1 / CHOICES)))


def decay_for(chance: float) -> float:
    """The decay with which a random event matches a random subscription with this chance."""
    low, high = 0.0, 1.0
    if not matching_chance(high) <= chance <= matching_chance(low):
        raise ValueError(f"no decay of popularity gives a chance of {chance:.3g}")
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if matching_chance(middle) > chance else (low, middle)
    return low


# --- W5: wide and sparse -------------------------------------------------------------------------

WIDTH, WORDS, DOMAIN = 200, 10_000, 10**6  # even attributes are strings, odd ones integers (ours)


def w5(n: int, events: int, seed: int = 1) -> Workload:
    """W5: 200 attributes of which a subscription tests 2-6 and an event has 20."""
    rng = default_rng(seed)
    words = np.sort(
        np.array(
            ["".join(row) for row in rng.choice(list("abcdefghijklmnopqrstuvwxyz"), (WORDS, 8))]
        )
    )
    popular = 1.0 / np.arange(1, WORDS + 1)
    zipf = [rng.permutation(popular / popular.sum()) for _ in range(WIDTH // 2)]
    slot = np.sort(np.concatenate((np.arange(n), rng.choice(n, n // 10, replace=False))))
    length = rng.integers(2, 7, len(slot))
    attribute = pick_attributes(rng, length)
    conjunction = np.repeat(np.arange(len(slot)), length)
    operator = np.empty(len(attribute), np.int64)
    is_string = attribute % 2 == 0
    for mask, operators, chances in (
        (is_string, (EQUAL, IN, PREFIX, NOT_EQUAL), (0.6, 0.2, 0.15, 0.05)),
        (~is_string, (EQUAL, BETWEEN, LESS, GREATER, NOT_EQUAL), (0.3, 0.4, 0.125, 0.125, 0.05)),
    ):
        operator[mask] = rng.choice(operators, int(mask.sum()), p=chances)
    value = np.repeat(rng.integers(0, DOMAIN, len(attribute))[:, None], 5, axis=1)
    between = operator == BETWEEN
    value[between] = rng.integers(0, DOMAIN - DOMAIN // 50, int(between.sum()))[:, None]
    value[between, 1] += DOMAIN // 50
    for a in range(0, WIDTH, 2):
        mine = np.flatnonzero(attribute == a)
        value[mine] = draw_words(rng, zipf[a // 2], (len(mine), 5))
    value[is_string & (operator != IN)] = value[is_string & (operator != IN)][:, :1]
    prefix = np.flatnonzero(operator == PREFIX)
    value[prefix, :2] = prefix_interval(rng, words, value[prefix, 0])
    count = np.where(
        operator == IN, rng.integers(2, 6, len(operator)), np.where(operator == NOT_EQUAL, 2, 1)
    )
    present = np.zeros((events, WIDTH), bool)
    present[np.repeat(np.arange(events), 20), pick_attributes(rng, np.full(events, 20))] = True
    points = np.empty((events, WIDTH), np.int64)
    for a in range(WIDTH):
        points[:, a] = (
            rng.integers(0, DOMAIN, events) if a % 2 else draw_words(rng, zipf[a // 2], events)
        )
    mass = [None if a % 2 else zipf[a // 2] for a in range(WIDTH)]
    return Workload(
        "W5", [range(DOMAIN) if a % 2 else words for a in range(WIDTH)],
        Predicates(conjunction, attribute, operator, value, count), slot, np.where(present, points, -1), mass,
    )  # fmt: skip


def pick_attributes(rng: Generator, length: Integers) -> Integers:
    """Draw attributes by popularity (Zipf 1.1) without repetition, ascending within each row."""
    weight = (1.0 / np.arange(1, WIDTH + 1) ** 1.1).astype(np.float32)
    rows = []
    for part in np.array_split(length, len(length) // 50_000 + 1):
        arrival = rng.standard_exponential((len(part), WIDTH), np.float32) / weight
        first = np.argpartition(arrival, 20, axis=1)[:, :20]
        first = np.take_along_axis(
            first, np.take_along_axis(arrival, first, axis=1).argsort(axis=1), axis=1
        )
        first[np.arange(20) >= part[:, None]] = WIDTH
        first.sort(axis=1)
        rows.append(first[first < WIDTH])
    return np.concatenate(rows)


def draw_words(rng: Generator, mass: NDArray[np.float64], shape: int | tuple[int, int]) -> Integers:
    """Draw indices of words by their mass."""
    return np.minimum(np.searchsorted(np.cumsum(mass), rng.random(shape)), len(mass) - 1)


def prefix_interval(rng: Generator, words: NDArray[np.str_], index: Integers) -> Integers:
    """Return the first and last word that share 2-4 letters with each given word."""
    letters = rng.integers(2, 5, len(index))
    interval = np.empty((len(index), 2), np.int64)
    for count in (2, 3, 4):
        mine = letters == count
        short = words.astype(f"U{count}")
        interval[mine, 0] = np.searchsorted(short, short[index[mine]], side="left")
        interval[mine, 1] = np.searchsorted(short, short[index[mine]], side="right") - 1
    return interval
