"""What stands on either side of a comparison and inside a call: attribute, constant, variable …

Operand
├── Attribute      new.price
├── Constant       5, 'Toy', true, timestamp '2026-01-01'
├── Variable       ?d
├── Quantity       5 km            (arguments of operators only)
├── Arithmetic     ?d * 2 + price
├── RdfConstant    ex:acme, "Stuhl"@de     (FILTERs of graph patterns only)
└── StringOf       str(?x)                 (likewise)
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tamis.errors import LimitError, SubscriptionError, suggestion
from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, Kind, Value, kind_of, to_value
from tamis.model.limits import LIMITS, MAX_DEPTH
from tamis.model.paths import RESERVED, Path, format_path
from tamis.model.rdf_terms import Iri, RdfLiteral
from tamis.model.units import UNITS

_NAME = re.compile(r"[^\W\d]\w*")
_ONLY_STRINGS = {str}


class Operand:
    """A side of a comparison or an argument of a call."""

    __slots__ = ()

    depth: int = 0

    def children(self) -> Iterator[Operand]:
        """The terms inside this one."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Attribute(Operand):
    """An attribute of the event, by its path."""

    path: Path

    def __post_init__(self) -> None:
        if {*map(type, self.path)} != _ONLY_STRINGS:
            raise SubscriptionError(f"{self.path!r} is not a path: it needs one key or several")
        if not is_unicode("".join(self.path)):
            raise SubscriptionError("a key with a lone surrogate, which is not Unicode")
        if len(self.path) > MAX_DEPTH:
            raise LimitError(f"a path of {len(self.path)} keys: the limit is {MAX_DEPTH}")

    def __str__(self) -> str:
        return format_path(self.path)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Constant(Operand):
    """A value in canonical form: a float that is a 64-bit integer is that integer."""

    value: Value

    def __init__(self, value: Any) -> None:
        _set_value(self, canonical_value(value))

    @property
    def kind(self) -> Kind:
        """The kind of the value."""
        return kind_of(self.value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Constant:
            return NotImplemented
        return self.kind is other.kind and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.kind, self.value))


_set_value = Constant.__dict__["value"].__set__
"""Sets the slot: there are more constants than anything else, and this is the fastest way."""


@dataclass(frozen=True, slots=True)
class Variable(Operand):
    """A variable, bound by operator calls and graph patterns."""

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "variable")


@dataclass(frozen=True, slots=True)
class Quantity(Operand):
    """A number with a unit."""

    number: Constant
    unit: str

    def __post_init__(self) -> None:
        if self.number.kind is not Kind.NUMBER:
            raise SubscriptionError(f"a quantity needs a number, not a {self.number.kind}")
        if self.unit not in UNITS:
            hint = suggestion(self.unit, UNITS) or "use one of " + ", ".join(UNITS)
            raise SubscriptionError(f"unknown unit {self.unit[:50]!r}; {hint}")


@dataclass(frozen=True, slots=True)
class RdfConstant(Operand):
    """An RDF term in a FILTER that is not a value of the language."""

    term: Iri | RdfLiteral


@dataclass(frozen=True, slots=True)
class StringOf(Operand):
    """SPARQL's ``str(?x)``: the characters of an IRI, or the lexical form of a literal."""

    variable: Variable

    def children(self) -> Iterator[Operand]:
        yield self.variable


@dataclass(frozen=True, slots=True)
class Arithmetic(Operand):
    """A sum, difference, product or quotient, not of two constants. Built by ``calculate``."""

    left: Operand
    operator: str
    right: Operand
    depth: int = 0

    def __post_init__(self) -> None:
        if self.operator not in _CALCULATIONS:
            raise SubscriptionError(f"unknown arithmetic operator {self.operator[:20]!r}")
        for side in (self.left, self.right):
            if isinstance(side, Quantity):
                raise SubscriptionError("only arguments of operators can have units")
            if isinstance(side, Constant) and side.kind is not Kind.NUMBER:
                raise SubscriptionError(f"arithmetic needs numbers, not a {side.kind}")
        if isinstance(self.left, Constant) and isinstance(self.right, Constant):
            raise SubscriptionError("build arithmetic with calculate, which works out constants")
        object.__setattr__(self, "depth", nested(self.left.depth, self.right.depth))

    def children(self) -> Iterator[Operand]:
        yield self.left
        yield self.right


_CALCULATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def calculate(left: Operand, symbol: str, right: Operand) -> Operand:
    """The arithmetic term, or its result if both sides are constants."""
    if not (isinstance(left, Constant) and isinstance(right, Constant) and symbol in _CALCULATIONS):
        return Arithmetic(left, symbol, right)
    result = result_of(left.value, symbol, right.value)
    if result is None:
        shown = f"{left.value!r} {symbol} {right.value!r}"[:100]
        raise SubscriptionError(f"{shown} has no result: {_obstacle(left, symbol, right)}")
    return Constant(result)


def _obstacle(left: Constant, symbol: str, right: Constant) -> str:
    if left.kind is not Kind.NUMBER or right.kind is not Kind.NUMBER:
        return "arithmetic needs numbers"
    return "it divides by zero" if symbol == "/" and right.value == 0 else "it is too large"


def result_of(left: Value, symbol: str, right: Value) -> int | float | None:
    """The result of arithmetic on numbers: integers exact, also beyond 64 bits; division of reals.

    A double that is a 64-bit integer counts as that integer, as it does in a constant: equal
    numbers have equal results, whether 1 or 1.0 was written. None where there is no result: another
    kind than numbers, division by zero, an integer too large to meet a double.
    """
    if kind_of(left) is not Kind.NUMBER or kind_of(right) is not Kind.NUMBER:
        return None
    try:
        result: int | float = _CALCULATIONS[symbol](_exact(left), _exact(right))
    except (ZeroDivisionError, OverflowError):
        return None
    return result


def _exact(number: Any) -> int | float:
    """The number as an integer, if it is a double that is one of 64 bits."""
    if type(number) is float and number.is_integer():
        return int(number) if LEAST_INTEGER <= number <= GREATEST_INTEGER else number
    return number  # type: ignore[no-any-return]


def nested(*depths: int) -> int:
    """The depth of a node over nodes of these depths, checked against the limit."""
    depth = 1 + max(depths, default=0)
    if depth > MAX_DEPTH:
        raise LimitError(f"an expression is nested at most {MAX_DEPTH} levels deep")
    return depth


def check_name(name: Any, what: str) -> None:
    """Raise unless the name is a plain word."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in RESERVED:
        shown = str(name)[:50]
        raise SubscriptionError(f"{shown!r} is not the name of a {what}: write a plain word")


def operands_within(term: Operand) -> Iterator[Operand]:
    """The term and all terms inside it."""
    yield term
    for child in term.children():
        yield from operands_within(child)


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def canonical_value(value: Any) -> Value:
    """The canonical form of a constant; what most constants are needs no second look."""
    kind = type(value)
    if kind is int and LEAST_INTEGER <= value <= GREATEST_INTEGER:
        return value  # type: ignore[no-any-return]
    if kind is str and len(value) < 1_000 and value.isascii():
        return value  # type: ignore[no-any-return]
    return _canonical(value)


def _canonical(raw: Any) -> Value:
    """A constant: no null, no NaN, no infinity, no bytes."""
    try:
        value = to_value(raw)
    except ValueError as error:
        raise SubscriptionError(f"a constant cannot be {error}") from error
    if type(value) is float:
        if math.isnan(value):
            raise SubscriptionError("NaN equals nothing: a comparison with it never matches")
        if math.isinf(value):
            raise SubscriptionError("a constant must be finite; the greatest double is 1.797e308")
        return _exact(value)
    if value is None:
        raise SubscriptionError("a null is a missing attribute: write 'is missing'")
    if type(value) is bytes:
        raise SubscriptionError("bytes are opaque: only operators can read them")
    if type(value) is str and len(value) > LIMITS.string:
        raise LimitError(f"a string of {len(value):,} characters: the limit is {LIMITS.string:,}")
    return value
