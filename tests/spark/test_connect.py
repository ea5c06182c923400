"""Matching through Spark Connect."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import pytest

from tamis.spark.session.java import ensure_java
from tests.ports import CONNECT, reserved
from tests.spark.processes import PYTHON, environment, running

DRIVER = (*PYTHON, str(Path(__file__).with_name("connect_driver.py")))


def is_free(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.timeout(400)
def test_everything_works_through_connect(tmp_path: Path) -> None:
    deadline = time.monotonic() + 150
    while not is_free(CONNECT) and time.monotonic() < deadline:
        time.sleep(1)
    env = environment(JAVA_HOME=ensure_java(), PYSPARK_PYTHON=sys.executable)
    with reserved(CONNECT), running(*DRIVER, str(tmp_path), env=env) as driver:
        assert driver.wait() == 0, driver.output
        parts = [line.strip() for line in driver.lines]
    assert parts == ["frame", "index", "errors", "stream", "register"]
