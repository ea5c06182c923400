"""Schedules: all decide the same, and each evaluates what its paper says."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.operators.formulas import Branch, Leaf
from tamis.operators.residues import LocalGraph, Residues
from tamis.operators.schedules.adaptive import UNITS, credits_of, edge_credits
from tamis.operators.schedules.chains import chain_order, chains_of, ratios_of, saving
from tamis.operators.schedules.cover import hindsight_cover
from tamis.operators.schedules.graph import (
    EVERY,
    SOME,
    Graph,
    conjunctions,
    expected,
    with_both_sides,
)
from tamis.operators.schedules.progress import NO, ROWS, YES, Demand, everything
from tamis.operators.schedules.schedules import SCHEDULES, Adaptive
from tests.examples import examples

FALSE, TRUE, UNKNOWN, FAILED = range(4)


def graph_of(subscriptions: list[list[int]], predicates: int) -> Graph:
    offsets = np.cumsum([0, *map(len, subscriptions)])
    return conjunctions(offsets, np.array([p for s in subscriptions for p in s]), predicates)


def run(name: str, graph: Graph, truth: np.ndarray, chance=None, cost=None, most=1 << 30):
    chance = np.full(graph.predicates, 0.3) if chance is None else np.asarray(chance, float)
    schedule = SCHEDULES[name](graph, expected(chance, cost), 1, everything(graph, 1))
    asked: list[int] = []
    while len((found := schedule.choose(most)).row):
        asked += found.predicate.tolist()
        schedule.answer(found, truth[found.predicate].astype(np.int8))
    assert len(asked) == len(set(asked)), "a predicate was evaluated twice"
    return asked, schedule.verdicts(), schedule.undecided()


small = st.lists(
    st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True), min_size=1, max_size=7
)


@pytest.mark.parametrize("name", SCHEDULES)
@given(small, st.lists(st.booleans(), min_size=7, max_size=7), st.sampled_from([1, 2, 100]))
@examples(40)
def test_conjunctions(
    name: str, subscriptions: list[list[int]], truth: list[bool], most: int
) -> None:
    graph = graph_of(subscriptions, 7)
    _asked, verdicts, undecided = run(name, graph, np.array(truth), most=most)
    assert undecided == 0
    assert verdicts.tolist() == [int(all(truth[p] for p in s)) for s in subscriptions]


def optimum(subscriptions: list[list[int]], truth: list[bool]) -> int:
    """The fewest predicates that decide all subscriptions, with hindsight."""
    used = sorted({p for s in subscriptions for p in s})
    for size in range(len(used) + 1):
        for some in combinations(used, size):
            if all(
                all(p in some for p in s)
                if all(truth[p] for p in s)
                else any(p in some and not truth[p] for p in s)
                for s in subscriptions
            ):
                return size
    raise AssertionError


@given(small, st.lists(st.booleans(), min_size=7, max_size=7))
@examples(60)
def test_sequential_is_a_d_approximation(subscriptions: list[list[int]], truth: list[bool]) -> None:
    graph = graph_of(subscriptions, 7)
    best = optimum(subscriptions, truth)
    asked, *_ = run("sequential", graph, np.array(truth), most=1)
    assert len(asked) <= max(map(len, subscriptions)) * best
    assert best <= hindsight_cover(graph, np.array(truth)) <= 3 * best


def test_sequential_goes_on_after_a_false_predicate() -> None:
    """Figure 2: P2 is false, and P3 is evaluated because S3 needs it."""
    graph = graph_of([[1, 2], [0, 1], [2, 3]], 4)
    asked, verdicts, _ = run("sequential", graph, np.array([1, 0, 1, 1]), most=1)
    assert asked == [1, 2, 3]
    assert verdicts.tolist() == [NO, NO, YES]
    assert run("history", graph, np.array([1, 0, 1, 1]), most=1)[0] == [1, 2, 3]
    assert run("history", graph_of([[1, 0], [2]], 3), np.array([1, 0, 1]), most=1)[0] == [1, 2]
    assert run("sequential", graph_of([[1, 0], [2]], 3), np.array([1, 0, 1]), most=1)[0] == [1, 2]


def simulated(chains: list[list[int]], chance: np.ndarray, cost: np.ndarray) -> float:
    """The expected cost of walking chains one after the other, by all outcomes."""
    total = 0.0
    for outcome in product((0, 1), repeat=len(chance)):
        weight = np.prod([c if o else 1 - c for c, o in zip(chance, outcome)])
        known: set[int] = set()
        for _number, chain in enumerate(chains):
            if any(p in known and not outcome[p] for p in chain):
                continue
            for p in chain:
                if p not in known:
                    known.add(p)
                    total += weight * cost[p]
                if not outcome[p]:
                    break
    return total


@given(st.data())
@examples(60)
def test_the_cost_formulas_are_those_of_a_simulation(data: st.DataObject) -> None:
    chance = np.array(data.draw(st.lists(st.floats(0.05, 0.95), min_size=6, max_size=6)))
    costs = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=6, max_size=6)))
    height = costs / (1 - chance)
    both = [
        sorted(
            data.draw(st.sets(st.integers(0, 5), min_size=1, max_size=4)),
            key=lambda p: (height[p], p),
        )
        for _ in range(2)
    ]
    one, other = (np.array(each, np.int32) for each in both)
    first, second = simulated(both, chance, costs), simulated(both[::-1], chance, costs)
    assert saving(one, other, chance, costs) == pytest.approx(second - first, abs=1e-9)


@given(st.lists(st.floats(0.05, 0.95), min_size=5, max_size=5), st.integers(0, 2**31))
@examples(40)
def test_the_cost_of_one_chain_is_that_of_a_simulation(chances: list[float], seed: int) -> None:
    """What it costs to come to a node of a chain, its own cost included: reach / ratio."""
    chance, costs = np.array(chances), np.random.default_rng(seed).uniform(0.1, 10, 5)
    graph = graph_of([[0, 1, 2, 3, 4]], 5)
    expectation = expected(chance, costs)
    chain = graph.predicate[chains_of(graph, expectation)]
    ratio, _ = ratios_of(graph, chain, expectation)
    for place, p in enumerate(chain.tolist()):
        above = chain[:place].tolist()
        spent = simulated([above], chance, costs) + costs[p]
        assert np.prod(chance[above]) / ratio[place] == pytest.approx(spent)


def test_chains_under_different_costs_go_by_cost_over_the_chance_to_end() -> None:
    graph = graph_of([[0, 1, 2]], 3)
    expectation = expected(np.array([0.5, 0.1, 0.5]), np.array([1.0, 9.0, 2.0]))
    assert graph.predicate[chain_order(graph, expectation)].tolist() == [0, 2, 1]


def test_a_path_is_walked_by_what_it_saves() -> None:
    """A chain that reaches the shared predicate at once goes before one that rarely does."""
    graph = graph_of([[0, 1], [1, 2]], 3)
    expectation = expected(np.array([0.1, 0.2, 0.9]))
    order = chain_order(graph, expectation)
    assert graph.owner[graph.node[order]].tolist() == [1, 1, 0, 0]


# Formulas of or, not and is: the graph of a random tree against its plain evaluation.

leaf = st.tuples(st.just("leaf"), st.integers(0, 4), st.integers(0, 4))
tree = st.recursive(
    leaf,
    lambda inner: st.tuples(
        st.sampled_from([EVERY, SOME]), st.lists(inner, min_size=0, max_size=3)
    ),
    max_leaves=8,
)


def value(node, truth) -> int:
    """NO, YES or FAILED of a tree; what fails decides nothing."""
    if node[0] == "leaf":
        _, question, p = node
        if question == 4:
            return YES
        if truth[p] == FAILED:
            return FAILED
        asked = truth[p] == (TRUE if question < 2 else FALSE)
        return int(asked if question % 2 == 0 else not asked)
    found = [value(part, truth) for part in node[1]]
    ends = NO if node[0] == EVERY else YES
    if ends in found:
        return ends
    return FAILED if FAILED in found else YES - ends


class _Text:
    """Stands for an expression."""


def graph_of_trees(trees) -> LocalGraph:
    residues = Residues(lambda slot: None, lambda expression: None, tested=False)  # type: ignore[return-value]
    nodes = {p: _Text() for p in range(5)}
    for p in range(5):
        residues._number(nodes[p])

    def formula(node):
        if node[0] == "leaf":
            return Leaf(node[1], nodes[node[2]])
        return Branch(node[0], tuple(map(formula, node[1])))

    residues._grow(len(trees))
    for slot, each in enumerate(trees):
        branch = formula(each)
        branch = branch if isinstance(branch, Branch) else Branch(EVERY, (branch,))
        first = len(residues._node_kind), len(residues._leaf)
        residues._add(branch, -1, first[0])
        sizes = len(residues._node_kind) - first[0], len(residues._leaf) - first[1]
        residues._span[slot] = first[0], sizes[0], first[1], sizes[1]
    return residues.graph(np.arange(len(trees), dtype=np.int32))


@pytest.mark.parametrize("name", SCHEDULES)
@given(st.lists(tree, min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=5, max_size=5))
@examples(60)
def test_formulas(name: str, trees, truth: list[int]) -> None:
    local = graph_of_trees(trees)
    known = np.array(truth, np.int8)[local.leaves]
    _asked, verdicts, undecided = run(name, local.graph, known)
    assert undecided == 0
    assert verdicts.tolist() == [value(each, truth) for each in trees]


@pytest.mark.parametrize("name", SCHEDULES)
@given(
    st.lists(tree, min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 2**31),
    st.sampled_from([1, 2, 100]),
)
@examples(30)
def test_many_rows(name: str, trees, blocks: int, seed: int, most: int) -> None:
    """Each row is decided by itself, on the subscriptions that are wanted of it."""
    local = graph_of_trees(trees)
    rng = np.random.default_rng(seed)
    rows = blocks * ROWS - 5
    truth = rng.integers(0, 4, (rows, 5)).astype(np.int8)
    known = truth[:, local.leaves]
    wanted = rng.random((rows, len(trees))) < 0.7
    row, subscription = np.nonzero(wanted)
    chance = rng.random(local.graph.predicates)
    demand = Demand(row.astype(np.int32), subscription.astype(np.int32))
    schedule = SCHEDULES[name](local.graph, expected(chance), rows, demand)
    asked: set[tuple[int, int]] = set()
    while len((found := schedule.choose(most)).row):
        assert np.bincount(found.row).max() <= most
        new = set(zip(found.row.tolist(), found.predicate.tolist()))
        assert len(new) == len(found.row)
        assert asked.isdisjoint(new)
        asked |= new
        schedule.answer(found, known[found])
    assert schedule.undecided() == 0
    for r, s, verdict in zip(row.tolist(), subscription.tolist(), schedule.verdicts().tolist()):
        assert verdict == value(trees[s], truth[r])
    for r, p in asked:
        assert schedule.truth(r)[p] == known[r, p]


@given(st.lists(tree, min_size=1, max_size=5), st.integers(0, 2**31), st.sampled_from([1, 2, 100]))
@examples(60)
def test_adaptive_asks_a_row_alone_for_the_same_as_in_a_block(trees, seed: int, most: int) -> None:
    """Scores that are kept up to date are those that are added up again for 64 rows at once."""
    graph = graph_of_trees(trees).graph
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, graph.predicates).astype(np.int8)
    operator = rng.integers(0, 2, graph.predicates).astype(np.int32)
    expectation = expected(
        rng.random(graph.predicates), rng.uniform(1, 9, graph.predicates), operator, rng.random(2)
    )
    wanted = np.flatnonzero(rng.random(len(trees)) < 0.8).astype(np.int32)
    demand = Demand(np.zeros(len(wanted), np.int32), wanted)
    alone, block = (Adaptive(graph, expectation, rows, demand) for rows in (1, 2))
    while True:
        one, other = alone.choose(most), block.choose(most)
        assert set(one.predicate.tolist()) == set(other.predicate.tolist())
        if not len(one.row):
            break
        alone.answer(one, truth[one.predicate])
        block.answer(other, truth[other.predicate])
    assert alone.verdicts().tolist() == block.verdicts().tolist()


def test_a_batch_evaluates_hardly_more_than_row_by_row() -> None:
    rng = np.random.default_rng(7)
    graph = graph_of([rng.choice(400, 4, replace=False).tolist() for _ in range(800)], 400)
    truth = (rng.random((ROWS, 400)) < 0.2).astype(np.int8)
    chance = np.full(400, 0.2)
    alone = sum(len(run("adaptive", graph, row, chance)[0]) for row in truth)
    schedule = Adaptive(graph, expected(chance), ROWS, everything(graph, ROWS))
    together = 0
    while len((found := schedule.choose()).row):
        together += len(found.row)
        schedule.answer(found, truth[found])
    assert together <= 1.1 * alone


def test_a_paid_set_up_makes_the_other_calls_cheap() -> None:
    graph = graph_of([[0], [1], [2]], 3)
    chance, cost = np.full(3, 0.5), np.array([1.0, 1.0, 5.0])
    operator = np.array([0, 0, 1], np.int32)
    expectation = expected(chance, cost, operator, np.array([100.0, 0.0]), np.array([2.0, 1.0]))
    schedule = Adaptive(graph, expectation, 1, everything(graph, 1))
    schedule.drop = 1.0
    first = schedule.choose(1)
    assert first.predicate.tolist() == [2]
    schedule.answer(first, np.array([0], np.int8))
    (second,) = schedule.choose(1).predicate.tolist()
    assert second in (0, 1)
    assert schedule._turns[0].paid.tolist() == [1, 1]


def test_credits_are_exact_to_a_unit() -> None:
    rng = np.random.default_rng(3)
    graph = graph_of([rng.choice(20, size, replace=False).tolist() for size in [1, 3, 9] * 30], 20)
    chance = rng.random(20)
    exact, found = edge_credits(graph, chance), credits_of(graph, chance)
    for p in range(20):
        own = slice(graph.by_predicate[p], graph.by_predicate[p + 1])
        assert found.units[own].max() == UNITS
        assert np.abs(found.units[own] * found.unit[p] - exact[own]).max() <= found.unit[p]
        assert found.total[p] == pytest.approx(exact[own].sum(), rel=0.01)
        assert found.units[own].sum() < 2 ** found.digits[p]


def test_adaptive_is_near_the_hindsight_cover() -> None:
    rng = np.random.default_rng(5)
    subscriptions = [
        rng.choice(150, rng.integers(3, 6), replace=False).tolist() for _ in range(600)
    ]
    graph = graph_of(subscriptions, 150)
    counts: dict[str, float] = dict.fromkeys(SCHEDULES, 0.0)
    cover = 0.0
    for _ in range(10):
        truth = rng.random(150) < 0.17
        cover += hindsight_cover(graph, truth)
        for name in SCHEDULES:
            most = 1 << 30 if name == "adaptive" else 1
            counts[name] += len(run(name, graph, truth, np.full(150, 0.17), most=most)[0])
    assert counts["adaptive"] <= 1.25 * cover
    assert counts["adaptive"] <= min(counts.values())


def test_both_sides_hold_the_same_edges() -> None:
    graph = graph_of([[0, 2], [2, 1], [2]], 3)
    again = with_both_sides(*graph[:4], graph.predicate, graph.node, graph.question, predicates=3)
    for p in range(3):
        own = graph.node_at[graph.by_predicate[p] : graph.by_predicate[p + 1]]
        assert own.tolist() == [0, 1, 2] if p == 2 else own.tolist() == [p]
    assert all((ours == theirs).all() for ours, theirs in zip(graph, again))
