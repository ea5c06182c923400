"""A city watched from the air: the five subscriptions of the paper on expensive operators.

Each event is a frame of a camera with its position. Operators look at the position or at the image;
here, "detectors" read what a made-up scene contains, after a pause that a real one would need. The
paper writes bare symbols and ``5000m``; here they are ``'Bronx'`` and ``5000 m``.

    python examples/city_watch.py

On Spark a scene is a column: a module that executors import calls ``declare()``.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tamis import CostlyWarning, Engine, Event, Operator, operator

PAUSE = 0.0005
"""Seconds that a detector takes; a real one takes a hundred times as long."""
PLACES = {"Bronx": (7.0, 9.0), "TimesSquare": (3.0, 4.0), "StatueOfLiberty": (0.0, 0.0)}
SUBSCRIPTIONS = {
    "S1": "locIn('Bronx') and chasePattern('policeCar', 'anyCar')",
    "S2": "locIn('Bronx') and mobPattern(?people) and ?people > 50",
    "S3": "locWithin('TimesSquare', 5000 m) and trafficPattern('congestion') "
    "and pedestrianCount(?ped) and ?ped > 250",
    "S4": "locIn('Bronx') and trafficPattern('congestion') and trafficPattern('accident') "
    "and policeCarCount(?pol) and ?pol < 2",
    "S5": "distanceFrom('StatueOfLiberty', ?x) and ?x < 1000 "
    "and tourBoatCount(?y) and coastGuardBoatCount(?z) and ?y > 2 * ?z",
}


def _kilometres(event: Event, place: str) -> float:
    x, y = PLACES[place]
    own_x, own_y = float(event.attributes["x"]), float(event.attributes["y"])  # type: ignore[arg-type]
    return float(((own_x - x) ** 2 + (own_y - y) ** 2) ** 0.5)


def loc_in(event: Event, place: str) -> bool:
    """Whether the frame was taken over a part of the city."""
    return _kilometres(event, place) < 3


def loc_within(event: Event, place: str, radius: Any) -> bool:
    """Whether the frame was taken so near to a place."""
    return _kilometres(event, place) * 1000 <= radius.number.value


def distance_from(event: Event, place: str, metres: None) -> Iterator[float]:
    """How many metres the camera is from a place."""
    yield _kilometres(event, place) * 1000


def decode(event: Event) -> dict[str, Any]:
    """What the image shows: the set-up that all detectors share."""
    time.sleep(PAUSE)
    scene: Any = event.payloads.get("scene") or event.attributes["scene"]
    return dict(scene)


def pattern(kind: str) -> Any:
    """A detector that says whether the scene shows something."""

    def detect(scene: dict[str, Any], *what: str) -> bool:
        time.sleep(PAUSE)
        return bool(scene[kind] in what)

    return Operator(detect, reads=("scene",), prepare=decode)


def count(kind: str) -> Any:
    """A detector that counts something in the scene."""

    def detect(scene: dict[str, Any], number: None) -> Iterator[int]:
        time.sleep(PAUSE)
        if scene[kind]:
            yield scene[kind]

    return Operator(detect, reads=("scene",), prepare=decode)


POSITION = ("x", "y")
OPERATORS = {
    "locIn": Operator(loc_in, reads=POSITION),
    "locWithin": Operator(loc_within, reads=POSITION),
    "distanceFrom": Operator(distance_from, reads=POSITION),
    "chasePattern": pattern("chaser"),
    "trafficPattern": pattern("traffic"),
    "mobPattern": count("mob"),
    "pedestrianCount": count("pedestrians"),
    "policeCarCount": count("police_cars"),
    "tourBoatCount": count("tour_boats"),
    "coastGuardBoatCount": count("coast_guard"),
}


def declare() -> None:
    """Make the operators known to all engines of this process, as executors need it."""
    for name, each in OPERATORS.items():
        operator(replace(each, name=name))


def frames(number: int, seed: int = 1) -> list[Event]:
    """Frames of cameras over a made-up city."""
    rng = random.Random(seed)
    return [
        Event(
            {"camera": n % 5, "x": rng.uniform(-1, 10), "y": rng.uniform(-1, 10)},
            payloads={
                "scene": {
                    "chaser": rng.choice(["policeCar", "nobody"]),
                    "traffic": rng.choice(["congestion", "accident", "calm"]),
                    "mob": rng.choice([0, 30, 80]),
                    "pedestrians": rng.randrange(500),
                    "police_cars": rng.randrange(4),
                    "tour_boats": rng.randrange(6),
                    "coast_guard": rng.randrange(3),
                }
            },
        )
        for n in range(number)
    ]


def city(schedule: str = "adaptive", copies: int = 20) -> Engine:
    """An engine with the five subscriptions, and variations that share their calls."""
    engine = Engine(operators=OPERATORS, schedule=schedule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostlyWarning)  # they ask about positions by operators
        for name, text in SUBSCRIPTIONS.items():
            engine.subscribe(text, id=name)
        for number in range(copies):
            engine.subscribe(
                f"locIn('Bronx') and pedestrianCount(?p) and ?p > {number * 20}",
                id=f"more {number}",
            )
    return engine


def main(events: int = 60) -> None:
    """Watch the city by all schedules."""
    stream = frames(events)
    for schedule in ("history", "sequential", "sub_order", "adaptive"):
        engine = city(schedule)
        begin = time.perf_counter()
        found = engine.match_batch(stream)
        seconds = time.perf_counter() - begin
        plan = engine.plan().schedule
        print(
            f"{schedule:10}  {len(found)} matches, {plan.made:,} calls made, {plan.saved:,} saved, "
            f"{seconds:.2f} s"
        )
    print(plan)


if __name__ == "__main__":
    main()
