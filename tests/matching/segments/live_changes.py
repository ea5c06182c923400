"""Changes beside readers, and beside forks, for every matcher that is to be tried so."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tamis
from tests.contract.naive import naive_match
from tests.contract.strategies import dense_events, dense_expressions
from tests.matching.strategies import PARENTS
from tests.strategies import attribute_expressions


def snapshot_of(engine: tamis.Engine) -> Any:
    return engine.subscriptions.index.matcher._snapshot  # type: ignore[attr-defined]


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns every 10 µs rather than every 5 ms: readers are stopped far more often
    in the middle of a match, and whoever changes something waits far less for readers that spin."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class LiveChanges(RuleBasedStateMachine):
    """An engine beside a dict; two threads read all the time, and must find what makes sense."""

    ids = st.sampled_from("pqrstuvw")

    matcher: str | tamis.Algorithm = "sieve"
    refusal: tuple[type[Exception], ...] = ()
    """What a change may raise that is refused, and changes nothing then."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = tamis.Engine(matcher=self.matcher, taxonomy=PARENTS)
        self.engine.subscribe("true", id="always")
        self.model: dict[str, Any] = {}
        self.seen: list[list[str]] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.read, args=(one,)) for one in range(2)]
        for thread in self.threads:
            thread.start()

    def read(self, batch: int) -> None:
        event = {"a": 1, "b": "red", "c": [1, 2]}
        while not self.stop.is_set():
            found: list[Any]
            found = self.engine.match_batch([event]).ids() if batch else self.engine.match(event)
            if "always" not in found or len(found) != len(set(found)):
                self.seen.append(found)

    @rule(id=ids, expression=attribute_expressions() | dense_expressions())
    def replace(self, id: str, expression: Any) -> None:
        with suppress(*self.refusal):
            self.engine.subscribe(expression, id=id, replace=True)
            self.model[id] = expression

    @rule()
    def replace_always(self) -> None:
        self.engine.subscribe("a is present or a is missing", id="always", replace=True)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.model)))
        self.engine.unsubscribe(id)
        del self.model[id]

    @rule(expressions=st.lists(dense_expressions(), min_size=3, max_size=6))
    def load(self, expressions: list[Any]) -> None:
        rows = {f"many{number}": one for number, one in enumerate(expressions)}
        with suppress(*self.refusal):
            self.engine.subscribe_many(rows, replace=True)
            self.model |= rows

    @rule()
    def settle(self) -> None:
        self.engine.settle(60)
        if self.matcher == "sieve":
            assert len(snapshot_of(self.engine).lives) == 1

    @rule(event=dense_events())
    def match(self, event: dict[str, Any]) -> None:
        expected = sorted(id for id, one in self.model.items() if naive_match(one, event, PARENTS))
        assert sorted(self.engine.match(event)) == sorted([*expected, "always"])
        found = self.engine.match_batch([event])
        assert sorted(found.ids()) == sorted([*expected, "always"])

    @invariant()
    def readers_are_content(self) -> None:
        assert self.seen == []

    def teardown(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.engine.settle(60)
        self.readers_are_content()


FORKING = """
import os, sys, threading
import tamis
MATCHER = sys.argv[1]
from tamis.matching.segments import matcher as sieve_matcher
sieve_matcher.LIVE = 32
engine = tamis.Engine(matcher=MATCHER)
for number in range(200):  # what is imported and compiled in a thread cannot be in its fork
    engine.subscribe(f"b < {number}", id=f"b{number}")
engine.settle()
assert len(engine.match({"b": 1})) == 198
for number in range(200):
    engine.unsubscribe(f"b{number}")
engine.settle()
stop = threading.Event()
def write():
    number = 0
    while not stop.is_set():
        engine.subscribe(f"a = {number % 7}", id=f"w{number % 500}", replace=True)
        number += 1
thread = threading.Thread(target=write)
thread.start()
children = []
for _ in range(20):
    child = os.fork()
    if not child:
        assert all(id[0] == "w" for id in engine.match({"a": 3}))
        for number in range(100):
            engine.subscribe("b = 1", id=f"c{number}")
        assert len(engine.match({"b": 1})) == 100
        engine.settle(60)
        assert len(engine.match({"b": 1})) == 100
        os._exit(0)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
thread.join()
engine.settle(60)
assert codes == [0] * 20, codes
print("fine")
"""
