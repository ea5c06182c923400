"""``tamis schema``: look at a schema, check events by it, extend it, find one from a sample."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.files import STANDARD_INPUT, Format, open_source, read_source
from tamis.cli.match import EventsArgument, InputFormatOption
from tamis.cli.subscription_files import load_schema
from tamis.cli.writers import opened
from tamis.console import UsageError, located, say
from tamis.model.schema.conformity import Violation
from tamis.model.schema.domains import HierarchicalDomain
from tamis.model.schema.schema import EVENT_TYPE, Schema
from tamis.model.schema.table import tree_of

SchemaArgument = Annotated[
    str, typer.Argument(metavar="SCHEMA", help="JSON file of a schema, or - for standard input.")
]
TypeOption = Annotated[
    list[str] | None, typer.Option("--type", help="Type of events that name none; may be repeated.")
]


class ReportFormat(StrEnum):
    """How rejected events are written."""

    TEXT = "text"
    JSON = "json"


def schema() -> None:
    """Describe events, and check them: event types, their attributes, and the domains of these."""


def show(schema: SchemaArgument) -> None:
    """Show a schema as a table, and its hierarchies as trees."""
    found = load_schema(schema)
    typer.echo(str(found))
    for name, domain in found.domains.items():
        if isinstance(domain, HierarchicalDomain):
            typer.echo(f"\n{name}")
            for line in tree_of(domain.taxonomy):
                typer.echo(f"  {line}")


def check(
    schema: SchemaArgument,
    events: EventsArgument,
    types: TypeOption = None,
    input_format: InputFormatOption = None,
    format: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Form of the report.")
    ] = ReportFormat.TEXT,
) -> None:
    """Report each event that breaks a rule of the schema, with the rule and the reason.

    R1: an event names its types. R2: it has their attributes, with values of their domains. R3: it
    has no others. The exit code is 1 if an event is rejected. Cells of CSV are read as the schema
    says.
    """
    if schema == events == STANDARD_INPUT:
        raise UsageError("schema and events cannot both come from standard input")
    found = load_schema(schema)
    for type in types or []:
        found.view([type])
    source = open_source(events, input_format)
    row, rejected = -1, 0
    for row, event in enumerate(read_source(source, found)):
        broken = found.violations(event, types=types or [])
        rejected += bool(broken)
        for violation in broken:
            _report(source.name, row, violation, format)
    say(f"{source.name}: {row + 1:,} checked, {rejected:,} rejected")
    if rejected:
        raise typer.Exit(1)


def _report(name: str, row: int, violation: Violation, format: ReportFormat) -> None:
    if format is ReportFormat.JSON:
        plain = {"row": row, **violation._asdict()}
        typer.echo(json.dumps(plain, ensure_ascii=False))
    else:
        typer.echo(f"{name}: row {row}: {violation}")


def extend(
    schema: SchemaArgument,
    extension: Annotated[
        str, typer.Argument(metavar="EXTENSION", help="JSON file of the extension, or -.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write in place of SCHEMA, or -.")
    ] = None,
) -> None:
    """Extend a schema, and write its next version; the file is replaced at once, or not at all.

    The extension has the form of a schema: new domains, attributes and types, and more optional
    attributes of types that exist. What would change or narrow what exists is refused.
    """
    if schema == extension == STANDARD_INPUT:
        raise UsageError("schema and extension cannot both come from standard input")
    old = load_schema(schema)
    with located(extension):
        new = old.extend(_read(extension))
    _write(new, schema if output is None else output)
    say(f"version {new.version}" if new is not old else "nothing new: the version stays")


def infer(
    events: EventsArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, - for standard output.")
    ] = "-",
    type: Annotated[str, typer.Option("--type", help="Type of events that name none.")] = "event",
    event_type: Annotated[
        str, typer.Option("--event-type", help="Attribute that has the types of an event.")
    ] = EVENT_TYPE,
    enumerate: Annotated[
        int,
        typer.Option("--enumerate", min=0, help="Most distinct strings of an enumerated domain."),
    ] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Look at so many events only.")
    ] = None,
    input_format: InputFormatOption = None,
) -> None:
    """Find a schema under which all events of a sample are valid, and write it.

    An attribute that all events of a type have is mandatory, one that has several values in any of
    them is multiple.
    """
    source = open_source(events, input_format)
    sample = islice(read_source(source), limit)
    found = Schema.infer(sample, type=type, event_type=event_type, enumerate=enumerate)
    _write(found, output)
    say(f"{source.name}: {len(found.types):,} types, {len(found.attributes):,} attributes")


COMMANDS: Mapping[Callable[..., None], tuple[str, ...]] = {
    show: ("tamis schema show schema.json",),
    check: (
        "tamis schema check schema.json events.ndjson --type auction",
        "cat events.ndjson | tamis schema check schema.json - --type auction -f json",
    ),
    extend: ("tamis schema extend schema.json extension.json -o next.json",),
    infer: (
        "tamis schema infer events.ndjson --type auction -o schema.json",
        "tamis schema infer events.parquet --enumerate 20",
    ),
}
"""The commands, each with its examples."""


def _read(name: str) -> bytes:
    source = open_source(name, Format.JSON)
    with source.file:
        return source.file.read()


def _write(schema: Schema, output: str) -> None:
    text = json.dumps(schema.to_json(), ensure_ascii=False, indent=2) + "\n"
    if output == STANDARD_INPUT:
        sys.stdout.write(text)
        return
    with opened(Path(output)) as file:
        file.write(text.encode())
