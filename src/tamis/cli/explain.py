"""``tamis explain``: why a subscription matches an event, or why not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from tamis.cli.files import STANDARD_INPUT, open_source, read_source
from tamis.cli.match import InputFormatOption, SchemaOption, TaxonomyOption
from tamis.cli.subscription_files import Faulty, FileRow, new_engine, read_rows
from tamis.console import UsageError, console, located, say
from tamis.engine.engine import Engine
from tamis.engine.explanation import Explanation
from tamis.engine.reader import Remark
from tamis.errors import SubscriptionError, UnknownIdError, suggestion
from tamis.model.events.event import Event
from tamis.model.events.readers import read_json
from tamis.model.schema.schema import Schema

EXAMPLES = (
    """tamis explain '{"category": "toy", "price": 3}' --subscription "price < 5" """.strip(),
    "tamis explain events.ndjson --row 1 -s subscriptions.csv --id cheap",
    "tamis explain events.json -s subscriptions.csv --id cheap --format json",
)


class ExplanationFormat(StrEnum):
    """How an explanation is written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


def explain(
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT", help="An event as JSON, a file of events, or - for standard input."
        ),
    ],
    subscription: Annotated[
        str | None, typer.Option("--subscription", help="The text of a subscription.")
    ] = None,
    subscriptions: Annotated[
        str | None, typer.Option("--subscriptions", "-s", help="A file of subscriptions …")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="… and the id of one of them.")] = None,
    row: Annotated[int, typer.Option("--row", min=0, help="Row of the event in its file.")] = 0,
    taxonomy: TaxonomyOption = None,
    schema: SchemaOption = None,
    input_format: InputFormatOption = None,
    format: Annotated[
        ExplanationFormat, typer.Option("--format", "-f", help="Form of the explanation.")
    ] = ExplanationFormat.TEXT,
) -> None:
    """Show why a subscription matches an event, or why not.

    You see each clause with the values that it met in the event, and whether it is ✓ true, ✗ false
    or ? unknown. The exit code is 0 whether it matches or not.
    """
    if (subscription is None) == (subscriptions is None):
        raise UsageError("give either --subscription TEXT, or --subscriptions FILE and --id ID")
    if (subscriptions is None) != (id is None):
        raise UsageError("--subscriptions FILE and --id ID belong together")
    if event == subscriptions == STANDARD_INPUT:
        raise UsageError("event and subscriptions cannot both come from standard input")
    engine = new_engine(taxonomy, schema)
    if subscription is not None:
        with located("the subscription"):
            taken, remarks = engine.subscriptions.add(subscription, "subscription")
    else:
        taken, remarks = _subscribe(engine, str(subscriptions), str(id))
    for remark in remarks:
        say(f"warning: {remark.message}")
    _show(engine.explain(taken, _event(event, row, input_format, engine.schema)), format)


def _subscribe(engine: Engine, name: str, id: str) -> tuple[str, Iterable[Remark]]:
    """Take the subscription with an id from a file; the others need not be valid."""
    source = open_source(name)
    with located(source.name):
        ids = []
        for row in read_rows(source):
            if row.content.get("id") == id:
                return id, _subscribe_row(engine, row)
            ids.append(str(row.content.get("id")))
        hint = suggestion(id, ids[:10_000])
        raise UnknownIdError(f"no subscription has the id {id!r}" + (f"; {hint}" if hint else ""))


def _subscribe_row(engine: Engine, row: FileRow) -> Iterable[Remark]:
    """Take a row, and return the remarks on it."""
    id = row.content["id"]
    if row.fault is not None:
        raise SubscriptionError(str(Faulty(row.place, id, row.fault)))
    found, remarks = engine.loader.add([row.content], errors="collect")
    for rejected in found.rejected:
        raise SubscriptionError(str(Faulty(row.place, id, rejected.error)))
    return remarks


def _event(given: str, row: int, input_format: InputFormatOption, schema: Schema | None) -> Event:
    if given.lstrip().startswith("{"):
        with located("the event"):
            return read_json(given)
    source = open_source(given, input_format)
    found = next(islice(read_source(source, schema), row, None), None)
    if found is None:
        raise UsageError(f"{source.name} has no row {row}; rows are counted from 0")
    return found


def _show(explanation: Explanation, format: ExplanationFormat) -> None:
    if format is ExplanationFormat.JSON:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=2))
    elif format is ExplanationFormat.HTML:
        typer.echo(explanation._repr_html_())
    elif sys.stdout.isatty():
        console().print(explanation)
    else:
        typer.echo(str(explanation))
