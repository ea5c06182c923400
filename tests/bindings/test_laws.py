"""Laws: on random expressions with variables, the oracle agrees with brute force."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tamis import Event
from tamis.bindings.evaluation import Trial, World
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral
from tamis.predicates.expression import (
    Call,
    Comparison,
    Contains,
    Expression,
    Not,
    Pattern,
    TruthTest,
    all_of,
    any_of,
)
from tamis.predicates.operands import Attribute, Constant, Operand, Variable, calculate
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN
from tests.contract import naive
from tests.contract.operators import FUNCTIONS, OPERATORS

X, Y, Z = map(Variable, "xyz")
A, B = Attribute(("a",)), Attribute(("b",))
ITEM = Attribute(("items", "price"))
NODES = [Iri("http://x/a"), Iri("http://x/b"), BlankNode("c")]
PROPERTIES = [Iri("http://x/p"), Iri("http://x/q")]
LITERALS = [RdfLiteral("1", "http://www.w3.org/2001/XMLSchema#integer"), RdfLiteral("x")]

WORDS = {True: TRUE, False: FALSE, None: UNKNOWN, naive.FAILED: FAILED}

VARIABLES = st.sampled_from([X, Y, Z])


def calls() -> st.SearchStrategy[Expression]:
    """Calls of every operator that there is."""
    single = st.sampled_from(["one", "other", "none", "unsure", "broken", "values_of_a"])
    double = st.sampled_from(["pairs", "none", "broken"])
    plain = st.sampled_from(["yes", "no", "unsure", "broken"])
    return (
        st.builds(lambda name, x: Call(name, (x,)), single, VARIABLES)
        | st.builds(lambda name, x, y: Call(name, (x, y)), double, VARIABLES, VARIABLES)
        | st.builds(lambda name: Call(name, ()), plain)
        | st.sampled_from([1, 5]).map(lambda least: Call("dear", (Constant(least),)))
    )


def patterns() -> st.SearchStrategy[Expression]:
    """Patterns of one triple or two."""
    subject: st.SearchStrategy[Any] = st.sampled_from([X, Y, NODES[0]])
    verb: st.SearchStrategy[Any] = st.sampled_from([Z, *PROPERTIES])
    value: st.SearchStrategy[Any] = st.sampled_from([X, Y, NODES[1], *LITERALS])
    triples = st.lists(st.tuples(subject, verb, value), min_size=1, max_size=2)
    return triples.map(lambda some: Pattern(tuple(some)))


def constraints() -> st.SearchStrategy[Expression]:
    """Comparisons of variables, attributes and constants."""
    values = st.sampled_from([1, 2, 3, "x", True]).map(Constant)
    sums: st.SearchStrategy[Operand] = VARIABLES.map(lambda x: calculate(x, "+", Constant(1)))
    left: st.SearchStrategy[Operand] = VARIABLES | sums | st.sampled_from([A, B, ITEM])
    right: st.SearchStrategy[Operand] = VARIABLES | st.sampled_from([A, B, ITEM])
    equalities = st.builds(Comparison, left, st.sampled_from(["=", "!="]), right | values)
    orders = st.builds(Comparison, left, st.sampled_from(["<", ">="]), right)
    return equalities | orders


def expressions() -> st.SearchStrategy[Expression]:
    """Conjunctions, disjunctions, negations and truth tests over all of these."""
    leaves = calls() | calls() | constraints() | patterns()
    leaves |= st.just(Contains(A, Constant(1)))

    def combine(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        some = st.lists(inner, min_size=2, max_size=3)
        truths = st.sampled_from(["true", "false", "unknown"])
        return (
            some.map(lambda parts: all_of(*parts))
            | some.map(lambda parts: any_of(*parts))
            | inner.map(Not)
            | st.builds(TruthTest, inner, truths)
        )

    return st.recursive(leaves, combine, max_leaves=6)


def events() -> st.SearchStrategy[dict[str, Any]]:
    """Events with and without lists."""
    value = st.sampled_from([1, 2, 3, "x", True])
    several = value | st.lists(value, max_size=3)
    item = st.fixed_dictionaries({}, optional={"price": st.sampled_from([0, 1, 5]) | several})
    items = item | st.lists(item, max_size=2)
    return st.fixed_dictionaries({}, optional={"a": several, "b": several, "items": items})


def graphs() -> st.SearchStrategy[frozenset[Any] | None]:
    """No graph, or up to four triples."""
    terms = st.sampled_from([*NODES, *LITERALS])
    triple = st.tuples(st.sampled_from(NODES), st.sampled_from(PROPERTIES), terms)
    return st.none() | st.frozensets(triple, max_size=4)


@given(expressions(), events(), graphs())
def test_the_oracle_agrees_with_brute_force(
    expression: Expression, event: dict[str, Any], graph: frozenset[Any] | None
) -> None:
    around = naive.Surroundings({}, FUNCTIONS, graph)
    expected = WORDS[naive.naive_truth(expression, event, around)]
    trial = Trial(Event(event, graph=graph), World(operators=OPERATORS))
    assert trial.truth_of(expression) == expected
    assert trial.matches(expression) is (expected == TRUE)
    answer = trial.answer(expression)
    assert answer.truth == expected
    assert bool(answer.reason) is (expected == FAILED)
