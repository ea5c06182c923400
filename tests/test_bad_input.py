"""A sample of what ``make soak`` runs in full: hostile input gets a clear error, in time."""

from __future__ import annotations

import pytest

from tests.fuzz import ATTACKS, findings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_hostile_input(seed: int) -> None:
    assert list(findings(seed, 1_000)) == []


def test_every_attack_is_run() -> None:
    assert sum(share for share, _ in ATTACKS.values()) == pytest.approx(1)
