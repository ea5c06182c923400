"""schemathesis makes requests from the OpenAPI document, and looks for answers that it does not allow.

The seed is fixed; TAMIS_SOAK=n makes n times as many requests.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.server.conftest import Serve

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
STREAMS = ("/v1/subscriptions/{id}/stream",)
"""What never ends by itself has tests of its own."""
EXAMPLES = 12 * int(os.environ.get("TAMIS_SOAK", "1"))


@pytest.mark.slow
def test_every_answer_is_one_that_the_document_allows(serve: Serve) -> None:
    served = serve(requests_per_second=0, wait_seconds=0.01)
    served.subscribe("n >= 0", id="s")
    served.http.post("/v1/events", json=[{"n": 1}] * 3)
    schema = schemathesis.openapi.from_dict(served.http.get("/v1/openapi.json").json())
    schema.config.update(base_url=served.address)
    count = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if operation.path in STREAMS:
            continue
        count += 1
        served.http.post("/v1/subscriptions", json={"subscription": "n >= 0", "id": "s"})

        @seed(20_000 + count)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def send(case: schemathesis.Case) -> None:
            if case.path_parameters and "id" in case.path_parameters:
                case.path_parameters["id"] = "s"
            headers = {"Authorization": f"Bearer {served.key}"}
            case.call_and_validate(checks=CHECKS, headers=headers)

        send()
    assert count > 20
