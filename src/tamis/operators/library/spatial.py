"""Places: where an event is, by its ``longitude`` and ``latitude`` in degrees (WGS 84).

    load_places("boroughs.geojson")        in_region('Bronx') and within('Times Square', 5 km)

A place is a named point, line or area. Distances are geodesic, in metres; the distance from an area
is 0 inside it. Distances from lines and areas are measured to their nearest point in degrees, which
is exact enough for places of some hundred kilometres.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyproj
import shapely
from shapely.geometry import shape

from tamis.errors import TamisError, suggestion
from tamis.model.events.event import Event
from tamis.model.units import UNITS
from tamis.operators.registry import operator
from tamis.predicates.operands import Quantity

_PLACES: dict[str, Any] = {}
_GEOD = pyproj.Geod(ellps="WGS84")
_READS = ("longitude", "latitude")
NEAR = 1_000.0
"""Metres within which ``near`` is true."""


def load_places(source: str | Path | Mapping[str, Any], name: str = "name") -> list[str]:
    """Add the features of a GeoJSON file or object, by one of their properties; their names."""
    form = source if isinstance(source, Mapping) else json.loads(Path(source).read_text("utf-8"))
    added: list[str] = []
    for feature in form.get("features", ()):
        found = (feature.get("properties") or {}).get(name)
        if not isinstance(found, str):
            raise TamisError(f"a feature without the property {name!r}; load_places(…, name=…)")
        _PLACES[found] = shape(feature["geometry"])
        shapely.prepare(_PLACES[found])
        added.append(found)
    if not added:
        raise TamisError("no features: load_places takes a GeoJSON FeatureCollection")
    return added


def _place(name: str) -> Any:
    found = _PLACES.get(name)
    if found is None:
        raise LookupError(f"no place {name!r}; {suggestion(name, _PLACES) or 'see load_places'}")
    return found


def _position(event: Event) -> tuple[float, float] | None:
    """Longitude and latitude; None if the event has none."""
    longitude, latitude = (event.attributes.get(key) for key in _READS)
    if not isinstance(longitude, int | float) or not isinstance(latitude, int | float):
        return None
    return float(longitude), float(latitude)


def _metres(position: tuple[float, float], place: str) -> float:
    geometry = _place(place)
    point = shapely.Point(position)
    if geometry.intersects(point):
        return 0.0
    nearest = shapely.shortest_line(geometry, point).coords[0]
    return float(_GEOD.inv(*position, *nearest)[2])


@cache
def _length(radius: Quantity) -> float:
    number = radius.number.value
    assert isinstance(number, int | float)
    return number * UNITS[radius.unit][1]


@operator("place: string", reads=_READS)
def in_region(event: Event, place: str) -> bool | None:
    """Whether the event is inside a place."""
    position = _position(event)
    return None if position is None else bool(_place(place).covers(shapely.Point(position)))


@operator("place: string, radius: length", reads=_READS)
def within(event: Event, place: str, radius: Quantity) -> bool | None:
    """Whether the event is at most so far from a place: ``within('Times Square', 5 km)``."""
    position = _position(event)
    return None if position is None else _metres(position, place) <= _length(radius)


@operator("place: string", reads=_READS)
def near(event: Event, place: str) -> bool | None:
    """Whether the event is within a kilometre of a place."""
    position = _position(event)
    return None if position is None else _metres(position, place) <= NEAR


@operator("place: string, ?metres: number", reads=_READS)
def distance_from(event: Event, place: str, metres: float | None) -> Iterator[float] | None:
    """How many metres the event is from a place; with a number, whether it is that far."""
    position = _position(event)
    if position is None:
        return None
    found = _metres(position, place)
    return iter([found]) if metres is None else found == metres  # type: ignore[return-value]
