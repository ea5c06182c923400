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
from tamis.cli.subscription_files import new_engine, read_rows
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
    id: Any
    line: int | None
    column: int | None
    severity: str
    message: str
    hint: str | None
    shown: str

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
    """Parse and validate subscriptions, and report each problem with its place.

    Subscriptions that contradict themselves, and so never match, or that cost every event dearly,
    are warnings. The exit code is 1 if there are errors, and 0 if there are none or only warnings.
    """
    if (file is None) == (text is None):
        raise UsageError("give either a FILE of subscriptions or --text TEXT")
    if file == events == STANDARD_INPUT:
        raise UsageError("subscriptions and events cannot both come from standard input")
    attributes = None if events is None else _attributes(events)
    checker = Checker(new_engine(taxonomy, schema), attributes)
    if text is not None:
        name, rows = "the text", iter([{"id": "text", "subscription": text}])
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
        place = f"{name}: row {problem.row}, id {problem.id!r}"
        typer.echo(f"{place}: {problem.severity}: {problem.shown}")
    return problem.severity == "error"


class Checker:
    """Looks at subscriptions row by row, and counts what it has seen."""

    def __init__(self, engine: Engine, attributes: Collection[str] | None) -> None:
        self._engine = engine
        self._attributes = attributes
        self._first_rows: dict[str, int] = {}
        self.rows = 0
        self.warnings = 0

    def problems(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
        """The problems of all rows, in their order."""
        for row in rows:
            problem = self._problem(row)
            self.rows += 1
            if problem is not None:
                self.warnings += problem.severity == "warning"
                yield problem

    def _problem(self, row: Mapping[str, Any]) -> Problem | None:
        id = row["id"]
        try:
            warned = self._take(row)
        except TamisError as error:
            located_at = error if isinstance(error, ParseError) else None
            line = located_at.line if located_at else None
            column = located_at.column if located_at else None
            message, hint = split_hint(error)
            return Problem(self.rows, id, line, column, "error", message, hint, str(error))
        if warned is None:
            return None
        message = warned.replace(f"the subscription {id!r} ", "the subscription ", 1)
        return Problem(self.rows, id, None, None, "warning", message, None, message)

    def _take(self, row: Mapping[str, Any]) -> str | None:
        """Put a row into the engine; return the warning that it never matches, or is costly."""
        if self._attributes is not None:
            _check_attributes(row["subscription"], self._attributes)
        found, remarks = self._engine.loader.add([row], errors="collect")
        for rejected in found.rejected:
            if isinstance(rejected.error, DuplicateIdError):
                first = self._first_rows[row["id"]]
                raise DuplicateIdError(f"the id stands in row {first} too")
            raise rejected.error
        self._first_rows[row["id"]] = self.rows
        return remarks[0].message if remarks else None


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
