"""Covers: a few conditions of which one holds whenever an expression is true.

    kind in ('a', 'b') and size > 3 and (text contains 'x' or owner = 'me') unless old = true

    conditions     kind is a or b, size above 3, text contains 'x'
                   kind is a or b, size above 3, owner is 'me'

A cover is what an index finds a subscription by. The expression is never multiplied out: of several
alternatives that stand side by side in a conjunction the rarest one becomes conditions, and each
condition takes along what is certain besides, as long as that costs no further alternatives. What
conditions do not say is evaluated when one of them holds; a condition that is *whole* says all, so
nothing is left to evaluate. A small product of alternatives is multiplied out after all, since a
few whole conditions cost less than an evaluation.

A condition without any clause holds for every event: ``(a = 1) is not true`` has no better one. An
expression whose cover is empty contradicts itself and never matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from tamis.matching.covers.chances import chance_of
from tamis.matching.covers.formula import Every, Formula, formula_of
from tamis.matching.covers.leaves import Holds, Lacks, Leaf, Place, Within, path_of
from tamis.model.paths import Path
from tamis.predicates.expression import Expression, Present
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Attribute, operands_within
from tamis.predicates.valueset import ValueSet

MULTIPLIED = 16
"""Conditions up to which alternatives are multiplied out."""


class Condition(NamedTuple):
    """Leaves that must all be so; an index looks up some of them."""

    sides: Mapping[Place, ValueSet] = {}
    found: tuple[Holds, ...] = ()
    literals: tuple[Literal, ...] = ()
    whole: bool = True
    """Whether the expression is true when all of them are."""

    @property
    def leaves(self) -> Iterator[Leaf]:
        """All leaves."""
        yield from (Within(place, values) for place, values in self.sides.items())
        yield from self.found
        yield from self.literals

    @property
    def is_empty(self) -> bool:
        """Whether it holds for every event."""
        return not self.sides and not self.found and not self.literals


class Cover(NamedTuple):
    """What an expression is found by, and what is left to evaluate then."""

    conditions: tuple[Condition, ...]
    formula: Formula
    expression: Expression

    @property
    def is_whole(self) -> bool:
        """Whether the conditions say all that the expression says."""
        return all(condition.whole for condition in self.conditions)

    @property
    def never_matches(self) -> bool:
        """Whether the expression contradicts itself."""
        return not self.conditions


Chance = Callable[[Leaf], float]


def cover_of(expression: Expression, chance: Chance = chance_of) -> Cover:
    """The cover that lets the fewest events pass, by how likely leaves are."""
    formula = formula_of(expression)
    return Cover(tuple(_conditions(formula, chance)), formula, expression)


def _conditions(formula: Formula, chance: Chance) -> list[Condition]:
    if isinstance(formula, Within):
        return [Condition({formula.place: formula.values})]
    if isinstance(formula, Holds):
        return [Condition(found=(formula,))]
    if isinstance(formula, Literal):
        return [Condition(literals=(formula,))]
    if isinstance(formula, Lacks):
        return [Condition(whole=False)]
    if isinstance(formula, Every):
        return _conjunction(formula.parts, chance)
    return _alternatives(formula.parts, chance)


def _alternatives(parts: Sequence[Formula], chance: Chance) -> list[Condition]:
    """The conditions of all parts; one that always holds makes the others superfluous."""
    found = [each for part in parts for each in _conditions(part, chance)]
    always = [each for each in found if each.is_empty]
    return [max(always, key=lambda each: each.whole)] if always else found


def _conjunction(parts: Sequence[Formula], chance: Chance) -> list[Condition]:
    """The conditions of the rarest part, with all that is certain besides."""
    certain: list[Condition] = []
    several: list[list[Condition]] = []
    sides: dict[Place, ValueSet] = {}  # of which there is one for each place: see formula.py
    found: list[Holds] = []
    for part in parts:
        if isinstance(part, Within):
            sides[part.place] = part.values
        elif isinstance(part, Holds):
            found.append(part)
        else:
            inner = _conditions(part, chance)
            if not inner:
                return []
            if len(inner) == 1:
                certain.append(inner[0])
            else:
                several.append(inner)
    base = _joined([Condition(sides, tuple(found)), *certain])
    if base is None:
        return []
    if not several:
        return [base]
    if prod(map(len, several)) <= MULTIPLIED:
        return [one for each in product([base], *several) if (one := _joined(each)) is not None]
    rarest = min(several, key=lambda cover: sum(_chance(each, chance) for each in cover))
    narrowed = (_joined((base, each), whole=False) for each in rarest)
    return [each for each in narrowed if each is not None]


def _chance(condition: Condition, chance: Chance) -> float:
    return prod(map(chance, condition.leaves))


def _joined(conditions: Sequence[Condition], whole: bool = True) -> Condition | None:
    """All of some conditions as one, whole if they are; None if they contradict each other."""
    sides: dict[Place, ValueSet] = {}
    found: dict[Holds, None] = {}
    literals: dict[Literal, None] = {}
    for condition in conditions:
        for place, values in condition.sides.items():
            values = sides[place] & values if place in sides else values
            if values.is_empty:
                return None
            sides[place] = values
        found.update(dict.fromkeys(condition.found))
        literals.update(dict.fromkeys(condition.literals))
        whole &= condition.whole
    joined = Condition(sides, (*found,), (*literals,), whole)
    return None if literals and _contradicts_itself(joined) else joined


def _contradicts_itself(condition: Condition) -> bool:
    """Whether literals exclude each other, or need an attribute that must be missing."""
    literals = condition.literals
    if any(Literal(node, not positive) in literals for node, positive in literals):
        return True
    gone = [
        node.attribute.path
        for node, positive in literals
        if isinstance(node, Present) and not positive
    ]
    return bool(gone) and any(
        path[: len(missing)] == missing for path in needed_by(condition) for missing in gone
    )


def needed_by(condition: Condition) -> Iterator[Path]:
    """The attributes that must be there for a condition to hold."""
    yield from map(path_of, condition.sides)
    yield from (each.key.path for each in condition.found)
    for node, positive in condition.literals:
        if positive or not isinstance(node, Present):
            for operand in (inner for side in node.operands() for inner in operands_within(side)):
                if isinstance(operand, Attribute):
                    yield operand.path
