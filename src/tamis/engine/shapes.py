"""Plain subscriptions by their templates: no tree, no normal form, only a shape and constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tamis.arrays.sharing import Bounded
from tamis.errors import SubscriptionError, TamisError
from tamis.language.cursor import negative_value, timestamp_value
from tamis.language.lexer import number_value, string_value
from tamis.language.template import Split, Template, Templates
from tamis.matching.boxes.shapes import Shape, are_independent, conjunction, shape_of
from tamis.model.kinds import Kind, Value
from tamis.model.schema.schema import Schema
from tamis.predicates.operands import Constant, canonical_value
from tamis.predicates.resolving import is_settled

_MOST = 10_000
"""Shapes kept, as templates are."""
_KINDS: dict[Callable[[str], Any], Kind] = {
    number_value: Kind.NUMBER,
    negative_value: Kind.NUMBER,
    string_value: Kind.STRING,
    timestamp_value: Kind.TIMESTAMP,
}


class ShapedSubscription(NamedTuple):
    """A checked subscription of a shape."""

    id: str
    text: str
    shape: Shape
    constants: Sequence[Value]


class ShapedTemplate(NamedTuple):
    """The template of a predicate, and its shape."""

    template: Template
    shape: Shape


class Shapes:
    """The shapes of templates, each made once.

    Under a schema, a template has none if what it means, or whether it is taken, depends on its
    constants.
    """

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._shapes: Bounded[int, tuple[Template, Shape | None]] = Bounded(_MOST)

    def of(self, template: Template) -> Shape | None:
        """The shape of a template, or None if it has none."""
        known = self._shapes.get(id(template))
        if known is None:
            shape = self._composed(template) if template.parts else self._tried(template)
            known = self._shapes[id(template)] = (template, shape)
        return known[1]

    def conjunctions(self, template: Template) -> list[list[ShapedTemplate]] | None:
        """The shapes of the predicates of a template, for each of its conjunctions; None if it
        was not put together from predicates, or one of them has no shape of its own there."""
        found = []
        for predicates in template.parts:
            shapes = [self.of(predicate) for predicate in predicates]
            known = [shape for shape in shapes if shape is not None]
            if len(known) < len(shapes) or not are_independent(known):
                return None
            found.append(list(map(ShapedTemplate, predicates, known)))
        return found or None

    def _composed(self, template: Template) -> Shape | None:
        """The shape of a conjunction of predicates."""
        conjunctions = self.conjunctions(template)
        if conjunctions is None or len(conjunctions) > 1:
            return None
        return conjunction([shape for _, shape in conjunctions[0]])

    def _tried(self, template: Template) -> Shape | None:
        """The shape of a template, found by filling it with markers."""

        def fill(values: Sequence[Any]) -> Any:
            made = template.build([Constant(value) for value in values])
            if self._schema is not None and not is_settled(made, self._schema):
                raise SubscriptionError("it must be looked at with its constants")
            return made

        return shape_of(fill, [_KINDS[convert] for convert in template.convert])

    def read(self, templates: Templates, id: str, split: Split) -> ShapedSubscription | None:
        """A text as a shape and constants; None if it has none, or is faulty: then the parser says
        what is wrong with it."""
        template = templates.template(split)
        shape = None if template is None else self.of(template)
        if template is None or shape is None:
            return None
        try:
            constants: list[Any] = [
                canonical_value(convert(literal))
                for convert, literal in zip(template.convert, split.literals)
            ]
        except (TamisError, ValueError):
            return None
        for low, high in shape.crossing:
            if constants[low] > constants[high]:
                return None
        completed = shape.completed(constants)
        return None if completed is None else ShapedSubscription(id, split.text, shape, completed)
