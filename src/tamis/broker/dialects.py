"""The notations in which a broker takes subscriptions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tamis.broker.settings import BrokerSettings
from tamis.broker.storage.database import check_storable
from tamis.errors import SubscriptionError, suggestion
from tamis.language import dialects
from tamis.language.json_form import from_json
from tamis.model.limits import check_limit
from tamis.predicates.expression import Expression

DIALECTS: Mapping[str, Callable[[Any], Expression]] = {
    "five_tuples": dialects.five_tuples,
    "sparql": dialects.sparql,
}
"""Those beside ``tamis``, its own text, and ``json``, its own JSON form."""


def text_of(given: Any, dialect: str, settings: BrokerSettings) -> tuple[str, str | None]:
    """A subscription as Tamis's own text, and what was given if that is something else."""
    text, source = _text_of(given, dialect, settings)
    for each in (text, source or ""):
        check_storable(each, "the subscription")
    return text, source


def _text_of(given: Any, dialect: str, settings: BrokerSettings) -> tuple[str, str | None]:
    if dialect == "tamis" and isinstance(given, str):
        return given, None
    if isinstance(given, Expression):
        return str(given), None
    try:
        source = given if isinstance(given, str) else json.dumps(given, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SubscriptionError(f"a subscription is a text or JSON: {error}") from error
    check_limit(len(source), settings.limits.text, "characters in the text of one subscription")
    if dialect in ("tamis", "json"):
        if not isinstance(given, Mapping):
            raise SubscriptionError("the JSON form of a subscription is an object")
        return str(from_json(given, settings.limits)), source
    read = DIALECTS.get(dialect)
    if read is None:
        known = ["tamis", "json", *DIALECTS]
        hint = suggestion(dialect, known) or "there are " + ", ".join(known)
        raise SubscriptionError(f"unknown dialect {dialect!r:.100}; {hint}")
    return str(read(given)), source
