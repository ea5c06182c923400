"""The OpenAPI document is valid, and speaks of what there is."""

from __future__ import annotations

import json

import jsonschema
from openapi_spec_validator import validate

from tamis import __version__
from tamis.server.app import OPERATIONS
from tamis.server.openapi import openapi
from tamis.server.schemas import SCHEMAS
from tests.server.conftest import Served


def test_the_document_is_valid_openapi(served: Served) -> None:
    document = served.http.get("/v1/openapi.json").json()
    assert document == json.loads(json.dumps(openapi(OPERATIONS, __version__)))
    validate(document)


def test_every_schema_is_one_and_is_used() -> None:
    document = json.dumps(openapi(OPERATIONS, __version__))
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert f'"#/components/schemas/{name}"' in document, f"nobody uses {name}"


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))
    for operation in OPERATIONS:
        assert operation.summary
        assert operation.who in ("anyone", "ticket", "publish", "subscribe", "admin")
