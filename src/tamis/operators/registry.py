"""The operators that every engine knows: those declared with ``@tamis.operator``, and those that
installed packages bring.

A package names its operators in its entry points; they are imported when a subscription first
calls them:

    [project.entry-points."tamis.operators"]
    people_count = "their_package.vision:people_count"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, overload

from tamis.errors import MissingExtraError, StorageError, TamisError
from tamis.operators.operator import Operator, to_operators

LIBRARY = {
    "in_region": "spatial",
    "within": "spatial",
    "distance_from": "spatial",
    "near": "spatial",
    "keywords": "text",
    "similar_to": "similarity",
    "people_count": "image",
    "face_count": "image",
    "brightness": "image",
    "motion": "image",
    "lookup": "database",
    "ask": "http",
    "derives": "rules",
    "instance_of": "ontology",
}
"""The operators of Tamis itself, by the module of ``operators/library`` that has them."""
GROUP = "tamis.operators"
"""The group of entry points under which packages bring operators."""

_DECLARED: dict[str, Operator] = {}


@overload
def operator(function: Callable[..., Any] | Operator, /) -> Operator: ...


@overload
def operator(
    signature: str | None = None, /, **settings: Any
) -> Callable[[Callable[..., Any]], Operator]: ...


def operator(given: Any = None, /, **settings: Any) -> Any:
    """Declare a function as an operator that every engine knows, by its name.

    ``@operator`` alone, or with a signature and the fields of ``Operator``; or call it with an
    ``Operator``. Declaring a name again replaces it, for engines that are made afterwards.
    """
    if isinstance(given, Operator):
        return _declared(given)
    if callable(given):
        return _declared(Operator(given))

    def declare(function: Callable[..., Any]) -> Operator:
        return _declared(Operator(function, signature=given, **settings))

    return declare


def _declared(found: Operator) -> Operator:
    _DECLARED[found.name] = found
    return found


@cache
def _installed() -> Mapping[str, EntryPoint]:
    """The operators that Tamis and packages bring, by name, not yet imported."""
    own = (
        EntryPoint(name, f"tamis.operators.library.{module}:{name}", GROUP)
        for name, module in LIBRARY.items()
    )
    return {point.name: point for point in (*own, *entry_points(group=GROUP))}


class KnownOperators(Mapping[str, Operator]):
    """Operators by name: given ones, then declared ones, then those of packages."""

    def __init__(self, given: Mapping[str, Operator | Callable[..., Any]] | None = None) -> None:
        self.given = to_operators({} if given is None else given)
        self._found: dict[str, Operator] = {**_DECLARED, **self.given}
        self.used: set[str] = set()
        """The names that were looked up: what a saved engine needs."""

    def __getitem__(self, name: str) -> Operator:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = _imported(_installed()[name])
        self.used.add(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._found or name in _installed()

    def __iter__(self) -> Iterator[str]:
        return iter({**self._found, **_installed()})

    def __len__(self) -> int:
        return len({**self._found, **_installed()})


def _imported(point: EntryPoint) -> Operator:
    try:
        found = point.load()
    except ImportError as error:
        raise MissingExtraError(
            f"the operator {point.name!r} of {point.value} cannot be imported: {error}; "
            "pip install 'tamis[operators]', or what its package needs"
        ) from error
    if not isinstance(found, Operator):
        raise TamisError(f"{point.value} is not an operator; declare it with @tamis.operator")
    return found


def check_needed(needed: Mapping[str, str], known: Mapping[str, Operator], where: str) -> None:
    """Refuse what needs operators that there are not, or in other versions."""
    missing = [name for name in needed if name not in known]
    if missing:
        raise StorageError(
            f"{where} needs the operators {', '.join(missing[:10])}: Engine.load(path, "
            "operators={…}), or import what declares them"
        )
    for name, version in needed.items():
        if known[name].version != version:
            raise StorageError(
                f"{where} needs version {version} of the operator {name!r}, not "
                f"{known[name].version}: its results may differ; subscribe again"
            )
