"""Operators: how they are declared, called, and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tamis import Engine, Event, ParseError, SubscriptionError, TamisError, parse
from tamis.bindings.evaluation import Trial, World
from tamis.model.rdf_terms import BlankNode, Iri
from tamis.operators.operator import Operator, check_calls, to_operators
from tamis.predicates.operands import Constant, Quantity
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN, Truth


def near(event: Event, place: str, distance: None) -> list[int]:
    """A place."""
    return [12]


def test_declaration() -> None:
    operator = Operator(near, reads=("location", "item.price"))
    assert operator.name == "near"
    assert operator.paths == (("location",), ("item", "price"))
    assert Operator(near).paths is None
    assert Operator(near, reads=()).paths == ()
    assert to_operators({"close": operator})["close"] == Operator(near, operator.reads, "close")
    assert to_operators({"near": near})["near"] == Operator(near)


def test_wrong_declarations() -> None:
    with pytest.raises(TamisError, match="function"):
        Operator("near")  # type: ignore[arg-type]
    with pytest.raises(TamisError, match="with a comma"):
        Operator(near, reads="location")  # type: ignore[arg-type]
    with pytest.raises(SubscriptionError, match="name"):
        to_operators({"no name": lambda event: True})
    with pytest.raises(ParseError):
        Operator(near, reads=("a b",))


def test_unknown_operators_are_refused() -> None:
    known = to_operators({"near": near})
    check_calls(parse("a = 1 and not near('Bronx', ?d)"), known)
    with pytest.raises(
        SubscriptionError, match=r"unknown operator 'nera' .* did you mean 'near'\?"
    ):
        check_calls(parse("a = 1 and not nera('Bronx', ?d)"), known)
    with pytest.raises(SubscriptionError, match="there are near"):
        check_calls(parse("zzz()"), known)
    with pytest.raises(SubscriptionError, match="there are none"):
        check_calls(parse("zzz()"), {})


def answer(text: str, function: Callable[..., Any]) -> tuple[Truth, Any, str]:
    return Trial(Event({"a": 1}), World(operators=to_operators({"p": function}))).answer(
        parse(text)
    )


def test_arguments() -> None:
    seen: list[Any] = []

    def p(event: Event, *arguments: Any) -> bool:
        seen.extend([event.attributes, *arguments])
        return True

    assert answer("p('x', 1, true, 5 km)", p)[0] == TRUE
    assert seen == [{"a": 1}, "x", 1, True, Quantity(Constant(5), "km")]


def test_payloads_and_graphs_reach_operators() -> None:
    payload = object()
    graph = [(Iri("http://x/a"), Iri("http://x/b"), BlankNode("c"))]

    def p(event: Event) -> bool:
        return event.payloads["image"] is payload and event.graph == frozenset(graph)

    event = Event({"a": [1, 2]}, graph=graph, payloads={"image": payload})
    assert Trial(event, World(operators=to_operators({"p": p}))).matches(parse("p() and a = 2"))


@pytest.mark.parametrize(
    ("text", "given", "truth", "reason"),
    [
        ("p()", True, TRUE, ""),
        ("p()", np.bool_(False), FALSE, ""),
        ("p()", None, UNKNOWN, ""),
        ("p()", 1, FAILED, "p() gave a int in place of true, false or None"),
        ("p()", [], FAILED, "p() gave a list in place of true, false or None"),
        ("p(?x)", True, FAILED, "p(?x) gave a bool in place of rows"),
        ("p(?x)", "word", FAILED, "p(?x) gave a str in place of rows"),
        ("p(?x)", 5, FAILED, "p(?x) gave a int in place of rows"),
        ("p(?x)", None, UNKNOWN, ""),
        ("p(?x)", [], FALSE, ""),
        ("p(?x)", [None], FAILED, "a null in a row"),
        ("p(?x)", [object()], FAILED, "raised ValueError: a object"),
        ("p(?x)", [(1, 2)], FAILED, "raised ValueError: a tuple"),
        ("p(?x, ?y)", [1], FAILED, "p(?x, ?y) gave '1' in place of 2 values"),
        ("p(?x, ?y)", [(1, 2, 3)], FAILED, "in place of 2 values"),
        ("p(?x, ?y)", [(1, 2), [3, 4]], TRUE, ""),
        ("p(?x, ?x)", [(1, 2)], FALSE, ""),
        ("p(?x)", np.array([1, 2]), TRUE, ""),
        ("p(?x)", [Iri("http://x/a")], TRUE, ""),
    ],
)
def test_results(text: str, given: Any, truth: Truth, reason: str) -> None:
    found = answer(text, lambda event, *arguments: given)
    assert found[0] == truth
    assert reason in found[2]


def test_a_generator_that_fails_on_the_way() -> None:
    def p(event: Event, x: None) -> Any:
        yield 1
        raise KeyError("gone")

    truth, solution, reason = answer("p(?x)", p)
    assert (truth, solution) == (FAILED, {})
    assert reason == "p(?x) raised KeyError: 'gone'"


def test_an_operator_that_nobody_knows_fails() -> None:
    found = Trial(Event({})).answer(parse("near('Bronx', ?d)"))
    assert found.reason == "near('Bronx', ?d) has no operator of that name"


@pytest.mark.parametrize("operators", [{"p": 5}, [1], {"p q": print}])
def test_operators_of_an_engine_are_functions_by_name(operators: Any) -> None:
    with pytest.raises(TamisError):
        Engine(operators=operators)
