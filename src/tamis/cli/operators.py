"""``tamis operators``: which operators subscriptions may call here."""

from __future__ import annotations

from typing import Annotated

import typer

from tamis.errors import MissingExtraError

EXAMPLES = ("tamis operators", "tamis operators near")


def operators(
    name: Annotated[str, typer.Argument(help="Show only this one, in full.")] = "",
) -> None:
    """List the operators that subscriptions may call: those of Tamis, and of installed packages.

    Each is shown with its parameters, what it reads, its cost and its documentation.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from tamis.console import UsageError
    from tamis.errors import suggestion
    from tamis.operators.registry import KnownOperators

    known = KnownOperators()
    if name and name not in known:
        raise UsageError(f"unknown operator {name!r}; {suggestion(name, known) or 'see the list'}")
    table = Table("operator", "reads", "cost", "what it does", box=None, pad_edge=False)
    for each in [name] if name else sorted(known):
        try:
            found = known[each]
        except MissingExtraError as error:
            table.add_row(each, "", "", escape(str(error)))
            continue
        reads = "everything" if found.reads is None else ", ".join(found.reads) or "nothing"
        cost = "measured" if found.cost is None else f"{found.cost:g} s"
        batch = " (batch)" if found.batch else ""
        signature = "…" if found.signature is None else str(found.signature)
        row = f"{each}({signature})", reads, cost + batch, found.documentation
        table.add_row(*map(escape, row))
    Console(width=None).print(table)
