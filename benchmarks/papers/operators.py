"""Expensive operators: predicates evaluated for each event, by four schedules and with hindsight;
heterogeneous costs; what scheduling itself takes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.operator_workloads import MODELS, OperatorWorkload, operator_workload
from benchmarks.papers.experiment import Figure, Paper, Step
from benchmarks.papers.operators_verdicts import COVER, LEARNED, NAMES, PRINTED, verdicts
from benchmarks.papers.results import Measurement
from benchmarks.report import short
from tamis import Engine, Event, Operator
from tamis.operators.estimates import Estimates
from tamis.operators.schedules.cover import hindsight_cover
from tamis.operators.schedules.graph import Expectation, Graph, expected
from tamis.operators.schedules.progress import UNASKED, everything
from tamis.operators.schedules.schedules import SCHEDULES, UNLIMITED

EVALUATIONS, MILLISECONDS = "evaluations an event", "ms an event"
DEAR = 1_000.0
"""The dearest predicate in the experiment with costs; the cheapest costs 1."""


@dataclass(frozen=True)
class Sizes:
    """How far the figures go."""

    subscriptions: tuple[int, ...]
    """Of figures 4 and 5."""
    predicates: int
    fixed: int
    """Subscriptions of figures 6 to 8."""
    several: tuple[int, ...]
    """Predicates of figure 6."""
    few: int
    """Predicates of figures 7 and 8."""
    longest: tuple[int, ...]
    engine: tuple[int, int]
    """Subscriptions and predicates of the engine whose overhead is measured."""
    batch: int
    events: int


FULL = Sizes((2_000, 20_000, 80_000), 40_000, 20_000, (2_000, 10_000, 30_000), 5_000, (5, 8, 11),
             (80_000, 40_000), 1_000, 4)  # fmt: skip
QUICK = Sizes((2_000, 10_000), 5_000, 4_000, (1_000, 5_000), 1_000, (5, 11), (4_000, 2_000), 100, 6)

Place = tuple[str, float, int, int, int, float | None]
"""Figure, x, subscriptions, predicates, longest, exponent."""


def places(sizes: Sizes) -> Iterator[Place]:
    """Where schedules are compared."""
    for n in sizes.subscriptions:
        yield "4", n, n, sizes.predicates, 5, None
        yield "5", n, n, sizes.predicates, 5, 1.0
    for count in sizes.several:
        yield "6", count, sizes.fixed, count, 5, 1.0
        yield "6-uniform", count, sizes.fixed, count, 5, None
    for longest in sizes.longest:
        yield "7", longest, sizes.fixed, sizes.few, longest, 1.0
    for alpha in (None, 0.8, 1.0, 1.2):
        yield "8", alpha or 0.0, sizes.fixed, sizes.few, 5, alpha


def _figure(number: str, title: str, across: str, share: bool = False) -> list[Figure]:
    return [
        Figure(f"{number}-{model}", f"{title}, {model} events", across, EVALUATIONS, "evaluated",
               is_share=share)
        for model in MODELS
    ]  # fmt: skip


FIGURES = (
    *_figure("4", "Figure 4: uniform popularity", "subscriptions"),
    *_figure("5", "Figure 5: Zipf popularity", "subscriptions"),
    *_figure("6", "Figure 6: Zipf popularity", "predicates"),
    *_figure("6-uniform", "Figure 6: uniform popularity", "predicates"),
    *_figure("7", "Figure 7: longest subscription", "longest", share=True),
    *_figure("8", "Figure 8: exponent of Zipf, 0 is uniform", "exponent", share=True),
    Figure("costs", "Costs from 1 to 1000", up="cost an event", value="evaluated"),
    Figure("overhead", "What scheduling takes", up=MILLISECONDS, value="evaluated"),
)


def steps(sizes: Sizes) -> list[Step]:
    """All steps."""
    found = [
        Step((f"{place[0]}-{model}",), f"figure {place[0]}, {model}, {place[1]:g}",
             partial(compared, place, model, sizes.events))
        for place in places(sizes)
        for model in MODELS
    ]  # fmt: skip
    found += [Step(("costs",), f"costs, {short(n)}", partial(with_costs, n, sizes))
              for n in sizes.subscriptions]  # fmt: skip
    found.append(Step(("overhead",), "overhead", partial(overhead, sizes)))
    return found


def evaluated(name: str, expectation: Expectation, work: OperatorWorkload) -> NDArray[np.bool_]:
    """Which predicates a schedule evaluates, by event; what it decides is checked."""
    events, graph = len(work.truth), work.graph
    schedule = SCHEDULES[name](graph, expectation, events, everything(graph, events))
    truth = work.truth.astype(np.int8)
    while len((found := schedule.choose(UNLIMITED if name == "adaptive" else 1)).row):
        schedule.answer(found, truth[found])
    false = ~work.truth[:, graph.predicate]
    owner = graph.owner[graph.node]
    decided = schedule.verdicts().reshape(events, -1)
    for row in range(events):
        matches = np.bincount(owner[false[row]], minlength=graph.subscriptions) == 0
        assert (decided[row] == matches).all()
    asked = np.array([schedule.truth(row) for row in range(events)])
    return asked < UNASKED


def learned(work: OperatorWorkload, half: int) -> OperatorWorkload:
    """The later events, with what a run over the earlier ones would learn of chances."""
    estimates = Estimates()
    leaves = np.arange(work.graph.predicates, dtype=np.int32)
    one = np.zeros(len(leaves), np.int32)
    for row in range(half):
        chance = estimates.chance(leaves, one)
        past = OperatorWorkload(work.graph, work.truth[row : row + 1], chance)
        (asked,) = evaluated("adaptive", expected(chance), past)
        estimates.note(leaves[asked], 0, work.truth[row][asked].astype(np.int8))
    return OperatorWorkload(work.graph, work.truth[half:], estimates.chance(leaves, one))


def compared(place: Place, model: str, events: int) -> list[Measurement]:
    """All schedules, and the cover, at one place of a figure."""
    number, x, subscriptions, predicates, longest, alpha = place
    work = operator_workload(subscriptions, predicates, longest, alpha, model, 2 * events)
    late = OperatorWorkload(work.graph, work.truth[events:], work.chance)
    counts = {COVER: np.array([hindsight_cover(work.graph, truth) for truth in late.truth])}
    for name in NAMES:
        counts[name] = evaluated(name, expected(late.chance), late).sum(1)
    own = learned(work, events)
    counts[LEARNED] = evaluated("adaptive", expected(own.chance), own).sum(1)
    return [_measured(f"{number}-{model}", name, subscriptions, x, each, EVALUATIONS)
            for name, each in counts.items()]  # fmt: skip


def _measured(
    figure: str, name: str, subscriptions: int, x: float, counts: NDArray[Any], unit: str
) -> Measurement:
    mean, worst = float(counts.mean()), float(counts.max())
    return Measurement(figure, name, subscriptions, x, unit, mean, max(mean, worst), len(counts),
                       evaluated=mean)  # fmt: skip


def with_costs(n: int, sizes: Sizes) -> list[Measurement]:
    """Predicates whose costs are log-uniform: what an event costs."""
    work = operator_workload(n, sizes.predicates, 5, None, "independent", sizes.events)
    cost = DEAR ** np.random.default_rng(1).random(sizes.predicates)
    counts = {COVER: np.array([hindsight_cover(work.graph, truth, cost) for truth in work.truth])}
    for name in NAMES:
        counts[name] = evaluated(name, expected(work.chance, cost), work) @ cost
    counts[PRINTED] = evaluated("sub_order", expected(work.chance), work) @ cost
    return [_measured("costs", name, n, n, each, "cost an event") for name, each in counts.items()]


def overhead(sizes: Sizes) -> list[Measurement]:
    """Milliseconds of everything but the operators, with truths as arrays and in an engine."""
    n, predicates = sizes.engine
    work = operator_workload(n, predicates, 5, None, "independent", sizes.batch)
    some = OperatorWorkload(work.graph, work.truth[: sizes.events], work.chance)
    _driven(some)
    arrays = min(_timed(lambda: _driven(some)) for _ in range(5)) / sizes.events
    table = TruthTable(work.truth)
    engine = _engine(work.graph, table)
    events = [Event({"n": n}) for n in range(sizes.batch)]
    for event in events[:3]:
        engine.match(event)
    runs = {
        "truth in arrays": (arrays, 0.0),
        "engine, one by one": _measured_engine(
            engine,
            table,
            sizes.events,
            lambda: [engine.match(each) for each in events[: sizes.events]],
        ),
        "engine, batches": _measured_engine(
            engine, table, sizes.batch, lambda: engine.match_batch(events)
        ),
    }
    whole = _engine(work.graph, table, batch="table")
    runs["engine, batches as a table"] = _measured_engine(
        whole, table, sizes.batch, lambda: whole.match_batch(events)
    )
    return [
        Measurement("overhead", name, n, n, MILLISECONDS, 1e3 * each, 1e3 * each,
                    evaluated=1e3 * each, visited=calls)
        for name, (each, calls) in runs.items()
    ]  # fmt: skip


def _measured_engine(
    engine: Engine, table: TruthTable, events: int, work: Callable[[], object]
) -> tuple[float, float]:
    """Seconds of an event, without those inside of the operator, and its calls; the best."""
    found = []
    for _ in range(3):
        calls, inside = _calls(engine), table.seconds
        seconds = _timed(work) - (table.seconds - inside)
        found.append((seconds / events, (_calls(engine) - calls) / events))
    return min(found)


def _driven(work: OperatorWorkload) -> None:
    """The schedule alone, an event after the other; what is prepared for a graph is kept, as an
    engine keeps it."""
    wanted, expectation = everything(work.graph, 1), expected(work.chance)
    prepared = SCHEDULES["adaptive"].prepare(work.graph, expectation)
    for truth in work.truth.astype(np.int8):
        schedule = SCHEDULES["adaptive"](work.graph, expectation, 1, wanted, prepared)
        while len((found := schedule.choose()).row):
            schedule.answer(found, truth[found.predicate])


class TruthTable:
    """A trivial operator in both batch forms: it looks truths up."""

    def __init__(self, truth: NDArray[np.bool_]) -> None:
        self._truth = truth
        self._rows = [row.tobytes() for row in truth]
        self.seconds = 0.0

    def __call__(self, events: list[Event], arguments: list[tuple[Any, ...]]) -> list[bool]:
        """Whether predicates, given by number, are true of events."""
        begin = time.perf_counter()
        rows = [self._rows[event.attributes["n"]] for event in events]  # type: ignore[index]
        found = [row[number] == 1 for row, (number,) in zip(rows, arguments)]
        self.seconds += time.perf_counter() - begin
        return found

    def whole(
        self, events: list[Event], arguments: list[tuple[Any, ...]], event: Any, argument: Any
    ) -> NDArray[np.bool_]:
        """The same, as a table."""
        begin = time.perf_counter()
        row = np.array([each.attributes["n"] for each in events])
        number = np.array([each for (each,) in arguments])
        found: NDArray[np.bool_] = self._truth[row[event], number[argument]]
        self.seconds += time.perf_counter() - begin
        return found


def _engine(graph: Graph, table: TruthTable, batch: Any = True) -> Engine:
    """An engine with the subscriptions of a graph."""
    function = table if batch is True else table.whole
    engine = Engine(operators={"p": Operator(function, reads=("n",), batch=batch, cost=1e-3)})
    spans = zip(graph.first_edge[:-1].tolist(), graph.first_edge[1:].tolist())
    texts = (" and ".join(f"p({number})" for number in graph.predicate[a:b].tolist())
             for a, b in spans)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine.subscribe_many([(str(number), text) for number, text in enumerate(texts)])
        engine.settle()
        engine.match({"n": 0})
    return engine


def _calls(engine: Engine) -> float:
    decider = engine.subscriptions.index.deciding.decider
    assert decider is not None
    return decider.work.made


def _timed(work: Any) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


PAPER = Paper(
    name="operators",
    title="Publish/subscribe with expensive operators",
    figures=FIGURES,
    steps=steps,
    full=FULL,
    quick=QUICK,
    verdicts=verdicts,
)
