"""Small files of events and subscriptions in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.samples import EVENTS, EXTENSION, SCHEMA, SUBSCRIPTIONS, TAXONOMY, write_ndjson


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with events, subscriptions and a taxonomy."""
    monkeypatch.chdir(tmp_path)
    write_ndjson(tmp_path / "events.ndjson", EVENTS)
    write_ndjson(tmp_path / "events.jsonl", EVENTS)
    (tmp_path / "events.json").write_text(json.dumps(EVENTS, indent=1), "utf-8")
    batch = pa.RecordBatch.from_struct_array(pa.array(EVENTS))
    parquet.write_table(pa.Table.from_batches([batch]), tmp_path / "events.parquet")
    (tmp_path / "events.csv").write_text("category,price\ntoy,3\nchair,\ntoy,30\n", "utf-8")

    write_ndjson(tmp_path / "subscriptions.ndjson", SUBSCRIPTIONS)
    (tmp_path / "subscriptions.json").write_text(json.dumps(SUBSCRIPTIONS), "utf-8")
    parquet.write_table(pa.Table.from_pylist(SUBSCRIPTIONS), tmp_path / "subscriptions.parquet")
    with (tmp_path / "subscriptions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "subscription"])
        writer.writeheader()
        writer.writerows(SUBSCRIPTIONS)
    (tmp_path / "old.txt").write_text("category = 'chair'\n", "utf-8")
    (tmp_path / "new.txt").write_text("category is a 'furniture'  # all of it\n", "utf-8")
    (tmp_path / "taxonomy.json").write_text(json.dumps(TAXONOMY), "utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), "utf-8")
    (tmp_path / "extension.json").write_text(json.dumps(EXTENSION), "utf-8")
    return tmp_path
