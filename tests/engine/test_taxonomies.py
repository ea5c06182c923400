"""Different taxonomies on different attributes, the same words in all: the sieve and the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.engine.subscriptions import MATCHERS
from tamis.matching.segments import matcher as sieve_matcher
from tamis.model.taxonomy.taxonomies import Taxonomies

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]

THINGS = {
    "chair": ["furniture"],
    "orange": ["fruit"],
    "salmon": ["fish"],
    "fish": ["food"],
    "fruit": ["food"],
}
COLORS = {"orange": ["warm"], "salmon": ["warm", "pale"], "chair": ["pale"]}
BOTH = Taxonomies(THINGS, {"color": COLORS, "part.color": COLORS})

WORDS = ["a", "b", "c", "d", "e"]
PATHS = ["x", "y", "z.x"]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Taxonomies of all words, in one order or the other."""
    words = draw(st.permutations(WORDS))
    return {
        word: draw(st.lists(st.sampled_from(words[place + 1 :]), max_size=2, unique=True))
        if words[place + 1 :]
        else []
        for place, word in enumerate(words)
    }


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomies:
    return Taxonomies(draw(graphs()), {path: draw(graphs()) for path in PATHS[1:]})


TESTS = st.one_of(
    st.builds("{} is a '{}'".format, st.sampled_from([*PATHS, "other"]), st.sampled_from(WORDS)),
    st.builds("{} = '{}'".format, st.sampled_from(PATHS), st.sampled_from(WORDS)),
    st.builds("n < {}".format, st.integers(0, 3)),
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    )


EXPRESSIONS = st.recursive(TESTS, combined, max_leaves=5)
VALUES = st.one_of(
    st.sampled_from([*WORDS, "stranger"]), st.lists(st.sampled_from(WORDS), max_size=3)
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "x": VALUES,
        "y": VALUES,
        "z": st.fixed_dictionaries({}, optional={"x": VALUES}),
        "other": VALUES,
        "n": st.integers(0, 3),
    },
)


def check(sieve: tamis.Engine, scan: tamis.Engine, events: list[dict[str, Any]]) -> None:
    expected = [sorted(scan.match(event)) for event in events]
    assert [sorted(sieve.match(event)) for event in events] == expected
    pairs = [(row, id) for row, ids in enumerate(expected) for id in ids]
    assert sorted(sieve.match_batch(events).pairs()) == pairs


@settings(max_examples=settings().max_examples // 4)
@given(
    first=taxonomies(),
    second=taxonomies(),
    path=st.sampled_from(PATHS),
    changed=graphs(),
    texts=st.lists(EXPRESSIONS, min_size=4, max_size=12),
    events=st.lists(EVENTS, min_size=1, max_size=4),
)
def test_all_ways_find_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    first: Taxonomies,
    second: Taxonomies,
    path: str,
    changed: dict[str, list[str]],
    texts: list[str],
    events: list[dict[str, Any]],
) -> None:
    sieve, scan = (tamis.Engine(matcher=each, taxonomy=first) for each in ("sieve", "scan"))
    half = len(texts) // 2
    for engine in (sieve, scan):
        engine.subscribe_many({str(number): text for number, text in enumerate(texts[:half])})
    check(sieve, scan, events)
    sieve.settle()
    check(sieve, scan, events)
    for engine in (sieve, scan):
        for number, text in enumerate(texts[half:], half):
            engine.subscribe(text, id=str(number))
        engine.unsubscribe("0")
    check(sieve, scan, events)
    sieve.settle()  # merges
    check(sieve, scan, events)
    file = tmp_path_factory.mktemp("engines") / "engine"
    sieve.save(file)
    loaded = tamis.Engine.load(file)
    assert loaded.taxonomies == first
    check(loaded, scan, events)
    for engine in (loaded, scan):
        engine.change_taxonomy(changed, attribute=path)
        engine.subscribe(texts[0], id="later")
    check(loaded, scan, events)
    for engine in (loaded, scan):
        engine.change_taxonomy(second)
    check(loaded, scan, events)


