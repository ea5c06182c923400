"""The expression tree, the one form of a subscription that everything else works on.

    Expression
    ├── Comparison     price < 5          new.price < old.price         ?d * 2 < price
    ├── Between        price between 1 and 5
    ├── In             color in ('red', 'blue')
    ├── IsA            category is a 'furniture'
    ├── Contains       tags contains 'new'                    (whole set of values)
    ├── Present        price is present                       (whole set of values)
    ├── TextTest       title starts with | ends with | contains text | like | matches 'x'
    ├── InCidr         ip in cidr ('10.0.0.0/8')
    ├── Call           near('Bronx', ?d)
    ├── Pattern        { ?item dct:creator ?who }
    ├── And, Or        of none (true, false), or of two and more, never directly of their like
    ├── TruthTest      (a = 1 or b = 2) is true | is false | is unknown
    └── Not            (``x is missing`` is ``Not(Present(x))``, ``is not true`` likewise)

Nodes are immutable and valid: what cannot be a subscription cannot be built. Equality is
structural and knows kinds (``x = 1`` is not ``x = true``). ``str`` gives the text notation, which
parses back to an equal tree, ``repr`` the Python notation, which evaluates to one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import ClassVar

from tamis.errors import SubscriptionError
from tamis.model.kinds import KIND_TYPES, ORDERED
from tamis.model.limits import LIMITS, MAX_DEPTH, check_limit
from tamis.model.rdf_terms import Iri, RdfLiteral
from tamis.predicates.node import node
from tamis.predicates.operands import (
    Attribute,
    Constant,
    Operand,
    Quantity,
    RdfConstant,
    StringOf,
    Variable,
    check_name,
    nested,
    operands_within,
)
from tamis.predicates.texts import compile_regex, like_to_regex

FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison operators, each with the one that says the same with its sides exchanged."""
EQUALITIES = frozenset({"=", "!="})
_ORDERED_TYPES = frozenset(kind for ordered in ORDERED for kind in KIND_TYPES[ordered])

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Expression:
    """A boolean expression: combine expressions with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    depth: int = 0

    def children(self) -> Iterator[Expression]:
        """The expressions directly inside this one."""
        return iter(())

    def operands(self) -> Iterator[Operand]:
        """The attributes, constants and variables that this node itself names."""
        return iter(())

    def __and__(self, other: Expression) -> Expression:
        return all_of(self, other) if isinstance(other, Expression) else NotImplemented

    def __or__(self, other: Expression) -> Expression:
        return any_of(self, other) if isinstance(other, Expression) else NotImplemented

    def __invert__(self) -> Expression:
        return Not(self)

    def is_true(self) -> Expression:
        """True if this expression is true, false if it is false or unknown."""
        return TruthTest(self, "true")

    def is_false(self) -> Expression:
        """True if this expression is false, false if it is true or unknown."""
        return TruthTest(self, "false")

    def is_unknown(self) -> Expression:
        """True if this expression is unknown, false if it is true or false."""
        return TruthTest(self, "unknown")

    def unless(self, exception: Expression) -> Expression:
        """This expression, except where ``exception`` is true."""
        return all_of(self, Not(exception.is_true()))

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value before it meets an event; use &, | and ~ instead of "
            "and, or and not, and x.between(a, b) instead of a <= x <= b"
        )

    def __str__(self) -> str:
        from tamis.predicates.printing import to_text

        return to_text(self)

    def __repr__(self) -> str:
        from tamis.predicates.python_printing import to_python

        return to_python(self)


@node
class Comparison(Expression):
    """A comparison of two terms; a lone constant is on the right."""

    left: Operand
    operator: str
    right: Operand
    ignore_case: bool = False

    def __post_init__(self) -> None:
        left, right = self.left, self.right
        if self.operator not in FLIPPED:
            raise SubscriptionError(f"unknown comparison {self.operator!r}")
        if type(left) is Constant:
            if type(right) is Constant:
                raise SubscriptionError("a comparison of two constants does not look at the event")
            left, right = right, left
            object.__setattr__(self, "left", left)
            object.__setattr__(self, "right", right)
            object.__setattr__(self, "operator", FLIPPED[self.operator])
        if type(left) is Quantity or type(right) is Quantity:
            raise SubscriptionError("only arguments of operators can have units")
        is_equality = self.operator in EQUALITIES
        if type(right) is Constant:
            if not is_equality:
                _check_ordered(right)
            if self.ignore_case:
                _check_string(right, "a comparison ignoring case")
        if self.ignore_case and not is_equality:
            raise SubscriptionError(f"'{self.operator}' has no form that ignores case")

    def operands(self) -> Iterator[Operand]:
        yield self.left
        yield self.right


@node
class Between(Expression):
    """``low <= attribute <= high``, of one kind."""

    attribute: Attribute
    low: Constant
    high: Constant

    def __post_init__(self) -> None:
        _check_ordered(self.low)
        if self.low.kind is not self.high.kind:
            raise SubscriptionError(
                f"between needs two bounds of one kind, not a {self.low.kind} and a "
                f"{self.high.kind}"
            )

    def operands(self) -> Iterator[Operand]:
        yield self.attribute
        yield self.low
        yield self.high


@node
class In(Expression):
    """The attribute equals one of several constants."""

    attribute: Attribute
    values: tuple[Constant, ...]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise SubscriptionError("'in' needs at least one value")
        check_limit(len(self.values), LIMITS.items, "values of 'in'")
        if self.ignore_case:
            for value in self.values:
                _check_string(value, "'in' ignoring case")

    def operands(self) -> Iterator[Operand]:
        yield self.attribute
        yield from self.values


@node
class IsA(Expression):
    """The attribute's value is the term or a kind of it, by the taxonomy."""

    attribute: Attribute
    ancestor: Constant

    def __post_init__(self) -> None:
        _check_string(self.ancestor, "'is a'")

    def operands(self) -> Iterator[Operand]:
        yield self.attribute
        yield self.ancestor


