"""Expressions under a schema: attributes and constants checked, orders of domains made explicit.

    period >= 'XVII'       period in ('XVII', 'XVIII') or period < ''
    category < 'table'     category is a 'table' and category != 'table'
    category >= 'table'    category in ('dining room', 'furniture', 'table') or category < ''
    sold < '2026-01-01'    sold < timestamp '2026-01-01T00:00:00Z'

What comes out has the meaning that the schema gives to what went in, under every matcher. Values
that the order of a domain leaves incomparable make a predicate false, while values of another kind
leave it unknown, as a missing attribute does. ``x in (…)`` alone would be false of a number;
``x < ''`` is false of every string and unknown of all else, and so is their disjunction where it
must be, also under a negation. To resolve twice is to resolve once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import singledispatchmethod
from typing import Any

from tamis.errors import SubscriptionError
from tamis.model.kinds import ORDERED, Kind
from tamis.model.paths import Path, format_path
from tamis.model.schema.domains import Domain, EnumeratedDomain, HierarchicalDomain
from tamis.model.schema.schema import Schema
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    EQUALITIES,
    And,
    Between,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Or,
    Present,
    TextTest,
    TruthTest,
    all_of,
    any_of,
    nodes_within,
)
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand, operands_within
from tamis.predicates.printing import format_value
from tamis.predicates.texts import fold


def resolve(expression: Expression, schema: Schema) -> Expression:
    """The expression with the meaning that a schema gives it; a SubscriptionError if it has none.

    Operator calls and graph patterns, which name no attributes, stay as they are.
    """
    return _Resolver(schema).resolve(expression)


def is_settled(expression: Expression, schema: Schema) -> bool:
    """Whether it means the same with the schema, and would with any other constants of their
    kinds."""
    if any(_looks_at_constants(node, schema) for node in nodes_within(expression)):
        return False
    return resolve(expression, schema) is expression


def _looks_at_constants(node: Expression, schema: Schema) -> bool:
    if isinstance(node, Present | TextTest | InCidr):
        return False
    terms = list(node.operands())
    constants = [term for term in terms if isinstance(term, Constant)]
    ranged = isinstance(node, Between) or (
        isinstance(node, Comparison) and node.operator not in EQUALITIES
    )
    for term in terms:
        domain = schema.domain(term.path) if isinstance(term, Attribute) else None
        if domain is None or not constants:
            continue
        if not domain.is_open and not (ranged and domain.kind is Kind.NUMBER):
            return True
        if any(constant.kind is not domain.kind for constant in constants):
            return True
    return False


class _Resolver:
    """Walks over one expression; what does not change is not copied."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @singledispatchmethod
    def resolve(self, node: Any) -> Expression:
        """The node with its meaning under the schema."""
        assert isinstance(node, Expression)
        return node

    @resolve.register
    def _(self, node: And) -> Expression:
        parts = tuple(map(self.resolve, node.parts))
        return node if _same(parts, node.parts) else all_of(*parts)

    @resolve.register
    def _(self, node: Or) -> Expression:
        parts = tuple(map(self.resolve, node.parts))
        return node if _same(parts, node.parts) else any_of(*parts)

    @resolve.register
    def _(self, node: Not) -> Expression:
        part = self.resolve(node.part)
        return node if part is node.part else Not(part)

    @resolve.register
    def _(self, node: TruthTest) -> Expression:
        part = self.resolve(node.part)
        return node if part is node.part else TruthTest(part, node.truth)

    @resolve.register
    def _(self, node: Comparison) -> Expression:
        if not isinstance(node.left, Attribute) or not isinstance(node.right, Constant):
            self._check_terms(node)
            return node
        domain = self._domain(node.left)
        if _is_never(node) and isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            return node
        exact = node.operator in EQUALITIES
        constant = self._constant(node.left, domain, node.right, exact, node.ignore_case)
        if not exact and isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            return _ordered(node.left, node.operator, domain, constant)
        if constant is node.right:
            return node
        return Comparison(node.left, node.operator, constant, node.ignore_case)

    @resolve.register
    def _(self, node: Between) -> Expression:
        domain = self._domain(node.attribute)
        low, high = (
            self._constant(node.attribute, domain, each, False) for each in (node.low, node.high)
        )
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            return all_of(
                _ordered(node.attribute, ">=", domain, low),
                _ordered(node.attribute, "<=", domain, high),
            )
        if low is node.low and high is node.high:
            return node
        return Between(node.attribute, low, high)

    @resolve.register
    def _(self, node: In) -> Expression:
        domain = self._domain(node.attribute)
        values = tuple(
            self._constant(node.attribute, domain, value, True, node.ignore_case)
            for value in node.values
        )
        return node if _same(values, node.values) else In(node.attribute, values, node.ignore_case)

    @resolve.register
    def _(self, node: Contains) -> Expression:
        domain = self._domain(node.attribute)
        value = self._constant(node.attribute, domain, node.value, True, node.ignore_case)
        return node if value is node.value else Contains(node.attribute, value, node.ignore_case)

    @resolve.register
    def _(self, node: IsA) -> Expression:
        domain = self._domain(node.attribute)
        if not isinstance(domain, HierarchicalDomain):
            raise SubscriptionError(
                f"'{node}' needs a hierarchical domain; '{node.attribute}' has {domain}"
            )
        self._constant(node.attribute, domain, node.ancestor, True)
        return node

    @resolve.register
    def _(self, node: TextTest | InCidr) -> Expression:
        domain = self._domain(node.attribute)
        if domain.kind is not Kind.STRING:
            raise SubscriptionError(f"'{node}' needs strings; '{node.attribute}' has {domain}")
        return node

    @resolve.register
    def _(self, node: Present) -> Expression:
        if node.attribute.path not in self._schema.inner:
            self._domain(node.attribute)
        return node

    def _domain(self, attribute: Attribute) -> Domain:
        domain = self._schema.domain(attribute.path)
        if domain is None:
            raise SubscriptionError(self._unknown(attribute.path))
        return domain

    def _unknown(self, path: Path) -> str:
        inside = [each for each in self._schema.attributes if each[: len(path)] == path]
        if not inside:
            return self._schema.unknown(path)
        shown = ", ".join(map(format_path, inside[:5])) + (", …" if len(inside) > 5 else "")
        return f"'{format_path(path)}' is a mapping, not a value; it holds {shown}"

    def _constant(
        self,
        attribute: Attribute,
        domain: Domain,
        constant: Constant,
        exact: bool,
        ignore_case: bool = False,
    ) -> Constant:
        """The constant, as a value of the domain; inexact ones may lie outside of its bounds."""
        value = constant.value
        if domain.kind is Kind.TIMESTAMP and isinstance(value, str) and not ignore_case:
            try:
                return Constant(Timestamp.parse(value))
            except ValueError as error:
                remedy = "write it as '2026-01-31' or '2026-01-31T12:00:00Z'"
                said = f"'{attribute}' has timestamps: {error}; {remedy}"
                raise SubscriptionError(said) from error
        if constant.kind is not domain.kind:
            hint = _REMEDIES.get((domain.kind, constant.kind))
            raise SubscriptionError(
                f"'{attribute}' has {domain}, and {format_value(value)} is a {constant.kind}"
                + (f"; {hint}" if hint else "")
            )
        if domain.is_open or (domain.kind is Kind.NUMBER and not exact):
            return constant
        if value not in domain and not (ignore_case and _folded_in(str(value), domain)):
            hint = domain.hint(value)
            raise SubscriptionError(
                f"{format_value(value)} is not a value of '{attribute}'"
                + (f"; {hint}" if hint else "")
            )
        return constant

    def _check_terms(self, node: Comparison) -> None:
        """Refuse a comparison of terms that have not one kind, or not its order."""
        left, right = self._kind(node.left, node), self._kind(node.right, node)
        if left is None or right is None:
            return
        if left is not right:
            raise SubscriptionError(f"'{node}' compares a {left} with a {right}")
        if node.operator in EQUALITIES:
            return
        if left not in ORDERED:
            raise SubscriptionError(f"'{node}' asks for an order, which a {left} does not have")
        for term in (node.left, node.right):
            domain = self._domain(term) if isinstance(term, Attribute) else None
            if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
                raise SubscriptionError(
                    f"'{term}' has an order of its own: compare it with a constant, not as in "
                    f"'{node}'"
                )

    def _kind(self, term: Operand, node: Comparison) -> Kind | None:
        """The kind of a term; None if that is not known."""
        if isinstance(term, Constant):
            return term.kind
        if isinstance(term, Attribute):
            return self._domain(term).kind
        if not isinstance(term, Arithmetic):
            return None
        for inner in operands_within(term):
            if isinstance(inner, Attribute) and self._domain(inner).kind is not Kind.NUMBER:
                raise SubscriptionError(
                    f"'{node}' calculates with '{inner}', which has {self._domain(inner)}"
                )
        return Kind.NUMBER


