"""Domains: the sets of values that attributes range over, and the order that each has.

    Domain
    ├── NumericDomain        numbers, perhaps integers only, perhaps within bounds
    ├── StringDomain         strings, by code point
    ├── BooleanDomain        true, false
    ├── TimestampDomain      instants
    ├── BytesDomain          opaque
    ├── EnumeratedDomain     some strings, perhaps with a partial order
    └── HierarchicalDomain   the terms of a taxonomy, where less is a kind of more

Numbers, strings and timestamps are totally ordered; the order of the last two is their own
(Le Subscribe, section 2.1).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from tamis.errors import SchemaError, TaxonomyError, suggestion
from tamis.model.kinds import GREATEST_INTEGER, KIND_TYPES, LEAST_INTEGER, Kind, Value
from tamis.model.limits import LIMITS, check_limit
from tamis.model.taxonomy.taxonomy import Taxonomy

_PLURALS = {
    Kind.NUMBER: "numbers",
    Kind.STRING: "strings",
    Kind.BOOLEAN: "booleans",
    Kind.TIMESTAMP: "timestamps",
    Kind.BYTES: "bytes",
}


class Domain(ABC):
    """A set of values of one kind."""

    __slots__ = ()

    kind: Kind

    @property
    def is_open(self) -> bool:
        """Whether every value of the kind belongs to it."""
        return True

    @abstractmethod
    def __contains__(self, value: object) -> bool:
        """Whether a canonical value belongs to the domain."""

    def hint(self, value: Value) -> str | None:
        """What to say of a value of the right kind that does not belong to it."""
        return None

    def __str__(self) -> str:
        return _PLURALS[self.kind]


@dataclass(frozen=True)
class NumericDomain(Domain):
    """Numbers; NaN, which has no order, is none of them."""

    kind: Kind = field(default=Kind.NUMBER, init=False, repr=False)

    integer: bool = False
    least: int | float | None = None
    greatest: int | float | None = None

    def __post_init__(self) -> None:
        for bound in (self.least, self.greatest):
            if bound is not None and not _is_bound(bound):
                shown = str(bound)[:50] if type(bound) is not int else "an integer beyond 64 bits"
                raise SchemaError(f"a bound is a finite number, not {shown}")
        if self.least is not None and self.greatest is not None and self.least > self.greatest:
            raise SchemaError(f"no number lies between {self.least} and {self.greatest}")

    @property
    def is_open(self) -> bool:
        """Whether it has all numbers."""
        return not self.integer and self.least is None and self.greatest is None

    def __contains__(self, value: object) -> bool:
        if type(value) not in (int, float) or value != value:
            return False
        assert isinstance(value, int | float)
        if self.integer and type(value) is float and not value.is_integer():
            return False
        if self.least is not None and value < self.least:
            return False
        return self.greatest is None or value <= self.greatest

    def hint(self, value: Value) -> str | None:
        """The numbers that there are."""
        return f"it holds {self}"

    def __str__(self) -> str:
        what = "integers" if self.integer else "numbers"
        if self.least is not None and self.greatest is not None:
            return f"{what} from {self.least} to {self.greatest}"
        if self.least is not None:
            return f"{what} from {self.least}"
        return what if self.greatest is None else f"{what} up to {self.greatest}"


@dataclass(frozen=True)
class WholeDomain(Domain):
    """All values of a kind but numbers."""

    kind: Kind

    def __contains__(self, value: object) -> bool:
        return type(value) in KIND_TYPES[self.kind]


@dataclass(frozen=True)
class EnumeratedDomain(Domain):
    """Some strings; ``order`` has chains of them, each from the least to the greatest.

    ``(("low", "high"), ("low", "unclear"))`` leaves ``high`` and ``unclear`` incomparable.
    """

    kind: Kind = field(default=Kind.STRING, init=False, repr=False)

    values: tuple[str, ...]
    order: tuple[tuple[str, ...], ...] = ()
    _greater: Taxonomy = field(init=False, repr=False, compare=False)
    """The values, whose ancestors are those that are at least as great."""

    def __post_init__(self) -> None:
        check_limit(len(self.values), LIMITS.members, "values of an enumerated domain")
        _check_not_empty(self.values)
        known = set(self.values)
        if len(known) < len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise SchemaError(f"the value {twice!r} stands twice")
        greater: dict[str, list[str]] = {value: [] for value in self.values}
        for chain in self.order:
            for value in chain:
                if value not in known:
                    hint = suggestion(value, self.values) or "name it among the values"
                    raise SchemaError(f"the order has the unknown value {value!r}; {hint}")
            for less, more in pairwise(chain):
                greater[less].append(more)
        try:
            object.__setattr__(self, "_greater", Taxonomy(greater))
        except TaxonomyError as error:
            raise SchemaError(str(error).replace("taxonomy", "order")) from error

    @property
    def is_open(self) -> bool:
        """It has some strings only."""
        return False

    def __contains__(self, value: object) -> bool:
        return type(value) is str and value in self._greater

    def at_least(self, value: str) -> Collection[str]:
        """The value and all that are greater."""
        return self._greater.ancestors(value)

    def at_most(self, value: str) -> Collection[str]:
        """The value and all that are less."""
        return [each for each in self.values if self._greater.is_a(each, value)]

    def hint(self, value: Value) -> str | None:
        """A value that is meant, or all that there are."""
        shown = ", ".join(map(repr, self.values[:10])) + (", …" if len(self.values) > 10 else "")
        return suggestion(str(value), self.values) or f"it holds {shown or 'no values'}"

    def __str__(self) -> str:
        shown = ", ".join(self.values[:5]) + (", …" if len(self.values) > 5 else "")
        ordered = ", ordered" if self.order else ""
        return f"{len(self.values):,} values{ordered}: {shown}"


@dataclass(frozen=True)
class HierarchicalDomain(Domain):
    """The terms of a taxonomy: less is a kind of more."""

    kind: Kind = field(default=Kind.STRING, init=False, repr=False)

    taxonomy: Taxonomy

    def __post_init__(self) -> None:
        _check_not_empty(self.taxonomy)

    @property
    def is_open(self) -> bool:
        """It has some strings only."""
        return False

    def __contains__(self, value: object) -> bool:
        return type(value) is str and value in self.taxonomy

    def hint(self, value: Value) -> str | None:
        """A term that is meant."""
        return suggestion(str(value), self.taxonomy) or f"it holds {self}"

    def __str__(self) -> str:
        return f"a hierarchy of {len(self.taxonomy):,} terms"


def _check_not_empty(values: Container[str]) -> None:
    if "" in values:
        raise SchemaError("the empty string is not a value of a domain; leave the attribute out")


def _is_bound(bound: object) -> bool:
    if type(bound) is int:
        return LEAST_INTEGER <= bound <= GREATEST_INTEGER
    return type(bound) is float and math.isfinite(bound)


BUILT_IN: Mapping[str, Domain] = {
    "number": NumericDomain(),
    "integer": NumericDomain(integer=True),
    "string": WholeDomain(Kind.STRING),
    "boolean": WholeDomain(Kind.BOOLEAN),
    "timestamp": WholeDomain(Kind.TIMESTAMP),
    "bytes": WholeDomain(Kind.BYTES),
}
"""The domains that every schema has, by their names."""
