"""Many substrings at once, against Python's ``in``."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays import substring_search
from tamis.arrays.substring_search import SearchTable, SubstringSearch

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"

words = st.text(alphabet="abé€😀", min_size=1, max_size=20)


def found(patterns: list[str], texts: list[str | None], skipped: int = 0) -> set[tuple[int, int]]:
    search = SubstringSearch(pa.array(patterns, pa.large_string()))
    array = pa.array([None] * skipped + texts, pa.large_string()).slice(skipped)
    pairs = [
        (int(row), int(pattern))
        for rows, numbers in search.pairs(array)
        for row, pattern in zip(rows, numbers, strict=True)
    ]
    assert len(pairs) == len(set(pairs)), "a pair came twice"
    return set(pairs)


def expected(patterns: list[str], texts: list[str | None]) -> set[tuple[int, int]]:
    return {
        (row, number)
        for row, text in enumerate(texts)
        for number, pattern in enumerate(patterns)
        if text is not None and pattern in text
    }


@given(
    patterns=st.lists(words, unique=True, max_size=12),
    texts=st.lists(st.text(alphabet="abé€😀", max_size=40), max_size=8),
    skipped=st.integers(0, 2),
)
def test_what_is_found_is_what_stands_there(
    patterns: list[str], texts: list[str | None], skipped: int
) -> None:
    assert found(patterns, texts, skipped) == expected(patterns, texts)
    search = SubstringSearch(pa.array(patterns, pa.large_string()))
    for text in texts:
        assert text is not None
        stand = [number for number, pattern in enumerate(patterns) if pattern in text]
        assert sorted(search.patterns(text)) == stand


@given(st.data())
def test_patterns_cut_from_the_texts(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(alphabet="ab", min_size=1, max_size=60), min_size=1))
    cut = st.sampled_from(texts).flatmap(
        lambda text: st.tuples(st.just(text), st.integers(0, len(text) - 1), st.integers(1, 20))
    )
    pieces = data.draw(st.lists(cut, min_size=1, max_size=10))
    patterns = sorted({text[start : start + length] for text, start, length in pieces})
    assert found(patterns, list(texts)) == expected(patterns, list(texts))


def test_repetitions_of_one_window() -> None:
    patterns = ["a" * length for length in range(1, 60)] + ["a" * 9 + "b", "b" + "a" * 9]
    texts: list[str | None] = ["a" * 50, "a" * 7, "b" + "a" * 70 + "b", ""]
    assert found(patterns, texts) == expected(patterns, texts)


def test_buffers_that_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substring_search, "_CHUNK", 3)
    patterns = ["a", "b", "ab", "ba", "aba", "abab", "ababababab"]
    texts: list[str | None] = ["ab" * 10, "ba", "", "abc", "x"] * 5
    assert found(patterns, texts) == expected(patterns, texts)


def test_many() -> None:
    rng = np.random.default_rng(1)
    count = 200 if PLAIN else 20_000
    letters = rng.integers(97, 101, (count, 9), np.uint8)
    patterns = sorted({bytes(row).decode() for row in letters})
    text = bytes(rng.integers(97, 101, 2_000, np.uint8)).decode()
    assert found(patterns, [text]) == expected(patterns, [text])


def test_nothing() -> None:
    assert found([], ["abc"]) == set()
    assert found(["abc"], []) == set()
    assert found(["abc"], [None, ""]) == set()


def test_several_searches_at_once_find_what_each_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [["oak", "table", "ä"], ["a"], ["rocking chair", "chair", "air", "r"]]
    searches = [SubstringSearch(pa.array(each, pa.large_string())) for each in several]
    asked = [2, 0, 1, 2, 0, 2]
    texts = ["an old rocking chair", "ein Tisch, ä", "", "air", "oaktable", "none"]
    for room in (substring_search._ONE, 2):  # which is too little, so that each is made alone
        monkeypatch.setattr(substring_search, "_ONE", room)
        found = {
            place: sorted(several[asked[place]][number] for number in patterns.tolist())
            for place, patterns in SearchTable(searches).find(asked, texts)
            if len(patterns)
        }
        assert found == {
            0: ["air", "chair", "r", "rocking chair"],
            1: ["ä"],
            3: ["air", "r"],
            4: ["oak", "table"],
        }
