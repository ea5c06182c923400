"""The tests that follow an attribute: ``between``, ``in``, ``is a``, ``starts with`` …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tamis.errors import ParseError
from tamis.language.cursor import Cursor
from tamis.predicates.expression import (
    Between,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Present,
    TextTest,
    parse_network,
)
from tamis.predicates.operands import Attribute

Item = TypeVar("Item")


def negated_test(cursor: Cursor, attribute: Attribute) -> Expression:
    """The test of an attribute that begins with ``not`` at the cursor."""
    cursor.advance()
    if cursor.key not in TESTS:
        cursor.unexpected("a test such as 'in' or 'between'", TESTS)
    return Not(TESTS[cursor.key](cursor, attribute))


def _between(cursor: Cursor, attribute: Attribute) -> Expression:
    start = cursor.advance()
    low = cursor.constant("the lower bound")
    cursor.expect("and")
    return cursor.build(start, Between, attribute, low, cursor.constant("the upper bound"))


def _in(cursor: Cursor, attribute: Attribute) -> Expression:
    start = cursor.advance()
    if cursor.accept("cidr"):
        return _in_cidr(cursor, attribute)
    if not cursor.at("("):
        cursor.unexpected("'(' or 'cidr'", ["cidr"], hint="write in ('a', 'b')")
    values = cursor.plain_list() or read_list(cursor, cursor.constant)
    return cursor.build(start, In, attribute, values, ignoring_case(cursor))


def _in_cidr(cursor: Cursor, attribute: Attribute) -> Expression:
    start = cursor.index

    def network() -> object:
        at = cursor.index
        return cursor.build(at, parse_network, cursor.string("a network such as '10.0.0.0/8'"))

    networks = read_list(cursor, network) if cursor.at("(") else (network(),)
    return cursor.build(start, InCidr, attribute, networks)


def _is(cursor: Cursor, attribute: Attribute) -> Expression:
    start = cursor.advance()
    negated = cursor.accept("not")
    test: Expression
    if cursor.accept("present"):
        test = Present(attribute)
    elif cursor.accept("missing"):
        test = Not(Present(attribute))
    elif cursor.accept("a", "an"):
        test = cursor.build(start, IsA, attribute, cursor.constant("a term of the taxonomy"))
    elif cursor.at("null"):
        raise cursor.null_error(f"write {attribute} is {'present' if negated else 'missing'}")
    elif cursor.at("true", "false", "unknown"):
        raise _no_truth(cursor, attribute, negated)
    else:
        cursor.unexpected(
            "'a', 'present' or 'missing'",
            ["a", "present", "missing"],
            hint="write x = 'y' for equality, and x is a 'y' for a kind of y",
        )
    return Not(test) if negated else test


def _no_truth(cursor: Cursor, attribute: Attribute, negated: bool) -> ParseError:
    """The error of ``flag is true``: a truth test is about an expression."""
    truth = cursor.key
    said = f"is not {truth}" if negated else f"is {truth}"
    problem = f"'{said}' tests an expression, not the attribute '{attribute}'"
    if truth == "unknown":
        instead = f"{attribute} is {'present' if negated else 'missing'}"
    else:
        instead = f"({attribute} = {truth}) is not true" if negated else f"{attribute} = {truth}"
    return cursor.error(problem, hint=f"write {instead}")


def _contains(cursor: Cursor, attribute: Attribute) -> Expression:
    start = cursor.advance()
    if cursor.accept("text"):
        return _text(cursor, attribute, "contains text")
    value = cursor.constant()
    return cursor.build(start, Contains, attribute, value, ignoring_case(cursor))


def _starts(cursor: Cursor, attribute: Attribute) -> Expression:
    cursor.advance()
    cursor.expect("with")
    return _text(cursor, attribute, "starts with")


def _ends(cursor: Cursor, attribute: Attribute) -> Expression:
    cursor.advance()
    cursor.expect("with")
    return _text(cursor, attribute, "ends with")


def _like(cursor: Cursor, attribute: Attribute) -> Expression:
    cursor.advance()
    return _text(cursor, attribute, "like")


def _matches(cursor: Cursor, attribute: Attribute) -> Expression:
    cursor.advance()
    return _text(cursor, attribute, "matches")


def _text(cursor: Cursor, attribute: Attribute, operator: str) -> Expression:
    at = cursor.index
    pattern = cursor.constant("a string")
    folded = cursor.key == "ignoring" and ignoring_case(cursor)
    return cursor.build(at, TextTest, attribute, operator, pattern, folded)


def ignoring_case(cursor: Cursor) -> bool:
    """Step over ``ignoring case``, if it stands here."""
    if cursor.key != "ignoring":
        return False
    cursor.advance()
    cursor.expect("case")
    return True


def read_list(cursor: Cursor, read: Callable[[], Item]) -> tuple[Item, ...]:
    """One item or several in parentheses, separated by commas."""
    cursor.expect("(")
    items = [read()]
    while cursor.accept(","):
        items.append(read())
    if not cursor.accept(")"):
        cursor.unexpected("',' or ')'")
    return tuple(items)


TESTS: dict[str, Callable[[Cursor, Attribute], Expression]] = {
    "between": _between,
    "in": _in,
    "is": _is,
    "contains": _contains,
    "starts": _starts,
    "ends": _ends,
    "like": _like,
    "matches": _matches,
}
