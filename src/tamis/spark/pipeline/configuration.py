"""Read a pipeline from a TOML file; every mistake is found, with its place and a remedy.

name = "auctions"          [source]   [events]   [subscriptions]   [sinks.NAME]   [throttle]
folder = "state"           [rejected.events]   [rejected.subscriptions]   [spark]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis.spark.pipeline.events import EventForm, EventSource
from tamis.spark.pipeline.feeds import SubscriptionSource
from tamis.spark.pipeline.pipeline import PATIENCE, Pipeline
from tamis.spark.pipeline.settings import (
    Duration,
    Location,
    Options,
    PipelineError,
    Problems,
    read_part,
)
from tamis.spark.pipeline.sinks.catalogue import SINKS
from tamis.spark.pipeline.throttle import Throttle

_TABLES = ("source", "events", "subscriptions", "sinks", "throttle", "rejected", "spark")
_REJECTED = ("events", "subscriptions")


@dataclass(frozen=True, slots=True)
class Head:
    """The keys at the top of the file."""

    folder: Location
    """what a restart needs, on any file system that Spark can write: file, hdfs, s3a, abfss, …"""
    name: str = "tamis"
    """the name of the pipeline, in sinks and in Spark"""
    every: Duration = 0.0
    """start a batch so often; 0 means one after the other"""
    patience: Duration = PATIENCE
    """how long a sink may be unavailable before the pipeline ends"""
    limit: int | None = None
    """the most matches of an event"""
    bindings: bool = False
    """whether matches have a column with the values of variables"""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A pipeline, and the settings of its Spark session."""

    pipeline: Pipeline
    spark: Options = field(default_factory=dict)


def read_configuration(path: str | Path) -> Configuration:
    """The pipeline of a TOML file; raises ``PipelineError`` with every mistake in it."""
    path = Path(path)
    problems = Problems(path.absolute().parent)
    found = _configuration(_tables(path), problems)
    if found is not None and not problems.found:
        problems.found += found.pipeline.problems()
    if found is None or problems.found:
        raise PipelineError([f"{path}: {each}" for each in problems.found])
    return found


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        remedy = (
            "; 'tamis pipeline init' writes one" if isinstance(error, FileNotFoundError) else ""
        )
        raise PipelineError([f"{path}: {reason}{remedy}"]) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PipelineError([f"{path}: not TOML: {error}"]) from error


def _configuration(tables: Mapping[str, Any], problems: Problems) -> Configuration | None:
    top = {name: value for name, value in tables.items() if name not in _TABLES}
    for name in [name for name, value in top.items() if isinstance(value, dict)]:
        problems.unknown("", "table", name, _TABLES)
        del top[name]
    head = read_part(Head, top, "", problems)
    parts: dict[str, Any] = {}
    for name, kind in (("source", EventSource), ("subscriptions", SubscriptionSource)):
        if name not in tables:
            problems.add("", f"the table [{name}] is missing")
        else:
            parts[name] = read_part(kind, tables[name], f"[{name}]", problems)
    parts["events"] = read_part(EventForm, tables.get("events", {}), "[events]", problems)
    if "throttle" in tables:
        parts["throttle"] = read_part(Throttle, tables["throttle"], "[throttle]", problems)
    sinks = _sinks(tables, problems)
    rejected = _rejected(tables.get("rejected", {}), problems)
    spark = read_part(_SparkSettings, {"options": tables.get("spark", {})}, "[spark]", problems)
    if problems.found or head is None or spark is None:
        return None
    pipeline = Pipeline(
        parts["source"],
        parts["subscriptions"],
        sinks,
        head.folder,
        head.name,
        parts["events"],
        rejected.get("events"),
        rejected.get("subscriptions"),
        parts.get("throttle"),
        head.every,
        head.patience,
        head.limit,
        head.bindings,
    )
    return Configuration(pipeline, spark.options)


@dataclass(frozen=True, slots=True)
class _SparkSettings:
    options: Options


def _sinks(tables: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    given = tables.get("sinks", {})
    if not isinstance(given, Mapping) or not given:
        problems.add("", "there is no sink: add a table such as [sinks.matches]")
        return {}
    return {name: _sink(table, f"[sinks.{name}]", problems) for name, table in given.items()}


def _rejected(given: Any, problems: Problems) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        problems.add("rejected", "must have the tables [rejected.events], [rejected.subscriptions]")
        return {}
    found = {}
    for name, table in given.items():
        if name in _REJECTED:
            found[name] = _sink(table, f"[rejected.{name}]", problems)
        else:
            problems.unknown("[rejected]", "table", name, _REJECTED)
    return found


def _sink(table: Any, place: str, problems: Problems) -> Any:
    if not isinstance(table, Mapping) or not isinstance(table.get("format"), str):
        known = ", ".join(sorted(SINKS))
        problems.add(place, f"needs a format: one of {known}")
        return None
    if table["format"] not in SINKS:
        problems.unknown(place, "format", table["format"], SINKS)
        return None
    given = {name: value for name, value in table.items() if name != "format"}
    return read_part(SINKS[table["format"]], given, place, problems)
