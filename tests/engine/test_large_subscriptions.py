"""Large subscriptions: what the limits allow can be matched, what they forbid is refused at once.

An expression or a JSON form has a text too, and its limit.
"""

from __future__ import annotations

import pytest

from tamis import Engine, Event, Expression, LimitError, Limits, all_of, attr, read_graph
from tamis.language.json_form import to_json

FITS = (attr("a") == 1) & (attr("b") == "xyz\n")
TOO_LONG = (attr("a") == 1) & (attr("b") == "xyz\n!")
FEW = Limits(text=len(str(FITS)))


def sources(expression: Expression) -> list[object]:
    return [expression, to_json(expression), str(expression)]


@pytest.mark.parametrize("source", sources(FITS))
def test_a_text_of_the_longest_length_is_taken_and_read_again(source: object) -> None:
    engine = Engine(limits=FEW)
    engine.subscribe(source, id="x")  # type: ignore[arg-type]
    event = {"a": 1, "b": "xyz\n"}
    assert engine.match(event) == ["x"]
    assert engine["x"].expression == FITS
    assert engine.explain("x", event).truth


@pytest.mark.parametrize("matcher", ["sieve", "scan"])
@pytest.mark.parametrize("source", sources(TOO_LONG))
def test_a_longer_one_is_refused_when_it_is_subscribed(source: object, matcher: str) -> None:
    engine = Engine(matcher=matcher, limits=FEW)
    with pytest.raises(LimitError, match=r"22 characters in .*one subscription: the limit is 21"):
        engine.subscribe(source, id="x")  # type: ignore[arg-type]
    assert not engine.match({"a": 1, "b": "xyz\n!"})
    assert "x" not in engine


def test_thousands_of_operands() -> None:
    engine = Engine()
    expression = all_of(*[attr("a") != number % 10 for number in range(20_000)])
    engine.subscribe(expression, id="x")
    assert engine.match({"a": 10}) == ["x"]
    assert engine.match({"a": 9}) == []
    assert engine["x"].expression == expression
    with pytest.raises(LimitError, match="characters in the text of one subscription"):
        engine.subscribe(all_of(*[attr("attribute") != 1] * 90_000), id="y")


@pytest.mark.filterwarnings("ignore::tamis.CostlyWarning")
def test_the_largest_graph_pattern_is_matched() -> None:
    engine = Engine()
    triples = [f"?s <urn:p{number}> ?o{number}" for number in range(500)]
    engine.subscribe(f"{{ {' . '.join(triples)} }}", id="x")
    graph = read_graph("\n".join(f"<urn:s> <urn:p{number}> {number} ." for number in range(500)))
    assert engine.match(Event({}, graph=graph)) == ["x"]
