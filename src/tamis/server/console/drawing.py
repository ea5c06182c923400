"""Small pictures as SVG: plots of numbers over time, and the overlay."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 240.0, 44.0
PLOTTED = 150
"""Values of one plot, at most: a second each."""


def plot(values: Sequence[float], name: str) -> Markup:
    """A line over the last minutes, from zero to its greatest value."""
    values = list(values)[-PLOTTED:] or [0.0]
    top = max([*values, 1e-9])
    step = _WIDTH / max(1, len(values) - 1)
    places = [
        (index * step, _HEIGHT - 2 - (_HEIGHT - 6) * value / top)
        for index, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    area = f"0,{_HEIGHT:.0f} {line} {places[-1][0]:.1f},{_HEIGHT:.0f}"
    label = f"{name}: now {short(values[-1])}, at most {short(max(values))}"
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><polygon class="plot-area" points="{area}"/>'
        f'<polyline class="plot-line" points="{line}"/></svg>'
    )


def overlay_picture(name: str, links: Sequence[tuple[str, bool]]) -> Markup:
    """This broker in the middle, and those that it is linked to around it; a link that is not
    connected is dashed."""
    width, height = 720.0, 300.0
    middle_x, middle_y, radius = width / 2, height / 2, 95.0
    lines, circles = [], []
    for index, (other, is_connected) in enumerate(links):
        angle = 2 * math.pi * index / len(links)
        x, y = middle_x + 2.7 * radius * math.cos(angle), middle_y + radius * math.sin(angle)
        state, word = ("up", "connected") if is_connected else ("down", "not connected")
        label = y - 24 if math.sin(angle) < -0.1 else y + 32  # away from the line
        lines.append(
            f'<line class="{state}" x1="{middle_x:.0f}" y1="{middle_y:.0f}" '
            f'x2="{x:.0f}" y2="{y:.0f}"/>'
        )
        circles.append(
            f'<g><title>{escape(other)}: {word}</title><circle cx="{x:.0f}" cy="{y:.0f}" r="14"/>'
            f'<text x="{x:.0f}" y="{label:.0f}">{escape(other)}</text></g>'
        )
    note = "" if links else "no brokers are linked to it"
    label_of_all = f"{name}, linked to {len(links)} brokers"
    return Markup(
        f'<svg class="overlay" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label_of_all)}">{"".join(lines)}'
        f'<circle class="self" cx="{middle_x:.0f}" cy="{middle_y:.0f}" r="20"/>'
        f'<text x="{middle_x:.0f}" y="{middle_y + 40:.0f}">{escape(name)}</text>'
        f'<text class="note" x="{middle_x:.0f}" y="{middle_y + 58:.0f}">{note}</text>'
        f"{''.join(circles)}</svg>"
    )


def short(value: float) -> str:
    """A number for people: 950, 12,345, 1.2 million, 0.35."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:,.1f} million"
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """A span of time for people: 3 days, 5 h 20 min, 40 s."""
    if seconds >= 2 * 86_400:
        return f"{seconds / 86_400:.0f} days"
    if seconds >= 3_600:
        return f"{int(seconds // 3_600)} h {int(seconds % 3_600 // 60)} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min"
    return f"{max(0, int(seconds))} s"
