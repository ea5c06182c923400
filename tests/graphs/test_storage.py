"""An index of patterns survives a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tamis import StorageError, parse, read_graph
from tamis.arrays.array_writer import save_arrays
from tamis.graphs.index import PatternIndex
from tamis.graphs.storage import load_index, save_index
from tamis.predicates.expression import Pattern
from tests.graphs.test_index import by_index, by_oracle, check, some_graphs, some_patterns


def test_saved_and_loaded(tmp_path: Path) -> None:
    index = PatternIndex()
    known = some_patterns(60, 9)
    tested = parse("{ ?a <x:v> ?b FILTER (regex(str(?b), '1') && ?a != <x:n3>) }")
    assert isinstance(tested, Pattern)
    known[60] = tested
    for number, pattern in known.items():
        index.add(number, pattern)
    index.remove([3])
    del known[3]
    save_index(tmp_path / "patterns", index)
    loaded = load_index(tmp_path / "patterns")
    assert len(loaded) == 60
    published = some_graphs(2, 10)
    check(loaded.view(), published, known)
    loaded.remove([5])
    del known[5]
    late = parse("{ ?a <x:p1> ?b }")
    assert isinstance(late, Pattern)
    loaded.add(3, late)
    known[3] = late
    check(loaded.view(), published, known)
    loaded.settle()
    found = loaded.view().match_graphs(published, every=True)
    assert by_index(found) == by_oracle(published, known)


def test_filters_of_no_variables_and_of_many(tmp_path: Path) -> None:
    index = PatternIndex()
    many = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(500))
    texts = [
        "{ <x:a> <x:p> 1 FILTER (<x:a> != <x:b>) }",
        "{ <x:a> <x:p> 1 FILTER ('a' in ()) }",
        f"{{ {many} FILTER (regex(str(?c499), '1')) }}",
        "{ ?x <x:p> ?y . ?y ?p ?z FILTER (regex(str(?z), '2')) }",
    ]
    known = {}
    for number, text in enumerate(texts):
        pattern = parse(text)
        assert isinstance(pattern, Pattern)
        known[number] = pattern
        index.add(number, pattern)
    save_index(tmp_path / "patterns", index)
    loaded = load_index(tmp_path / "patterns")
    check(loaded.view(), [read_graph("<x:a> <x:p> 1 ."), read_graph("<x:a> <x:p> <x:b> .")], known)
    assert loaded.filters == index.filters


def test_an_empty_index(tmp_path: Path) -> None:
    save_index(tmp_path / "patterns", PatternIndex())
    loaded = load_index(tmp_path / "patterns")
    assert len(loaded) == 0
    assert len(loaded.view().match_graphs([read_graph("<x:a> <x:p> 1 .")]).row) == 0


def test_other_files(tmp_path: Path) -> None:
    save_arrays(tmp_path / "other", {"a": np.zeros(1)}, {"content": "something"})
    with pytest.raises(StorageError, match="not an index of patterns"):
        load_index(tmp_path / "other")
    save_arrays(tmp_path / "other", {"a": np.zeros(1)}, {"content": "tamis patterns", "layout": 1})
    with pytest.raises(StorageError, match="not a whole index"):
        load_index(tmp_path / "other")
