"""A subscription is prepared once: counted calls, remarks as data, warnings at the caller's line."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.engine import reader
from tamis.engine.reader import SubscriptionReader
from tamis.language import parser, template
from tamis.language.parser import Parser
from tamis.language.template import Templates
from tamis.matching.covers import covers

TEXT = "category = 'Toy' and price < 5"
MORE = "title like '%oak%t_ble' and price * 2 < width"
"""More than boxes can say: the oracle decides."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each step of preparing a subscription is taken."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def count(*arguments: Any, **options: Any) -> Any:
            found[name] += 1
            return inner(*arguments, **options)

        monkeypatch.setattr(owner, name, count)

    for owner, name in (
        (Templates, "split"),
        (template, "check_text"),
        (parser, "check_text"),
        (Parser, "parse"),
        (covers, "cover_of"),
        (SubscriptionReader, "check_id"),
        (reader, "check_supported"),
    ):
        counted(owner, name)
    return found


ONCE = dict.fromkeys(["split", "check_text", "parse", "cover_of", "check_id", "check_supported"], 1)


@pytest.mark.parametrize("text", [TEXT, MORE])
def test_a_cold_subscription_takes_every_step_once(text: str, calls: Counter[str]) -> None:
    engine = tamis.Engine()
    engine.subscribe(text, id="a")
    assert calls == ONCE
    calls.clear()
    engine.match({"category": "Toy", "price": 3, "title": "oak table", "width": 9})
    engine.match_batch([{"category": "Toy", "price": 3, "title": "oak table", "width": 9}])
    assert calls == {}


@pytest.mark.parametrize("matcher", ["sieve", "scan", "naive"])
def test_each_text_is_parsed_at_most_once_after_loading(
    matcher: str, tmp_path: Path, calls: Counter[str]
) -> None:
    engine = tamis.Engine(matcher=matcher)
    for number in range(3):
        engine.subscribe(f"kind = 'a' and x{number} * 2 < y", id=str(number))
    engine.save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    calls.clear()
    for _ in range(3):
        event = {"kind": "a", "x0": 1, "x1": 1, "x2": 9, "y": 5}
        assert sorted(loaded.match(event)) == ["0", "1"]
        assert sorted(loaded.match_batch([event]).ids()) == ["0", "1"]
    assert calls["parse"] <= 3


def test_warnings_name_the_line_of_the_caller() -> None:
    engine = tamis.Engine()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine.subscribe("a = 1 and a = 2", id="one")
        engine.subscribe_many({"two": "a = 1 and a = 2"})
        engine.subscribe_many({str(n): "a = 1 and a = 2" for n in range(1_200)})
    assert {Path(each.filename).name for each in caught} == {Path(__file__).name}
    assert len(caught) == 1_202


def test_remarks_are_data() -> None:
    engine = tamis.Engine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        id, remarks = engine.subscriptions.add("a = 1 and a = 2", "x")
        loaded = engine.loader.add([("y", "a = 1 and a = 2"), ("z", "a = 1")])
    assert id == "x"
    assert [remark.category for remark in remarks] == [tamis.NeverMatchesWarning]
    assert loaded.subscribed.ids == ["y", "z"]
    assert [remark.message for remark in loaded.remarks] == [
        "the subscription 'y' contradicts itself and never matches"
    ]


@pytest.mark.parametrize("rows", [2, 1_500])
def test_a_null_text_is_a_faulty_row_like_others(rows: int) -> None:
    ids = [str(number) for number in range(rows)]
    texts = ["a = 1"] * (rows - 1) + [None]
    engine = tamis.Engine()
    taken, rejected = engine.subscribe_many(
        pa.table({"id": ids, "subscription": texts}), errors="collect"
    )
    assert taken == ids[:-1]
    assert [(each.row, each.id) for each in rejected] == [(rows - 1, ids[-1])]
    assert "not null" in str(rejected[0].error)
    with pytest.raises(tamis.SubscriptionError, match=f"row {rows - 1}"):
        tamis.Engine().subscribe_many(pa.table({"id": ids, "subscription": texts}))


def test_an_id_that_was_replaced_is_found_after_loading(tmp_path: Path) -> None:
    engine = tamis.Engine()
    for number in range(3):
        engine.subscribe(f"a = {number}", id="p", replace=True)
    engine.subscribe("b = 1", id="q")
    engine.save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    assert loaded["p"].text == "a = 2"
    assert loaded.match({"a": 2, "b": 1}) == ["p", "q"]
    loaded.unsubscribe("p")
    assert loaded.match({"a": 2, "b": 1}) == ["q"]


def test_faulty_rows_of_a_load_leave_no_trace(tmp_path: Path) -> None:
    rows = [(str(number % 1_400), f"a = {number}") for number in range(1_500)]
    engine = tamis.Engine()
    engine.subscribe_many(rows, errors="collect")
    assert len(engine) == 1_400
    engine.save(tmp_path / "engine")
    loaded = tamis.Engine.load(tmp_path / "engine")
    assert len(loaded) == len(list(loaded)) == 1_400
    assert loaded.match({"a": 1_450}) == []
    assert [loaded[id].text for id in ("50", "1399")] == ["a = 50", "a = 1399"]
    loaded.unsubscribe("50")
    loaded.subscribe("a = 1450", id="again")
    assert loaded.match({"a": 1_450}) == ["again"]
