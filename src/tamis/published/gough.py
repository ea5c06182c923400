"""Gough (Le Subscribe, section 3 and figure 3; Gough and Smith 1995): a tree with one path a match.

    boxes    1: a in 3..7 and b in 5..5     2: b in 0..5     3: a in 7..9

                                       a
            ┌───────────────┬──────────┴──────────┬───────────────────┐
          3..6            7..7                  8..9        absent, or any other
            │               │                     │                   │
            b               b                     b                   b
          ┌─┴──┐      ┌─────┼─────┐            ┌──┴──┐                │
        0..4 5..5   0..4  5..5  other        0..5  other            0..5
         {2} {1,2} {2,3} {1,2,3} {3}         {2,3}  {3}              {2}

A level is an axis. At a node the sides of the boxes that arrive there cut its axis into elementary
intervals, and each has an edge, found by binary search. A box goes down all edges that its side
covers; if it does not care, down every edge, the one for events without the attribute as well: so
two events at a leaf agree about all boxes, and the leaf has those that hold. That is also why the
tree explodes: with k attributes and n boxes it may have (2n + 1)^k leaves.

Time of a match: the number of axes times the logarithm of the number of boxes. Space: guarded by a
limit on the number of nodes. A change builds the tree from scratch, as the authors suggest; an
addition that breaks the limit raises an error and leaves the tree as it was.

Deviations: a node at whose axis none of its boxes asks anything is left out, so that hundreds of
axes are no problem; the labels that only boxes take that do not care go the way of the absent
instead of each its own way to a subtree like it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets, Tally
from tamis.errors import LimitError
from tamis.published.boxes import UNBOUNDED, BoxArrays, BoxTable, Points
from tamis.published.index import EVALUATED, VISITED, BoxHits, Index, Size

MOST_NODES = 1_000_000
HELD_BY_NODE = 32
"""Boxes in leaves that there may be for each node of the limit."""
SHORT_SORT = 16
"""Boxes that are sorted by insertion."""

NODES, EDGES, HELD, WORK = range(4)
"""What a build may run out of: nodes, edges, boxes in leaves, boxes on the path."""
PREDICATES, MOST, DEPTH, SHORT = range(4, 8)
"""Predicates stored, boxes of the fullest leaf, inner nodes on the path, what was too short."""


class GoughTree(NamedTuple):
    """Node 0 is the empty leaf; the root is node 1, if there are boxes."""

    axis: Numbers
    """Of each node; -1 for a leaf."""
    begin: Offsets
    """Of each node: where its edges begin, or the boxes that it holds; and ``end``."""
    end: Offsets
    other: Numbers
    """Of each node: the child for the absent and all labels that have no edge."""
    cut: Labels
    """Of each edge: the least label; the greatest is below the cut of the next edge."""
    child: Numbers
    box: Numbers
    """The boxes in leaves."""


class Path(NamedTuple):
    """The nodes that are being built, one below the other, and the boxes that arrived at each.

        box   | 4 2 | 7 1 5 | 4 2 7 1 | 4 | 7 1 | ...
               free   care    a child's set: its free, its care, its child's set, ...
                      ^ by ascending low

    A child's set is swept in place from one edge to the next: boxes whose side has ended leave,
    boxes whose side begins come. Nobody needs the order in which the set is, so the child is free
    to change it.
    """

    box: Numbers
    side: Offsets
    """The first side of the box that is on an axis not yet passed."""
    frame: Offsets
    """For each node: see below."""
    used: Offsets
    """How much of everything, by the numbers above."""


NODE, EDGE, NEXT, LAST, STOP, FREE = range(6)
"""Of a frame: the node, its next edge, the next box to come, where the boxes that arrived end,
where the child's set ends, how many boxes do not care."""


class Gough(Index):
    """One tree of all boxes."""

    def __init__(self, table: BoxTable, nodes: int = MOST_NODES) -> None:
        super().__init__(table)
        self._limit = nodes
        self._boxes = np.empty(0, np.int32)
        self._axes = 0
        self._used: Offsets = np.zeros(8, np.int64)
        self._tree, self._used = self._built(self._boxes, nodes)

    def add(self, boxes: Numbers) -> None:
        """Take in boxes, all or none: LimitError if the tree would have too many nodes."""
        axes = int(self._table.sides(boxes).axis.max(initial=-1)) + 1
        self._axes = max(self._axes, axes)
        every = np.concatenate((self._boxes, boxes))
        self._tree, self._used = self._built(every, self._limit)
        self._boxes = every

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        rest = self._boxes[~np.isin(self._boxes, boxes)]
        self._tree, self._used = self._built(rest, 1 << 31)
        self._boxes = rest

    def _built(self, boxes: Numbers, limit: int) -> tuple[GoughTree, Offsets]:
        """The tree of some boxes, and how large it is; built again with more room if need be."""
        most = [limit + 1, 1 << 62, HELD_BY_NODE * limit, 1 << 62]
        least = [1_024, 2_048, 1_024 + 16 * len(boxes), 64 + 8 * len(boxes)]
        room = [min(max(a, 2 * b), c) for a, b, c in zip(least, self._used.tolist(), most)]
        while True:
            tree, path = _empty_tree(room), _empty_path(room[WORK], self._axes)
            build(self._table.arrays, boxes, tree, path)
            short = int(path.used[SHORT])
            if short < 0:
                return _trimmed(tree, path.used), path.used
            if room[short] == most[short]:
                raise _too_large(short, len(boxes), limit)
            room = [min(4 * had, bound) for had, bound in zip(room, most)]

    def _most(self) -> int:
        return int(self._used[MOST])

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        return follow(self._tree, points, first, self._most(), chunk, tally)

    def size(self) -> Size:
        """How large it is; a predicate counts at each node to which a box brings it, and an edge
        for the absent as an edge."""
        inner = int((self._tree.axis >= 0).sum())
        return Size(
            predicates=int(self._used[PREDICATES]),
            nodes=int(self._used[NODES]) - 1,
            edges=int(self._used[EDGES]) + inner,
            bytes=sum(array.nbytes for array in self._tree) + self._boxes.nbytes,
        )