@node
class Contains(Expression):
    """The constant is among the attribute's values (Le Subscribe, section 2.3)."""

    attribute: Attribute
    value: Constant
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.ignore_case:
            _check_string(self.value, "'contains' ignoring case")

    def operands(self) -> Iterator[Operand]:
        yield self.attribute
        yield self.value


@node
class Present(Expression):
    """The event has the attribute, even if its list is empty."""

    attribute: Attribute

    def operands(self) -> Iterator[Operand]:
        yield self.attribute


@node
class TextTest(Expression):
    """A test on the text of a string."""

    OPERATORS: ClassVar[tuple[str, ...]] = (
        "starts with",
        "ends with",
        "contains text",
        "like",
        "matches",
    )

    attribute: Attribute
    operator: str
    pattern: Constant
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.operator not in self.OPERATORS:
            raise SubscriptionError(f"unknown test of text {self.operator!r}")
        if type(self.pattern.value) is not str:
            _check_string(self.pattern, repr(self.operator))
        if self.operator == "like":
            like_to_regex(str(self.pattern.value))
        elif self.operator == "matches":
            compile_regex(str(self.pattern.value), ignore_case=self.ignore_case)

    def operands(self) -> Iterator[Operand]:
        yield self.attribute
        yield self.pattern


@node
class InCidr(Expression):
    """The attribute is an IP address within one of several networks."""

    attribute: Attribute
    networks: tuple[Network, ...]

    def __post_init__(self) -> None:
        if not self.networks:
            raise SubscriptionError("'in cidr' needs at least one network")
        check_limit(len(self.networks), LIMITS.items, "networks of 'in cidr'")

    def operands(self) -> Iterator[Operand]:
        yield self.attribute


Argument = Constant | Variable | Quantity


