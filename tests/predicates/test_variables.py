"""Safety of variables: what binds them, and that every constraint finds them bound."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis import Expression, SubscriptionError, all_of, any_of, attr, call, parse, var
from tamis.predicates.expression import And, Call, Comparison, Or
from tamis.predicates.operands import Variable
from tamis.predicates.variables import bound_variables, check_variables, is_safe

BOUND = [
    ("near('x', ?d)", {"d"}),
    ("{ ?s ex:p ?o }", {"s", "o"}),
    ("a = 1", set()),
    ("near('x', ?d) and far('x', ?e)", {"d", "e"}),
    ("near('x', ?d, ?e) or far('x', ?e, ?f)", {"e"}),
    ("near('x', ?d) or a = 1", set()),
    ("(near('x', ?d) or far('x', ?d)) and a = 1", {"d"}),
    ("not near('x', ?d)", set()),
    ("not not near('x', ?d)", set()),
    ("(near('x', ?d)) is true", set()),
    ("(near('x', ?d)) is not false", set()),
    ("?d < 5", set()),
    ("true", set()),
    ("false", None),
    ("near('x', ?d) or false", {"d"}),
    ("near('x', ?d) or far('x', ?e) and false", {"d"}),
]


@pytest.mark.parametrize(("text", "names"), BOUND, ids=[text for text, _ in BOUND])
def test_what_an_expression_binds(text: str, names: set[str] | None) -> None:
    bound = bound_variables(parse(text, prefixes={"ex": "http://example.org/"}))
    assert (None if bound is None else {variable.name for variable in bound}) == names


UNSAFE = [
    ("?d < 5", "d"),
    ("near('x', ?d) and ?e < 5", "e"),
    ("near('x', ?d) or ?d < 5", "d"),
    ("not near('x', ?d) and ?d < 5", "d"),
    ("(near('x', ?d) or a = 1) and ?d < 5", "d"),
    ("near('x', ?d) and price * ?q < ?d", "q"),
    ("not { ?s ?p ?o } and ?o = 5", "o"),
    ("not not near('x', ?d) and ?d < 5", "d"),
    ("(near('x', ?d)) is true and ?d < 5", "d"),
    ("a = 1 unless ?d < 5", "d"),
    ("a = 1 and ?d < 5 unless near('x', ?d)", "d"),
    ("not (near('x', ?d) or ?d < 5)", "d"),
    ("(near('x', ?d) or a = 1) is false and (?d = 1) is unknown", "d"),
    ("near('x', ?d) and ?d < 5 or far('x', ?e) and ?d < 5", "d"),
]


@pytest.mark.parametrize(("text", "variable"), UNSAFE, ids=[text for text, _ in UNSAFE])
def test_an_unbound_variable_is_named(text: str, variable: str) -> None:
    with pytest.raises(SubscriptionError, match=rf"nothing binds \?{variable} in '.*a call or a"):
        check_variables(parse(text))
    assert not is_safe(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "near('x', ?d) and ?d < 5",
        "?d < 5 and near('x', ?d)",
        "near('x', ?d) and not far('x', ?d, ?e) and price < ?d",
        "{ ?s ?p ?o } and not ?o = 5",
        "not { ?s ?p ?o FILTER (?o > 5) }",
        "(near('x', ?d) or far('x', ?d)) and ?d < 5",
        "near('x', ?d) and ?d < 5 or far('x', ?d) and ?d > 5",
        "(near('x', ?d) or far('x', ?d)) and (?d < 5 or price < ?d)",
        "not (near('x', ?d) and ?d < 5)",
        "(near('x', ?d) and ?d < 5) is not true",
        "a = 1 unless near('x', ?d) and ?d < 5",
        "near('x', ?d) unless ?d < 5",
        "near('x', ?d) and not (far('x', ?e) and ?d < ?e)",
        "near('x', ?d) and ((?d < 5) is unknown) is false",
        "false and ?d < 5",
        "?d < 5 and (a = 1 and false or false)",
    ],
)
def test_bound_variables_are_accepted(text: str) -> None:
    check_variables(parse(text))


def test_every_notation_is_checked() -> None:
    unsafe = var("d") < 5
    for source in (str(unsafe), unsafe, tamis.to_json(unsafe)):
        with pytest.raises(SubscriptionError, match="nothing binds"):
            tamis.Engine().subscribe(source, id="x")
        with pytest.raises(SubscriptionError, match="nothing binds"):
            tamis.covers(source, "a = 1")


# Without negation, an expression is safe if each way to make it true is.


def trees() -> st.SearchStrategy[Expression]:
    names = st.sampled_from("xyz")
    calls = names.map(lambda name: call("p", var(name)))
    leaves = st.one_of(calls, names.map(lambda name: var(name) < 5), st.just(attr("a") == 1))

    def combine(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        parts = st.lists(inner, max_size=3)
        return parts.map(lambda all: all_of(*all)) | parts.map(lambda all: any_of(*all))

    return st.recursive(leaves, combine, max_leaves=8)


def ways(node: Expression) -> Iterator[list[Expression]]:
    """The sets of predicates that make an expression true."""
    if isinstance(node, And):
        for chosen in product(*(list(ways(part)) for part in node.parts)):
            yield [leaf for way in chosen for leaf in way]
    elif isinstance(node, Or):
        for part in node.parts:
            yield from ways(part)
    else:
        yield [node]


def names_in(way: list[Expression], kind: type[Expression]) -> set[str]:
    terms = (term for leaf in way if isinstance(leaf, kind) for term in leaf.operands())
    return {term.name for term in terms if isinstance(term, Variable)}


@given(trees())
def test_the_tree_says_what_all_ways_say(expression: Expression) -> None:
    bound = [names_in(way, Call) for way in ways(expression)]
    used = [names_in(way, Comparison) for way in ways(expression)]
    assert is_safe(expression) is all(ours <= theirs for ours, theirs in zip(used, bound))
    found = bound_variables(expression)
    if found is None:
        assert bound == []
    else:
        assert {variable.name for variable in found} == set.intersection(*bound)


def test_many_variables_do_not_take_long() -> None:
    binding = all_of(*[call("near", var(f"v{i}")) for i in range(20_000)])
    using = any_of(
        *[call("far", var(f"w{i}")) & (var(f"w{i}") < var(f"v{i}")) for i in range(5_000)]
    )
    start = time.process_time()
    check_variables(binding & using)
    with pytest.raises(SubscriptionError, match=r"nothing binds \?w"):
        check_variables(binding & using & (var("w") < 5))
    assert time.process_time() - start < 3
