"""Whoever reads an engine sees one state of it, whatever others change meanwhile."""

from __future__ import annotations

import pytest

import tamis
from tamis.engine import subscriptions


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> tamis.Engine:
    """An engine that gives slots back as soon as most of them are free."""
    monkeypatch.setattr(subscriptions, "_WASTE", 0)
    engine = tamis.Engine()
    engine.subscribe_many({f"many {n}": f"a = {n}" for n in range(1_000)})
    for number in range(20):
        metadata = {"number": number}
        engine.subscribe(f"b = {number}", id=f"one {number}", metadata=metadata)
    engine.disable("one 3")
    return engine


def test_iteration_sees_what_was_there_when_it_began(engine: tamis.Engine) -> None:
    expected = [(each.id, each.text, each.metadata, each.enabled) for each in engine]
    found = []
    for number, each in enumerate(engine):
        found.append((each.id, each.text, each.metadata, each.enabled))
        engine.unsubscribe(each.id)
        engine.subscribe("c = 1", id=f"new {number}", metadata={"new": True})
    assert found == expected
    assert len(engine) == len(expected)
    assert all(each.id.startswith("new") for each in engine)


def test_an_id_is_looked_up_in_one_state(
    engine: tamis.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between finding the slot and reading it, the slots are numbered again."""
    find = subscriptions._slot

    def slow(store: object, id: str) -> int:
        slot = find(store, id)  # type: ignore[arg-type]
        monkeypatch.setattr(subscriptions, "_slot", find)
        for number in range(990):
            engine.unsubscribe(f"many {number}")
        return slot

    before = engine.subscriptions.index.store
    monkeypatch.setattr(subscriptions, "_slot", slow)
    assert engine["many 999"].text == "a = 999"
    assert engine.subscriptions.index.store is not before
    monkeypatch.setattr(subscriptions, "_slot", slow)
    engine.subscribe_many({f"many {n}": f"a = {n}" for n in range(990)})
    assert engine.explain("one 7", {"b": 7}).truth


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
def test_a_wrong_limit_is_an_error(engine: tamis.Engine, limit: object) -> None:
    for call in (engine.match, engine.match_batch, engine.match_chunks):
        with pytest.raises(tamis.TamisError, match="limit must be a whole number"):
            call({"a": 1} if call == engine.match else [{"a": 1}], limit=limit)  # type: ignore[operator]


@pytest.mark.parametrize("limit", [0, 1, 10**30])
def test_limits_of_any_size(engine: tamis.Engine, limit: int) -> None:
    engine.subscribe("a = 1", id="another")
    event = {"a": 1}
    assert len(engine.match(event, limit=limit)) == min(limit, 2)
    assert len(engine.match_batch([event], limit=limit)) == min(limit, 2)


def test_limits_of_an_engine_are_limits() -> None:
    with pytest.raises(tamis.TamisError, match="limits must be a Limits"):
        tamis.Engine(limits=5)  # type: ignore[arg-type]
