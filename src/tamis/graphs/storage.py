"""An index of patterns in a file of flat arrays, opened by memory mapping.

table/…       the arrays of one segment
terms/…       the keys of the dictionary, in the order of their numbers
filters/…     JSON of the filters that no kernel tests, and the patterns that have them
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.array_file import open_arrays
from tamis.arrays.array_writer import save_arrays
from tamis.arrays.string_file import string_arrays, strings_of
from tamis.errors import StorageError
from tamis.graphs.index import Filters, PatternIndex
from tamis.graphs.table import PatternTable, mark_alike
from tamis.language.json_form import from_json, to_json
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import RDF_TYPE, Iri
from tamis.predicates.expression import Pattern

CONTENT = "tamis patterns"
LAYOUT = 1
"""Another number when the arrays of a table change."""
_NOTHING = Iri(RDF_TYPE)
"""Stands where a carrier of filters has no variable."""
_KEPT = tuple(name for name in PatternTable._fields if name != "alike")


def save_index(path: str | os.PathLike[str], index: PatternIndex) -> None:
    """Write an index, atomically; its segments are merged first."""
    save_arrays(path, arrays_of_index(index), {"content": CONTENT, "layout": LAYOUT})


def arrays_of_index(index: PatternIndex) -> dict[str, NDArray[Any]]:
    """An index as flat arrays; its segments are merged first."""
    import pyarrow as pa

    segment, numbers, filters = index.contents()
    arrays: dict[str, Any] = {f"table/{name}": getattr(segment, name) for name in _KEPT}
    arrays |= string_arrays(pa.array(list(numbers), pa.large_string()), "terms")
    texts = [json.dumps(to_json(_carrier(each))) for each in filters.values()]
    arrays |= string_arrays(pa.array(texts, pa.large_string()), "filters")
    arrays["filters/numbers"] = np.array(list(filters), np.int64)
    return arrays


def load_index(
    path: str | os.PathLike[str], *, verify: bool = True, limits: Limits = LIMITS
) -> PatternIndex:
    """Open an index that ``save_index`` wrote; the arrays stay in the file."""
    file = open_arrays(path, verify)
    if file.header.get("content") != CONTENT or file.header.get("layout") != LAYOUT:
        raise StorageError(f"{os.fspath(path)} is not an index of patterns, or of another version")
    try:
        return index_of_arrays(file, limits, verify=verify)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"{os.fspath(path)} is not a whole index of patterns: {error}"
        ) from error


def index_of_arrays(
    arrays: Mapping[str, NDArray[Any]],
    limits: Limits = LIMITS,
    kind: type[PatternIndex] = PatternIndex,
    *,
    verify: bool = False,
) -> PatternIndex:
    """The index of ``arrays_of_index``; the arrays stay where they are."""
    kept = {name: arrays[f"table/{name}"] for name in _KEPT}
    table = PatternTable(**kept, alike=np.zeros(len(kept["number"]), np.int8))
    mark_alike(table)
    terms = strings_of(arrays, "terms", verify).to_pylist()
    texts = strings_of(arrays, "filters", verify).to_pylist()
    numbers = arrays["filters/numbers"].tolist()
    filters = {
        number: _filters(json.loads(str(text)), limits) for number, text in zip(numbers, texts)
    }
    return kind.restored(
        table, {str(term): number for number, term in enumerate(terms)}, filters, limits
    )


def _carrier(given: Filters) -> Pattern:
    """A pattern that has the filters and, in their order, the variables: JSON knows patterns.

    Three variables make a triple, so that it has no more of these than the pattern had.
    """
    places = [*given.variables, *[_NOTHING] * (3 - len(given.variables) % 3)]
    triples = [tuple(places[at : at + 3]) for at in range(0, len(places) - 2, 3)]
    return Pattern(tuple(triples[: LIMITS.pattern]), given.filters)  # type: ignore[arg-type]  # of three


def _filters(form: Any, limits: Limits) -> Filters:
    carrier = from_json(form, limits)
    assert isinstance(carrier, Pattern)
    return Filters(carrier.filters, tuple(carrier.variables()))
