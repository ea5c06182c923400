"""Delta and Iceberg: change feeds of subscriptions, tables as sources and sinks; and Avro."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.processes import PYTHON, running
from tests.spark.releases import SPARK_41, environment_of

DRIVER = (*PYTHON, str(Path(__file__).with_name("lakes_driver.py")))


@pytest.mark.timeout(900)
def test_tables_of_delta_and_iceberg(tmp_path: Path) -> None:
    with running(*DRIVER, str(tmp_path), env=environment_of(SPARK_41)) as driver:
        assert driver.wait(600) == 0, driver.output
        assert [line.strip() for line in driver.lines] == ["delta", "iceberg", "end to end", "avro"]
