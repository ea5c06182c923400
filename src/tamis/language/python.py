"""Subscriptions written in Python: ``(attr("price") < 5) & attr("category").is_a("Toy")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from tamis.errors import SubscriptionError
from tamis.language.parser import parse
from tamis.model.paths import parse_path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    Argument,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Pattern,
    Present,
    TextTest,
    parse_network,
)
from tamis.predicates.operands import Attribute, Constant, Operand, Quantity, Variable, calculate


class OperandBuilder:
    """An operand: compare it with another to get an expression."""

    __slots__ = ("term",)

    def __init__(self, term: Operand) -> None:
        self.term = term

    def equals(self, other: Any, *, ignore_case: bool = False) -> Expression:
        """The two are equal; ``ignore_case`` is for strings."""
        return Comparison(self.term, "=", _term(other), ignore_case)

    def differs_from(self, other: Any, *, ignore_case: bool = False) -> Expression:
        """The two are not equal; ``ignore_case`` is for strings."""
        return Comparison(self.term, "!=", _term(other), ignore_case)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self.equals(other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self.differs_from(other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Expression:
        return Comparison(self.term, "<", _term(other))

    def __le__(self, other: Any) -> Expression:
        return Comparison(self.term, "<=", _term(other))

    def __gt__(self, other: Any) -> Expression:
        return Comparison(self.term, ">", _term(other))

    def __ge__(self, other: Any) -> Expression:
        return Comparison(self.term, ">=", _term(other))

    def __add__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(self.term, "+", _term(other)))

    def __radd__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(_term(other), "+", self.term))

    def __sub__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(self.term, "-", _term(other)))

    def __rsub__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(_term(other), "-", self.term))

    def __mul__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(self.term, "*", _term(other)))

    def __rmul__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(_term(other), "*", self.term))

    def __truediv__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(self.term, "/", _term(other)))

    def __rtruediv__(self, other: Any) -> OperandBuilder:
        return TermOperand(calculate(_term(other), "/", self.term))

    def __neg__(self) -> OperandBuilder:
        return 0 - self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.term!r})"


class TermOperand(OperandBuilder):
    """A variable, a quantity or arithmetic."""

    # A sibling of AttributeBuilder, not its base: of two operands, Python asks the one of the
    # derived class first, which would exchange the sides of a comparison.

    __slots__ = ()


class AttributeBuilder(OperandBuilder):
    """An attribute: it has tests of its own besides the comparisons."""

    __slots__ = ()

    term: Attribute

    def between(self, low: Any, high: Any) -> Expression:
        """The value is between the two bounds, or equal to one of them."""
        return Between(self.term, _constant(low), _constant(high))

    def is_in(self, values: Iterable[Any], *, ignore_case: bool = False) -> Expression:
        """The value is equal to one of the values."""
        return In(self.term, tuple(map(_constant, values)), ignore_case)

    def is_a(self, ancestor: str) -> Expression:
        """The value is the term or a kind of it, by the taxonomy."""
        return IsA(self.term, _constant(ancestor))

    def contains(self, value: Any, *, ignore_case: bool = False) -> Expression:
        """The value is one of all the values that the attribute has."""
        return Contains(self.term, _constant(value), ignore_case)

    def is_present(self) -> Expression:
        """The event has the attribute."""
        return Present(self.term)

    def is_missing(self) -> Expression:
        """The event does not have the attribute."""
        return Not(Present(self.term))

    def starts_with(self, text: str, *, ignore_case: bool = False) -> Expression:
        """The string starts with the text."""
        return TextTest(self.term, "starts with", _constant(text), ignore_case)

    def ends_with(self, text: str, *, ignore_case: bool = False) -> Expression:
        """The string ends with the text."""
        return TextTest(self.term, "ends with", _constant(text), ignore_case)

    def contains_text(self, text: str, *, ignore_case: bool = False) -> Expression:
        """The string contains the text."""
        return TextTest(self.term, "contains text", _constant(text), ignore_case)

    def like(self, pattern: str, *, ignore_case: bool = False) -> Expression:
        """The string matches the pattern: ``%`` is any text, ``_`` any one character."""
        return TextTest(self.term, "like", _constant(pattern), ignore_case)

    def matches(self, regex: str, *, ignore_case: bool = False) -> Expression:
        """The regular expression, in RE2's syntax, matches somewhere in the string."""
        return TextTest(self.term, "matches", _constant(regex), ignore_case)

    def in_cidr(self, *networks: str) -> Expression:
        """The IP address is in one of the networks."""
        return InCidr(self.term, tuple(parse_network(str(network)) for network in networks))


def attr(path: str | tuple[str, ...]) -> AttributeBuilder:
    """An attribute, by its dotted path or its tuple of keys."""
    if not isinstance(path, str | tuple | list):
        raise SubscriptionError(f"an attribute is a path such as 'a.b', not {path!r}")
    keys = parse_path(path) if isinstance(path, str) else tuple(path)
    return AttributeBuilder(Attribute(keys))


def var(name: str) -> OperandBuilder:
    """A variable."""
    return TermOperand(Variable(name))


def quantity(number: float, unit: str) -> OperandBuilder:
    """A number with a unit, as an argument of an operator."""
    return TermOperand(Quantity(Constant(number), unit))


def call(name: str, *arguments: Any) -> Expression:
    """An operator call."""
    return Call(name, tuple(cast(Argument, _term(argument)) for argument in arguments))


def pattern(text: str, prefixes: Mapping[str, str] | None = None) -> Expression:
    """A graph pattern, in SPARQL's syntax: ``pattern("{ ?item dct:creator ?who }")``."""
    parsed = parse(text, prefixes=prefixes)
    if not isinstance(parsed, Pattern):
        raise SubscriptionError("a graph pattern is written in braces: { ?s ?p ?o }")
    return parsed


def timestamp(text: str) -> Timestamp:
    """An instant, from ISO 8601."""
    try:
        return Timestamp.parse(text)
    except ValueError as error:
        raise SubscriptionError(str(error)) from error


def _term(raw: Any) -> Operand:
    return raw.term if isinstance(raw, OperandBuilder) else Constant(raw)


def _constant(raw: Any) -> Constant:
    if isinstance(raw, OperandBuilder):
        raise SubscriptionError(f"this predicate takes constants only, not {raw!r}")
    return Constant(raw)
