"""The published algorithms by their names, with options; what they need is imported when used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from tamis.errors import TamisError, suggestion
from tamis.matching.protocol import Matcher
from tamis.matching.setting import Setting

ALGORITHMS = {
    "naive": "naive.Naive",
    "fair_predicate": "counting.fair_predicate.FairPredicate",
    "equality_preferred": "clusters.equality_preferred.EqualityPreferred",
    "quarantining": "clusters.quarantining.Quarantining",
    "gough": "gough.Gough",
    "hanson": "interval.hanson.Hanson",
    "gryphon": "gryphon.gryphon.Gryphon",
    "neon": "neon.neon.Neon",
    "mbd": "mbd.mbd.MBD",
}
"""The published algorithms by name: where in tamis.published the class of the index is."""

_TYPES = "types"
"""The option of all: how event types are kept apart."""
_INNER = ("table", "order", "events")
"""What indexes take that speaks of axes by their numbers, which nobody outside knows."""


@dataclass(frozen=True)
class Algorithm:
    """A published algorithm as the matcher of an engine: ``Algorithm("gryphon", collapse=False)``.

    Options are those of the algorithm, and ``types``: by ``"structures"`` each event type has
    structures of its own, by ``"names"`` all share one, where attributes of types have own names.
    They are values of JSON.
    """

    name: str
    options: Mapping[str, Any]

    def __init__(self, name: str, **options: Any) -> None:
        if name not in ALGORITHMS:
            hint = suggestion(str(name), ALGORITHMS) or "there are " + ", ".join(ALGORITHMS)
            raise TamisError(f"no published algorithm is called {name!r}; {hint}")
        try:
            values = json.loads(json.dumps(options, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise TamisError(f"the options of {name!r} must be values of JSON: {error}") from error
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", values)

    def __call__(self, setting: Setting) -> Matcher:
        """A matcher that has nothing yet."""
        from tamis.published.boxes import BoxTable
        from tamis.published.frame.event_types import way_of
        from tamis.published.frame.matcher import PublishedMatcher
        from tamis.published.frame.state import Make

        index = index_class(self.name)
        options = dict(self.options)
        types = way_of(index, options.pop(_TYPES, None))
        self._check(options, _options_of(index))
        make = Make(partial(index, **options), getattr(index, "takes_comparisons", False))
        try:
            make.new(BoxTable())
        except (TypeError, ValueError) as error:
            raise TamisError(f"the matcher {self.name!r} refuses its options: {error}") from error
        matcher: Matcher = PublishedMatcher(setting, make, types)
        return matcher

    def _check(self, options: Mapping[str, Any], known: list[str]) -> None:
        for option in options:
            if option not in known:
                hint = suggestion(option, known) or "it has " + ", ".join(known)
                raise TamisError(f"the matcher {self.name!r} has no option {option!r}; {hint}")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Algorithm({self.name!r}{options})"

    def __hash__(self) -> int:
        return hash((self.name, json.dumps(self.options, sort_keys=True)))


def index_class(name: str) -> Any:
    """The class of an algorithm's index."""
    module, _, index = ALGORITHMS[name].rpartition(".")
    return getattr(import_module(f"tamis.published.{module}"), index)


def _options_of(index: Any) -> list[str]:
    """The options of an index, and the one of all."""
    from inspect import signature

    return [*(name for name in signature(index).parameters if name not in _INNER), _TYPES]


def matcher_to_json(matcher: str | Algorithm) -> Any:
    """A matcher as a setting."""
    if isinstance(matcher, str):
        return matcher
    return {"published": matcher.name, "options": matcher.options}


def matcher_from_json(form: Any) -> str | Algorithm:
    """The matcher of ``matcher_to_json``."""
    if isinstance(form, Mapping):
        return Algorithm(form["published"], **form["options"])
    return str(form)
