"""``tamis compact``: which subscriptions others cover, and which can be merged."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.match import SchemaOption
from tamis.cli.subscription_files import load_engine, load_schema
from tamis.console import say
from tamis.predicates.facts import NO_FACTS

if TYPE_CHECKING:
    from tamis.routing.compacting import Compaction

EXAMPLES = (
    "tamis compact subscriptions.csv",
    "tamis compact subscriptions.ndjson --schema schema.json --sets --format json",
)


class ReportFormat(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"


def compact(
    file: Annotated[str, typer.Argument(help="Subscriptions: CSV, JSON, NDJSON or Parquet.")],
    schema: SchemaOption = None,
    sets: Annotated[
        bool, typer.Option("--sets", help="Merge single values too: price in (1, 4).")
    ] = False,
    format: Annotated[ReportFormat, typer.Option(help="How to write the report.")] = (
        ReportFormat.TEXT
    ),
) -> None:
    """Find subscriptions that a smaller table can do without.

    A subscription is covered if another one matches whatever it matches. A merger stands for
    several subscriptions, and matches exactly what they match. A schema makes more of both
    possible: it knows which values are integers.
    """
    from tamis.routing import compacting
    from tamis.routing.merging import MergeRules

    engine, _ = load_engine(file, None, schema)
    rows = [(each.id, each.expression) for each in engine]
    facts = NO_FACTS if schema is None else load_schema(schema)
    found = compacting.compact(rows, facts, MergeRules(sets=sets))
    (_write_json if format is ReportFormat.JSON else _write_text)(found)
    say(
        f"{len(rows):,} subscriptions: {len(found.covered):,} covered, "
        f"{len(rows) - len(found.covered) - len(found.remaining):,} merged into "
        f"{len(found.mergers):,}, {len(found.remaining):,} remain; "
        f"{found.size:,} entries are enough"
    )


def _write_text(found: Compaction) -> None:
    for id, coverer in found.covered.items():
        typer.echo(f"{id}: covered by {coverer}")
    for merger in found.mergers:
        typer.echo(f"{', '.join(merger.members)}: merged into {merger.filter.expression}")


def _write_json(found: Compaction) -> None:
    for id, coverer in found.covered.items():
        typer.echo(json.dumps({"id": id, "covered_by": coverer}))
    for merger in found.mergers:
        row = {"members": merger.members, "subscription": str(merger.filter.expression)}
        typer.echo(json.dumps(row))
