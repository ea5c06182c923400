"""The five UAV subscriptions of the paper (section 2.1), against plain Python."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "city_watch", Path(__file__).parents[2] / "examples" / "city_watch.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
city_watch = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(city_watch)


def expected(event: Any) -> list[str]:
    scene = event.payloads["scene"]

    def far(place: str) -> float:
        return city_watch._kilometres(event, place)

    bronx, congestion = far("Bronx") < 3, scene["traffic"] == "congestion"
    found = []
    if bronx and scene["chaser"] == "policeCar":
        found.append("S1")
    if bronx and scene["mob"] > 50:
        found.append("S2")
    if far("TimesSquare") <= 5 and congestion and scene["pedestrians"] > 250:
        found.append("S3")
    if (
        far("StatueOfLiberty") < 1
        and scene["coast_guard"]
        and scene["tour_boats"] > 2 * scene["coast_guard"]
    ):
        found.append("S5")
    return found


@pytest.mark.parametrize("schedule", ["history", "sequential", "sub_order", "adaptive"])
def test_the_subscriptions_of_the_paper(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(city_watch, "PAUSE", 0.0)
    frames = city_watch.frames(300)
    engine = city_watch.city(schedule, copies=0)
    found: dict[int, list[str]] = {row: [] for row in range(300)}
    for row, id in engine.match_batch(frames).pairs():
        found[row].append(id)
    assert [sorted(found[row]) for row in range(300)] == [expected(event) for event in frames]
    seen = {id for ids in found.values() for id in ids}
    assert {"S1", "S2", "S3"} <= seen  # S4 asks for a congestion that is an accident
    plan = engine.plan().schedule
    assert plan.saved > 0.3 * plan.possible


def test_image_detectors_share_the_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(city_watch, "PAUSE", 0.0)
    engine = city_watch.city(copies=0)
    engine.match_batch(city_watch.frames(200))
    used = engine.plan().schedule.operators
    detectors = [each for each in used if each.name not in ("locIn", "locWithin", "distanceFrom")]
    assert 0 < sum(each.prepared for each in detectors) <= 200
    assert sum(each.calls for each in detectors) > sum(each.prepared for each in detectors)
