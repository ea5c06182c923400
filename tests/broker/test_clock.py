"""Leases survive a clock that jumps."""

from __future__ import annotations

from tamis.broker.clock import JUMP, STEADY, SteadyClock


class Hands:
    def __init__(self) -> None:
        self.wall, self.ticks = 1_000_000.0, 50.0

    def go(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds


def test_time_goes_on_through_a_jump() -> None:
    hands = Hands()
    clock = SteadyClock(lambda: hands.wall, lambda: hands.ticks)
    hands.go(10)
    assert clock() == 1_000_010
    hands.wall += 86_400 * 365
    assert clock() == 1_000_010
    hands.go(10)
    assert clock() == 1_000_020
    assert clock.jumps == 1
    hands.wall -= 86_400 * 365
    assert clock() == 1_000_020


def test_small_corrections_are_followed() -> None:
    hands = Hands()
    clock = SteadyClock(lambda: hands.wall, lambda: hands.ticks)
    hands.wall += JUMP / 2
    assert clock() == hands.wall
    hands.wall -= JUMP
    assert clock() == hands.wall
    assert clock.jumps == 0


def test_a_clock_that_stays_is_believed() -> None:
    hands = Hands()
    clock = SteadyClock(lambda: hands.wall, lambda: hands.ticks)
    hands.wall -= 3_600
    assert clock() == 1_000_000
    hands.go(STEADY - 1)
    assert clock() == 1_000_000 + STEADY - 1
    hands.go(2)
    assert clock() == hands.wall
