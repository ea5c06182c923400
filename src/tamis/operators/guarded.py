"""An operator as an engine calls it: in its pool, behind its breaker, measured and remembered.

    calls ──switched off?──> FAILED
       └──known from an equal event?──> cache
       └──prepared once for an event──> pool ──> results, seconds, failures

Calls of one operator that are needed at the same time come together, as two lists. A batch form
takes them as they are. If it raises, its calls are made one by one, so that one bad event does not
spoil the others.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tamis.arrays.sharing import Lockable
from tamis.bindings.calls import Failure
from tamis.model.events.event import Event
from tamis.model.paths import Path
from tamis.operators.breaker import FAILURES, Breaker
from tamis.operators.operator import Operator
from tamis.operators.result_keys import result_key

if TYPE_CHECKING:
    from tamis.arrays.types import Flags, Int32s
    from tamis.operators.pools import Here, Pool, Threads

CACHE = 10_000
"""Results of a cacheable operator that are kept."""
GROUP = 80
"""Calls of an operator with a timeout that are handed over before its breaker is asked again."""
_DECAY = 0.05
"""Weight of a new measurement of seconds."""


class Counts:
    """What an operator has done since its engine was made."""

    def __init__(self) -> None:
        self.calls = 0
        self.batches = 0
        self.cached = 0
        self.prepared = 0
        self.failures = 0
        self.seconds = 0.0


class Session(threading.local):
    """What was prepared for the events that are being matched, by one thread."""

    def __init__(self) -> None:
        self.depth = 0
        self.prepared: dict[tuple[Hashable, int], tuple[Event, Any]] = {}

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Keep what is prepared for all events until the end."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth:
                self.prepared.clear()


SESSION = Session()


class GuardedOperator(Lockable):
    """An operator, and what an engine knows of its calls."""

    def __init__(self, operator: Operator, most_rows: int) -> None:
        super().__init__()
        self.operator = operator
        self.signature = operator.signature
        self.breaker = Breaker(operator.name)
        self.counts = Counts()
        self.cost = operator.cost or 0.0
        """Seconds of one call, declared or measured; 0 if nothing is known yet."""
        self.prepare_cost = operator.prepare_cost or 0.0
        self._most_rows = most_rows
        self._cache: OrderedDict[Hashable, Any] = OrderedDict()
        self._started: Pool | None = None
        self._prepares: Here | Threads | None = None
        self._process = os.getpid()

    @property
    def _pool(self) -> Pool:
        """Where calls are made; there is one, however many threads ask for it first."""
        with self._lock:
            self._forget_pools_of_a_parent()
            if self._started is None:
                from tamis.operators.pools import pool_of

                self._started = pool_of(self.operator, self._most_rows + 1)
            return self._started

    @property
    def _preparing(self) -> Here | Threads:
        """Where events are prepared: in threads, if that may have to be left, or share cores."""
        with self._lock:
            self._forget_pools_of_a_parent()
            if self._prepares is None:
                from tamis.operators.pools import Here, Threads

                own, prepare = self.operator, self.operator.prepare
                assert prepare is not None
                apart = own.timeout is not None or own.runs == "threads"
                self._prepares = (
                    Threads(prepare, own.timeout, None) if apart else Here(prepare, None)
                )
            return self._prepares

    def _forget_pools_of_a_parent(self) -> None:
        """A forked process has none of the threads."""
        if self._process != os.getpid():
            self._process, self._started, self._prepares = os.getpid(), None, None

    @property
    def paths(self) -> tuple[Path, ...] | None:
        """The attributes that the operator reads; None for everything."""
        return self.operator.paths

    def call(self, event: Event, arguments: tuple[Any, ...]) -> Any:
        """One call."""
        (given,) = self.call_many([event], [arguments])
        return given

    def call_many(
        self, events: Sequence[Event], arguments: Sequence[tuple[Any, ...]]
    ) -> Sequence[Any]:
        """The result of each call, in order, or its failure."""
        refusal = self.breaker.refusal()
        if refusal:
            self.counts.failures += len(events)
            return [Failure(refusal)] * len(events)
        if not self.operator.cacheable:
            return self._made(events, arguments)
        keys = [result_key(each, self.paths, rest) for each, rest in zip(events, arguments)]
        with self._lock:
            known = {key: self._cache[key] for key in keys if key in self._cache}
        asked = {key: place for place, key in enumerate(keys) if key not in known}
        self.counts.cached += len(keys) - len(asked)
        if asked:
            places = list(asked.values())
            made = self._made([events[n] for n in places], [arguments[n] for n in places])
            fresh = dict(zip(asked, made))
            known |= fresh
            self._remember(fresh)
        return [known[key] for key in keys]

    def call_table(
        self, events: Sequence[Event], arguments: Sequence[tuple[Any, ...]], event: Int32s,
        argument: Int32s,
    ) -> Sequence[Any] | Flags:  # fmt: skip
        """The result of each call, given by numbers of events and arguments, each of which is there
        once; an array, if the operator gives one."""
        if not self.operator.cacheable and not self.breaker.is_open:
            subjects = self._prepared(events)
            pool, begin = self._pool, time.perf_counter()
            if Failure not in set(map(type, subjects)):
                (given,) = pool.run([(subjects, arguments, event, argument)])
                if type(given).__name__ == "ndarray" and given.shape == event.shape:
                    self.counts.batches += 1
                    self._measure(time.perf_counter() - begin, len(event))
                    self.breaker.succeeded()
                    found: Flags = given
                    return found
        return self.call_many(
            list(map(events.__getitem__, event.tolist())),
            list(map(arguments.__getitem__, argument.tolist())),
        )

    def _remember(self, fresh: dict[Hashable, Any]) -> None:
        with self._lock:
            for key, given in fresh.items():
                if given is None or isinstance(given, bool | list | tuple):
                    self._cache[key] = given
            while len(self._cache) > CACHE:
                self._cache.popitem(last=False)

    # Making calls.

    def _made(self, events: Sequence[Event], arguments: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """The results of calls; if the first ones all fail, the others are not made. Where a call
        may have to be waited for, so it is with each group."""
        if self.operator.batch or len(events) <= FAILURES:
            return self._made_at_once(events, arguments)
        given: list[Any] = []
        while len(given) < len(events):
            begin, left = len(given), len(events) - len(given)
            refusal = self.breaker.refusal() if given else ""
            if refusal:
                self.counts.failures += left
                return given + [Failure(refusal)] * left
            size = FAILURES if not given else left if self.operator.timeout is None else GROUP
            part = slice(begin, begin + size)
            given += self._made_at_once(events[part], arguments[part])
        return given

    def _made_at_once(
        self, events: Sequence[Event], arguments: Sequence[tuple[Any, ...]]
    ) -> Sequence[Any]:
        subjects = self._prepared(events)
        pool = self._pool  # starting it is no part of a call
        begin = time.perf_counter()
        if subjects is not events and Failure in set(map(type, subjects)):
            given: Sequence[Any] = self._with_unprepared(subjects, arguments)
        elif self.operator.batch:
            given = self._batch(subjects, arguments)
        else:
            given = pool.run([(one, *rest) for one, rest in zip(subjects, arguments)])
        self._measure(time.perf_counter() - begin, len(events))
        return self._checked(given)

    def _with_unprepared(
        self, subjects: Sequence[Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """The same, where some events could not be prepared: their calls fail."""
        given = list(subjects)
        good = [n for n, each in enumerate(subjects) if not isinstance(each, Failure)]
        if good:
            made = [subjects[n] for n in good], [arguments[n] for n in good]
            if self.operator.batch:
                results = self._batch(*made)
            else:
                results = self._pool.run([(one, *rest) for one, rest in zip(*made)])
            for place, result in zip(good, results):
                given[place] = result
        return given

    def _batch(
        self, subjects: Sequence[Any], arguments: Sequence[tuple[Any, ...]]
    ) -> Sequence[Any]:
        """What a batch form gives; one call at a time if it raises."""
        self.counts.batches += 1
        (given,) = self._pool.run([self._request(subjects, arguments)])
        problem = ""
        if isinstance(given, Failure):
            problem = given.problem
        elif not hasattr(given, "__len__") or len(given) != len(subjects):
            what = f"{len(given)} results" if hasattr(given, "__len__") else type(given).__name__
            problem = f"gave {what} for {len(subjects)} calls of its batch form"
        if not problem:
            if hasattr(given, "tolist"):
                given = given.tolist()
            return given if type(given) is list else list(given)
        self.breaker.failed(problem)
        if len(subjects) == 1 or self.breaker.is_open:
            return [Failure(problem)] * len(subjects)
        found: list[Any] = []
        for subject, argument in zip(subjects, arguments):
            found += self._batch([subject], [argument])
        return found

    def _request(
        self, subjects: Sequence[Any], arguments: Sequence[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """What a batch form gets."""
        if self.operator.batch != "table":
            return subjects, arguments
        import numpy as np

        each = np.arange(len(subjects), dtype=np.int32)
        return subjects, arguments, each, each

    def _checked(self, given: Sequence[Any]) -> Sequence[Any]:
        """The same results, with failures for errors, and all failures counted."""
        kinds = set(map(type, given))
        if any(issubclass(kind, Exception) for kind in kinds):
            given = [Failure.raised(e) if isinstance(e, Exception) else e for e in given]
        elif Failure not in kinds:
            self.breaker.succeeded()
            return given
        failures = [each for each in given if type(each) is Failure]
        if len(failures) < len(given):
            self.breaker.succeeded()
        self.counts.failures += len(failures)
        if len(failures) == len(given) and not self.operator.batch:
            for each in failures:
                self.breaker.failed(each.problem)
        return given

    def _measure(self, seconds: float, calls: int) -> None:
        self.counts.calls += calls
        self.counts.seconds += seconds
        if self.operator.cost is None:
            self.cost = _blended(self.cost, seconds / calls)

    # Preparing events.

    def _prepared(self, events: Sequence[Event]) -> Sequence[Any]:
        """What calls get in the place of the event; failures where it cannot be had."""
        prepare = self.operator.prepare
        if prepare is None:
            return events
        if not SESSION.depth and len(SESSION.prepared) > 16:
            SESSION.prepared.clear()
        distinct = dict(zip(map(id, events), events))
        new = [each for key, each in distinct.items() if (prepare, key) not in SESSION.prepared]
        if new:
            begin = time.perf_counter()
            for event, made in zip(new, self._prepare(new)):
                SESSION.prepared[prepare, id(event)] = event, made
            seconds = time.perf_counter() - begin
            self.counts.prepared += len(new)
            self.counts.seconds += seconds
            if self.operator.prepare_cost is None:
                self.prepare_cost = _blended(self.prepare_cost, seconds / len(new))
        found = {key: SESSION.prepared[prepare, key][1] for key in distinct}
        return list(map(found.__getitem__, map(id, events)))

    def _prepare(self, events: list[Event]) -> list[Any]:
        """What preparing gives for each event, or its failure."""
        if not self.operator.batch:
            return self._prepare_apart([(event,) for event in events])
        (made,) = self._preparing.run([(events,)])
        if hasattr(made, "__len__") and len(made) == len(events):
            return list(made)
        apart = [made]
        if len(events) > 1:
            apart = self._prepare_apart([([event],) for event in events])
        return [
            each[0] if hasattr(each, "__len__") and len(each) == 1 else _unprepared(each)
            for each in apart
        ]

    def _prepare_apart(self, several: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same event by event; where all of a group fail, the others are not tried."""
        given: list[Any] = []
        while len(given) < len(several):
            group = several[len(given) : len(given) + GROUP]
            given += self._preparing.run(group)
            failed = given[-len(group) :]
            if len(failed) == GROUP and set(map(type, failed)) == {Failure}:
                return given + failed[-1:] * (len(several) - len(given))
        return given


def _unprepared(given: Any) -> Failure:
    if isinstance(given, Failure):
        return given
    return Failure(f"gave {type(given).__name__} in place of a list, when prepared for one event")


def _blended(old: float, new: float) -> float:
    return new if not old else old + _DECAY * (new - old)


class GuardedOperators(Mapping[str, GuardedOperator]):
    """The operators of an engine, each guarded from its first use on."""

    def __init__(self, known: Mapping[str, Operator], most_rows: int) -> None:
        self.known = known
        self.guarded: dict[str, GuardedOperator] = {}
        """Those that were used."""
        self._most_rows = most_rows

    def __getitem__(self, name: str) -> GuardedOperator:
        found = self.guarded.get(name)
        if found is None:
            made = GuardedOperator(self.known[name], self._most_rows)
            found = self.guarded.setdefault(name, made)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.known

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)
