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
from tamis.errors import TamisError
from tamis.model.events.event import Event

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
        int | None, typer.Option("--limit", min=1, help="Stop after this many matches.")
    ] = None,
    skip_faulty: Annotated[
        bool,
        typer.Option(
            "--skip-faulty", help="Match the rest if some subscriptions or events are faulty."
        ),
    ] = False,
) -> None:
    """Write which events match which subscriptions.

    Each match is a line such as [bold]{"event": 0, "subscription": "cheap"}[/bold]. Events are
    counted from 0. NDJSON is matched line by line, so the input may be endless.

    Cells of CSV are strings, so [bold]price < 5[/bold] matches none of them, unless you give a
    schema with their types. An empty cell without quotes is a missing attribute. In JSON you may
    write a subscription as text or in its JSON form.

    A faulty subscription or event stops the command. With [bold]--skip-faulty[/bold] you get the
    matches of all others, and each one skipped is reported on standard error with its line and the
    reason. Skipped events keep their numbers. The exit code is 1 if anything was skipped. A CSV or
    Parquet file that cannot be read to its end still stops the command.
    """
    if format is OutputFormat.PARQUET and output == "-":
        raise UsageError("--format parquet needs a file: give --output")
    if events == subscriptions == STANDARD_INPUT:
        raise UsageError("events and subscriptions cannot both come from standard input")
    engine, faulty = load_engine(subscriptions, taxonomy, schema, skip_faulty=skip_faulty)
    started = time.perf_counter()
    at_once = events == STANDARD_INPUT
    _refuse_overwriting(output, events, subscriptions)
    source = open_source(events, input_format)
    with source.file, open_writer(format, output, engine, at_once=at_once) as writer:
        run = Run(engine, source, skip_faulty)
        run.match_all(writer, limit, bar=_bar_is_wanted(output))
        writer.finish()
    seconds = time.perf_counter() - started
    skipped = [
        _count(number, noun)
        for number, noun in (
            (faulty, "subscription"),
            (run.skipped, "event"),
            (run.incomplete, "undecided match"),
        )
        if number
    ]
    said = f"; skipped {' and '.join(skipped)}" if skipped else ""
    say(f"{_count(run.events, 'event')}, {_count(run.matches, 'match')} in {seconds:.2f} s{said}")
    if skipped:
        raise typer.Exit(1)


class Run:
    """Matches a source, and counts what it has read, written and skipped."""

    def __init__(self, engine: Engine, source: Source, skip_faulty: bool) -> None:
        self._engine = engine
        self._source = source
        self._skip_faulty = skip_faulty
        self.events = 0
        self.matches = 0
        self.skipped = 0
        self.incomplete = 0

    def match_all(self, writer: Writer, limit: int | None, *, bar: bool) -> None:
        """Write the matches of all events, or so many."""
        for event in self._with_progress(bar):
            try:
                row = self.events + self.skipped
                with located(f"{self._source.name}: row {row}"):
                    found = self._engine.matches(event)
                    if found.incomplete and not self._skip_faulty:
                        raise TamisError(str(found.incomplete[0]))
            except TamisError as error:
                if not self._skip_faulty:
                    raise
                self._skip(error)
                continue
            for pair in found.incomplete:
                say(f"skipped: {self._source.name}: row {row}: {pair}")
            self.incomplete += len(found.incomplete)
            left = None if limit is None else limit - self.matches
            for id, _ in found[:left]:
                writer.write(row, id)
                self.matches += 1
            writer.end_event()
            self.events += 1
            if self.matches == limit:
                break

    def _with_progress(self, visible: bool) -> Iterator[Event]:
        skip = self._skip_unread if self._skip_faulty else None
        with progress_bar(visible=visible) as progress:
            task = progress.add_task("matching", total=None)
            for event in read_source(self._source, self._engine.schema, skip):
                yield event
                progress.update(task, total=self._source.total, completed=self._source.position)

    def _skip(self, error: TamisError) -> None:
        say(f"skipped: {error}")
        self.skipped += 1

    def _skip_unread(self, error: TamisError) -> None:
        self._skip(TamisError(f"{self._source.name}: {error}"))


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
            raise UsageError(f"{output} is one of the inputs: write to another file")


def _count(number: int, noun: str) -> str:
    plural = noun if number == 1 else noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {plural}"
