"""A PostgreSQL server of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgresql import postgresql_server


@pytest.fixture
def postgresql() -> Iterator[str]:
    """The address of a fresh database."""
    with postgresql_server() as server:
        yield server.address
