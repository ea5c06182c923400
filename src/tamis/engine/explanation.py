"""Why an event matches a subscription, or why not: the tree of clauses with their truth.

    ✗ category is a 'furniture' and price < 100
    ├── ✓ category is a 'furniture'    category is 'chair'
    └── ✗ price < 100                  price is 250

A clause is true if some binding makes it so, false if none does but one makes it false, and
unknown if every binding leaves it open. It has failed if an operator did, and its truth depends on
that. Calls and patterns show the rows that they give, constraints the values that the calls and
patterns around them give to their variables:

    ! near('Bronx', ?d) and ?d < 10 and open()
    ├── ✓ near('Bronx', ?d)                           ?d = 12; ?d = 7
    ├── ✓ ?d < 10                                     ?d = 12; ?d = 7
    └── ! open()                                      open() raised TimeoutError

Behind a call stands what its schedule knows of it, once events have reached it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tamis.bindings.evaluation import WORLD, Trial, World
from tamis.bindings.needs import bound_paths, generates, variables_of
from tamis.engine.rows import Subscription
from tamis.model.events.event import Event
from tamis.model.kinds import Value
from tamis.model.paths import Path, format_path
from tamis.model.rdf_terms import BlankNode, RdfLiteral
from tamis.predicates.expression import (
    And,
    Call,
    Comparison,
    Contains,
    Expression,
    Not,
    Or,
    Pattern,
    Present,
    TruthTest,
    all_of,
)
from tamis.predicates.operands import Constant
from tamis.predicates.printing import format_value
from tamis.predicates.truth import (
    FAILED,
    FALSE,
    TRUE,
    TRUTHS,
    UNKNOWN,
    Truth,
    conjunction,
    contains,
    disjunction,
    negation,
    truth_test,
)

if TYPE_CHECKING:
    from rich.tree import Tree

MARKS: Mapping[Truth, str] = {TRUE: "✓", FALSE: "✗", UNKNOWN: "?", FAILED: "!"}
_COLORS: Mapping[Truth, str] = {
    TRUE: "green",
    FALSE: "red",
    UNKNOWN: "yellow",
    FAILED: "magenta",
}
_MOST_VALUES = 10
_MOST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """A value of the event that a clause was held against; no truth where several decide."""

    attribute: str
    value: Value
    truth: Truth = UNKNOWN
    decides: bool = False

    def __str__(self) -> str:
        text = f"{self.attribute} is {_short(format_value(self.value))}"
        return f"{text} {MARKS[self.truth]}" if self.decides else text


@dataclass(frozen=True, slots=True)
class Explanation:
    """A clause, its truth on the event, the values that it saw, and its parts."""

    clause: str
    truth: Truth
    seen: tuple[Seen, ...] = ()
    note: str = ""
    parts: tuple[Explanation, ...] = ()
    id: str | None = None

    @property
    def matches(self) -> bool:
        """Whether the clause is true of the event."""
        return self.truth == TRUE

    @property
    def evidence(self) -> str:
        """The values and remarks beside the clause, in one line."""
        shown = [str(value) for value in self.seen[:_MOST_VALUES]]
        if len(self.seen) > _MOST_VALUES:
            shown.append(f"and {len(self.seen) - _MOST_VALUES} more")
        return ", ".join([*shown, self.note] if self.note else shown)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data, for JSON."""
        plain: dict[str, Any] = {"clause": self.clause, "truth": TRUTHS[self.truth]}
        if self.id is not None:
            plain["id"] = self.id
        if self.evidence:
            plain["evidence"] = self.evidence
        if self.parts:
            plain["parts"] = [part.to_dict() for part in self.parts]
        return plain

    def __str__(self) -> str:
        rows = list(self._rows("", ""))
        width = min(60, max(len(clause) for clause, _ in rows))
        return "\n".join(f"{clause:<{width}}    {said}".rstrip() for clause, said in rows)

    def _rows(self, first: str, others: str) -> Iterator[tuple[str, str]]:
        yield f"{first}{MARKS[self.truth]} {_short(self.clause)}", self.evidence
        for part in self.parts:
            last = part is self.parts[-1]
            branch, rail = ("└── ", "    ") if last else ("├── ", "│   ")
            yield from part._rows(others + branch, others + rail)

    def __rich__(self) -> Tree:
        from rich.text import Text
        from rich.tree import Tree

        def label(node: Explanation) -> Text:
            color = _COLORS[node.truth]
            text = Text.assemble((f"{MARKS[node.truth]} ", f"bold {color}"), _short(node.clause))
            if node.evidence:
                text.append(f"  {node.evidence}", style=f"italic {color}")
            return text

        def grow(tree: Tree, node: Explanation) -> Tree:
            for part in node.parts:
                grow(tree.add(label(part)), part)
            return tree

        return grow(Tree(label(self)), self)

    def _repr_html_(self) -> str:
        color = _COLORS[self.truth]
        inner = "".join(f"<li>{part._repr_html_()}</li>" for part in self.parts)
        return (
            f'<span style="color:{color}">{MARKS[self.truth]}</span> '
            f"<code>{escape(_short(self.clause))}</code> <i>{escape(self.evidence)}</i>"
            + (f'<ul style="list-style:none">{inner}</ul>' if inner else "")
        )


def explain(
    subscription: Subscription,
    event: Event,
    world: World = WORLD,
    known: Callable[[Call], str] = lambda call: "",
) -> Explanation:
    """The explanation of a subscription on an event; ``known`` says what is known of calls."""
    top = _explain(subscription.expression, Trial(event, world), known)
    note = top.note if subscription.enabled else "disabled: it matches nothing"
    return Explanation(top.clause, top.truth, top.seen, note, top.parts, subscription.id)


