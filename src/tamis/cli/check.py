"""``tamis check``: what is wrong with subscriptions, and where."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tamis.cli.files import STANDARD_INPUT, open_source, read_source
from tamis.cli.match import InputFormatOption, SchemaOption, TaxonomyOption
from tamis.cli.subscription_files import FileRow, new_engine, read_rows
from tamis.console import UsageError, located, say, split_hint
from tamis.engine.engine import Engine
from tamis.errors import (
    DuplicateIdError,
    ParseError,
    SubscriptionError,
    TamisError,
    suggestion,
)
from tamis.language.json_form import from_json
from tamis.language.parser import parse
from tamis.model.events.event import Node
from tamis.model.paths import Path, format_path
from tamis.predicates.expression import nodes_within
from tamis.predicates.operands import Attribute, operands_within

EXAMPLES = (
    "tamis check subscriptions.csv",
    """tamis check --text "price < 5 and category = 'toy'" """.strip(),
    "tamis check subscriptions.ndjson --taxonomy taxonomy.json --events events.parquet",
    "cat subscriptions.csv | tamis check - --input-format csv --format json",
)


class ReportFormat(StrEnum):
    """How problems are written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the subscription in a row; line and column are those of its text."""

    row: int
    file_line: int | None
    id: Any
    line: int | None
    column: int | None
    severity: str
    message: str
    hint: str | None
    shown: str
    """All of it, as text."""

    def to_json(self) -> str:
        """The problem as one line."""
        plain = asdict(self)
        del plain["shown"]
        return json.dumps(plain, ensure_ascii=False, default=str)


def check(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="File of subscriptions, or - for standard input."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="One subscription, in place of a file.")
    ] = None,
    taxonomy: TaxonomyOption = None,
    schema: SchemaOption = None,
    events: Annotated[
        str | None,
        typer.Option("--events", help="A sample of events: attributes not in it are errors."),
    ] = None,
    input_format: InputFormatOption = None,
    format: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Form of the report.")
    ] = ReportFormat.TEXT,
) -> None:
    """Check subscriptions, and report each problem with the line of the file and the reason.

    You get a warning for a subscription that contradicts itself, and so never matches, and for one
    that makes matching slow. The exit code is 1 if there are errors, and 0 if there are none or
    only warnings.
    """
    if (file is None) == (text is None):
        raise UsageError("give either a FILE of subscriptions or --text TEXT")
    if file == events == STANDARD_INPUT:
        raise UsageError("subscriptions and events cannot both come from standard input")
    attributes = None if events is None else _attributes(events)
    checker = Checker(new_engine(taxonomy, schema), attributes)
    if text is not None:
        name, rows = "the text", iter([FileRow(0, None, "", {"id": "text", "subscription": text})])
    else:
        source = open_source(str(file), input_format)
        name, rows = source.name, read_rows(source)
    with located(name):
        errors = sum(_report(name, problem, format) for problem in checker.problems(rows))
    warned = checker.warnings
    say(f"{name}: {checker.rows:,} checked, {errors:,} faulty, {warned:,} with a warning")
    if errors:
        raise typer.Exit(1)


def _report(name: str, problem: Problem, format: ReportFormat) -> bool:
    """Write a problem, and tell whether it is an error."""
    if format is ReportFormat.JSON:
        typer.echo(problem.to_json())
    else:
        typer.echo(f"{name}: {problem.shown}")
    return problem.severity == "error"


class Checker:
    """Looks at subscriptions row by row, and counts what it has seen."""

    def __init__(self, engine: Engine, attributes: Collection[str] | None) -> None:
        self._engine = engine
        self._attributes = attributes
        self._first_places: dict[str, str] = {}
        self.rows = 0
        self.warnings = 0

    def problems(self, rows: Iterable[FileRow]) -> Iterator[Problem]:
        """The problems of all rows, in their order."""
        for row in rows:
            problem = self._problem(row)
            self.rows += 1
            if problem is not None:
                self.warnings += problem.severity == "warning"
                yield problem

    def _problem(self, row: FileRow) -> Problem | None:
        try:
            warned = self._take(row)
        except TamisError as error:
            return _error(row, error)
        if warned is None:
            return None
        id = row.content["id"]
        message = warned.replace(f"the subscription {id!r} ", "the subscription ", 1)
        shown = f"{_before(row)}warning: {message}"
        return Problem(row.number, row.line, id, None, None, "warning", message, None, shown)

    def _take(self, row: FileRow) -> str | None:
        """Put a row into the engine; return the warning that it never matches, or is costly."""
        if row.fault is not None:
            raise row.fault
        id, subscription = row.content["id"], row.content["subscription"]
        if self._attributes is not None:
            _check_attributes(subscription, self._attributes)
        found, remarks = self._engine.loader.add([row.content], errors="collect")
        for rejected in found.rejected:
            if isinstance(rejected.error, DuplicateIdError):
                raise DuplicateIdError(f"{self._first_places[id]} has the same id")
            raise rejected.error
        self._first_places[id] = row.place
        return remarks[0].message if remarks else None


def _error(row: FileRow, error: TamisError) -> Problem:
    message, hint = split_hint(error)
    line = column = None
    text = ""
    if isinstance(error, ParseError):
        line, column = error.line, error.column
        text = "in the text, " if row.place else ""
    shown = f"{_before(row)}error: {text}{error}"
    id = row.content.get("id")
    return Problem(row.number, row.line, id, line, column, "error", message, hint, shown)


def _before(row: FileRow) -> str:
    """The place and the id of a row, to stand before what is said about it."""
    if not row.place:
        return ""
    return f"{row.place}, id {row.content['id']!r}: " if "id" in row.content else f"{row.place}: "


def _check_attributes(source: Any, known: Collection[str]) -> None:
    """Raise if a subscription uses an attribute that is not among the known ones."""
    if isinstance(source, str):
        parse(source, attributes=known)
    elif isinstance(source, Mapping):
        for node in nodes_within(from_json(source)):
            for term in (inner for side in node.operands() for inner in operands_within(side)):
                if isinstance(term, Attribute) and str(term) not in known:
                    hint = suggestion(str(term), known)
                    said = f"unknown attribute '{term}'" + (f"; {hint}" if hint else "")
                    raise SubscriptionError(said)


def _attributes(name: str) -> set[str]:
    """The attributes that occur in a sample of events."""
    found: set[Path] = set()
    for event in read_source(open_source(name)):
        _collect(event.attributes, (), found)
    return {format_path(path) for path in found}


def _collect(node: Node, path: Path, found: set[Path]) -> None:
    if path:
        found.add(path)
    if isinstance(node, dict):
        for key, child in node.items():
            _collect(child, (*path, key), found)
    elif isinstance(node, list):
        for element in node:
            _collect(element, path, found)
