"""What an engine refuses, and what it warns of."""

from __future__ import annotations

import warnings

from tamis.engine.subscription import Subscription
from tamis.errors import CostlyWarning, NeverMatchesWarning, SubscriptionError, UnsupportedError
from tamis.model.limits import Limits
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.expression import Call, Expression, IsA, Pattern, nodes_within
from tamis.predicates.normal import normalise

_CALLER = 4
"""From the warning to whom it is for: who subscribes."""


def check_supported(expression: Expression, taxonomies: Taxonomies) -> None:
    """Refuse what only other rooms can match, and ``is a`` of what no taxonomy knows."""
    for node in nodes_within(expression):
        if isinstance(node, Call | Pattern):
            what = "operator calls" if isinstance(node, Call) else "graph patterns"
            raise UnsupportedError(
                f"{what} cannot be matched by this engine, which knows attributes only: {node}"
            )
        if isinstance(node, IsA):
            taxonomy = taxonomies.of(node.attribute.path)
            if taxonomy is None:
                raise SubscriptionError(
                    f"'{node}' needs a taxonomy: Engine(taxonomy={{term: [parents]}})"
                )
            taxonomy.check(str(node.ancestor.value))


def warn_of(new: Subscription, limits: Limits, *, costs: bool) -> None:
    """Warn of a subscription that never matches or, if it is to be compiled, costs events dearly;
    raise if it costs more than a limit allows."""
    form = normalise(new.expression, limits)
    if form.never_matches:
        message = f"the subscription {new.id!r} contradicts itself and never matches"
        warnings.warn(message, NeverMatchesWarning, stacklevel=_CALLER)
    elif costs:
        from tamis.matching.planning.cost import REMEDY, costly

        cost = costly(form, limits)
        if cost is not None:
            message = f"the subscription {new.id!r} costs {cost}; {REMEDY}"
            warnings.warn(message, CostlyWarning, stacklevel=_CALLER)
