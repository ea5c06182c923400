"""``tamis match``: which events match which subscriptions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from tamis.cli.files import STANDARD_INPUT, Format, Source, open_source, read_source
from tamis.cli.subscription_files import load_engine
from tamis.cli.writers import OutputFormat, Writer, open_writer
from tamis.console import UsageError, located, progress_bar, say
from tamis.engine.engine import Engine
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema

EXAMPLES = (
    "tamis match events.ndjson -s subscriptions.csv",
    "tamis match events.parquet -s subscriptions.ndjson -t taxonomy.json -f table --limit 20",
    "cat events.ndjson | tamis match - -s subscriptions.csv --output matches.ndjson",
    "tamis match events.csv -s subscriptions.csv -f parquet -o matches.parquet",
)

EventsArgument = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS", help="Events: .ndjson, .jsonl, .json, .csv, .parquet, or - for NDJSON."
    ),
]
TaxonomyOption = Annotated[
    str | None,
    typer.Option("--taxonomy", "-t", help="JSON file that maps terms to lists of their parents."),
]
SchemaOption = Annotated[
    str | None,
    typer.Option("--schema", help="JSON file of a schema, which subscriptions are checked by."),
]
InputFormatOption = Annotated[
    Format | None, typer.Option("--input-format", help="Format of the input, whatever its suffix.")
]


def match(
    events: EventsArgument,
    subscriptions: Annotated[
        str,
        typer.Option(
            "--subscriptions",
            "-s",
            help="Subscriptions: a file of the same formats with the columns id, subscription and, "
            "if you like, metadata and enabled.",
        ),
    ],
    taxonomy: TaxonomyOption = None,
    schema: SchemaOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, - for standard output.")
    ] = "-",
    format: Annotated[
        OutputFormat,
        typer.Option("--format", "-f", help="Form of the matches; a table shows the first 1,000."),
    ] = OutputFormat.NDJSON,
    input_format: InputFormatOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Stop after so many matches.")
    ] = None,
) -> None:
    """Write which events match which subscriptions.

    Each match is a line such as [bold]{"event": 0, "subscription": "cheap"}[/bold]; events are
    rows, counted from 0. NDJSON is matched line by line, so it may be endless.

    Cells of CSV are strings ([bold]price < 5[/bold] is true of none) unless a schema says what they
    are, and an empty cell without quotes is a missing attribute. In JSON a subscription may be a
    text or its JSON form.
    """
    if format is OutputFormat.PARQUET and output == "-":
        raise UsageError("--format parquet needs a file: give --output")
    if events == subscriptions == STANDARD_INPUT:
        raise UsageError("events and subscriptions cannot both come from standard input")
    engine = load_engine(subscriptions, taxonomy, schema)
    started = time.perf_counter()
    at_once = events == STANDARD_INPUT
    _refuse_overwriting(output, events, subscriptions)
    source = open_source(events, input_format)
    with source.file, open_writer(format, output, engine, at_once=at_once) as writer:
        rows, matches = _match_all(engine, source, writer, limit, _bar_is_wanted(output))
        writer.finish()
    seconds = time.perf_counter() - started
    say(f"{_count(rows, 'event')}, {_count(matches, 'match')} in {seconds:.2f} s")


def _match_all(
    engine: Engine, source: Source, writer: Writer, limit: int | None, bar: bool
) -> tuple[int, int]:
    """How many events were read, and how many matches written."""
    rows = matches = 0
    for event in _with_progress(source, engine.schema, bar):
        with located(f"{source.name}: row {rows}"):
            ids = engine.match(event, limit=None if limit is None else limit - matches)
        for id in ids:
            writer.write(rows, id)
        writer.end_event()
        rows += 1
        matches += len(ids)
        if matches == limit:
            break
    return rows, matches


def _with_progress(source: Source, schema: Schema | None, visible: bool) -> Iterator[Event]:
    with progress_bar(visible=visible) as progress:
        task = progress.add_task("matching", total=None)
        for event in read_source(source, schema):
            yield event
            progress.update(task, total=source.total, completed=source.position)


def _bar_is_wanted(output: str) -> bool:
    """On a terminal, unless the matches appear there too."""
    return sys.stderr.isatty() and not (output == "-" and sys.stdout.isatty())


def _refuse_overwriting(output: str, *inputs: str) -> None:
    for name in inputs:
        if (
            output != "-"
            and name != STANDARD_INPUT
            and os.path.exists(output)
            and os.path.exists(name)
            and os.path.samefile(output, name)
        ):
            raise UsageError(f"{output} is read from, so it cannot be written to")


def _count(number: int, noun: str) -> str:
    plural = noun if number == 1 else noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {plural}"