def _explain(
    node: Expression,
    trial: Trial,
    known: Callable[[Call], str],
    around: tuple[Expression, ...] = (),
) -> Explanation:
    """A clause, given the calls and patterns around it that bind its variables."""
    bound = all_of(*_binders(node, around), node)
    truth, solution, reason = trial.answer(bound)
    parts = () if _is_leaf(node) else tuple(node.children())
    if parts:
        inside = (*around, *(part for part in parts if isinstance(node, And) and generates(part)))
        explained = tuple(_explain(part, trial, known, inside) for part in parts)
        note = reason or _joint(node, truth, explained)
        if solution and not around:
            note = "by " + _assignment(solution)
        return Explanation(str(node), truth, note=note, parts=explained)
    if isinstance(node, And | Or):
        return Explanation(str(node), truth, note="always" if truth == TRUE else "never")
    seen = tuple(_seen(node, trial))
    said = known(node) if isinstance(node, Call) else ""
    note = "; ".join(filter(None, (_bound_values(node, trial, around), reason, said)))
    return Explanation(str(node), truth, seen, note or ("" if seen else _absence(node, trial)))


def _is_leaf(node: Expression) -> bool:
    inner = node.part if isinstance(node, Not) else node
    return isinstance(node, Pattern) or isinstance(inner, Present)


def _binders(node: Expression, around: tuple[Expression, ...]) -> list[Expression]:
    """The calls and patterns that bind variables of a node from around it."""
    if any(each is node for each in around):
        return []
    wanted, found = set(variables_of(node)), []
    for each in around:
        if not wanted.isdisjoint(variables_of(each)):
            found.append(each)
    return found


def _bound_values(node: Expression, trial: Trial, around: tuple[Expression, ...]) -> str:
    """What the variables of a call, a pattern or a constraint stand for."""
    if not variables_of(node):
        return "the event has no graph" if _lacks_graph(node, trial) else ""
    source = node if generates(node) else all_of(*_binders(node, around))
    names = variables_of(node)
    found = [
        {name: value for name, value in solution.items() if name in names}
        for solution in trial.solutions(source, 10 * _MOST_VALUES)
    ]
    rows = list(dict.fromkeys(map(_assignment, found)))
    shown = [*filter(None, rows[:_MOST_VALUES])]
    if len(rows) > _MOST_VALUES:
        shown.append("and more")
    if shown or not generates(node):
        return "; ".join(shown)
    if _lacks_graph(node, trial):
        return "the event has no graph"
    return "" if trial.truth_of(node) == FAILED else "no rows"


def _lacks_graph(node: Expression, trial: Trial) -> bool:
    return isinstance(node, Pattern) and trial.event.graph is None


def _assignment(solution: Mapping[str, Any]) -> str:
    return ", ".join(f"?{name} = {_short(_value(value))}" for name, value in solution.items())


def _value(value: Any) -> str:
    """A value as subscriptions write it; an RDF term as Turtle does."""
    return str(value) if isinstance(value, BlankNode | RdfLiteral) else format_value(value)


def _joint(node: Expression, truth: Truth, parts: tuple[Explanation, ...]) -> str:
    """A remark where the parts alone would say otherwise: they are true of different bindings."""
    truths = [part.truth for part in parts]
    if FAILED in truths or truth == FAILED:
        return ""
    if isinstance(node, Not):
        apart = negation(truths[0])
        said = "of another value it is not" if truth == TRUE else "of every value it is"
    elif isinstance(node, TruthTest):
        apart, said = truth_test(truths[0], node.truth), "of another value it is"
    else:
        apart = conjunction(truths) if isinstance(node, And) else disjunction(truths)
        said = "each is true of some value, but not of the same"
    return "" if apart == truth else said


def _seen(node: Expression, trial: Trial) -> Iterator[Seen]:
    """The values of the event that a predicate looks at, each with what it makes of it."""
    inner = node.part if isinstance(node, Not) else node
    if isinstance(inner, Present):
        return
    paths = _paths(inner)
    is_mixed = isinstance(inner, Comparison) and not isinstance(inner.right, Constant)
    alone = len(paths) == 1 and not is_mixed and not variables_of(inner)
    for path in paths:
        for value in _distinct(trial.event.values(path)):
            if isinstance(inner, Contains):
                yield Seen(format_path(path), value, int(contains(inner, [value])), True)
            elif alone and trial.event.multiple:
                yield Seen(format_path(path), value, trial.truth(inner, {path: value}), True)
            else:
                yield Seen(format_path(path), value)


def _absence(node: Expression, trial: Trial) -> str:
    """What to say of a predicate that saw no value."""
    inner = node.part if isinstance(node, Not) else node
    if isinstance(inner, Present):
        path = inner.attribute.path
        return "" if trial.event.present(path) else f"{format_path(path)} is missing"
    said = []
    for path in _paths(inner):
        if not trial.event.present(path):
            said.append(f"{format_path(path)} is missing")
        elif any(True for _ in trial.event.nodes(path)):
            said.append(f"{format_path(path)} is a mapping, not a value")
        else:
            said.append(f"{format_path(path)} has no values")
    return ", ".join(said)


def _paths(node: Expression) -> list[Path]:
    if isinstance(node, Contains):
        return [node.attribute.path]
    return list(dict.fromkeys(bound_paths(node)))


def _distinct(values: Iterator[Value]) -> list[Value]:
    """The values without repetition, where 1 and true are two."""
    return list({(type(value), value): value for value in values}.values())


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
