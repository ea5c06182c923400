"""Settings of all tests.

`HYPOTHESIS_PROFILE=soak pytest --timeout 0` looks for many minutes where the default, the same
examples each time, looks for seconds.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

SLOW = {
    "test_arrayfile.py",
    "test_arrow_points.py",
    "test_axes.py",
    "test_lines.py",
    "test_bulk.py",
    "test_sieve_matcher.py",
}
"""Modules that ``make check`` leaves out beside the tests that are marked one by one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)


settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.register_profile(
    "soak",
    max_examples=2_000,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],  # of unlucky seeds
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
