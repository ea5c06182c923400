"""The contract: every matcher, in every mode, on every case.

The rules that the cases cite are those of matching, by number: 1 binding, 2 truth, 3 kinds,
4 order, 5 variables, 6 exactness, 7 ids. A matcher is under the contract from the moment that
``MATCHERS`` names it. The published algorithms share all but their index: the first of them runs in
all modes, the others in those in which events and changes meet the index: in one for each group of
cases, which differ by matcher, or in all of them in the soak. Where building the index takes most
of the time, the cases of a group share an engine in the fast tests.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.arrays import substring_search
from tamis.engine import threads as engine_threads
from tamis.engine.registry import ALGORITHMS
from tamis.engine.subscriptions import MATCHERS
from tamis.errors import NeverMatchesWarning
from tamis.matching import batch
from tamis.matching.points import contents
from tamis.matching.segments import view
from tests.contract.arrow import repeated
from tests.contract.naive import naive_match
from tests.contract.operators import OPERATORS
from tests.contract.reading import ALL, GROUPS, OF_VARIABLES, Case, read_sequences

SEQUENCES = read_sequences()
ID = "the case"

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.OperatorWarning"),
]


def new_engine(case: Case, matcher: str = "sieve") -> tamis.Engine:
    """An engine that knows what a case speaks of."""
    operators = OPERATORS if case.group in OF_VARIABLES else None
    return tamis.Engine(matcher=matcher, taxonomy=case.taxonomy, operators=operators)


# Modes: how a subscription is handed over, what happens then, and how its matches are asked for.
# Each case has an engine of its own; in the modes that build or save an index, which is what takes
# the time, it also meets the engine that all cases of its group share.


@dataclass(frozen=True)
class Mode:
    """A way from subscriptions and an event to the ids that match."""

    ask: Callable[[tamis.Engine, Case], list[str]]
    subscribe: Callable[[tamis.Engine, Case, str], object] = lambda engine, case, id: (
        engine.subscribe(case.subscription, id=id)
    )
    after: Callable[[tamis.Engine, Path], tamis.Engine] = lambda engine, folder: engine
    in_columns: bool = False


def match(engine: tamis.Engine, case: Case) -> list[str]:
    return engine.match(case.source)


def count(engine: tamis.Engine, case: Case) -> list[str]:
    found = engine.match(case.source)
    first = engine.first(case.source)
    assert first in found if found else first is None
    assert engine.count(case.source) == len(found)
    assert engine.count_batch([case.source, case.source]) == [len(found)] * 2
    return found


def second_of_a_list(engine: tamis.Engine, case: Case) -> list[str]:
    return _second_row(engine.match_batch([{}, case.source, {"unrelated": 1}]))


def second_of_a_table(engine: tamis.Engine, case: Case) -> list[str]:
    return _second_row(engine.match_batch(case.table))


def all_of_a_slice(engine: tamis.Engine, case: Case) -> list[str]:
    """A column that begins in the middle of its buffers, at no multiple of eight rows."""
    several = repeated(case.table, 13)
    return _every_row(engine.match_batch(several.slice(6, 3)), 3)


def all_of_many_chunks(engine: tamis.Engine, case: Case) -> list[str]:
    """Chunks of several lengths, one of them empty, all views of the same buffers."""
    several = repeated(case.table, 10)
    cuts = [0, 2, 2, 7, 10]
    parts = [several.slice(start, stop - start) for start, stop in pairwise(cuts)]
    return _every_row(engine.match_batch(pa.concat_tables(parts), threads=2), 10)


def _second_row(matches: tamis.Matches) -> list[str]:
    return [id for row, id in matches.pairs() if row == 1]


def _every_row(matches: tamis.Matches, rows: int) -> list[str]:
    """The ids of the first row, which all other rows have too."""
    found = list(matches.pairs())
    assert len(found) == len(set(found))
    first = [id for row, id in found if row == 0]
    assert set(found) == {(row, id) for row in range(rows) for id in first}
    return first


def from_expression(engine: tamis.Engine, case: Case, id: str) -> None:
    engine.subscribe(tamis.parse(case.subscription), id=id)


def from_json(engine: tamis.Engine, case: Case, id: str) -> None:
    form = json.dumps(tamis.to_json(tamis.parse(case.subscription)))
    engine.subscribe(json.loads(form), id=id)


def saved_and_loaded(engine: tamis.Engine, folder: Path) -> tamis.Engine:
    engine.subscribe("true", id="removed")
    engine.unsubscribe("removed")
    (folder / "engine").unlink(missing_ok=True)  # to replace it would wait for the disk
    engine.save(folder / "engine")
    operators = engine.subscriptions.world.operators
    loaded = tamis.Engine.load(folder / "engine", operators=operators)
    assert loaded.matcher == engine.matcher
    return loaded


OTHERS = ("before", "twin before", "opposite", ID, "twin after", "after")


def with_others(engine: tamis.Engine, case: Case, id: str) -> None:
    """With twins, an opposite and neighbours around it, and before each of them another that is
    removed again: one that matches everything and one that says what the case says, in turn."""
    opposite = str(~tamis.parse(case.subscription))
    texts = {"opposite": opposite, "before": "unrelated = 1", "after": "unrelated = 1"}
    for name, removed in zip(OTHERS, ("true", case.subscription) * 3):
        engine.subscribe(removed, id=f"{name}, removed")
        engine.subscribe(texts.get(name, case.subscription), id=name)
    for name in OTHERS:
        engine.unsubscribe(f"{name}, removed")


def match_among_others(engine: tamis.Engine, case: Case) -> list[str]:
    found = engine.match(case.source)
    assert len(found) == len(set(found))
    assert not any("removed" in id for id in found)
    assert "before" not in found
    assert "after" not in found
    assert ("twin before" in found) is ("twin after" in found) is case.matches
    return [id for id in found if id == ID]


def in_the_place_of_another(engine: tamis.Engine, case: Case, id: str) -> None:
    engine.subscribe("false" if case.matches else "true", id=id)
    engine.match(case.source)
    engine.subscribe(case.subscription, id=id, replace=True)
    engine.disable(id)
    assert engine.match(case.source) == []
    engine.enable(id)


MODES = {
    "by_match": Mode(match),
    "by_count": Mode(count),
    "by_batch": Mode(second_of_a_list),
    "by_arrow": Mode(second_of_a_table, in_columns=True),
    "by_slice": Mode(all_of_a_slice, in_columns=True),
    "by_chunks": Mode(all_of_many_chunks, in_columns=True),
    "by_expression": Mode(match, subscribe=from_expression),
    "by_json": Mode(match, subscribe=from_json),
    "after_saving": Mode(match, after=saved_and_loaded),
    "among_others": Mode(match_among_others, subscribe=with_others),
    "after_replacing": Mode(match, subscribe=in_the_place_of_another),
}
SHARED = ["by_count", "by_batch", "by_arrow", "by_slice", "by_chunks", "after_saving"]
"""Modes in which an index for each case is left to the whole suite."""
TOGETHER = [
    ("scan", "after_saving"),
    *(("sieve", mode) for mode in SHARED),
    *((next(iter(ALGORITHMS)), mode) for mode in SHARED if not MODES[mode].in_columns),
]
"""Matchers and modes in which cases share an engine; all algorithms read columns alike, and of the
scan only its file takes time."""
INDEXED = ["by_match", "by_arrow", "by_slice", "among_others", "after_replacing"]


def runs() -> Iterator[Any]:
    """Groups, matchers and modes."""
    soak = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
    others = list(ALGORITHMS)[1:]
    for number, group in enumerate(GROUPS):
        for matcher in MATCHERS:
            if matcher == "gtopss" and group not in OF_VARIABLES:
                continue  # without patterns it is the sieve
            modes, slow = list(MODES), ["after_saving"] if matcher == "scan" else SHARED
            if matcher in others:
                turn = (number + others.index(matcher)) % len(INDEXED)
                modes, slow = INDEXED if soak else INDEXED[turn : turn + 1], []
            for mode in modes:
                marks = [pytest.mark.slow] if mode in slow else []
                name = f"{group}-{mode}-{matcher}"
                yield pytest.param(matcher, MODES[mode], group, id=name, marks=marks)


@pytest.mark.parametrize(("matcher", "mode", "group"), list(runs()))
def test_cases(matcher: str, mode: Mode, group: str, tmp_path: Path) -> None:
    """One test for each group, since ten matchers on all cases in all modes would be 80,000."""
    wrong = []
    for case in GROUPS[group]:
        if mode.in_columns and case.table is None:
            continue
        engine = new_engine(case, matcher)
        mode.subscribe(engine, case, ID)
        found = mode.ask(mode.after(engine, tmp_path), case)
        if found != ([ID] if case.matches else []):
            wrong.append(f"{case.name}: {found}. {case.why}")
    assert wrong == []


@pytest.mark.parametrize(("matcher", "name"), TOGETHER)
@pytest.mark.parametrize("group", GROUPS)
def test_cases_together(matcher: str, name: str, group: str, tmp_path: Path) -> None:
    """All cases of a group in one engine, for each taxonomy that they know."""
    mode = MODES[name]
    wrong = []
    for cases in sharing(group):
        engine = new_engine(cases[0], matcher)
        for case in cases:
            mode.subscribe(engine, case, case.name)
        engine = mode.after(engine, tmp_path)
        for case in cases:
            if mode.in_columns and case.table is None:
                continue
            found = mode.ask(engine, case)
            assert len(found) == len(set(found))
            if (case.name in found) is not case.matches:
                wrong.append(f"{case.name}: {found}. {case.why}")
    assert wrong == []


def sharing(group: str) -> list[list[Case]]:
    """The cases of a group that share an engine: all that know the same taxonomy; of those with
    variables, which the oracle decides one by one, however many there are, ten at a time."""
    found: dict[str, list[Case]] = {}
    for case in GROUPS[group]:
        found.setdefault(repr(case.taxonomy), []).append(case)
    most = 10 if group in OF_VARIABLES else len(ALL)
    return [
        cases[first : first + most]
        for cases in found.values()
        for first in range(0, len(cases), most)
    ]


CUTS = {batch: ("ROWS", 8), view: ("CANDIDATES", 16), engine_threads: ("_LEAST", 3)}
"""Where a batch is cut, made so small that a few rows are more."""
TEXTS = ("case", "cidr", "regex", "strings", "text")
TEXT_CUTS = {batch: ("ROWS", 1_000), contents: ("POINTS", 1_000), substring_search: ("_CHUNK", 900)}
"""Where columns of texts are cut too."""


@pytest.mark.parametrize("group", GROUPS)
def test_batches_longer_than_every_cut(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, (name, value) in CUTS.items():
        monkeypatch.setattr(module, name, value)
    assert wrong_in_a_long_batch(group, 21) == []


@pytest.mark.parametrize("rows", [2_053, pytest.param(batch.ROWS + 5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("group", TEXTS)
def test_texts_in_batches_longer_than_every_cut(
    group: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rows < batch.ROWS:
        for module, (name, value) in TEXT_CUTS.items():
            monkeypatch.setattr(module, name, value)
    assert wrong_in_a_long_batch(group, rows) == []


def wrong_in_a_long_batch(group: str, rows: int) -> list[str]:
    wrong = []
    for case in GROUPS[group]:
        if case.table is None:
            continue
        engine = new_engine(case)
        engine.subscribe(case.subscription, id=ID)
        several = repeated(case.table, rows)
        for threads in (1, 2):
            found = engine.match_batch(several, threads=threads)
            if not np.array_equal(found.event, np.arange(rows if case.matches else 0)):
                wrong.append(f"{case.name}: {len(found)} rows. {case.why}")
    return wrong


@pytest.mark.parametrize(
    "subscription",
    [
        "a ends with '.exe' ignoring case",
        "a contains text '.EX' ignoring case",
        "a like '%.eXe' ignoring case",
        "a like '%x%.e_e' ignoring case",
        "a = 'X.exe' ignoring case",
        "a = b ignoring case",
    ],
)
def test_case_is_ignored_in_every_row_of_a_long_column(subscription: str) -> None:
    engine = tamis.Engine()
    engine.subscribe(subscription, id=ID)
    table = pa.table({"a": ["x.EXE"] * 200_000, "b": ["X.exe"] * 200_000})
    assert len(engine.match_batch(table)) == 200_000


@pytest.mark.parametrize("group", GROUPS)
def test_text_reads_back_as_the_same_expression(group: str) -> None:
    for case in GROUPS[group]:
        expression = tamis.parse(case.subscription)
        assert tamis.parse(str(expression)) == expression, case.name


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in OF_VARIABLES])
def test_brute_force_agrees(group: str) -> None:
    """Those with variables are in tests/bindings."""
    for case in GROUPS[group]:
        expression = tamis.parse(case.subscription)
        found = naive_match(expression, case.event, case.taxonomy)
        assert found is case.matches, f"{case.name}: {case.why}"


def test_cases_are_told_apart() -> None:
    names = [str(case) for case in ALL]
    assert sorted(names) == sorted(set(names))
    contents = [repr((case.subscription, case.event, case.taxonomy, case.graph)) for case in ALL]
    assert sorted(contents) == sorted(set(contents))
    assert len(ALL) >= 320
    assert all(case.why.endswith((".", ")")) for case in ALL)


def test_most_cases_can_be_said_in_arrow() -> None:
    plain = [case for case in ALL if case.group not in OF_VARIABLES]
    assert sum(case.table is not None for case in plain) > len(plain) * 0.8


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("group", OF_VARIABLES)
def test_solutions_and_failures_come_out(matcher: str, group: str) -> None:
    incomplete = 0
    for case in GROUPS[group]:
        engine = new_engine(case, matcher)
        engine.subscribe(case.subscription, id=ID)
        found = engine.match_batch([{}, case.source])
        left = [each for each in found.incomplete if each.event == 1]
        expected = [ID] * (case.truth == "failed")
        if matcher == "scan":
            assert [each.subscription for each in left] == expected, case.name
        else:  # which do not look at what boxes have excluded, whatever fails there
            assert [each.subscription for each in left] in ([], expected), case.name
        incomplete += len(left)
        assert all(each.reason for each in left)
        if case.matches and case.solutions is not None:
            (one,) = [each for row, each in zip(found.event, found.bindings) if row == 1]
            assert one in case.solutions, case.name
            assert engine.matches(case.source) == [(ID, one)]
    failing = sum(case.truth == "failed" for case in GROUPS[group])
    assert incomplete >= failing / 2


# Sequences of changes: steps, each with what it must do.


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: sequence["name"])
def test_sequence(matcher: str, sequence: dict[str, Any], tmp_path: Path) -> None:
    engine = tamis.Engine(matcher=matcher)
    for number, step in enumerate(sequence["steps"], 1):
        engine = _take_step(engine, step, tmp_path / "engine", f"step {number}: {step}")


def _take_step(engine: tamis.Engine, step: dict[str, Any], path: Path, place: str) -> tamis.Engine:
    match step:
        case {"match": event, "gives": ids}:
            assert sorted(engine.match(event)) == ids, place
            assert sorted(engine.match_batch([event]).ids()) == ids, place
        case {"error": name, **rest}:
            with pytest.raises(getattr(tamis, name)):
                _take_step(engine, rest, path, place)
        case {"subscribe": id, "to": subscription, **options}:
            assert engine.subscribe(subscription, id=id, **options) == id, place
        case {"subscribe_many": rows, **options}:
            assert engine.subscribe_many(rows, **options.pop("with", {})).ids == options["takes"]
        case {"unsubscribe": id}:
            engine.unsubscribe(id)
        case {"enable": id}:
            engine.enable(id)
        case {"disable": id}:
            engine.disable(id)
        case {"save": True}:
            engine.save(path)
        case {"load": True}:
            return tamis.Engine.load(path)
        case _:
            raise AssertionError(f"no step: {place}")
    return engine


def test_a_contradiction_is_taken_with_a_warning() -> None:
    engine = tamis.Engine()
    with pytest.warns(NeverMatchesWarning):
        engine.subscribe("a = 1 and a = 2", id=ID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.subscribe("a = 1 or a = 2", id="another")
    assert engine.match({"a": [1, 2]}) == ["another"]
