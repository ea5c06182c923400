"""A taxonomy that changes while an engine is used."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.engine.subscriptions import MATCHERS

BEFORE = {"chair": ["furniture"], "table": ["furniture"], "furniture": [], "regalia": []}
AFTER = {**BEFORE, "throne": ["chair", "regalia"], "chair": ["furniture", "seat"], "seat": []}

pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning")


def engine_of(matcher: str) -> tamis.Engine:
    engine = tamis.Engine(matcher=matcher, taxonomy=BEFORE)
    engine.subscribe("x is a 'furniture'", id="furniture")
    engine.subscribe("x is a 'regalia' and price < 5", id="regalia")
    engine.subscribe("not (x is a 'chair')", id="no chair")
    engine.subscribe("x = 'throne'", id="throne")
    return engine


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("settled", [False, True])
def test_the_next_event_sees_another_taxonomy(matcher: str, settled: bool) -> None:
    engine = engine_of(matcher)
    if settled:
        engine.settle()
    event = {"x": "throne", "price": 1}
    assert sorted(engine.match(event)) == ["no chair", "throne"]
    engine.change_taxonomy(AFTER)
    assert sorted(engine.match(event)) == ["furniture", "regalia", "throne"]
    assert len(engine.match_batch([event])) == 3
    engine.subscribe("x is a 'seat'", id="seat")
    assert "seat" in engine.match(event)
    assert engine.taxonomy == tamis.Taxonomy(AFTER)
    assert engine.explain("regalia", event).matches


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_term_that_is_asked_for_must_stay(matcher: str) -> None:
    engine = engine_of(matcher)
    engine.disable("regalia")
    with pytest.raises(tamis.TamisError, match="regalia"):
        engine.change_taxonomy({"furniture": [], "chair": []})
    assert engine.taxonomy == tamis.Taxonomy(BEFORE)
    assert "furniture" in engine.match({"x": "table"})
    engine.enable("regalia")
    assert "regalia" in engine.match({"x": "regalia", "price": 1})


def test_a_changed_engine_is_saved(tmp_path: Path) -> None:
    engine = engine_of("sieve")
    engine.settle()
    engine.unsubscribe("furniture")
    engine.change_taxonomy(AFTER)
    engine.save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    for word in ("throne", "chair", "seat", "table", "other"):
        event = {"x": word, "price": 1}
        assert sorted(loaded.match(event)) == sorted(engine.match(event))


WORDS = ["a", "b", "c", "d", "e"]


@st.composite
def taxonomies(draw: st.DrawFn) -> dict[str, list[str]]:
    """Taxonomies of all words; a parent comes later in the alphabet."""
    return {
        word: draw(st.lists(st.sampled_from(WORDS[place + 1 :]), max_size=2, unique=True))
        if WORDS[place + 1 :]
        else []
        for place, word in enumerate(WORDS)
    }


@given(
    first=taxonomies(),
    second=taxonomies(),
    asked=st.lists(st.tuples(st.sampled_from(WORDS), st.booleans()), min_size=1, max_size=6),
)
def test_all_matchers_agree(
    first: dict[str, list[str]], second: dict[str, list[str]], asked: list[tuple[str, bool]]
) -> None:
    engines = [tamis.Engine(matcher=matcher, taxonomy=first) for matcher in MATCHERS]
    for engine in engines:
        for number, (word, positive) in enumerate(asked):
            text = f"x is a '{word}'"
            text = text if positive else f"not ({text}) and y = {number}"
            engine.subscribe(text, id=str(number))
        engine.change_taxonomy(second)
    for word in (*WORDS, "other"):
        for y in range(len(asked)):
            one, *others = (sorted(engine.match({"x": word, "y": y})) for engine in engines)
            assert all(other == one for other in others)


def test_readers_see_one_or_the_other() -> None:
    engine = engine_of("sieve")
    event = {"x": "throne", "price": 1}
    wanted = [["no chair", "throne"], ["furniture", "regalia", "throne"]]
    wrong: list[list[str]] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            found = sorted(engine.match(event))
            if found not in wanted:
                wrong.append(found)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(40):
        engine.change_taxonomy(AFTER if number % 2 else BEFORE)
    stop.set()
    thread.join()
    assert wrong == []
