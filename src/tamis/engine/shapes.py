"""Plain subscriptions by their templates: no tree, no normal form, only a shape and constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tamis.arrays.sharing import Bounded
from tamis.errors import SubscriptionError, TamisError
from tamis.language.cursor import negative_value, timestamp_value
from tamis.language.lexer import number_value, string_value
from tamis.language.template import Split, Template, Templates
from tamis.matching.boxes.shapes import Shape, shape_of
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
    constants: list[Value]


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

            def fill(values: Sequence[Any]) -> Any:
                made = template.build([Constant(value) for value in values])
                if self._schema is not None and not is_settled(made, self._schema):
                    raise SubscriptionError("it must be looked at with its constants")
                return made

            shape = shape_of(fill, [_KINDS[convert] for convert in template.convert])
            known = self._shapes[id(template)] = (template, shape)
        return known[1]

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
        return ShapedSubscription(id, split.text, shape, constants)
