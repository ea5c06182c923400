"""Operators as an engine calls them: pools, timeouts, breakers, caches, preparation."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

from tamis import Engine, Event, Operator, OperatorWarning, SubscriptionError, TamisError
from tamis.bindings.calls import Failure
from tamis.operators import breaker, guarded
from tamis.operators.breaker import Breaker
from tamis.operators.guarded import GuardedOperator
from tamis.operators.registry import KnownOperators, operator
from tamis.operators.signature import Signature
from tests.operators.slow_operators import counted, crash, sleepy

EVENT = Event({"a": 1})
pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning")


def guard(function: Any, **settings: Any) -> GuardedOperator:
    return GuardedOperator(Operator(function, **settings), 1_000)


@pytest.mark.parametrize("runs", ["threads", "processes"])
def test_a_timeout_stops_waiting(runs: Any) -> None:
    slow = guard(sleepy, runs=runs, timeout=8.0)  # a process needs some seconds to start
    assert slow.call(EVENT, (0.0,)) is True
    pool: Any = slow._pool
    pool._timeout = 1.0
    begin = time.perf_counter()
    given = slow.call(EVENT, (30.0,))
    assert isinstance(given, Failure)
    assert given.problem == "took longer than 1 s"
    assert time.perf_counter() - begin < 5
    if runs == "threads":
        assert slow.call(EVENT, (0.0,)) is True  # another thread has taken its place


def test_calls_that_hang_together_are_waited_for_together() -> None:
    calls = []

    def hang(event: Event, number: int) -> bool:
        calls.append(number)
        return number >= 0 or gate.wait(60)

    gate = threading.Event()
    slow = guard(hang, runs="threads", timeout=0.5)
    begin = time.perf_counter()
    with pytest.warns(OperatorWarning, match="took longer than 0.5 s"):
        given = slow.call_many([EVENT] * 400, [(n if n < 10 else -1,) for n in range(400)])
    assert given[:10] == [True] * 10
    assert all(isinstance(each, Failure) for each in given[10:])
    assert len(calls) <= 10 + guarded.GROUP  # then it is switched off
    assert time.perf_counter() - begin < 20  # eight at a time, not one after the other
    gate.set()


def test_a_process_that_hangs_or_crashes_spoils_no_other_call() -> None:
    slow = guard(sleepy, runs="processes", timeout=20.0)
    assert slow.call(EVENT, (0.0,)) is True
    pool: Any = slow._pool
    pool._timeout = 1.0
    given = slow.call_many([EVENT] * 6, [((n and 0.01) or 60.0,) for n in range(6)])
    assert given[0].problem == "took longer than 1 s"
    assert given[1:] == [True] * 5
    crashing = guard(crash, runs="processes")
    given = crashing.call_many([EVENT] * 3, [(True,), (False,), (False,)])
    assert "BrokenProcessPool" in given[0].problem
    assert crashing.call(EVENT, (False,)) is True


def test_a_timeout_covers_what_prepares() -> None:
    gate = threading.Event()

    def decode(event: Event) -> Any:
        return event.attributes["a"] if event.attributes["a"] else gate.wait(60)

    def decode_all(events: list[Event]) -> list[Any]:
        return [decode(event) for event in events]

    events = [Event({"a": n}) for n in range(3)]
    begin = time.perf_counter()
    with guarded.SESSION.keep():
        one = guard(lambda image: image > 1, prepare=decode, runs="threads", timeout=0.5)
        first, *others = one.call_many(events, [()] * 3)
        assert first.problem == "took longer than 0.5 s"
        assert others == [False, True]
        several = guard(
            lambda images, _: [each > 1 for each in images],
            prepare=decode_all, runs="threads", timeout=0.5, batch=True,
        )  # fmt: skip
        first, *others = several.call_many(events, [()] * 3)
        assert first.problem == "took longer than 0.5 s"
        assert others == [False, True]
    assert time.perf_counter() - begin < 30
    gate.set()


def test_processes_settle_iterators() -> None:
    assert guard(counted, runs="processes").call(EVENT, (3, None)) == [0, 1, 2]


def test_threads_make_calls_together() -> None:
    meeting = threading.Barrier(3, timeout=5)

    def meet(event: Event) -> bool:
        meeting.wait()
        return True

    assert guard(meet, runs="threads").call_many([EVENT] * 3, [()] * 3) == [True] * 3


def test_async_operators_run_together_and_time_out() -> None:
    running = 0
    most = 0

    async def slow(event: Event, seconds: float) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(seconds)
        running -= 1
        return True

    given = guard(slow, timeout=0.5).call_many([EVENT] * 3, [(0.01,), (0.01,), (9.0,)])
    assert given[:2] == [True, True]
    assert isinstance(given[2], Failure)
    assert most == 3


def test_an_async_operator_that_blocks_its_loop_is_given_up() -> None:
    async def blocking(event: Event, seconds: float) -> bool:
        time.sleep(seconds)
        return True

    slow = guard(blocking, timeout=0.1)
    begin = time.perf_counter()
    given = slow.call(EVENT, (60.0,))
    assert time.perf_counter() - begin < 30
    assert given.problem == "took longer than 0.1 s"
    assert slow.call(EVENT, (0.0,)) is True  # on another loop


def test_a_batch_that_raises_is_tried_one_by_one() -> None:
    sizes = []

    def batch(events: list[Event], arguments: list[tuple[Any, ...]]) -> list[bool]:
        sizes.append(len(events))
        if any(argument == ("bad",) for argument in arguments):
            raise ValueError("bad")
        return [True] * len(events)

    given = guard(batch, batch=True).call_many([EVENT] * 3, [("a",), ("bad",), ("c",)])
    assert [isinstance(each, Failure) for each in given] == [False, True, False]
    assert sizes == [3, 1, 1, 1]


def test_a_batch_of_the_wrong_length_fails() -> None:
    given = guard(lambda events, arguments: [True], batch=True).call_many([EVENT] * 2, [()] * 2)
    assert given == [True, True]  # one by one, the lengths agree
    given = guard(lambda events, arguments: 5, batch=True).call_many([EVENT], [()])
    assert given[0].problem == "gave int for 1 calls of its batch form"


def test_errors_in_the_place_of_results() -> None:
    given = guard(lambda events, arguments: [KeyError("x"), True], batch=True)
    first, second = given.call_many([EVENT] * 2, [()] * 2)
    assert first.problem == "raised KeyError: 'x'"
    assert second is True


def test_preparation_is_shared_and_fails_alone() -> None:
    seen = []

    def decode(event: Event) -> Any:
        seen.append(event)
        if event.attributes["a"] == 2:
            raise ValueError("no image")
        return event.attributes["a"]

    one = guard(lambda image, least: image >= least, prepare=decode, name="one")
    two = guard(lambda image: image == 1, prepare=decode, name="two")
    bad = Event({"a": 2})
    with guarded.SESSION.keep():
        assert one.call_many([EVENT, EVENT], [(0,), (5,)]) == [True, False]
        assert two.call(EVENT, ()) is True
        first, second = one.call_many([bad, EVENT], [(0,), (0,)])
        assert first.problem == "raised ValueError: no image"
        assert second is True
    assert len(seen) == 2
    assert not guarded.SESSION.prepared


def test_cacheable_results_are_kept_for_equal_events() -> None:
    calls = []

    def look(event: Event, name: str) -> bool:
        calls.append(name)
        return True

    cached = guard(look, reads=("a",), cacheable=True)
    others = [Event({"a": 1, "b": n}) for n in range(3)]
    assert cached.call_many([EVENT, *others], [("x",)] * 4) == [True] * 4
    assert cached.call(Event({"a": 1.0}), ("x",)) is True
    assert cached.call(Event({"a": True}), ("x",)) is True
    assert cached.call(EVENT, ("y",)) is True
    assert calls == ["x", "x", "y"]  # 1 is 1.0, but not true


def test_what_is_kept_goes_by_payloads_too() -> None:
    calls = []

    def look(event: Event) -> bool:
        calls.append(1)
        return bool(event.payloads["image"][0])

    engine = Engine(operators={"look": Operator(look, reads=("image",), cacheable=True)})
    engine.subscribe("k = 1 and look()", id="x")
    zero, one = np.zeros(4, np.uint8), np.ones(4, np.uint8)
    for payload, expected in [
        (b"\0a", []), (b"\1a", ["x"]), (b"\1a", ["x"]), (zero, []), (one, ["x"]), (one.copy(), ["x"]),
        (one.astype(np.float32), ["x"]), (one[::2], ["x"]), ([0], []), ([1], ["x"]), ([1], ["x"]),
    ]:  # fmt: skip
        assert engine.match(Event({"k": 1}, payloads={"image": payload})) == expected
    assert len(calls) == 9  # all but equal bytes and equal arrays


def test_what_is_kept_tells_an_empty_list_from_nothing() -> None:
    cached = guard(lambda event: "a" in event.attributes, reads=("a",), cacheable=True)
    assert [cached.call(Event(each), ()) for each in ({}, {"a": []}, {})] == [False, True, False]


def test_a_breaker_opens_warns_and_tries_again() -> None:
    now = [0.0]
    one = Breaker("p", lambda: now[0])
    for _ in range(breaker.FAILURES - 1):
        one.failed("x")
    assert not one.refusal()
    with pytest.warns(OperatorWarning, match="'p' is switched off for 30 s"):
        one.failed("x")
    assert "switched off after 10 failures, for 30 s more" in one.refusal()
    now[0] = breaker.PAUSE
    assert not one.refusal()
    assert one.refusal()  # only one caller tries
    one.succeeded()
    assert not one.refusal()


def test_a_broken_operator_is_left_alone_and_others_do_not_suffer() -> None:
    calls = []

    def broken(event: Event) -> bool:
        calls.append(1)
        raise OSError("gone")

    engine = Engine(operators={"broken": broken, "fine": lambda event: True})
    engine.subscribe("broken()", id="b")
    engine.subscribe("fine() or broken()", id="f")
    with pytest.warns(OperatorWarning):
        found = engine.match_batch([{"n": n} for n in range(50)])
    assert len(calls) < 50
    assert found.ids() == ["f"] * 50
    assert {(each.event, each.subscription) for each in found.incomplete} == {
        (n, "b") for n in range(50)
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": "nowhere"}, "runs="),
        ({"cost": 0}, "cost="),
        ({"timeout": 1.0}, "needs runs='threads'"),
        ({"cacheable": True}, "reads"),
        ({"prepare": 5}, "prepare="),
        ({"signature": "a b"}, "cannot read the parameter"),
        ({"signature": "a: colour"}, "unknown kind"),
        ({"signature": "[a], b"}, "must be the last"),
    ],
)
def test_wrong_declarations(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TamisError, match=message):
        Operator(lambda event: True, name="p", **settings)


def test_signatures() -> None:
    signature = Signature.parse("place: string, ?d: number, [radius: length], ")
    assert str(signature) == "place: string, ?d: number, [radius: length]"
    near = Operator(lambda event, *arguments: [1], name="near", signature=signature)
    engine = Engine(operators={"near": near})
    engine.subscribe("near('Bronx', ?d, 5 km) and ?d < 3")
    engine.subscribe("near('Bronx', 7)")
    for text, message in [
        ("near('Bronx')", r"takes the arguments \(place: string, \?d: number"),
        ("near(?x, 7)", "'place' of near.* must be a constant"),
        ("near(1, 7)", "'place' of near.* must be a string, not a number"),
        ("near('x', 7, 5)", "must be a length, such as 5 km, not a number"),
        ("near('x', 7, 5 kg)", "not a mass"),
    ]:
        with pytest.raises(SubscriptionError, match=message):
            engine.subscribe(text)
    assert str(Signature.parse("rule: string, *?more")) == "rule: string, *?more"


def test_the_decorator_makes_an_operator_known_to_all_engines() -> None:
    @operator("least: number", reads=("a",))
    def at_least_for_test(event: Event, least: float) -> bool:
        """Whether a is so much."""
        return bool(event.attributes["a"] >= least)  # type: ignore[operator]

    @operator
    def always_for_test(event: Event) -> bool:
        return True

    try:
        engine = Engine()
        engine.subscribe("at_least_for_test(1) and always_for_test()", id="x")
        assert engine.match({"a": 1}) == ["x"]
        assert at_least_for_test(EVENT, 0) is True
        assert at_least_for_test.documentation == "Whether a is so much."
        assert "at_least_for_test" in KnownOperators()
    finally:
        from tamis.operators import registry

        del registry._DECLARED["at_least_for_test"], registry._DECLARED["always_for_test"]


def test_a_table_of_calls() -> None:
    """Distinct events and arguments come once; what cannot be had as an array is made one by one."""
    sizes: list[tuple[int, int, int]] = []

    def above(events: Any, arguments: Any, event: Any, argument: Any) -> Any:
        sizes.append((len(events), len(arguments), len(event)))
        values = np.array([each.attributes["x"] for each in events])
        least = np.array([each[0] for each in arguments])
        if (values == 13).any():
            raise ValueError("13")
        found = values[event] > least[argument]
        return found if (values != 7).all() else [None] * len(event)

    operators = {"above": Operator(above, reads=("x",), batch="table")}
    plain = {"above": lambda event, least: event.attributes["x"] > least}
    engine, oracle = Engine(operators=operators), Engine(operators=plain, matcher="scan")
    for number in range(5):
        for each in (engine, oracle):
            each.subscribe(f"x >= 0 and above({2 * number})", id=str(number))
    events = [{"x": n} for n in (1, 4, 9)]
    assert sorted(engine.match_batch(events).pairs()) == sorted(oracle.match_batch(events).pairs())
    assert sizes == [(3, 5, 15)]
    assert engine.matches({"x": 7}) == []
    assert sorted(engine.match({"x": 5})) == sorted(oracle.match({"x": 5}))
    assert engine.substitutions("0", {"x": 5}) == [{}]  # by the oracle, one call
    found = engine.match_batch([{"x": 3}, {"x": 13}])
    assert {row for row, *_ in found.incomplete} == {1}
    assert [id for row, id in found.pairs() if row == 0] == ["0", "1"]
