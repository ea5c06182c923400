"""Events that may show how two subscriptions relate: candidates, to be tried by the oracle.

An event is put together from *trees*, one for what each box binds and one for each value that must
be contained. Where trees meet at a key they become elements of one list, or, if the attribute is
unique, one node:

    items.color = 'red' and items.price < 5    {"items": {"color": "red", "price": 4}}
    items.color = 'blue'                       {"items": {"color": "blue"}}
    both              {"items": [{"color": "red", "price": 4}, {"color": "blue"}]}

Values are taken from the ends of ranges, from their middles, and from the constants of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any

from tamis.model.events.event import Node
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Contains, Expression, InCidr, TextTest, nodes_within
from tamis.predicates.facts import Facts, can_be
from tamis.predicates.operands import Constant
from tamis.predicates.region_literals import fulfils
from tamis.predicates.regions import Box, Region
from tamis.predicates.texts import like_characters
from tamis.predicates.valueset import Cut, ValueSet, points

MAX_CANDIDATES = 200
"""Events that are tried before the search for a witness is given up."""
_MAX_SAMPLES = 12
_MAX_BOXES = 8

Tree = dict[str, Node]


def in_both(a: Region, b: Region) -> Iterator[Tree]:
    """Events that may match both."""
    samples = _Samples(a, b)
    pairs = product(a.boxes[:_MAX_BOXES], b.boxes[:_MAX_BOXES])
    found = (samples.for_both(ours, theirs) for ours, theirs in pairs)
    return islice(_in_turns(found), MAX_CANDIDATES)


def in_one(a: Region, b: Region) -> Iterator[Tree]:
    """Events that may match ``a`` and not ``b``."""
    samples = _Samples(a, b)
    found = (samples.for_one(box, b.boxes[:_MAX_BOXES]) for box in a.boxes[:_MAX_BOXES])
    return islice(_in_turns(found), MAX_CANDIDATES)


def _in_turns(sources: Iterable[Iterator[Tree]]) -> Iterator[Tree]:
    """One of each in turn, so that none keeps the others from being tried."""
    waiting = list(sources)
    while waiting:
        left = []
        for source in waiting:
            for tree in islice(source, 1):
                yield tree
                left.append(source)
        waiting = left


class _Samples:
    """Finds values and puts events together."""

    def __init__(self, a: Region, b: Region) -> None:
        self._facts = a.facts
        constants = _constants([a.expression, b.expression])
        self._pool = list({(kind_of(value), value): value for value in constants}.values())

    def for_both(self, a: Box, b: Box) -> Iterator[Tree]:
        """Events with one value for both, as far as that can be, and with a value for each."""
        together = self._sharing(a, b, [path for path in a.sides if path in b.sides], one=True)
        apart = self._sharing(a, b, [path for path in a.unique if path in b.unique], one=False)
        return _in_turns([together, apart])

    def _sharing(self, a: Box, b: Box, shared: list[Path], *, one: bool) -> Iterator[Tree]:
        """Events in which the two have the same values at some paths, and in one tree or two."""
        own = [(box, path) for box in (a, b) for path in box.sides if path not in shared]
        others = {id(a): b, id(b): a}
        choices = [self._values([a, b], path, ()) for path in shared]
        choices += [self._values([box], path, (), others[id(box)]) for box, path in own]
        for picked in product(*choices):
            common = dict(zip(shared, picked))
            trees = [common, common.copy()]
            for (box, path), value in zip(own, picked[len(shared) :]):
                trees[box is b][path] = value
            bound = [trees[0] | trees[1]] if one else trees
            yield from self._merged([*map(_tree, bound), *_whole_trees(a), *_whole_trees(b)])

    def for_one(self, box: Box, against: Sequence[Box]) -> Iterator[Tree]:
        """Events for one box, with values that the others do not take, and what they forbid."""
        choices = []
        for path in box.sides:
            avoided = [other.sides[path] for other in against if path in other.sides]
            avoided += [points(each.contained[path]) for each in against if path in each.contained]
            avoided += [
                each.excluded[path].complement() for each in against if path in each.excluded
            ]
            choices.append(self._values([box], path, avoided))
        spoilers = [tree for other in against for tree in self._spoilers(other)]
        for picked in product(*choices):
            trees = [_tree(dict(zip(box.sides, picked))), *_whole_trees(box)]
            yield from self._merged(trees)
            for spoiler in spoilers:
                yield from self._merged([*trees, spoiler])
            if len(spoilers) > 1:
                yield from self._merged([*trees, *spoilers])

    def _spoilers(self, box: Box) -> Iterator[Tree]:
        """What keeps a box from matching: something where it wants nothing."""
        for path in box.missing:
            yield _tree({path: next(self._any_values(path))})
            yield _tree({path: []})
        for node, positive in box.whole:
            if isinstance(node, Contains) and not positive:
                yield _tree({node.attribute.path: node.value.value})

    def _any_values(self, path: Path) -> Iterator[Value]:
        values: list[Value] = [1, "a", True, Timestamp(0), b""]
        return (value for value in values if can_be(self._facts, path, value))

    def _values(
        self,
        boxes: Sequence[Box],
        path: Path,
        avoided: Sequence[ValueSet],
        other: Box | None = None,
    ) -> list[Value]:
        """Values that the boxes take at a path; first those that the avoided sets lack."""
        taxonomy = self._facts.taxonomy(path)
        tests = [one for box in boxes for one in box.literals_on(path)]
        sides = [box.sides[path] for box in boxes]
        if other is not None and path in other.excluded:
            sides.append(other.excluded[path].complement())
        outside = [sides[0] & values.complement() for values in avoided]
        proposed = chain.from_iterable(_proposed(values) for values in [*outside, *sides])
        found: dict[Any, Value] = {}
        for value in chain(proposed, self._pool):
            if (
                all(value in values for values in sides)
                and can_be(self._facts, path, value)
                and all(fulfils(one, value, taxonomy) is not False for one in tests)
            ):
                found.setdefault((kind_of(value), str(value)), value)
        values = sorted(found.values(), key=lambda value: sum(value in each for each in avoided))
        return values[:_MAX_SAMPLES]

    def _merged(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """All trees in one, unless they exclude each other."""
        merged: Tree = {}
        for tree in trees:
            joined = _merge(merged, tree, (), self._facts)
            if not isinstance(joined, dict):
                return
            merged = joined
        yield merged


def _whole_trees(box: Box) -> Iterator[Tree]:
    """One tree for each value that must be contained, and for each path that must be present."""
    for node, positive in box.whole:
        assert isinstance(node, Contains)
        yield _tree({node.attribute.path: node.value.value if positive else []})
    for path in box.present:
        yield _tree({path: []})


def _tree(values: Mapping[Path, Value | list[Node]]) -> Tree:
    """A tree with a value at each path; where one leads into a value, it takes its place."""
    tree: Tree = {}
    for path, value in values.items():
        node: Any = tree
        for key in path[:-1]:
            if not isinstance(node.get(key), dict):
                node[key] = {}
            node = node[key]
        node[path[-1]] = value
    return tree


def _merge(one: Node, other: Node, path: Path, facts: Facts) -> Node | None:
    """Two nodes at a path as one, or as a list; None if the attribute is unique and they differ."""
    if isinstance(one, dict) and isinstance(other, dict) and (not path or facts.unique(path)):
        merged = dict(one)
        for key, node in other.items():
            joined = _merge(merged[key], node, (*path, key), facts) if key in merged else node
            if joined is None:
                return None
            merged[key] = joined
        return merged
    if isinstance(one, list) and not one:
        return other
    if isinstance(other, list) and not other:
        return one
    if not facts.unique(path):
        return [*_listed(one), *_listed(other)]
    same = not isinstance(one, dict | list) and not isinstance(other, dict | list) and one == other
    return one if same else None


def _listed(node: Node) -> list[Node]:
    return node if isinstance(node, list) else [node]


def _proposed(values: ValueSet) -> Iterator[Value]:
    """A few values of a set: single ones, the ends of its ranges, and some from between."""
    yield from sorted(values.booleans, reverse=True)
    for kind, ranges in values.ranges.items():
        for low, high in (*ranges[:4], *ranges[4:][-2:]):
            yield from _between(kind, low, high)
    if values.rest:
        yield math.nan


def _between(kind: Kind, low: Cut, high: Cut) -> Iterator[Value]:
    start = low[1] if len(low) > 1 else None
    end = high[1] if len(high) > 1 else None
    if kind is Kind.NUMBER:
        yield from _numbers(start, end)
    elif kind is Kind.STRING:
        text = "" if start is None else str(start)
        yield from (text, text + "a", text + "\0", text + "zz")
    else:
        ends = [one.nanoseconds for one in (start, end) if isinstance(one, Timestamp)] or [0]
        for nanoseconds in (ends[0], ends[0] + 1, ends[-1] - 1, sum(ends) // len(ends)):
            try:
                yield Timestamp(nanoseconds)
            except ValueError:  # beyond the years that there are
                continue


def _numbers(start: Any, end: Any) -> Iterator[int | float]:
    if start is None and end is None:
        yield 0
    elif start is None:
        yield from (math.floor(end) - 1 if math.isfinite(end) else 0, end, -math.inf)
    elif end is None:
        yield from (math.floor(start) + 1, start) if math.isfinite(start) else (start,)
    else:
        whole = math.floor(start) + 1
        middle = start / 2 + end / 2
        yield from (start, whole, middle, end, math.nextafter(end, start))


def _constants(expressions: Iterable[Expression]) -> Iterator[Value]:
    """The constants of all, and texts made after patterns."""
    for node in chain.from_iterable(map(nodes_within, expressions)):
        if isinstance(node, InCidr):
            yield from (str(network.network_address) for network in node.networks)
        for term in node.operands():
            if isinstance(term, Constant):
                yield term.value
                if isinstance(term.value, str):
                    yield from (f"{term.value}a", f"a{term.value}", term.value.swapcase())
        if isinstance(node, TextTest) and node.operator == "like":
            pattern = like_characters(str(node.pattern.value))
            yield "".join(_WILD.get(mark, mark) if wild else mark for wild, mark in pattern)


_WILD = {"%": "", "_": "a"}