_EMPTY = Constant("")
_REMEDIES = {
    (Kind.STRING, Kind.NUMBER): "put it in quotes",
    (Kind.NUMBER, Kind.STRING): "write a number without quotes",
    (Kind.BOOLEAN, Kind.STRING): "write true or false without quotes",
    (Kind.BOOLEAN, Kind.NUMBER): "write true or false",
}


def _ordered(
    attribute: Attribute,
    operator: str,
    domain: EnumeratedDomain | HierarchicalDomain,
    constant: Constant,
) -> Expression:
    """A comparison by the order of a domain."""
    value = str(constant.value)
    other = Comparison(attribute, "!=", constant)
    if isinstance(domain, HierarchicalDomain):
        if operator in ("<", "<="):
            kinds = IsA(attribute, constant)
            return kinds if operator == "<=" else all_of(kinds, other)
        found: Collection[str] = domain.taxonomy.ancestors(value)
    elif not domain.order:
        raise SubscriptionError(
            f"'{attribute} {operator} {format_value(value)}' asks for an order, which the domain "
            f"of '{attribute}' does not have; compare with = or in"
        )
    else:
        found = domain.at_least(value) if operator in (">", ">=") else domain.at_most(value)
    return _among(attribute, set(found) - ({value} if operator in ("<", ">") else set()))


def _among(attribute: Attribute, values: Iterable[str]) -> Expression:
    """True of these strings, false of all other strings, and unknown of everything else."""
    never = Comparison(attribute, "<", _EMPTY)
    constants = tuple(map(Constant, sorted(values)))
    return any_of(In(attribute, constants), never) if constants else never


def _is_never(node: Comparison) -> bool:
    return node.operator == "<" and node.right == _EMPTY


def _folded_in(text: str, domain: Domain) -> bool:
    values: Iterable[str] = ()
    if isinstance(domain, EnumeratedDomain):
        values = domain.values
    elif isinstance(domain, HierarchicalDomain):
        values = domain.taxonomy
    return any(fold(value) == fold(text) for value in values)


def _same(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))
