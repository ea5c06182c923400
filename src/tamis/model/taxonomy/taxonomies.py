"""Which taxonomy gives ``is a`` its meaning on which attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.model.paths import Path, format_path, parse_path
from tamis.model.taxonomy.taxonomy import Taxonomy

TaxonomyLike = Taxonomy | Mapping[str, Iterable[str]]


class Taxonomies:
    """One taxonomy for all attributes, and others for some.

    ``Taxonomies(things, {"color": colors})`` never change: what is given is copied, unless frozen.
    """

    def __init__(
        self,
        default: TaxonomyLike | None = None,
        by_attribute: Mapping[str, TaxonomyLike] | Mapping[Path, TaxonomyLike] | None = None,
    ) -> None:
        frozen: dict[int, Taxonomy] = {}  # what is given twice stays one

        def own(given: TaxonomyLike) -> Taxonomy:
            if id(given) not in frozen:
                taxonomy = given if isinstance(given, Taxonomy) else Taxonomy(given)
                frozen[id(given)] = taxonomy.frozen()
            return frozen[id(given)]

        self.default = None if default is None else own(default)
        self.by_attribute = {
            _path(attribute): own(given) for attribute, given in (by_attribute or {}).items()
        }

    @staticmethod
    def given(taxonomy: Taxonomies | TaxonomyLike | None) -> Taxonomies:
        """What is given to an engine: some taxonomies, or one for all attributes."""
        return taxonomy if isinstance(taxonomy, Taxonomies) else Taxonomies(taxonomy)

    def of(self, path: Path) -> Taxonomy | None:
        """The taxonomy of an attribute."""
        return self.by_attribute.get(path, self.default)

    def changed(self, taxonomy: TaxonomyLike, attribute: str | Path | None = None) -> Taxonomies:
        """The same with another one for an attribute, or for all that have none of their own."""
        if attribute is None:
            return Taxonomies(taxonomy, self.by_attribute)
        others: dict[Path, TaxonomyLike] = {**self.by_attribute, _path(attribute): taxonomy}
        return Taxonomies(self.default, others)

    def to_json(self) -> Any:
        """Plain data: of one for all attributes, or none, that itself; else a list of taxonomies,
        each with the attributes that it is for, of which None is all others."""
        if not self.by_attribute:
            return None if self.default is None else dict(self.default.parents)
        found: dict[int, tuple[list[Any], dict[str, Any]]] = {}
        named: list[tuple[Path | None, Taxonomy]] = [*self.by_attribute.items()]
        if self.default is not None:
            named.append((None, self.default))
        for path, taxonomy in named:
            if id(taxonomy) not in found:
                found[id(taxonomy)] = [], dict(taxonomy.parents)
            found[id(taxonomy)][0].append(path)
        return list(found.values())

    @staticmethod
    def from_json(plain: Any) -> Taxonomies:
        """The taxonomies of ``to_json``."""
        if not isinstance(plain, list):
            return Taxonomies(plain)
        default = None
        others = {}
        for paths, parents in plain:
            taxonomy = Taxonomy(parents).frozen()
            for path in paths:
                if path is None:
                    default = taxonomy
                else:
                    others[tuple(path)] = taxonomy
        return Taxonomies(default, others)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Taxonomies)
            and self.default == other.default
            and self.by_attribute == other.by_attribute
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        others = {format_path(path): each for path, each in self.by_attribute.items()}
        return f"Taxonomies({self.default!r}, {others!r})"


NO_TAXONOMIES = Taxonomies()


def _path(attribute: str | Path) -> Path:
    return parse_path(attribute) if isinstance(attribute, str) else attribute
