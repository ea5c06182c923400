"""Brokers in a folder of their own, with a clock that tests set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.broker import Broker, BrokerSettings, Identity, Page, Role

ALL = frozenset({Role.PUBLISH, Role.SUBSCRIBE})


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'broker.db'}"


@pytest.fixture
def broker(url: str, clock: Clock) -> Iterator[Broker]:
    with Broker.open(url, BrokerSettings(anonymous=ALL), clock) as broker:
        yield broker


@pytest.fixture
def me(broker: Broker) -> Identity:
    return broker.anonymous()


def bodies(page: Page) -> list[Any]:
    """The attributes of the events of a page."""
    return [each.event.attributes for each in page.notifications if each.event is not None]


def eventually(found: Callable[[], Any], seconds: float = 200.0) -> Any:
    """What is found, once it is true; on a busy machine that may take long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.01)
    raise AssertionError(f"nothing after {seconds} seconds")