@node
class Call(Expression):
    """An operator applied to the event, with constants and variables."""

    name: str
    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        check_name(self.name, "operator")
        if self.name.lower() == "now":
            raise SubscriptionError(
                "now() is refused: a subscription must not depend on when it is evaluated; "
                "compare with a timestamp that the event carries, or with a fixed one"
            )
        check_limit(len(self.arguments), LIMITS.items, "arguments of an operator")
        for argument in self.arguments:
            if not isinstance(argument, Constant | Variable | Quantity):
                raise SubscriptionError(
                    f"an argument of {self.name}() must be a constant or a ?variable"
                )

    def operands(self) -> Iterator[Operand]:
        return iter(self.arguments)


@node
class TermTest(Expression):
    """A test of a variable in a FILTER, by one of SPARQL's functions or by the taxonomy."""

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("regex", "strstarts")
    RELATIONS: ClassVar[tuple[str, ...]] = ("descendant of", "ancestor of", "direct instance of")

    operand: Variable | StringOf
    operator: str
    value: Constant | RdfConstant | None = None
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.operand, Variable | StringOf):
            raise SubscriptionError(f"{self.operator} tests a ?variable or str(?variable)")
        if self.operator in self.FUNCTIONS:
            if not isinstance(self.value, Constant):
                raise SubscriptionError(f"{self.operator}() needs a string")
            _check_string(self.value, f"{self.operator}()")
            if self.operator == "regex":
                compile_regex(str(self.value.value), ignore_case=self.ignore_case)
        elif self.operator in self.RELATIONS:
            named = isinstance(self.value, RdfConstant) and isinstance(self.value.term, Iri)
            if not named or not isinstance(self.operand, Variable):
                raise SubscriptionError(
                    f"{self.operator!r} relates a ?variable to the IRI of a class"
                )
        elif self.operator != "bound":
            raise SubscriptionError(f"unknown test {self.operator!r} of a FILTER")
        elif self.value is not None or not isinstance(self.operand, Variable):
            raise SubscriptionError("bound() takes a ?variable")
        if self.ignore_case and self.operator != "regex":
            raise SubscriptionError(f"{self.operator} has no form that ignores case")

    def operands(self) -> Iterator[Operand]:
        yield self.operand
        if self.value is not None:
            yield self.value


Subject = Iri | Variable
Object = Iri | RdfLiteral | Variable
Triple = tuple[Subject, Subject, Object]
_RESOURCES, _OBJECTS = (Iri, Variable), (Iri, Variable, RdfLiteral)


@node
class Pattern(Expression):
    """A graph pattern: triples with variables, and filters on the variables."""

    triples: tuple[Triple, ...]
    filters: tuple[Expression, ...] = ()
    depth: int = 0

    def __post_init__(self) -> None:
        if not self.triples:
            raise SubscriptionError("a graph pattern needs at least one triple")
        check_limit(len(self.triples), LIMITS.pattern, "triples of one graph pattern")
        for subject, predicate, value in self.triples:
            if type(subject) not in _RESOURCES or type(predicate) not in _RESOURCES:
                raise SubscriptionError("subject and property of a triple are IRIs or variables")
            if type(value) not in _OBJECTS:
                raise SubscriptionError("an object is an IRI, a literal or a variable")
        deepest = 0
        if self.filters:
            bound = {term for triple in self.triples for term in triple if type(term) is Variable}
            for filter_ in self.filters:
                _check_filter(filter_, bound)
            deepest = max(1 + part.depth for part in self.filters)  # in parentheses
        object.__setattr__(self, "depth", nested(deepest))

    def children(self) -> Iterator[Expression]:
        return iter(self.filters)

    def operands(self) -> Iterator[Operand]:
        return (term for triple in self.triples for term in triple if type(term) is Variable)

    def variables(self) -> dict[Variable, None]:
        """The variables of the triples, in the order of their first use."""
        return dict.fromkeys(self.operands())  # type: ignore[arg-type]  # they are variables


@node
class And(Expression):
    """All of the parts; of none, true. Built by ``all_of``."""

    parts: tuple[Expression, ...]
    depth: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _check_parts(self.parts, And))

    def children(self) -> Iterator[Expression]:
        return iter(self.parts)


