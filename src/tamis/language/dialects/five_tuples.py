"""G-ToPSS's own form: a list of (subject, property, object, constraints, constraints).

    [["?y", "x:author", "x:arno", [{"kind": "is-a", "op": "<=", "value": "x:Publication"}], []],
     ["x:sigmod", "x:year", "?x", [], [{"kind": "value", "op": ">", "value": 1999}]]]

Strings are variables (``?x``) or IRIs; literals are ``{"literal": …}`` as in the JSON form, or
plain integers and booleans, which are those of XML Schema. The operators of the paper mean two
things, so each constraint says which: of a *value* they compare, of *is-a* ``<=`` is descendant
of, ``>=`` ancestor of and ``=`` direct instance of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tamis.errors import SubscriptionError
from tamis.model.limits import LIMITS, Limits, check_limit
from tamis.model.rdf_terms import XSD, Iri, RdfLiteral
from tamis.predicates.expression import FLIPPED, Comparison, Expression, Pattern, TermTest
from tamis.predicates.operands import Constant, RdfConstant, Variable

_RELATIONS = {"<=": "descendant of", ">=": "ancestor of", "=": "direct instance of"}


def five_tuples(form: Sequence[Any], *, limits: Limits = LIMITS) -> Pattern:
    """The pattern of a list of 5-tuples, as ``json.loads`` gives it."""
    if not isinstance(form, list | tuple):
        raise SubscriptionError("a subscription is a list of 5-tuples")
    check_limit(len(form), limits.pattern, "triples of one graph pattern")
    triples, filters = [], []
    for place, item in enumerate(form):
        where = f" in tuple {place}"
        if not isinstance(item, list | tuple) or len(item) != 5:
            raise SubscriptionError(
                "subject, property, object and two lists of constraints make a tuple; "
                f"tuple {place} has not these five"
            )
        subject, label, value = (_term(part, where) for part in item[:3])
        triples.append((subject, label, value))
        for term, constraints in ((subject, item[3]), (value, item[4])):
            if not isinstance(constraints, list | tuple):
                raise SubscriptionError(f"constraints are a list{where}")
            check_limit(len(constraints), limits.items, "constraints of one vertex")
            filters += [_constraint(term, each, where) for each in constraints]
    return Pattern(tuple(triples), tuple(filters))  # type: ignore[arg-type]  # which checks them


def _term(raw: Any, where: str) -> Iri | RdfLiteral | Variable:
    if isinstance(raw, str):
        return Variable(raw[1:]) if raw[:1] == "?" else Iri(raw)
    if isinstance(raw, bool):
        return RdfLiteral(str(raw).lower(), XSD + "boolean")
    if isinstance(raw, int):
        return RdfLiteral(str(raw), XSD + "integer")
    if isinstance(raw, dict) and isinstance(raw.get("literal"), str):
        extra = set(raw) - {"literal", "datatype", "language"}
        if not extra:
            datatype = raw.get("datatype", XSD + "string")
            return RdfLiteral(raw["literal"], datatype, raw.get("language"))
    raise SubscriptionError(
        f"{str(raw)[:80]!r} is not a term{where}: write '?x', an IRI, a whole number, true, false "
        'or {"literal": "…"}'
    )


def _constraint(term: Any, raw: Any, where: str) -> Expression:
    keys = {"kind", "op", "value"}
    if not isinstance(raw, dict) or set(raw) != keys:
        raise SubscriptionError(f"a constraint has the keys kind, op and value{where}")
    if not isinstance(term, Variable):
        raise SubscriptionError(f"only a variable can have constraints{where}")
    kind, operator, value = raw["kind"], raw["op"], raw["value"]
    if kind == "value" and operator in FLIPPED:
        return Comparison(term, operator, Constant(value))
    if kind == "is-a" and operator in _RELATIONS:
        return TermTest(term, _RELATIONS[operator], RdfConstant(Iri(value)))
    raise SubscriptionError(
        f"a constraint of kind {str(kind)[:20]!r} with the operator {str(operator)[:20]!r}{where}; "
        "the kinds are 'value' and 'is-a', and is-a has <=, >= and ="
    )
