"""Units of the dimensioned literals that operators take: ``within(5 km)``."""

from __future__ import annotations

UNITS: dict[str, tuple[str, float]] = {
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1_000.0),
    "ft": ("length", 0.3048),
    "yd": ("length", 0.9144),
    "mi": ("length", 1_609.344),
    "nmi": ("length", 1_852.0),
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "ms": ("time", 0.001),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3_600.0),
    "d": ("time", 86_400.0),
    "mg": ("mass", 1e-6),
    "g": ("mass", 0.001),
    "kg": ("mass", 1.0),
    "t": ("mass", 1_000.0),
    "lb": ("mass", 0.45359237),
    "deg": ("angle", 0.017453292519943295),
    "rad": ("angle", 1.0),
}
"""For each unit its dimension and its size in the dimension's SI unit."""
