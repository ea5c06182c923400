"""The demo of the broker: all three subscribers receive something, and every process ends."""

from __future__ import annotations

import pytest

from tamis.demo.broker import run_broker


@pytest.mark.slow
def test_all_three_subscribers_receive_auctions(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in (12, 120):  # a busy machine needs more time
        counts = run_broker(seconds=seconds, port=0, seed=0)
        if len(counts) == 3:
            break
    assert set(counts) == {"toys", "bargains", "bidding-wars"}
    said = capsys.readouterr()
    assert "The console is at" in said.err
    for how in ("SSE", "webhook", "long poll"):
        assert how in said.out
