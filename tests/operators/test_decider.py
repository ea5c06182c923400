"""The decider: what it decides is what the oracle says, with as few calls as it can."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine, Event, LimitError, Limits, Operator, TamisError
from tamis.operators.decider import Work
from tamis.predicates.expression import Call
from tamis.predicates.operands import Constant
from tests.contract.operators import FUNCTIONS, OPERATORS
from tests.examples import examples

SCHEDULES = ("history", "sequential", "sub_order", "adaptive")

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.OperatorWarning"),
]

TERMS = [
    "yes()", "no()", "unsure()", "broken()", "a = 1", "b > 2", "near('Bronx', ?d)",
    "one(?x)", "?x < 2", "pairs(?x, ?y)", "pairs(?y, ?x)", "not yes()", "not no()",
    "(unsure()) is unknown", "(broken()) is not true", "not one(?x)", "values_of_a(?x)",
    "(a = 1 and yes()) is not true", "?d > 5", "not (one(?z) and ?z > 9)",
]  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(TERMS), min_size=1, max_size=4))
    text = " and ".join(parts)
    if draw(st.booleans()):
        text = f"({text}) or {draw(st.sampled_from(TERMS[:6]))}"
    if draw(st.booleans()):
        text = f"{draw(st.sampled_from(TERMS[:6]))} and ({text})"
    return text


EVENTS: list[dict[str, Any]] = [
    {"a": 1}, {"a": 2, "b": 3}, {}, {"a": [1, 2], "b": [1, 5]}, {"c": [1]},
]  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(st.lists(texts(), min_size=1, max_size=6))
@examples(40)
def test_the_same_matches_as_the_oracle(schedule: str, several: list[str]) -> None:
    operators = {
        name: Operator(function, reads=("a",) if name == "values_of_a" else ())
        for name, function in FUNCTIONS.items()
    }
    engine = Engine(operators=operators, schedule=schedule)
    oracle = Engine(operators=OPERATORS, matcher="scan")
    for number, text in enumerate(several):
        try:
            engine.subscribe(text, id=str(number))
        except TamisError:
            continue  # a variable that nothing binds
        oracle.subscribe(text, id=str(number))
    expected = oracle.match_batch(EVENTS)
    found = engine.match_batch(EVENTS)
    assert sorted(found.pairs()) == sorted(expected.pairs())
    incomplete = {each[:2] for each in found.incomplete}
    assert incomplete <= {each[:2] for each in expected.incomplete}
    for event in EVENTS:
        assert sorted(engine.match(event)) == sorted(oracle.match(event))
    for (_row, id), binding in zip(found.pairs(), found.bindings):
        names = {name for name in ("x", "y", "d") if f"?{name}" in engine[id].text}
        assert binding.keys() <= names


class Counting:
    """Operators that count their calls."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[Any, ...]] = Counter()

    def __call__(self, event: Event, *arguments: Any) -> bool:
        self.calls[event.attributes["n"], *arguments] += 1
        return arguments[0] in str(event.attributes.get("true", ""))


