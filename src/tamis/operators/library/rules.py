"""Rules: what follows from a clingo rule base and the event (an answer set program).

    use_rules("alarm(X) :- sensor(X, V), V > 80.  danger :- alarm(X), alarm(Y), X != Y.")

    derives('alarm', ?which) and derives('danger')

Each attribute of the event is a fact with its values (``sensor(kitchen, 95)`` for
``{"sensor": {"kitchen": 95}}``, ``kind("fire")`` for ``{"kind": "fire"}``). The program is solved
once for an event; what is in its first answer set is derived. Floats are rounded down.
"""

from __future__ import annotations

from typing import Any

import clingo

from tamis.errors import TamisError
from tamis.model.events.event import Event
from tamis.operators.registry import operator

_RULES: list[str] = []
Atoms = dict[str, list[tuple[Any, ...]]]


def use_rules(program: str) -> None:
    """Use a rule base; it is checked by solving it without facts."""
    _RULES[:] = [program]
    try:
        solved(Event({}))
    except RuntimeError as error:
        _RULES.clear()
        raise TamisError(f"clingo cannot read the rules: {error}") from error


def _symbols(name: str, node: Any, path: tuple[clingo.Symbol, ...] = ()) -> Any:
    """The facts that an attribute is."""
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from _symbols(name, inner, (*path, clingo.Function(str(key))))
    elif isinstance(node, list):
        for inner in node:
            yield from _symbols(name, inner, path)
    else:
        is_number = isinstance(node, int | float)
        value = clingo.Number(int(node)) if is_number else clingo.String(str(node))
        yield clingo.Function(name, [*path, value])


def solved(event: Event) -> Atoms:
    """The atoms that follow, by predicate."""
    if not _RULES:
        raise LookupError("there are no rules; see use_rules")
    control = clingo.Control(["--warn=none"], logger=lambda code, message: None)
    control.add("base", [], _RULES[0])
    facts = [fact for key, node in event.attributes.items() if key.isidentifier()
             for fact in _symbols(key.lower(), node)]  # fmt: skip
    control.add("facts", [], "".join(f"{fact}." for fact in facts))
    control.ground([("base", []), ("facts", [])])
    atoms: Atoms = {}
    with control.solve(yield_=True) as handle:
        for model in handle:
            for atom in model.symbols(atoms=True):
                row = tuple(_value(each) for each in atom.arguments)
                atoms.setdefault(atom.name, []).append(row)
            break
    return atoms


def _value(symbol: clingo.Symbol) -> Any:
    if symbol.type is clingo.SymbolType.Number:
        return symbol.number
    return symbol.string if symbol.type is clingo.SymbolType.String else str(symbol)


@operator("predicate: string, *?arguments", prepare=solved)
def derives(atoms: Atoms, predicate: str, *arguments: Any) -> Any:
    """Whether an atom of a predicate follows from the rules and the event, for which arguments."""
    rows = [
        row
        for row in atoms.get(predicate, ())
        if len(row) == len(arguments)
        and all(asked is None or asked == given for asked, given in zip(arguments, row))
    ]
    variables = [place for place, asked in enumerate(arguments) if asked is None]
    if not variables:
        return bool(rows)
    if len(variables) == 1:
        return [row[variables[0]] for row in rows]
    return [tuple(row[place] for place in variables) for row in rows]
