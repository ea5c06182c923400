"""Operators get whole mappings, whatever form events come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tamis import Engine, Event, Operator, operator


@pytest.mark.parametrize("saved", [False, True])
def test_an_operator_reads_a_mapping_of_a_document(saved: bool, tmp_path: Path) -> None:
    def busy(event: Event, least: int) -> bool:
        scene: Any = event.attributes["scene"]
        return bool(scene["people"] > least and len(scene) == 2)

    operators = {"busy": Operator(busy, reads=("scene",))}
    engine = Engine(operators=operators)
    engine.subscribe("camera = 1 and busy(5)", id="x")
    if saved:
        engine.save(tmp_path / "engine")
        engine = Engine.load(tmp_path / "engine", operators=operators)
        assert engine.needed_operators() == {"busy": "1"}
    events = [{"camera": 1, "scene": {"people": n, "cars": 1}} for n in range(10)]
    text = "\n".join(map(json.dumps, events))
    expected = [(row, "x") for row in range(6, 10)]
    assert sorted(engine.match_batch(events).pairs()) == expected
    assert sorted(engine.match_batch(text).pairs()) == expected


def test_a_loaded_engine_knows_which_declared_operators_it_needs(tmp_path: Path) -> None:
    @operator("least: number", reads=("scene",))
    def documents_test_busy(event: Event, least: float) -> bool:
        """Whether a scene has people."""
        scene: Any = event.attributes["scene"]
        return bool(scene["people"] > least)

    engine = Engine()
    engine.subscribe("camera = 1 and documents_test_busy(5)", id="x")
    engine.save(tmp_path / "engine")
    loaded = Engine.load(tmp_path / "engine")
    assert loaded.needed_operators() == {"documents_test_busy": "1"}
    loaded._known_operators().used.clear()  # as if executors of Spark had read the subscriptions
    text = json.dumps({"camera": 1, "scene": {"people": 7}})
    assert list(loaded.match_batch(text).pairs()) == [(0, "x")]