def test_each_distinct_call_is_made_once_for_an_event() -> None:
    p = Counting()
    engine = Engine(operators={"p": Operator(p, reads=("n", "true"))})
    for number in range(64):
        first, second = "abcdefgh"[number % 8], "abcdefgh"[number // 8]
        if first == second:
            continue
        engine.subscribe(f"p('{first}') and p('{second}')", id=str(number))
        if number == 30:
            engine.settle()
    found = engine.match_batch([{"n": n, "true": "abc" * (n % 2)} for n in range(20)])
    assert max(p.calls.values()) == 1
    assert len(p.calls) <= 10 * 8 + 10 * 7  # of eight false ones, seven decide all pairs
    decider = engine.subscriptions.index.deciding.decider
    assert decider is not None
    assert decider.work.possible == 160
    assert decider.work.made == len(p.calls)
    assert decider.work.saved == 160 - len(p.calls)
    plan = engine.plan().schedule
    assert plan.saved == decider.work.saved
    assert plan.distinct == 8
    assert {each.subscriptions for each in plan.calls} == {14}
    assert [each.calls for each in plan.operators] == [len(p.calls)]
    assert "p('a')  true" in str(plan)
    assert len(found) == 10 * 6


def test_a_batch_is_cut_where_its_open_pairs_would_be_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = Counting()
    engine = Engine(operators={"p": Operator(p, reads=("n", "true"))})
    for number, letter in enumerate("abcdefgh"):
        engine.subscribe(f"p('{letter}')", id=letter)
        if number == 4:
            engine.settle()
    events = [{"n": n, "true": "abc" * (n % 2)} for n in range(300)]
    expected = sorted(engine.match_batch(events).pairs())
    p.calls.clear()
    monkeypatch.setattr("tamis.engine.deciding.PAIRS", 8 * 70)
    monkeypatch.setattr("tamis.operators.decider.PAIRS", 8 * 30)
    assert sorted(engine.match_batch(events).pairs()) == expected
    assert len(expected) == 150 * 3
    assert set(p.calls.values()) == {1}
    assert len(p.calls) == 300 * 8


def test_attributes_come_first() -> None:
    p = Counting()
    engine = Engine(operators={"p": Operator(p, reads=("n",))})
    engine.subscribe("kind = 'a' and p('x')", id="a")
    engine.subscribe("size > 5 and (kind = 'a' or p('x'))", id="b")
    engine.match_batch([{"n": n, "kind": "b", "size": n % 2} for n in range(10)])
    assert not p.calls
    engine.match_batch([{"n": n, "kind": "b", "size": 9} for n in range(10)])
    assert len(p.calls) == 10
    p.calls.clear()
    assert engine.match({"n": 1, "kind": "a", "size": 9}) == ["b"]
    assert len(p.calls) == 1


def test_equivalent_calls_in_one_subscription_are_made_once() -> None:
    calls = []

    def p(event: Event, *variables: None) -> list[tuple[int, int]]:
        calls.append(1)
        return [(1, 2), (2, 3), (7, 7)]

    engine = Engine(operators={"p": p})
    engine.subscribe("p(?x, ?y) and p(?y, ?z) and ?x < ?y", id="path")
    (match,) = engine.matches({})
    assert match.bindings == {"x": 1, "y": 2, "z": 3}
    assert len(calls) == 1


def test_lists_that_a_call_does_not_read_do_not_keep_it_from_its_schedule() -> None:
    """Of ten subscriptions all of one call, which is false: it is called once, for all events."""
    sizes = []

    def p(events: list[Event], arguments: list[tuple[Any, ...]]) -> list[bool]:
        sizes.append(len(events))
        return [name == "true" for (name,) in arguments]

    engine = Engine(operators={"p": Operator(p, reads=("n",), batch=True)})
    for number in range(10):
        engine.subscribe(f"items.size > {number} and p('false') and p('{number}')", id=str(number))
        engine.subscribe(f"items.size = {number} and p('true')", id=f"only {number}")
    engine.learn_calls({"p('false')@1": [0, 50], "p@1": [1e-3, 0]})
    events = [{"n": n, "items": [{"size": 20}, {"size": n}]} for n in range(40)]
    found = engine.match_batch(events)
    assert sorted(found.pairs()) == [(n, f"only {n}") for n in range(10)]
    assert sum(sizes) == 40 + 10
    assert len(sizes) <= 4
    work = engine.plan().schedule
    assert work.made == 50


def test_calls_that_read_lists_are_made_for_each_element_that_may_match() -> None:
    p = Counting()
    engine = Engine(operators={"p": Operator(p, reads=("n", "true"))})
    engine.subscribe("kind = 'a' and `true` != 'x' and p('b') and not p('c')", id="x")
    events = [{"n": n, "kind": "a", "true": ["x", "b", "bc", "y"]} for n in range(3)]
    events.append({"n": 9, "kind": "a", "true": []})
    assert list(engine.match_batch(events).pairs()) == [(n, "x") for n in range(3)]
    assert {n for n, _ in p.calls} == {0, 1, 2}
    assert p.calls[0, "b"] == 1  # of the first element that may match, which does


def test_calls_of_a_batch_form_come_together() -> None:
    sizes = []

    def p(events: list[Event], arguments: list[tuple[Any, ...]]) -> list[bool]:
        sizes.append(len(events))
        return [event.attributes["n"] == number for event, (number,) in zip(events, arguments)]

    engine = Engine(operators={"p": Operator(p, batch=True, reads=("n",))})
    for number in range(30):
        engine.subscribe(f"p({number})", id=str(number))
    found = engine.match_batch([{"n": n} for n in range(100)])
    assert sorted(found.pairs()) == [(n, str(n)) for n in range(30)]
    assert sizes == [16 * 30, 84 * 30]  # the first rows by themselves, to learn from them


def test_what_was_learned_orders_calls_and_survives_a_restart(tmp_path: Path) -> None:
    p = Counting()
    operators = {"p": Operator(p, reads=("n", "true"))}
    engine = Engine(operators=operators)
    engine.subscribe("p('often') and p('rare')", id="x")
    for n in range(60):
        engine.match({"n": n, "true": "often" if n % 10 else "often rare"})
    made = sum(p.calls.values())
    assert made < 80  # soon 'rare' is called first, which ends most of them
    engine.save(tmp_path / "engine")
    loaded = Engine.load(tmp_path / "engine", operators=operators)
    p.calls.clear()
    loaded.match({"n": 0, "true": "often"})
    assert list(p.calls) == [(0, "rare")]
    known = loaded.subscriptions.index.deciding.learned()
    assert known["p@1"][0] > 0  # seconds
    assert known["p('rare')@1"][1] == 61  # results
    again = Engine(operators=operators)
    again.subscribe("p('often') and p('rare')", id="x")
    again.match({"n": 1, "true": ""})
    again.subscriptions.index.deciding.learn(known)
    p.calls.clear()
    again.match({"n": 2, "true": "often"})
    assert list(p.calls) == [(2, "rare")]


def test_sub_order_keeps_its_order_from_event_to_event() -> None:
    p = Counting()
    operators = {"p": Operator(p, reads=("n", "true"))}
    engine = Engine(operators=operators, schedule="sub_order")
    oracle = Engine(operators=operators, matcher="scan")
    names = "abcdefghijkl"
    texts = [f"p('{x}') and p('{y}')" for x in names for y in names if x != y]
    for number, text in enumerate(texts[:100]):
        engine.subscribe(text, id=str(number))
    for n in range(200):
        engine.match({"n": n, "true": names[n % 12 :]})
    decider = engine.subscriptions.index.deciding.decider
    assert decider is not None
    chains = decider.chains
    before = chains.times_made
    assert 2 <= before <= 10  # each time there is twice as much to learn from
    for number, text in enumerate(texts[100:], 100):
        engine.subscribe(text, id=str(number))
        engine.match({"n": number, "true": "abc"})
    assert chains.times_made <= before + 1
    chains._make()
    engine.unsubscribe("0")
    for number, text in enumerate(texts[1:], 1):
        oracle.subscribe(text, id=str(number))
    for n in (500, 501):
        event = {"n": n, "true": "abcdef"[n % 2 :]}
        assert sorted(engine.match(event)) == sorted(oracle.match(event))
    chains._make()
    assert np.isnan(chains._rank).sum() == len(chains._rank) - 131  # the removed one is gone


def test_explanations_show_the_schedule() -> None:
    engine = Engine(operators={"p": Operator(Counting(), reads=("n", "true"))})
    engine.subscribe("p('often') and p('rare')", id="x")
    event = {"n": 0, "true": "often"}
    assert "adaptive" not in str(engine.explain("x", event))
    for n in range(20):
        engine.match({"n": n, "true": "often"})
    text = str(engine.explain("x", event))
    assert "adaptive: call 1 of 2 by worth, true" in text
    assert "call 2 of 2 by worth" in text
    assert "(20 results)" in text


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("adaptive", ["b", "a", "c"]),
        ("history", ["a", "b", "c"]),
        ("sequential", ["a", "b", "c"]),
        ("sub_order", ["b", "a", "c"]),
    ],
)
def test_a_plan_shows_calls_in_the_order_of_the_schedule(
    schedule: str, expected: list[str]
) -> None:
    engine = Engine(operators={"p": Operator(Counting(), reads=("n",), cost=1)}, schedule=schedule)
    engine.subscribe("p('a') and p('b')", id="x")
    engine.subscribe("p('b') and p('c')", id="y")
    engine.learn_calls({"p('a')@1": [90, 100], "p('b')@1": [20, 100], "p('c')@1": [95, 100]})
    engine.match({"n": 1})
    plan = engine.plan().schedule
    assert [each.call for each in plan.calls] == [f"p('{name}')" for name in expected]
    for place, name in enumerate(expected, 1):
        assert f"call {place} of 3" in engine.subscriptions.index.deciding.remark(
            Call("p", (Constant(name),))
        )


