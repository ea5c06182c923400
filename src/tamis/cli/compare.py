"""``tamis compare``: how two subscriptions relate, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from tamis.cli.files import STANDARD_INPUT, Format, lines, open_source
from tamis.cli.match import SchemaOption, TaxonomyOption
from tamis.cli.subscription_files import load_schema, load_taxonomy
from tamis.console import UsageError, console, located
from tamis.engine.relations import Relation, Verdict, relation
from tamis.errors import LimitError
from tamis.language.parser import parse
from tamis.model.events.event import Event
from tamis.model.paths import Path, format_path
from tamis.predicates import relations
from tamis.predicates.expression import Expression
from tamis.predicates.facts import Facts, KnownFacts
from tamis.predicates.normal import Conjunction, normalise
from tamis.predicates.printing import format_value
from tamis.predicates.region_literals import attributes_of
from tamis.predicates.regions import Region
from tamis.predicates.resolving import resolve
from tamis.predicates.to_expression import expression_of

EXAMPLES = (
    """tamis compare "price < 5" "price between 1 and 3 and category = 'toy'" """.strip(),
    """tamis compare "price < 1" "price > 2" --unique price""",
    "tamis compare @old.txt @new.txt --taxonomy taxonomy.json --format json",
)

WORDS = {
    Verdict.EQUIVALENT: "A and B match the same events",
    Verdict.COVERS: "A covers B: every event that matches B matches A",
    Verdict.COVERED: "B covers A: every event that matches A matches B",
    Verdict.OVERLAPPING: "A and B overlap: neither covers the other",
    Verdict.DISJOINT: "A and B are disjoint: no event matches both",
}
UNCERTAIN = {
    Verdict.COVERS: "; whether B covers A too is not known",
    Verdict.COVERED: "; whether A covers B too is not known",
    Verdict.OVERLAPPING: ", for all that is known",
}
EXIT_CODES = {
    Verdict.EQUIVALENT: 0,
    Verdict.COVERS: 3,
    Verdict.COVERED: 4,
    Verdict.OVERLAPPING: 5,
    Verdict.DISJOINT: 6,
}
"""With ``--exit-code``; 1 and 2 are for what goes wrong."""


class ComparisonFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"


class Row(NamedTuple):
    """What the two ask of an attribute, and how that relates."""

    attribute: str
    a: str
    b: str
    relation: str


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="The text of a subscription, or @FILE, or @-.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    taxonomy: TaxonomyOption = None,
    schema: SchemaOption = None,
    unique: Annotated[
        list[str] | None,
        typer.Option("--unique", help="An attribute that has one value at most; may be repeated."),
    ] = None,
    integer: Annotated[
        list[str] | None,
        typer.Option("--integer", help="An attribute whose values are integers; may be repeated."),
    ] = None,
    format: Annotated[
        ComparisonFormat, typer.Option("--format", "-f", help="Form of the answer.")
    ] = ComparisonFormat.TEXT,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Tell the relation by the exit code.")
    ] = False,
) -> None:
    """Show how two subscriptions relate, and why.

    Two conjunctions are shown attribute by attribute. Each event that is shown was tried, and
    proves what stands before it.

    With [bold]--exit-code[/bold] the exit code is 0 if both match the same events, 3 if A covers B,
    4 if B covers A, 5 if they overlap, and 6 if no event matches both; without it, 0.
    """
    if a == b == f"@{STANDARD_INPUT}":
        raise UsageError("A and B cannot both come from standard input")
    if schema is not None and (taxonomy or unique or integer):
        raise UsageError("a schema says what is unique, integer or a taxonomy: give it alone")
    ours, theirs = _read(a, "A"), _read(b, "B")
    facts: Facts
    if schema is not None:
        known = facts = load_schema(schema)
        with located("A"):
            ours = resolve(ours, known)
        with located("B"):
            theirs = resolve(theirs, known)
    else:
        facts = KnownFacts(
            unique=unique or (), integers=integer or (), taxonomy=load_taxonomy(taxonomy)
        )
    found = relation(ours, theirs, facts)
    rows = list(_rows(ours, theirs, facts))
    if format is ComparisonFormat.JSON:
        typer.echo(json.dumps(_plain(found, rows), ensure_ascii=False, indent=2))
    else:
        _show(found, rows)
    if exit_code:
        raise typer.Exit(EXIT_CODES[found.verdict])


def _read(given: str, what: str) -> Expression:
    """The subscription of a text, or of the file whose name stands behind an @."""
    if not given.startswith("@"):
        with located(what):
            return parse(given)
    source = open_source(given[1:], Format.NDJSON)
    with located(source.name), source.file:
        try:
            return parse(b"".join(lines(source)).decode())
        except UnicodeDecodeError as error:
            raise UsageError(f"{source.name}: not valid UTF-8 at byte {error.start}") from error


def _rows(a: Expression, b: Expression, facts: Facts) -> Iterator[Row]:
    """Attribute by attribute, if both are conjunctions."""
    try:
        forms = [normalise(each).conjunctions for each in (a, b)]
    except LimitError:
        return
    if any(len(conjunctions) != 1 for conjunctions in forms):
        return
    ours, theirs = (_by_attribute(conjunctions[0]) for conjunctions in forms)
    for paths in sorted({*ours, *theirs}):
        name = ", ".join(map(format_path, paths))
        one, other = ours.get(paths), theirs.get(paths)
        yield Row(name, _text(one), _text(other), _relation(one, other, facts))


def _by_attribute(conjunction: Conjunction) -> dict[tuple[Path, ...], Expression]:
    """The conditions of a conjunction by the attributes that they speak of."""
    literals = {
        literal: tuple(sorted(set(attributes_of(literal.predicate))))
        for literal in conjunction.literals
    }
    return {
        paths: expression_of(
            Conjunction(
                {path: values for path, values in conjunction.box.items() if (path,) == paths},
                frozenset(literal for literal, own in literals.items() if own == paths),
            )
        )
        for paths in {*((path,) for path in conjunction.box), *literals.values()}
    }


def _text(condition: Expression | None) -> str:
    return "" if condition is None else str(condition)


def _relation(a: Expression | None, b: Expression | None, facts: Facts) -> str:
    if a is None or b is None:
        return "only B asks" if a is None else "only A asks"
    ours, theirs = Region.of(a, facts), Region.of(b, facts)
    wider, narrower = relations.covers(ours, theirs), relations.covers(theirs, ours)
    if wider or narrower:
        return "the same" if wider and narrower else "A is wider" if wider else "B is wider"
    return "they differ" if relations.overlaps(ours, theirs) else "they exclude each other"


def _witnesses(found: Relation) -> dict[str, Event]:
    shown = {"both": found.both, "only A": found.only_a, "only B": found.only_b}
    return {name: event for name, event in shown.items() if event is not None}


def _show(found: Relation, rows: list[Row]) -> None:
    verdict = found.verdict
    typer.echo(WORDS[verdict] + ("" if found.certain else UNCERTAIN[verdict]))
    if rows:
        from rich import box
        from rich.table import Table

        table = Table("attribute", "A", "B", "", box=box.SIMPLE)
        for row in rows:
            table.add_row(*row)
        console().print(table)
    for name, event in _witnesses(found).items():
        typer.echo(f"{name + ':':<8}{_written(event)}")


def _written(event: Event) -> str:
    """An event in one line, in JSON as far as that can hold its values."""
    return json.dumps(event.attributes, ensure_ascii=False, default=format_value)


def _plain(found: Relation, rows: list[Row]) -> dict[str, Any]:
    """The comparison as plain data."""
    return {
        "verdict": found.verdict,
        "certain": found.certain,
        "covers": found.covers,
        "covered": found.covered,
        "overlaps": found.overlaps,
        "attributes": [row._asdict() for row in rows],
        "witnesses": {
            name: json.loads(_written(event)) for name, event in _witnesses(found).items()
        },
    }
