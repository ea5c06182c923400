"""Signatures of operators: which arguments a call may have.

    place: string, ?distance: number       a constant, and a constant or a variable
    phrase: string, [least: number]        the second one may be left out
    rule: string, *?more                   any number more
    radius: length                         a quantity, such as 5 km (or mass, time, angle)

A parameter without a kind takes a value of any kind.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from tamis.errors import SubscriptionError, TamisError
from tamis.model.kinds import Kind
from tamis.model.units import UNITS
from tamis.predicates.expression import Argument, Call
from tamis.predicates.operands import Quantity, Variable

_PARAMETER = re.compile(r"(\[)?\s*(\*)?(\?)?(\w+)(?:\s*:\s*(\w+))?\s*(\])?")
_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())
_KINDS = frozenset(map(str, Kind)) | _DIMENSIONS


class Parameter(NamedTuple):
    """One parameter of an operator."""

    name: str
    kind: str = ""
    """A kind of value or a dimension of quantities; empty for any."""
    may_vary: bool = False
    """Whether a variable may stand in its place."""
    optional: bool = False
    repeated: bool = False

    def __str__(self) -> str:
        text = f"{'*' * self.repeated}{'?' * self.may_vary}{self.name}"
        text += f": {self.kind}" if self.kind else ""
        return f"[{text}]" if self.optional else text

    def check(self, argument: Argument, call: Call) -> None:
        """Refuse an argument that the parameter does not take."""
        if isinstance(argument, Variable):
            if not self.may_vary:
                raise SubscriptionError(
                    f"'{self.name}' of {call.name}() must be a constant, not {argument} in '{call}'"
                )
            return
        given = UNITS[argument.unit][0] if isinstance(argument, Quantity) else str(argument.kind)
        if self.kind and given != self.kind:
            what = f"a {self.kind}" + (", such as 5 km" if self.kind in _DIMENSIONS else "")
            raise SubscriptionError(
                f"'{self.name}' of {call.name}() must be {what}, not a {given} in '{call}'"
            )


class Signature(NamedTuple):
    """The parameters of an operator."""

    parameters: tuple[Parameter, ...]

    @classmethod
    def parse(cls, text: str) -> Signature:
        """The signature that a text describes."""
        found: list[Parameter] = []
        for part in filter(None, map(str.strip, text.split(","))):
            match = _PARAMETER.fullmatch(part)
            if match is None or bool(match[1]) != bool(match[6]):
                raise TamisError(
                    f"cannot read the parameter {part!r}; write 'name: kind', '?name: kind' if it "
                    "may be a variable, '[name: kind]' if it may be left out"
                )
            _, star, mark, name, kind, _ = match.groups()
            if kind and kind not in _KINDS:
                raise TamisError(
                    f"unknown kind {kind!r} of {name!r}; use one of {', '.join(sorted(_KINDS))}"
                )
            found.append(Parameter(name, kind or "", bool(mark), bool(match[1]), bool(star)))
        _check_order(found)
        return cls(tuple(found))

    def check(self, call: Call) -> None:
        """Refuse a call whose arguments do not fit."""
        least = sum(not each.optional and not each.repeated for each in self.parameters)
        most = len(self.parameters)
        repeated = bool(self.parameters) and self.parameters[-1].repeated
        count = len(call.arguments)
        if count < least or (count > most and not repeated):
            raise SubscriptionError(
                f"{call.name}() takes the arguments ({self}), not {count} as in '{call}'"
            )
        for place, argument in enumerate(call.arguments):
            self.parameters[min(place, most - 1)].check(argument, call)

    def __str__(self) -> str:
        return ", ".join(map(str, self.parameters))


def _check_order(parameters: list[Parameter]) -> None:
    for place, (one, other) in enumerate(itertools.pairwise(parameters), 1):
        if one.repeated or (one.optional and not other.optional):
            raise TamisError(f"parameter {place}, {one}, must be the last one of its kind")