def test_all_substitutions() -> None:
    def pairs(event: Event, x: None, y: None) -> list[tuple[int, int]]:
        return [(n, n + 1) for n in range(event.attributes["n"])]  # type: ignore[arg-type]

    engine = Engine(operators={"pairs": pairs}, limits=Limits(bindings=1_000))
    engine.subscribe("pairs(?x, ?y) and pairs(?y, ?z) and ?x > 0", id="chain")
    found = engine.substitutions("chain", {"n": 4})
    assert found == [{"x": 1, "y": 2, "z": 3}, {"x": 2, "y": 3, "z": 4}]
    assert engine.substitutions("chain", {"n": 1}) == []
    with pytest.raises(LimitError, match="subscription 'chain': more than 1 substitutions"):
        engine.substitutions("chain", {"n": 4}, limit=1)
    with pytest.raises(TamisError, match=r"subscription 'chain': .*more than 1,000 rows"):
        engine.substitutions("chain", {"n": 2_000})


def test_the_smallest_result_is_joined_first() -> None:
    """Chains of 1,000 rows, of which the last call leaves one: few substitutions are tried."""

    def step(event: Event, place: float, x: None, y: None) -> list[tuple[int, int]]:
        return [(n, n + 1) for n in range(1_000)]

    operators = {"step": step, "end": lambda event, x: [900]}
    engine = Engine(operators=operators, limits=Limits(bindings=1_100))
    engine.subscribe("step(1, ?a, ?b) and step(2, ?b, ?c) and end(?c)", id="x")
    (match,) = engine.matches({})
    assert match.bindings == {"a": 898, "b": 899, "c": 900}