@node
class Or(Expression):
    """Any of the parts; of none, false. Built by ``any_of``."""

    parts: tuple[Expression, ...]
    depth: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _check_parts(self.parts, Or))

    def children(self) -> Iterator[Expression]:
        return iter(self.parts)


@node
class Not(Expression):
    """The negation of a part; of an unknown one, unknown."""

    part: Expression
    depth: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", nested(self.part.depth))

    def children(self) -> Iterator[Expression]:
        yield self.part


@node
class TruthTest(Expression):
    """Whether a part is true, false or unknown; this is never unknown itself."""

    TRUTHS: ClassVar[tuple[str, ...]] = ("true", "false", "unknown")

    part: Expression
    truth: str
    depth: int = 0

    def __post_init__(self) -> None:
        if self.truth not in self.TRUTHS:
            raise SubscriptionError(f"a part is true, false or unknown, not {self.truth!r}")
        object.__setattr__(self, "depth", nested(self.part.depth))

    def children(self) -> Iterator[Expression]:
        yield self.part


def all_of(*parts: Expression) -> Expression:
    """The conjunction of the parts."""
    flat = _flatten(parts, And)
    return flat[0] if len(flat) == 1 else And(flat)


def any_of(*parts: Expression) -> Expression:
    """The disjunction of the parts."""
    flat = _flatten(parts, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def parse_network(text: str) -> Network:
    """A network from CIDR notation, or an address as a network of one."""
    try:
        if "%" in text:
            raise ValueError("an address with a scope has no network")
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise SubscriptionError(f"{text[:50]!r} is not a network: {str(error)[:200]}") from error


def nodes_within(expression: Expression) -> Iterator[Expression]:
    """The expression and all expressions inside it, in the order of the text."""
    left = [expression]
    while left:
        node = left.pop()
        yield node
        if node.depth:  # of what has nothing inside it is 0
            left += reversed(tuple(node.children()))


def kinds_within(expression: Expression) -> set[type[Expression]]:
    """The types of the expression and of all expressions inside it."""
    kinds, left = {type(expression)}, [expression]
    while left:
        children = tuple(left.pop().children())
        kinds.update(map(type, children))
        left += [child for child in children if child.depth]
    return kinds


def _flatten(parts: tuple[Expression, ...], kind: type[And] | type[Or]) -> tuple[Expression, ...]:
    flat: list[Expression] = []
    for part in parts:
        if isinstance(part, kind) and part.parts:
            flat.extend(part.parts)
        else:
            flat.append(part)
    return tuple(flat)


def _check_parts(parts: tuple[Expression, ...], kind: type[And] | type[Or]) -> int:
    """The depth of a node over the parts."""
    if len(parts) > LIMITS.operands:
        check_limit(len(parts), LIMITS.operands, f"operands of one {kind.__name__.lower()!r}")
    deepest = 0
    for part in parts:
        if len(parts) == 1 or (type(part) is kind and part.parts):
            raise SubscriptionError("build conjunctions with all_of and disjunctions with any_of")
        if part.depth > deepest:
            deepest = part.depth
    return deepest + 1 if deepest < MAX_DEPTH else nested(deepest)


def _check_ordered(constant: Constant) -> None:
    if type(constant.value) not in _ORDERED_TYPES:
        raise SubscriptionError(f"a {constant.kind} has no order: compare it with = or !=")


def _check_string(constant: Constant, what: str) -> None:
    if type(constant.value) is not str:
        raise SubscriptionError(f"{what} needs a string, not a {constant.kind}")


def _check_filter(expression: Expression, bound: set[Variable]) -> None:
    for part in nodes_within(expression):
        if not isinstance(part, Comparison | TermTest | And | Or | Not):
            raise SubscriptionError("a FILTER can only compare variables")
        for term in (inner for side in part.operands() for inner in operands_within(side)):
            if isinstance(term, Attribute):
                raise SubscriptionError(
                    f"a FILTER can only use variables; write {term} outside the braces"
                )
            if isinstance(term, Variable) and term not in bound:
                raise SubscriptionError(
                    f"?{term.name} in a FILTER is not in any triple of its pattern"
                )
