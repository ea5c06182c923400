"""Conjunctions of a block of rows, gathered by their predicates (matching/boxes/conjuncts.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.types import Flags
from tamis.engine.constants import columns_of, contradictory, filtered
from tamis.engine.shapes import ShapedTemplate
from tamis.matching.boxes.conjuncts import Conjunct
from tamis.matching.covers.covers import Cover


class Conjunctions(NamedTuple):
    """Conjunctions by their predicates: the place of each, and the predicates."""

    places: NDArray[np.int32]
    conjuncts: list[Conjunct]


class ConjunctReader:
    """Gathers the predicates of templates that few rows have."""

    def __init__(self) -> None:
        self._places: list[int] = []
        self._literals: dict[int, tuple[ShapedTemplate, list[int], list[list[str]]]] = {}

    def add(
        self,
        conjunctions: Sequence[Sequence[ShapedTemplate]],
        places: Sequence[int],
        rows: Sequence[list[str]],
    ) -> None:
        """Take in the rows of a template: the predicates of its conjunctions, the places of the
        rows and their literals."""
        for place, literals in zip(places, rows, strict=True):
            first = 0
            for conjuncts in conjunctions:
                row = len(self._places)
                self._places.append(place)
                for conjunct in conjuncts:
                    end = first + conjunct.shape.holes
                    group = self._literals.get(id(conjunct.template))
                    if group is None:
                        group = self._literals[id(conjunct.template)] = conjunct, [], []
                    group[1].append(row)
                    group[2].append(literals[first:end])
                    first = end

    def finished(self, singles: dict[int, Cover | None]) -> Conjunctions:
        """All of them; those with constants that are faulty or contradict each other go to the
        singles."""
        places = np.array(self._places, np.int32)
        alone = np.zeros(len(places), bool)
        conjuncts = []
        for (template, shape), numbers, literals in self._literals.values():
            rows, columns = np.array(numbers, np.int32), columns_of(template, literals)
            if columns is None:
                alone[rows] = True
            else:
                columns = shape.completed_columns(columns)
                alone[rows[contradictory(shape, columns, len(rows))]] = True
                conjuncts.append(Conjunct(shape, rows, columns))
        return _without(Conjunctions(places, conjuncts), alone, singles)


def _without(
    conjunctions: Conjunctions, rows: Flags, singles: dict[int, Cover | None]
) -> Conjunctions:
    """Conjunctions without some rows, and others of the same places; these go to the singles."""
    places, conjuncts = conjunctions
    if not rows.any():
        return conjunctions
    singles |= dict.fromkeys(places[rows].tolist())
    kept = ~np.isin(places, places[rows])
    number = np.cumsum(kept) - 1
    left = []
    for shape, own, columns in conjuncts:
        if kept[own].any():
            constants = [filtered(column, kept[own]) for column in columns]
            left.append(Conjunct(shape, number[own[kept[own]]].astype(np.int32), constants))
    return Conjunctions(places[kept], left)