def test_a_limit_of_matches() -> None:
    engine = Engine(operators={"yes": lambda event: True})
    for number in range(5):
        engine.subscribe("yes()" if number % 2 else "a = 1", id=str(number))
    found = engine.match_batch([{"a": 1}, {"a": 2}], limit=2)
    assert Counter(found.event.tolist()) == {0: 2, 1: 2}
    assert len(engine.match({"a": 1}, limit=2)) == 2


@pytest.mark.parametrize("matcher", ["sieve", "naive", "gryphon"])
def test_other_matchers_leave_attributes_to_the_decider(matcher: str) -> None:
    p = Counting()
    engine = Engine(operators={"p": Operator(p, reads=("n",))}, matcher=matcher)
    engine.subscribe("(a = 1 or b = 2) and not c = 3 and not p('x')", id="x")
    events = [
        {"n": 0, "a": 1},
        {"n": 1, "a": 1, "c": 3},
        {"n": 2, "b": 1},
        {"n": 3, "b": 2, "c": 4},
    ]
    assert list(engine.match_batch(events).pairs()) == [(3, "x")]
    assert set(p.calls) == {(3, "x")}


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(TamisError, match="did you mean 'adaptive'"):
        Engine(schedule="adaptiv")


def test_work_adds_up() -> None:
    assert Work(1, 10, 4).saved == 6
