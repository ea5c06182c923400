"""Predicates as leaves of a formula: what a predicate, or its negation, asks of an event.

    price < 5                          Within   price: numbers below 5
    title = 'Oak' ignoring case        Within   the folded title: 'oak'
    title ends with 'oak'              Within   the reversed title: what begins with 'kao'
    title contains text 'oak'          Holds    what was found in the title: 'oak'
    tags contains 'new'                Holds    what was found in tags, whatever is bound
    title like 'oak%chair'             Within   the title begins so, and ends so; and the Literal
    title matches 'oak.*chair'         Holds    'oak' and 'chair'; and the Literal
    a < b                              Literal
    a * 2 > b                          Literal

A predicate that cannot be said by sets and found things stays a literal, behind those that it
implies. Of a text test that is *false* the value is a string, on which the test does not succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.covers.required_texts import (
    RequiredTexts,
    like_literals,
    required_by_regex,
)
from tamis.matching.lines.forms import FOLDED, FORM_LINES, address_form
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.paths import Path
from tamis.predicates.expression import (
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    Present,
    TextTest,
)
from tamis.predicates.normal import Literal, true_set
from tamis.predicates.operands import Arithmetic, Attribute, Constant, operands_within
from tamis.predicates.region_literals import STRINGS
from tamis.predicates.texts import fold, like_parts
from tamis.predicates.valueset import (
    ValueSet,
    after,
    before,
    points,
    prefixed,
    prefixed_by_any,
    range_of,
    union_of,
)

_SUBSTRINGS = AxisSort.SUBSTRINGS, AxisSort.FOLDED_SUBSTRINGS
_REVERSED = AxisSort.REVERSED, AxisSort.FOLDED_REVERSED
"""The axis of one form of a string, and the one without regard to case."""
Place = Path | AxisKey
"""An attribute, or a form of it in which its values are put."""


class Within(NamedTuple):
    """The bound value of an attribute, or a form of it, lies in a set."""

    place: Place
    values: ValueSet


class Holds(NamedTuple):
    """One of some things is found in the bound text of an attribute, or among all its values."""

    key: AxisKey
    things: frozenset[Value]


class Lacks(NamedTuple):
    """Something is not so."""

    part: Leaf


Leaf = Within | Holds | Literal


class Reading(NamedTuple):
    """What a predicate asks: all of these; and what says it all by itself."""

    implied: tuple[Leaf, ...]
    whole: Leaf | None
    """None if it is true of what is implied and lacks ``denied``."""
    denied: Leaf | None = None


def path_of(place: Place) -> Path:
    """The attribute of a place."""
    return place.path if isinstance(place, AxisKey) else place


class TextAlternatives(NamedTuple):
    """Tests of one attribute that differ in their texts alone, any one of them."""

    path: Path
    operator: str
    ignore_case: bool


_ALTERNATIVES = frozenset({"starts with", "ends with", "contains text"})


def alternatives_of(node: Expression) -> TextAlternatives | None:
    """The alternatives that a test of a text can be one of; an empty text is found in all."""
    if type(node) is not TextTest or node.operator not in _ALTERNATIVES or not node.pattern.value:
        return None
    return TextAlternatives(node.attribute.path, node.operator, node.ignore_case)


def are_alternatives(test: TextTest, other: Expression) -> bool:
    """Whether another test is certainly one of the same alternatives: as a parser makes them, with
    all in common but the text."""
    return (
        type(other) is TextTest
        and other.attribute is test.attribute
        and other.operator == test.operator
        and other.ignore_case is test.ignore_case
        and other.pattern.value != ""
    )


def texts_reading(test: TextAlternatives, texts: Iterable[str], positive: bool) -> Reading:
    """What alternatives, or their negation, ask: one leaf, however many texts there are."""
    path, operator, ignore_case = test
    if ignore_case:
        texts = [text.lower() if text.isascii() else fold(text) for text in texts]
    if operator == "contains text":
        key = AxisKey(path, _SUBSTRINGS[ignore_case])
        found = Holds(key, frozenset(texts))
        return Reading((), found) if positive else Reading((Within(path, STRINGS),), None, found)
    place: Place = path
    if operator == "ends with":
        place = AxisKey(path, _REVERSED[ignore_case])
        texts = (text[::-1] for text in texts)
    elif ignore_case:
        place = AxisKey(path, AxisSort.FOLDED)
    values = prefixed_by_any(texts)
    if not positive:
        values = values.complement().within(Kind.STRING)  # of all else it is unknown
    return Reading((), Within(place, values))


def reading_of(node: Expression, positive: bool) -> Reading:
    """What a predicate, or its negation, asks."""
    test = alternatives_of(node)
    if test is not None and isinstance(node, TextTest):
        return texts_reading(test, (str(node.pattern.value),), positive)
    plain = true_set(node, positive)
    if plain is not None:
        return Reading((), Within(*plain))
    derived = _derived_set(node, positive)
    if derived is not None:
        return Reading((), Within(*derived))
    literal = Literal(node, positive)
    if isinstance(node, TextTest):
        return _text_reading(node, positive)
    if isinstance(node, Contains) and not node.ignore_case:
        value = node.value.value
        if kind_of(value) is not Kind.BYTES:
            found = Holds(AxisKey(node.attribute.path, AxisSort.CONTAINED), frozenset({value}))
            if positive:
                return Reading((), found)
            return Reading((Literal(Present(node.attribute), True),), None, found)
    return Reading((), literal)


def _text_reading(node: TextTest, positive: bool) -> Reading:
    key = AxisKey(node.attribute.path, _SUBSTRINGS[node.ignore_case])
    pattern = str(node.pattern.value)
    inner = _inner_text(node, pattern)
    whole: Leaf = Literal(node, True)
    if inner is not None:
        whole = Holds(key, frozenset({_folded(inner, node.ignore_case)}))
    is_text = Within(node.attribute.path, STRINGS)
    if not positive:
        return Reading((is_text,), None, whole)
    if inner is not None:
        return Reading((), whole)
    implied = [Within(*side) for side in _ends(node, pattern)] or [is_text]
    return Reading((*implied, *_required(node, pattern)), whole)


def _required(node: TextTest, pattern: str) -> Iterator[Holds]:
    """What is found in whatever a pattern matches."""
    if node.operator == "matches":
        required = required_by_regex(pattern)
    else:
        required = RequiredTexts([frozenset({text}) for text in like_literals(pattern)])
    folds = node.ignore_case or required.ignore_case
    key = AxisKey(node.attribute.path, _SUBSTRINGS[folds])
    for texts in required.texts:
        if not folds:
            yield Holds(key, texts)
        elif all(map(str.isascii, texts)):  # RE2 and we fold ASCII alike
            yield Holds(key, frozenset(map(fold, texts)))


def _inner_text(node: TextTest, pattern: str) -> str | None:
    """The text that a ``like`` searches for, if it does nothing else."""
    if node.operator == "like" and (pattern.isascii() or not node.ignore_case):
        parts = like_parts(pattern)
        if parts is not None and len(parts) == 3 and not parts[0] and not parts[2]:
            return parts[1]
    return None


def _ends(node: TextTest, pattern: str) -> Iterator[tuple[Place, ValueSet]]:
    """How what matches a ``like`` pattern begins and ends."""
    if node.operator != "like" or (node.ignore_case and not pattern.isascii()):
        return
    parts = like_parts(pattern) or [""]
    path = node.attribute.path
    if parts[0]:
        if node.ignore_case:
            yield AxisKey(path, AxisSort.FOLDED), prefixed(_form(FOLDED, parts[0]))
        else:
            yield path, prefixed(parts[0])
    if parts[-1]:
        end = _REVERSED[node.ignore_case]
        yield AxisKey(path, end), prefixed(_form(end, parts[-1]))


def is_tested(literal: Literal) -> bool:
    """Whether columns decide on a literal (evaluation/column_tests.py)."""
    node = literal.predicate
    if isinstance(node, Comparison):
        return is_of_two_attributes(node) or _is_arithmetic_of_attributes(node)
    return isinstance(node, TextTest)


def is_of_two_attributes(node: Comparison) -> bool:
    """Whether one attribute is compared with another."""
    return isinstance(node.left, Attribute) and isinstance(node.right, Attribute)


def _is_arithmetic_of_attributes(node: Comparison) -> bool:
    """Whether a comparison needs arithmetic, and only that of attributes and constants."""
    terms = [term for side in node.operands() for term in operands_within(side)]
    kinds = {type(term) for term in terms}
    return Arithmetic in kinds and kinds <= _OF_ARITHMETIC and not node.ignore_case


_OF_ARITHMETIC = {Arithmetic, Attribute, Constant}


def _derived_set(node: Expression, positive: bool) -> tuple[AxisKey, ValueSet] | None:
    """The axis of another form of strings on which a predicate is a set of values, and the set."""
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
    return union_of(
        range_of(
            Kind.STRING,
            before(address_form(network.network_address)),
            after(address_form(network.broadcast_address)),
        )
        for network in node.networks
    )


def _text_set(node: TextTest) -> tuple[AxisKey, ValueSet] | None:
    """What a ``like`` is in another form of the string; ranges of the string itself are plain
    sets."""
    pattern, path = str(node.pattern.value), node.attribute.path
    end = _REVERSED[node.ignore_case]
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
