"""Subscriptions and taxonomies from files."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

from tamis.cli.files import Format, Source, lines, open_source, read_source
from tamis.cli.json_files import Document, documents
from tamis.console import UsageError, located, say
from tamis.engine.engine import Engine
from tamis.engine.reader import Remark
from tamis.errors import ParseError, SubscriptionError, TamisError, TaxonomyError
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomy import Taxonomy

_TRUTHS = {"true": True, "false": False}

Row = dict[str, Any]


class FileRow(NamedTuple):
    """A row of a file of subscriptions, or what is wrong with it."""

    number: int
    line: int | None
    """The line of the file on which the row begins, if it has lines."""
    place: str
    content: Row
    fault: TamisError | None = None


class Faulty(NamedTuple):
    """A row that was not taken, by its place, and why."""

    place: str
    id: Any
    error: TamisError

    def __str__(self) -> str:
        id = "" if self.id is None else f", id {self.id!r}"
        text = "in the text, " if isinstance(self.error, ParseError) else ""
        return f"{self.place}{id}: {text}{self.error}"


def load_engine(
    name: str, taxonomy: str | None, schema: str | None, *, skip_faulty: bool = False
) -> tuple[Engine, int]:
    """An engine with all subscriptions of a file, and how many faulty ones it was made without.

    Unless they are skipped, faulty subscriptions are an error.
    """
    engine = new_engine(taxonomy, schema)
    source = open_source(name)
    with located(source.name):
        faulty, remarks = _subscribe_all(engine, source)
    for remark in remarks:
        say(f"warning: {source.name}: {remark.message}")
    if faulty and not skip_faulty:
        more = f"\nand {len(faulty) - 1:,} more faulty" if len(faulty) > 1 else ""
        raise TamisError(
            f"{source.name}: {faulty[0]}{more}\n"
            f"'tamis check' lists all faults; --skip-faulty matches the others"
        )
    for each in faulty:
        say(f"skipped: {source.name}: {each}")
    return engine, len(faulty)


def _subscribe_all(engine: Engine, source: Source) -> tuple[list[Faulty], Iterable[Remark]]:
    """Subscribe all rows of a source; return the faulty ones, in order, and all remarks."""
    faulty: list[tuple[int, Faulty]] = []
    numbers, lines = array("q"), array("q")

    def rows() -> Iterator[Row]:
        for row in read_rows(source):
            if row.fault is None:
                numbers.append(row.number)
                lines.append(row.line or 0)
                yield row.content
            else:
                id = row.content.get("id")
                faulty.append((row.number, Faulty(row.place, id, row.fault)))

    found, remarks = engine.loader.add(rows(), errors="collect")
    for rejected in found.rejected:
        number, line = numbers[rejected.row], lines[rejected.row]
        place = _place(source.format, number, line)
        faulty.append((number, Faulty(place, rejected.id, rejected.error)))
    return [each for _, each in sorted(faulty, key=itemgetter(0))], remarks


def _place(format: Format, number: int, line: int | None) -> str:
    """Where a row stands in its file: the line, if rows are lines."""
    if format in (Format.CSV, Format.NDJSON) and line:
        return f"line {line}"
    return f"row {number}, line {line}" if line else f"row {number}"


def new_engine(taxonomy: str | None, schema: str | None) -> Engine:
    """An engine by the files of a taxonomy or a schema."""
    if taxonomy is not None and schema is not None:
        raise UsageError("give either --taxonomy or --schema, whose domains have the taxonomies")
    return Engine(
        taxonomy=load_taxonomy(taxonomy), schema=None if schema is None else load_schema(schema)
    )


def load_schema(name: str) -> Schema:
    """The schema of a JSON file."""
    source = open_source(name, Format.JSON)
    with located(source.name), source.file:
        return Schema.from_json(source.file.read())


def load_taxonomy(name: str | None) -> Taxonomy | None:
    """The taxonomy of a JSON file that maps terms to lists of their parents."""
    if name is None:
        return None
    source = open_source(name, Format.JSON)
    with located(source.name), source.file:
        parents = _plain(Document(source.file.read(), 0, 1))
        if not isinstance(parents, dict):
            raise TaxonomyError('a taxonomy is an object such as {"chair": ["furniture"]}')
        return Taxonomy(parents)


def read_rows(source: Source) -> Iterator[FileRow]:
    """The rows of a source of subscriptions, each with an id and a subscription or a fault."""
    for number, (line, found) in enumerate(_rows(source)):
        row: Row = {}
        place = _place(source.format, number, line)
        try:
            row = _object(found) if isinstance(found, Document) else found
            for column in ("id", "subscription"):
                if column not in row:
                    has = ", ".join(repr(name) for name in list(row)[:10]) or "none"
                    raise SubscriptionError(f"no column {column!r}; there are {has}")
        except TamisError as error:
            yield FileRow(number, line, place, row, error)
        else:
            yield FileRow(number, line, place, row)


def _rows(source: Source) -> Iterator[tuple[int | None, Row | Document]]:
    """The rows of a source as they are found, each with the line on which it begins."""
    if source.format is Format.NDJSON:
        with source.file:
            for number, line in enumerate(lines(source), 1):
                if line.strip():
                    yield number, Document(line.rstrip(b"\r\n"), 0, number)
    elif source.format is Format.JSON:
        with source.file:
            for document in documents(source.file.read()):
                yield document.line, document
    elif source.format is Format.CSV:
        with source.file:
            data = source.file.read()
        kept = replace(source, file=io.BytesIO(data))
        for begins, event in zip(_csv_lines(data), read_source(kept)):
            yield begins, _typed(event.attributes)
    else:
        for event in read_source(source):
            yield None, event.attributes


def _csv_lines(data: bytes) -> Iterator[int | None]:
    """The lines on which the records of CSV begin, without the header; None where unknown."""
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", errors="replace", newline="")
    reader = csv.reader(text)
    begins, is_header = 1, True
    with contextlib.suppress(csv.Error):  # of a cell beyond its limit, which Arrow does not have
        for record in reader:
            if record and not is_header:
                yield begins
            is_header = is_header and not record
            begins = reader.line_num + 1
    yield from repeat(None)


def _typed(row: Row) -> Row:
    """A row of CSV, in which ``enabled`` is a word."""
    enabled = row.get("enabled")
    return row if enabled is None else row | {"enabled": _TRUTHS.get(enabled.lower(), enabled)}


def _object(document: Document) -> Row:
    row = _plain(document)
    if not isinstance(row, dict):
        raise SubscriptionError("a row is an object with 'id' and 'subscription'")
    return row


def _plain(document: Document) -> Any:
    """The data of a JSON document, in which no key stands twice in one object."""
    try:
        return json.loads(document.text, object_pairs_hook=_unrepeated)
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]}"
        place = f"line {document.line + error.lineno - 1}, column {error.colno}"
        raise SubscriptionError(f"not valid JSON: {problem} at {place}") from error
    except UnicodeDecodeError as error:
        raise SubscriptionError(f"not valid UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise SubscriptionError(f"not valid JSON: {error}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SubscriptionError(f"the key {twice!r} stands twice in one object")
    return row
