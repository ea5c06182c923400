"""Taxonomies: terms and their parents, a directed graph without cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tamis.errors import TaxonomyError, suggestion
from tamis.model.limits import check_limit

MAX_CLOSURE = 10_000_000


class Taxonomy:
    """Answers is-a: ``Taxonomy({"chair": ["furniture"], "throne": ["chair", "regalia"]})``.

    Terms that stand only as parents are terms too. The ancestors of every term are kept as sets,
    so that a test is one lookup; a term's set includes the term itself.
    """

    def __init__(self, parents: Mapping[str, Iterable[str]]) -> None:
        self.parents = _checked(parents)
        self._ancestors: dict[str, frozenset[str]] = {}
        size = 0
        for term in _parents_first(self.parents):
            above = [self._ancestors[parent] for parent in self.parents[term]]
            self._ancestors[term] = frozenset({term}).union(*above)
            size += len(self._ancestors[term])
            check_limit(size, MAX_CLOSURE, "pairs of a term and what it is a kind of")

    def is_a(self, term: str, ancestor: str) -> bool:
        """Whether the one is a kind of the other; reflexive, and true of unknown terms too."""
        return term == ancestor or ancestor in self._ancestors.get(term, ())

    def ancestors(self, term: str) -> frozenset[str]:
        """The term and all that it is a kind of."""
        return self._ancestors.get(term, frozenset({term}))

    def check(self, term: str) -> None:
        """Raise if the taxonomy does not know the term."""
        if term not in self.parents:
            hint = suggestion(term, self.parents) or f"it has {len(self)} terms"
            raise TaxonomyError(f"{term!r} is not in the taxonomy; {hint}")

    def __contains__(self, term: object) -> bool:
        return term in self.parents

    def __len__(self) -> int:
        return len(self.parents)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self.parents == other.parents

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} terms)"


def _parents_first(parents: Mapping[str, Iterable[str]]) -> Iterator[str]:
    try:
        yield from TopologicalSorter(parents).static_order()
    except CycleError as error:
        # The error lists the cycle from parent to child.
        names = [repr(name)[:50] for name in reversed(error.args[1])]
        shown = [*names[:10], "…"] if len(names) > 11 else names
        raise TaxonomyError("the taxonomy has a cycle: " + " → ".join(shown)) from error


def _checked(parents: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    if not isinstance(parents, Mapping):
        raise TaxonomyError(
            f"a taxonomy maps terms to parents; a {type(parents).__name__} does not"
        )
    checked: dict[str, tuple[str, ...]] = {}
    for term, above in parents.items():
        if isinstance(above, str) or not isinstance(above, Iterable):
            name = type(above).__name__
            raise TaxonomyError(f"the parents of {term!r} must be a list of terms, not a {name}")
        named = list(above)
        for name in (term, *named):
            if not isinstance(name, str):
                raise TaxonomyError(f"a term is a string, not a {type(name).__name__}: {name!r}")
        checked[term] = tuple(dict.fromkeys(named))
    for term in [term for above in checked.values() for term in above]:
        checked.setdefault(term, ())
    return checked
