"""One Spark session for all tests of this folder that run in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent

PANDAS = "ignore:PySpark does not yet fully support pandas >= 3:FutureWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are slow, and meet a warning of PySpark."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings(PANDAS))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session."""
    from tamis.spark import session_builder

    builder = session_builder("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 2)
    builder = builder.config("spark.sql.session.timeZone", "America/New_York")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