def test_shapes_and_bulks_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve_matcher, "LIVE", 64)
    rows = {
        f"{path} {term} {n}": f"{path} is a '{term}' and n < {n}"
        for path in ("category", "color", "part.color")
        for term in (COLORS if "color" in path else THINGS)
        for n in range(150)
    }
    events = [
        {"category": None, "color": None, path: word, "part": {"color": other}, "n": n}
        for path in ("category", "color")
        for word in (*THINGS, "pale", "none")
        for other in COLORS
        for n in (0, 100)
    ]
    sieve, scan = (tamis.Engine(matcher=each, taxonomy=BOTH) for each in ("sieve", "scan"))
    for engine in (sieve, scan):
        engine.subscribe_many(rows)
        for id in list(rows)[::3]:
            engine.subscribe(rows[id] + " or n = 77", id=id, replace=True)
    found = sorted(sieve.match_batch(pa.Table.from_pylist(events)).pairs())
    assert found == sorted(scan.match_batch(events).pairs())
    sieve.settle()
    assert found == sorted(sieve.match_batch(events).pairs())


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_word_means_what_it_means_on_its_attribute(matcher: str) -> None:
    engine = tamis.Engine(matcher=matcher, taxonomy=BOTH)
    engine.subscribe("category is a 'food'", id="food")
    engine.subscribe("color is a 'warm' and part.color is a 'pale'", id="warm")
    assert engine.match({"category": "orange"}) == ["food"]
    assert engine.match({"color": "orange", "part": {"color": "chair"}}) == ["warm"]
    assert engine.match({"color": "chair", "category": "chair"}) == []
    with pytest.raises(tamis.TaxonomyError, match="'warm' is not in the taxonomy"):
        engine.subscribe("category is a 'warm'")
    assert engine.explain("warm", {"color": "salmon", "part": {"color": "salmon"}}).matches


@pytest.mark.parametrize("matcher", MATCHERS)
def test_an_attribute_without_one(matcher: str) -> None:
    engine = tamis.Engine(matcher=matcher, taxonomy=Taxonomies(None, {"color": COLORS}))
    engine.subscribe("color is a 'warm'", id="warm")
    with pytest.raises(tamis.SubscriptionError, match="needs a taxonomy"):
        engine.subscribe("category is a 'warm'")
    assert engine.taxonomy is None
    assert engine.match({"color": "orange", "category": "orange"}) == ["warm"]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_changes_of_one_attribute(matcher: str) -> None:
    engine = tamis.Engine(matcher=matcher, taxonomy=BOTH)
    engine.subscribe("category is a 'food'", id="food")
    engine.subscribe("color is a 'warm'", id="warm")
    with pytest.raises(tamis.TaxonomyError, match="'warm' is not in the taxonomy"):
        engine.change_taxonomy(THINGS, attribute="color")
    with pytest.raises(tamis.TaxonomyError, match="without attribute"):
        engine.change_taxonomy(BOTH, attribute="color")
    assert engine.taxonomies == BOTH
    engine.change_taxonomy({**COLORS, "chair": ["warm"]}, attribute="color")
    assert engine.match({"color": "chair"}) == ["warm"]
    engine.change_taxonomy({**THINGS, "chair": ["food"]})
    assert sorted(engine.match({"color": "chair", "category": "chair"})) == ["food", "warm"]


def test_what_the_user_keeps_does_not_change_the_engine(tmp_path: Path) -> None:
    taxonomy = tamis.Taxonomy(THINGS)
    engine = tamis.Engine(taxonomy=taxonomy)
    engine.subscribe("x is a 'furniture'", id="furniture")
    chunks = engine.match_chunks([{"x": "chair"}, {"x": "throne"}] * 10_000)
    assert {row % 2 for row in next(chunks).event.tolist()} == {0}
    taxonomy.add("throne", ["chair"])
    assert engine.match({"x": "throne"}) == []
    assert engine.taxonomy is not None
    with pytest.raises(tamis.TaxonomyError, match="copy"):
        engine.taxonomy.add("throne", ["chair"])
    engine.change_taxonomy(taxonomy)
    assert engine.match({"x": "throne"}) == ["furniture"]
    assert all(row % 2 == 0 for chunk in chunks for row in chunk.event.tolist())
    taxonomy.add("stool", ["chair"])
    assert engine.match({"x": "stool"}) == []
    engine.save(tmp_path / "engine")
    other = tamis.Engine.load(tmp_path / "engine")
    other.change_taxonomy(taxonomy)
    assert other.match({"x": "stool"}) == ["furniture"]