def _too_large(short: int, boxes: int, limit: int) -> LimitError:
    what = f"{limit:,} nodes"
    if short == HELD:
        what = f"{HELD_BY_NODE * limit:,} conjunctions in its leaves"
    return LimitError(
        f"the tree of {boxes:,} conjunctions would have more than {what}: match on fewer "
        f"attributes, use another matcher, or allow more than nodes={limit:,}"
    )


def _empty_tree(room: list[int]) -> GoughTree:
    nodes, edges, held, _ = room
    numbers = np.empty(nodes, np.int32), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    edged = np.empty(edges, np.int64), np.empty(edges, np.int32)
    return GoughTree(*numbers, np.empty(nodes, np.int32), *edged, np.empty(held, np.int32))


def _empty_path(room: int, axes: int) -> Path:
    frame = np.empty((axes, 6), np.int64)
    return Path(np.empty(room, np.int32), np.empty(room, np.int64), frame, np.zeros(8, np.int64))


def _trimmed(tree: GoughTree, used: Offsets) -> GoughTree:
    nodes, edges, held = used[: HELD + 1]
    axis, begin, end, other, cut, child, box = tree
    noded = axis[:nodes].copy(), begin[:nodes].copy(), end[:nodes].copy(), other[:nodes].copy()
    return GoughTree(*noded, cut[:edges].copy(), child[:edges].copy(), box[:held].copy())


@kernel
def build(arrays: BoxArrays, boxes: Numbers, tree: GoughTree, path: Path) -> None:
    """Build the tree, or say in ``used[SHORT]`` what there is not enough of."""
    used = path.used
    used[NODES], used[SHORT] = 1, -1
    tree.axis[0], tree.begin[0], tree.end[0], tree.other[0] = -1, 0, 0, 0
    for i in range(len(boxes)):
        path.box[i], path.side[i] = boxes[i], arrays.begin[boxes[i]]
    open_node(arrays, tree, path, 0, len(boxes))
    while used[DEPTH] > 0 and used[SHORT] < 0:
        frame = path.frame[used[DEPTH] - 1]
        node, edge = frame[NODE], frame[EDGE]
        frame[EDGE] += 1
        if edge == tree.end[node]:
            used[DEPTH] -= 1
        elif edge < tree.begin[node]:
            tree.other[node] = open_node(arrays, tree, path, frame[LAST], frame[STOP])
        else:
            sweep(arrays, tree.axis[node], tree.cut[edge], path, frame)
            if frame[STOP] - frame[LAST] == frame[FREE]:
                tree.child[edge] = tree.other[node]
            else:
                tree.child[edge] = open_node(arrays, tree, path, frame[LAST], frame[STOP])


@kernel
def open_node(arrays: BoxArrays, tree: GoughTree, path: Path, first: int, last: int) -> int:
    """Make the node at which a set of boxes arrives; the empty leaf is there already."""
    used = path.used
    if first == last:
        return 0
    if used[NODES] == len(tree.axis):
        used[SHORT] = NODES
        return 0
    node = used[NODES]
    used[NODES] += 1
    axis = 1 << 31
    for i in range(first, last):
        side = path.side[i]
        if side < arrays.end[path.box[i]]:
            axis = min(axis, arrays.axis[side])
    if axis == 1 << 31:
        hold(tree, path, node, first, last)
    else:
        tree.axis[node] = axis
        branch(arrays, tree, path, node, first, last)
    return int(node)


@kernel
def hold(tree: GoughTree, path: Path, node: int, first: int, last: int) -> None:
    """Make a leaf."""
    used = path.used
    begin = used[HELD]
    end = begin + last - first
    if end > len(tree.box):
        used[SHORT] = HELD
        return
    for i in range(first, last):
        tree.box[begin + i - first] = path.box[i]
    tree.axis[node], tree.begin[node], tree.end[node], tree.other[node] = -1, begin, end, 0
    used[HELD], used[MOST] = end, max(used[MOST], last - first)


