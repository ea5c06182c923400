"""Taxonomies: terms and their parents, a directed graph without cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tamis.errors import TaxonomyError, suggestion

if TYPE_CHECKING:
    from tamis.model.taxonomy.tree_cover import LabelArrays


class Taxonomy:
    """Answers is-a: ``Taxonomy({"chair": ["furniture"], "throne": ["chair", "regalia"]})``.

    Terms that stand only as parents are terms too. They are numbered as they come, and numbers have
    labels (labels.py) from which is-a is read off.
    """

    def __init__(self, parents: Mapping[str, Iterable[str]]) -> None:
        from tamis.model.taxonomy.nesting import parents_first
        from tamis.model.taxonomy.tree_cover import Labels

        self._parents = _checked(parents)
        self._names = list(self._parents)
        self._number = {name: number for number, name in enumerate(self._names)}
        numbers = [self._numbers(above) for above in self._parents.values()]
        order = parents_first(numbers)
        if len(order) < len(numbers):
            raise TaxonomyError(_said([self._names[term] for term in _cycle(numbers, order)]))
        self._labels = Labels(numbers, order)
        self._frozen = False

    def _numbers(self, terms: Iterable[str]) -> tuple[int, ...]:
        return tuple([self._number[term] for term in terms])

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """All terms with their parents."""
        return MappingProxyType(self._parents)

    def is_a(self, term: str, ancestor: str) -> bool:
        """Whether the one is a kind of the other; reflexive, and true of unknown terms too."""
        if term == ancestor:
            return True
        below, above = self._number.get(term), self._number.get(ancestor)
        return below is not None and above is not None and self._labels.is_a(below, above)

    def ancestors(self, term: str) -> frozenset[str]:
        """The term and all that it is a kind of."""
        found = {term}
        left = [term]
        while left:
            new = set(self._parents.get(left.pop(), ())) - found
            found |= new
            left += new
        return frozenset(found)

    def descendants(self, term: str) -> frozenset[str]:
        """The term and all its kinds."""
        number = self._number.get(term)
        if number is None:
            return frozenset({term})
        return frozenset(map(self._names.__getitem__, self._labels.below(number).tolist()))

    def add(self, term: str, parents: Iterable[str] = ()) -> None:
        """Add a term, or more parents to one that is there; parents that are new are added too.

        A new term takes microseconds, more parents of an old one a time linear in the taxonomy.
        """
        if self._frozen:
            raise TaxonomyError(
                "this taxonomy is in use and cannot change: add to a copy() of it, "
                "which engine.change_taxonomy() takes"
            )
        above = _checked_parents(term, parents)
        old = self._parents.get(term, ())
        new = [parent for parent in above if parent not in old]
        for parent in new:
            if self.is_a(parent, term):
                raise TaxonomyError(_said([term, *self._way(parent, term)]))
        known = [parent for parent in new if parent in self]
        number = self._number.get(term, -1)
        self._labels.check_room(number, self._numbers(known), len(new) - len(known))
        for parent in new:
            if parent not in self:
                self._enter(parent, ())
        if number < 0:
            self._enter(term, tuple(new))
        elif new:
            self._labels.add_parents(number, self._numbers(new))
            self._parents[term] = (*old, *new)

    def _enter(self, term: str, parents: tuple[str, ...]) -> None:
        self._labels.add(self._numbers(parents))
        self._parents[term] = parents
        self._number[term] = len(self._names)
        self._names.append(term)

    def _way(self, term: str, ancestor: str) -> list[str]:
        """Terms on the way from one up to another that it is a kind of."""
        way = [term]
        while way[-1] != ancestor:
            above = self._parents[way[-1]]
            way.append(next(parent for parent in above if self.is_a(parent, ancestor)))
        return way

    def check(self, term: str) -> None:
        """Raise if the taxonomy does not know the term."""
        if term not in self:
            hint = suggestion(term, self) or f"it has {len(self)} terms"
            raise TaxonomyError(f"{term!r} is not in the taxonomy; {hint}")

    def number(self, term: str) -> int:
        """The number by which ``labels`` know a term; -1 if there is no such term."""
        return self._number.get(term, -1)

    @property
    def labels(self) -> LabelArrays:
        """The labels, for compiled tests (matching/lines/taxonomy.py)."""
        return self._labels.arrays()

    def copy(self) -> Taxonomy:
        """Another one with the same terms, that can change."""
        other = Taxonomy.__new__(Taxonomy)
        other._parents = self._parents.copy()
        other._names = self._names.copy()
        other._number = self._number.copy()
        other._labels = self._labels.copy()
        other._frozen = False
        return other

    def frozen(self) -> Taxonomy:
        """One with the same terms that never changes: itself if it does not, else a copy."""
        if self._frozen:
            return self
        other = self.copy()
        other._frozen = True
        return other

    def __contains__(self, term: object) -> bool:
        return term in self._parents

    def __len__(self) -> int:
        return len(self._parents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self._parents == other._parents

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} terms)"


def _cycle(parents: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """A cycle, upwards; terms in the given order are in none, and neither are their parents."""
    left = set(range(len(parents))).difference(order)
    way = [min(left)]
    seen: dict[int, int] = {}
    while way[-1] not in seen:
        seen[way[-1]] = len(way) - 1
        way.append(next(parent for parent in parents[way[-1]] if parent in left))
    return way[seen[way[-1]] :]


def _said(cycle: Sequence[str]) -> str:
    names = [repr(name)[:50] for name in cycle]
    shown = [*names[:10], "…"] if len(names) > 11 else names
    return "the taxonomy has a cycle: " + " → ".join(shown)


def _checked(parents: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    if not isinstance(parents, Mapping):
        raise TaxonomyError(
            f"a taxonomy maps terms to parents; a {type(parents).__name__} does not"
        )
    checked = {term: _checked_parents(term, above) for term, above in parents.items()}
    for above in list(checked.values()):
        for term in above:
            checked.setdefault(term, ())
    return checked


def _checked_parents(term: str, parents: Iterable[str]) -> tuple[str, ...]:
    if not isinstance(parents, list | tuple) and (
        isinstance(parents, str) or not isinstance(parents, Iterable)
    ):
        name = type(parents).__name__
        raise TaxonomyError(f"the parents of {term!r} must be a list of terms, not a {name}")
    named = tuple(parents)
    for name in (term, *named):
        if not isinstance(name, str):
            raise TaxonomyError(f"a term is a string, not a {type(name).__name__}: {name!r}")
    return named if len(named) < 2 else tuple(dict.fromkeys(named))
