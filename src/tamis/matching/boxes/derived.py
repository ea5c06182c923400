"""Predicates on strings that are intervals once the string is put into another form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes.required_texts import like_literals, regex_literals
from tamis.matching.lines.forms import (
    FOLDED,
    FORM_LINES,
    address_form,
)
from tamis.model.kinds import Kind, Value, kind_of
from tamis.predicates.expression import Comparison, Contains, Expression, In, InCidr, TextTest
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Attribute, Constant
from tamis.predicates.texts import like_parts
from tamis.predicates.valueset import (
    ValueSet,
    after,
    before,
    combined,
    points,
    prefixed,
    range_of,
)


def derived_set(literal: Literal) -> tuple[AxisKey, ValueSet] | None:
    """The axis on which a literal is a set of values, and the set; None if there is none."""
    node, positive = literal
    if isinstance(node, TextTest):
        found = _text_set(node)
    elif isinstance(node, InCidr):
        found = AxisKey(node.attribute.path, AxisSort.ADDRESS), _networks(node)
    else:
        return _equality(node, positive)
    if found is None or positive:
        return found
    axis, values = found
    return axis, values.complement().within(Kind.STRING)  # of all else it is unknown


def _networks(node: InCidr) -> ValueSet:
    ranges = [
        range_of(
            Kind.STRING,
            before(address_form(network.network_address)),
            after(address_form(network.broadcast_address)),
        )
        for network in node.networks
    ]
    return combined(ValueSet.__or__, ranges)


def _text_set(node: TextTest) -> tuple[AxisKey, ValueSet] | None:
    """What a test is in another form of the string; ranges of the string itself are in the box."""
    pattern, path = str(node.pattern.value), node.attribute.path
    end = AxisSort.FOLDED_REVERSED if node.ignore_case else AxisSort.REVERSED
    if node.operator == "starts with":
        return AxisKey(path, AxisSort.FOLDED), prefixed(_form(FOLDED, pattern))
    if node.operator == "ends with":
        return AxisKey(path, end), prefixed(_form(end, pattern))
    if node.operator != "like" or (node.ignore_case and not pattern.isascii()):
        return None  # RE2 and Unicode's folding agree on ASCII for certain
    match like_parts(pattern):
        case [only]:
            return AxisKey(path, AxisSort.FOLDED), points([_form(FOLDED, only)])
        case ["", last] if last:
            return AxisKey(path, end), prefixed(_form(end, last))
        case [first, ""]:
            return AxisKey(path, AxisSort.FOLDED), prefixed(_form(FOLDED, first))
    return None


def sought_by(literal: Literal) -> Iterator[tuple[AxisKey, Value, bool]]:
    """What must be found where for a literal to be true, and whether it is true then."""
    node, positive = literal
    if not positive:
        return
    if isinstance(node, Contains) and not node.ignore_case:
        value = node.value.value
        if kind_of(value) is not Kind.BYTES:
            yield AxisKey(node.attribute.path, AxisSort.CONTAINED), value, True
    elif isinstance(node, TextTest):
        pattern = str(node.pattern.value)
        texts = {"like": like_literals, "matches": regex_literals}.get(node.operator)
        found = [pattern] if texts is None else texts(pattern)
        if node.ignore_case and not all(map(str.isascii, found)):
            return
        sort = AxisSort.FOLDED_SUBSTRINGS if node.ignore_case else AxisSort.SUBSTRINGS
        within = node.operator == "like" and like_parts(pattern) == ["", *found, ""]
        whole = node.operator == "contains text" or (within and len(found) == 1)
        for text in found:
            yield AxisKey(node.attribute.path, sort), _folded(text, node.ignore_case), whole


class RequiredValue(NamedTuple):
    """What must be found where for a literal to be true, and whether it is true then."""

    key: AxisKey
    value: Value
    literal: Literal
    whole: bool


def most_selective(literals: Iterable[Literal]) -> RequiredValue | None:
    """What is best sought of all that some literals need: a value, else the longest text."""
    found = [
        RequiredValue(key, value, literal, whole)
        for literal in literals
        for key, value, whole in sought_by(literal)
    ]
    return max(found, key=_weight, default=None)


def _weight(required: RequiredValue) -> int:
    return 1_000 if required.key.sort is AxisSort.CONTAINED else len(str(required.value))


def _folded(text: str, ignore_case: bool) -> str:
    return _form(FOLDED, text) if ignore_case else text


def _form(sort: str, text: str) -> str:
    if sort not in FORM_LINES:
        return text
    form = FORM_LINES[sort].form(text)
    assert form is not None
    return form


def _equality(node: Expression, positive: bool) -> tuple[AxisKey, ValueSet] | None:
    """Equality without regard to case, on the axis of folded strings and of all that is none."""
    if not isinstance(node, Comparison | In) or not node.ignore_case:
        return None
    if isinstance(node, In):
        attribute, constants = node.attribute, node.values
        equal = positive
    else:
        if not isinstance(node.left, Attribute) or not isinstance(node.right, Constant):
            return None
        attribute, constants = node.left, (node.right,)
        equal = positive is (node.operator == "=")
    texts = [constant.value for constant in constants]
    if not all(isinstance(text, str) for text in texts):
        return None
    values = points(_form(FOLDED, str(text)) for text in texts)
    if not equal:
        values = ValueSet(values.complement().within(Kind.STRING).ranges, rest=True)
    return AxisKey(attribute.path, AxisSort.FOLDED), values
