"""Subscriptions and taxonomies from files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tamis.cli.files import Format, Source, lines, open_source, read_source
from tamis.cli.json_files import Document, documents
from tamis.console import UsageError, located, say
from tamis.engine.engine import Engine
from tamis.errors import SubscriptionError, TamisError, TaxonomyError
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomy import Taxonomy

_TRUTHS = {"true": True, "false": False}

Row = dict[str, Any]


def load_engine(name: str, taxonomy: str | None, schema: str | None) -> Engine:
    """An engine with all subscriptions of a file; faulty ones are an error."""
    engine = new_engine(taxonomy, schema)
    source = open_source(name)
    with located(source.name):
        (_, rejected), remarks = engine.loader.add(read_rows(source), errors="collect")
    for remark in remarks:
        say(f"warning: {source.name}: {remark.message}")
    if rejected:
        first = rejected[0]
        more = f"\nfaulty rows besides: {len(rejected) - 1}" if len(rejected) > 1 else ""
        raise TamisError(
            f"{source.name}: row {first.row}, id {first.id!r}: {first.error}{more}\n"
            f"'tamis check' lists all that is wrong"
        )
    return engine


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
        parents = _plain(Document(source.file.read(), ""))
        if not isinstance(parents, dict):
            raise TaxonomyError('a taxonomy is an object such as {"chair": ["furniture"]}')
        return Taxonomy(parents)


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a source of subscriptions, each with an id and a subscription."""
    for number, row in enumerate(_rows(source)):
        for column in ("id", "subscription"):
            if column not in row:
                has = ", ".join(repr(name) for name in list(row)[:10]) or "none"
                raise SubscriptionError(f"row {number}: no column {column!r}; there are {has}")
        yield row


def _rows(source: Source) -> Iterator[Row]:
    if source.format is Format.NDJSON:
        with source.file:
            for number, line in enumerate(lines(source), 1):
                if line.strip():
                    yield _object(Document(line, f"line {number}"))
    elif source.format is Format.JSON:
        with source.file:
            yield from map(_object, documents(source.file.read()))
    else:
        for event in read_source(source):
            yield _typed(event.attributes) if source.format is Format.CSV else event.attributes


def _typed(row: Row) -> Row:
    """A row of CSV, in which ``enabled`` is a word."""
    enabled = row.get("enabled")
    return row if enabled is None else row | {"enabled": _TRUTHS.get(enabled.lower(), enabled)}


def _object(document: Document) -> Row:
    with located(document.place):
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
        place = f"line {error.lineno}, column {error.colno}"
        raise SubscriptionError(f"no JSON: {problem} at {place}") from error
    except UnicodeDecodeError as error:
        raise SubscriptionError(f"no UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise SubscriptionError(f"no JSON: {error}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SubscriptionError(f"the key {twice!r} stands twice in one object")
    return row