@kernel
def branch(
    arrays: BoxArrays, tree: GoughTree, path: Path, node: int, first: int, last: int
) -> None:
    """Cut the axis of an inner node, and get ready for its first child."""
    used, box, side = path.used, path.box, path.side
    care = first
    for i in range(first, last):
        if side[i] == arrays.end[box[i]] or arrays.axis[side[i]] != tree.axis[node]:
            box[i], box[care] = box[care], box[i]
            side[i], side[care] = side[care], side[i]
            care += 1
    begin, free = used[EDGES], care - first
    if begin + 2 * (last - care) > len(tree.cut):
        used[SHORT] = EDGES
        return
    if 2 * last - first > len(box):
        used[SHORT] = WORK
        return
    sort_by_low(arrays.low, path, care, last)
    end = write_cuts(arrays, path.side[care:last], tree.cut, begin)
    tree.begin[node], tree.end[node] = begin, end
    used[EDGES], used[PREDICATES] = end, used[PREDICATES] + last - care
    used[WORK] = max(used[WORK], 2 * last - first)
    for i in range(free):
        box[last + i], side[last + i] = box[first + i], side[first + i]
    frame = path.frame[used[DEPTH]]
    frame[NODE], frame[EDGE], frame[NEXT] = node, begin - 1, care
    frame[LAST], frame[STOP], frame[FREE] = last, last + free, free
    used[DEPTH] += 1


@kernel
def sort_by_low(low: Labels, path: Path, first: int, last: int) -> None:
    """Sort boxes by where their sides begin."""
    box, side = path.box, path.side
    if last - first > SHORT_SORT:
        order = first + np.argsort(low[side[first:last]])
        box[first:last], side[first:last] = box[order], side[order]
        return
    for i in range(first + 1, last):
        one, its = box[i], side[i]
        j = i
        while j > first and low[side[j - 1]] > low[its]:
            box[j], side[j] = box[j - 1], side[j - 1]
            j -= 1
        box[j], side[j] = one, its


@kernel
def write_cuts(arrays: BoxArrays, sides: Offsets, cut: Labels, begin: int) -> int:
    """Write where elementary intervals begin, ascending, each once; return where they end."""
    end = begin
    for side in sides:
        cut[end] = arrays.low[side]
        end += 1
        if arrays.high[side] < UNBOUNDED:
            cut[end] = arrays.high[side] + 1
            end += 1
    sort_labels(cut, begin, end)
    n = begin
    for i in range(begin, end):
        if i == begin or cut[i] != cut[i - 1]:
            cut[n] = cut[i]
            n += 1
    return n


@kernel
def sort_labels(label: Labels, begin: int, end: int) -> None:
    """Sort a slice, which is short as a rule."""
    if end - begin > 2 * SHORT_SORT:
        label[begin:end].sort()
        return
    for i in range(begin + 1, end):
        one, j = label[i], i
        while j > begin and label[j - 1] > one:
            label[j] = label[j - 1]
            j -= 1
        label[j] = one


@kernel
def sweep(arrays: BoxArrays, axis: int, cut: int, path: Path, frame: Offsets) -> None:
    """Make a child's set that of the next elementary interval."""
    box, side = path.box, path.side
    n = frame[LAST]
    for i in range(frame[LAST], frame[STOP]):
        passed = side[i] - 1
        cares = passed >= arrays.begin[box[i]] and arrays.axis[passed] == axis
        if not (cares and arrays.high[passed] < cut):
            box[n], side[n] = box[i], side[i]
            n += 1
    while frame[NEXT] < frame[LAST] and arrays.low[side[frame[NEXT]]] == cut:
        box[n], side[n] = box[frame[NEXT]], side[frame[NEXT]] + 1
        n += 1
        frame[NEXT] += 1
    frame[STOP] = n


@kernel
def follow(
    tree: GoughTree, points: Points, first: int, most: int, chunk: BoxHits, tally: Tally
) -> tuple[int, int]:
    """Follow the paths of all points from the first on for which there is room."""
    n = evaluated = visited = 0
    point = first
    while point < len(points.type) and n + most <= len(chunk.box):
        node = min(1, len(tree.axis) - 1)
        a, last = points.start[point], points.start[point + 1]
        while tree.axis[node] >= 0:
            visited += 1
            while a < last and points.axis[a] < tree.axis[node]:
                a += 1
            begin = low = tree.begin[node]
            high = tree.end[node]
            if a == last or points.axis[a] != tree.axis[node]:
                high = low
            while low < high:
                middle = (low + high) >> 1
                evaluated += 1
                if tree.cut[middle] <= points.label[a]:
                    low = middle + 1
                else:
                    high = middle
            node = tree.child[low - 1] if low > begin else tree.other[node]
        visited += node > 0
        for i in range(tree.begin[node], tree.end[node]):
            chunk.point[n], chunk.box[n] = point, tree.box[i]
            n += 1
        point += 1
    tally[EVALUATED] += evaluated
    tally[VISITED] += visited
    return point, n
