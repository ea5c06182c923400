"""By which door the conditions of a subscription enter: boxes, or a leaf that a door finds."""

from __future__ import annotations

from math import prod

from tamis.matching.covers.chances import chance_of, chance_within
from tamis.matching.covers.covers import Condition, Cover
from tamis.matching.doors import Entry, LeafKinds
from tamis.predicates.expression import Expression


def divided(slot: int, cover: Cover, leaves: LeafKinds | None) -> tuple[Cover, list[Entry]]:
    """The cover with the conditions that boxes find, and the entries of a door for the others."""
    if leaves is None:
        return cover, []
    doors = [_door_leaf(condition, leaves) for condition in cover.conditions]
    found = [leaf for leaf in doors if leaf is not None]
    if not found:
        return cover, []
    left = tuple(each for each, leaf in zip(cover.conditions, doors) if leaf is None)
    distinct = dict.fromkeys(found) if len(found) > 1 else found  # a pattern's hash takes a while
    entries = [Entry(slot, leaf, cover.expression, bool(left)) for leaf in distinct]
    return cover._replace(conditions=left), entries


def _door_leaf(condition: Condition, leaves: LeafKinds) -> Expression | None:
    """The rarest leaf that a door finds; None if boxes let fewer events pass."""
    found = [each for each in condition.literals if each.positive and leaves.finds(each.predicate)]
    if not found:
        return None
    rarest = min(found, key=chance_of)
    boxes = prod(chance_within(values) for values in condition.sides.values())
    boxes *= prod(map(chance_of, condition.found))
    return rarest.predicate if chance_of(rarest) <= boxes else None
