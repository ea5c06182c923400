"""The workload of the paper on expensive operators (table 1): subscriptions as arrays, and events
as the truths of all predicates, so that evaluations are counted without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.operators.schedules.graph import Graph, conjunctions

LEAST = 3
"""Predicates of the shortest subscription."""
RATIO = 0.002
"""Subscriptions that match an event, on average."""
MODELS = ("independent", "planted")


@dataclass(frozen=True)
class OperatorWorkload:
    """Subscriptions over predicates, and events of one model."""

    graph: Graph
    truth: NDArray[np.bool_]
    """By event and predicate."""
    chance: NDArray[np.float64]
    """Of each predicate to be true."""


def operator_workload(
    subscriptions: int,
    predicates: int,
    longest: int,
    alpha: float | None,
    model: str,
    events: int,
    seed: int = 0,
) -> OperatorWorkload:
    """A workload; popularity is uniform without ``alpha``, else Zipf with this exponent."""
    rng = np.random.default_rng(seed)
    weight = rng.random(predicates) if alpha is None else np.arange(1, predicates + 1.0) ** -alpha
    length = rng.integers(LEAST, longest + 1, subscriptions)
    offsets = np.concatenate(([0], np.cumsum(length)))
    drawn = _drawn(rng, weight, subscriptions, longest)
    predicate = drawn[np.arange(longest) < length[:, None]].astype(np.int32)
    graph = conjunctions(offsets, predicate, predicates)
    if model == "independent":
        chance = np.full(predicates, _common_chance(length))
        truth = rng.random((events, predicates)) < chance
    else:
        planted = max(1, round(RATIO * subscriptions))
        popularity = np.bincount(predicate, minlength=predicates)
        chance = 1 - (1 - popularity / subscriptions) ** planted
        truth = np.zeros((events, predicates), bool)
        for row in truth:
            chosen = rng.choice(subscriptions, planted, replace=False)
            for one in chosen.tolist():
                row[predicate[offsets[one] : offsets[one + 1]]] = True
    return OperatorWorkload(graph, truth, chance)


def _drawn(
    rng: np.random.Generator, weight: NDArray[Any], subscriptions: int, count: int
) -> NDArray[np.int64]:
    """Distinct predicates for each subscription, by weight: what comes twice is drawn again."""
    chances = np.cumsum(weight) / weight.sum()
    found = np.searchsorted(chances, rng.random((subscriptions, count)))
    while True:
        order = np.argsort(found, axis=1, kind="stable")
        ordered = np.take_along_axis(found, order, 1)
        again = np.zeros_like(found, bool)
        same = np.concatenate(
            (np.zeros((subscriptions, 1), bool), ordered[:, 1:] == ordered[:, :-1]), 1
        )
        np.put_along_axis(again, order, same, 1)
        if not again.any():
            return found
        found[again] = np.searchsorted(chances, rng.random(int(again.sum())))


def _common_chance(length: NDArray[np.int64]) -> float:
    """The chance of all predicates for which so many subscriptions match on average."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if (middle**length).mean() > RATIO else (middle, high)
    return low
