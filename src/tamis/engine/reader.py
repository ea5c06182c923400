"""From what is handed over as a subscription to what a matcher takes, each step once.

    row ──id checked──text split──┬─template has a shape──> ShapedSubscription (shape, constants)
                                  └─parsed, resolved, checked, covered────> PreparedSubscription

Nothing here changes an engine or warns: what a caller should know of a subscription (it never
matches, it is costly) comes back as remarks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.arrays.sharing import lazy
from tamis.bindings.evaluation import World
from tamis.engine.rows import Row, Subscription, checked_metadata
from tamis.errors import (
    CostlyWarning,
    NeverMatchesWarning,
    SchemaError,
    SubscriptionError,
)
from tamis.language.json_form import from_json
from tamis.language.template import Split, Templates
from tamis.model.limits import check_limit
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies
from tamis.operators.operator import check_calls
from tamis.predicates.expression import Call, Expression, IsA, kinds_within, nodes_within
from tamis.predicates.resolving import resolve
from tamis.predicates.variables import check_variables

if TYPE_CHECKING:
    from tamis.engine.shapes import ShapedSubscription, Shapes
    from tamis.matching.covers.covers import Chance, Cover

Source = str | Expression | Mapping[str, Any]
"""A subscription as text, as an expression, or in its JSON form."""


class Remark(NamedTuple):
    """Something that the subscriber should know."""

    category: type[Warning]
    message: str


class PreparedSubscription(NamedTuple):
    """A subscription that a matcher can take."""

    subscription: Subscription
    cover: Cover
    remarks: tuple[Remark, ...] = ()

    @property
    def id(self) -> str:
        """The id of the subscription."""
        return self.subscription.id

    @property
    def text(self) -> str:
        """The text of the subscription."""
        return self.subscription.text


class SubscriptionReader:
    """Checks and parses what is handed over as a subscription.

    takes_shapes: whether plain texts may be taken by their shapes.
    knows_costs: whether the matcher is one whose costs can be estimated.
    chance: how likely events pass a leaf, if that was learned.
    """

    def __init__(
        self,
        world: World,
        schema: Schema | None = None,
        prefixes: Mapping[str, str] | None = None,
        *,
        takes_shapes: bool = True,
        knows_costs: bool = True,
        chance: Chance | None = None,
    ) -> None:
        names = None if schema is None else schema.names
        self.world = world
        self.schema = schema
        self.prefixes = dict(prefixes or {})
        self.templates = Templates(prefixes=prefixes, attributes=names, limits=world.limits)
        self._takes_shapes = takes_shapes
        self._knows_costs = knows_costs
        self.chance = chance

    @lazy
    def shapes(self) -> Shapes:
        """The shapes of templates."""
        from tamis.engine.shapes import Shapes

        return Shapes(self.schema)

    def prepare(self, row: Row) -> PreparedSubscription | ShapedSubscription:
        """The subscription of a row, or an error that says what is wrong with it."""
        self.check_id(row.id)
        split = self.split(row)
        if split is not None:
            shaped = self.shapes.read(self.templates, row.id, split)
            if shaped is not None:
                return shaped
        return self.read(row, split)

    def split(self, row: Row) -> Split | None:
        """The text of a row that may have a shape; None if none is wanted."""
        return self.templates.split(row.source) if self._takes_shapes and row.is_plain else None

    def read(self, row: Row, split: Split | None = None) -> PreparedSubscription:
        """The subscription of a row, whose id was checked, as a tree."""
        if not isinstance(row.enabled, bool):
            raise SubscriptionError(f"'enabled' is true or false, not {row.enabled!r}")
        if split is not None:
            expression, text = self._resolved(self.templates.expression(split)), split.text
        else:
            expression, text = self.expression(row.source)
        metadata = checked_metadata(row.metadata, self.world.limits)
        new = Subscription(row.id, text, expression, metadata, row.enabled)
        return self.prepared(new)

    def prepared(self, new: Subscription) -> PreparedSubscription:
        """A subscription that was parsed, checked, and what it is found by."""
        check_supported(new.expression, self.world)
        from tamis.matching.covers.chances import chance_of
        from tamis.matching.covers.covers import cover_of

        cover = cover_of(new.expression, self.chance or chance_of)
        return PreparedSubscription(new, cover, tuple(self._remarks(new.id, cover)))

    def _remarks(self, id: str, cover: Cover) -> Iterable[Remark]:
        """What to say of a subscription; raises if it costs more than a limit allows."""
        if cover.never_matches:
            message = f"the subscription {id!r} contradicts itself and never matches"
            yield Remark(NeverMatchesWarning, message)
        elif self._knows_costs:
            from tamis.matching.planning.cost import REMEDY, costly

            cost = costly(cover, self.world.limits)
            if cost is not None:
                yield Remark(CostlyWarning, f"the subscription {id!r} costs {cost}; {REMEDY}")

    def check_id(self, id: Any) -> None:
        """Raise unless an id is a string of reasonable length."""
        if not isinstance(id, str) or not id:
            raise SubscriptionError(f"an id is a string of one character or more, not {id!r}")
        check_limit(len(id), self.world.limits.id, "characters in an id")
        if not id.isascii() and any("\ud800" <= character <= "\udfff" for character in id):
            raise SubscriptionError("an id with a lone surrogate, which is not valid Unicode")

    def parse(self, text: str) -> Expression:
        """The expression of a text, with the meaning that the schema gives it."""
        return self._resolved(self.templates.parse(text))

    def _resolved(self, expression: Expression) -> Expression:
        check_variables(expression)
        return expression if self.schema is None else resolve(expression, self.schema)

    def expression(self, source: Any) -> tuple[Expression, str]:
        """The expression of a text, an expression or its JSON form, with the meaning that the
        schema gives it, and its text as it was given."""
        if isinstance(source, str):
            return self.parse(source), source
        if isinstance(source, Mapping):
            source = from_json(source, self.world.limits)
        if isinstance(source, Expression):
            text = str(source)
            what = "characters in the text of one subscription"
            check_limit(len(text), self.world.limits.text, what)
            return self._resolved(source), text
        what = "null" if source is None else f"a {type(source).__name__}"
        raise SubscriptionError(
            f"a subscription is a text, an expression or its JSON form, not {what}"
        )


def check_supported(expression: Expression, world: World) -> None:
    """Refuse an operator that there is not, and ``is a`` of a term that no taxonomy has."""
    kinds = kinds_within(expression)
    if Call in kinds:
        check_calls(expression, world.operators)
    for node in nodes_within(expression) if IsA in kinds else ():
        if isinstance(node, IsA):
            taxonomy = world.taxonomies.of(node.attribute.path)
            if taxonomy is None:
                raise SubscriptionError(
                    f"'{node}' needs a taxonomy: Engine(taxonomy={{term: [parents]}})"
                )
            taxonomy.check(str(node.ancestor.value))


def vocabulary(schema: Schema | None, given: Taxonomies = NO_TAXONOMIES) -> Taxonomies:
    """What ``is a`` asks: the taxonomies that are given, or those of the schema's attributes."""
    if schema is None:
        return given
    if given != NO_TAXONOMIES:
        raise SchemaError("a schema has its own taxonomies, in its domains; give it no other")
    found = {path: schema.taxonomy(path) for path in schema.attributes}
    return Taxonomies(None, {path: each for path, each in found.items() if each is not None})
