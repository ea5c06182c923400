"""The peers of W7 agree with each other and with Tamis, and the benchmark of rules runs."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest

from benchmarks import rules
from benchmarks.detection_model import (
    ALL,
    AND,
    CIDR,
    CONTAINS,
    ENDS,
    EQUALS,
    FIRST,
    KEYWORD,
    OR,
    REGEX,
    STARTS,
    Rule,
    Selection,
    Test,
)
from benchmarks.detection_pools import SOURCES
from benchmarks.detections import Detections, w7
from benchmarks.report import Run
from benchmarks.rule_peers import PythonLoop, SqlRules
from benchmarks.rule_scan import TestScan
from benchmarks.rules import Bench, Sizes, Subject, TimeIsUpError, measure, time_cap

TINY = Sizes((60,), 200, 100, 40, 200, 10, 100, 400, 50, 60)
NETWORK = next(source for source in SOURCES if source.category == "network_connection")
EVENT = {
    "_product": "windows", "_category": "network_connection", "EventID": 3, "Image": "C:\\ΣΊΣ.EXE",
    "CommandLine": "Run —Fast 12 straße", "DestinationIp": "10.1.2.3", "ProcessId": "77",
}  # fmt: skip
HOLDING = [
    Test(("EventID",), EQUALS, (2, 3)),
    Test(("ProcessId",), EQUALS, ("77",)),
    Test(("Image",), EQUALS, ("c:\\σίς.exe",)),
    Test(("Image",), ENDS, ("x", "ίς.exe")),
    Test(("Image",), STARTS, ("c:\\σ",)),
    Test(("CommandLine",), CONTAINS, (" —fast",)),
    Test(("CommandLine",), CONTAINS, ("x", "STRAß")),
    Test(("CommandLine",), ALL, ("run", "12")),
    Test(("CommandLine",), REGEX, (r"fast\s+[0-9]{2,4}",)),
    Test(("DestinationIp",), CIDR, ("11.0.0.0/8", "10.1.2.0/24")),
    Test(tuple(NETWORK.texts), KEYWORD, ("nothing", "fast")),
]
FAILING = [
    Test(("EventID",), EQUALS, (4,)),
    Test(("Image",), EQUALS, ("σίς.exe",)),
    Test(("Image",), ENDS, ("c:\\σ",)),
    Test(("Image",), STARTS, ("σ",)),
    Test(("CommandLine",), CONTAINS, ("strasse",)),
    Test(("CommandLine",), ALL, ("run", "13")),
    Test(("CommandLine",), REGEX, (r"fast\d",)),
    Test(("DestinationIp",), CIDR, ("10.1.3.0/24",)),
    Test(("User",), CONTAINS, ("a",)),
    Test(("SourceIp",), CIDR, ("0.0.0.0/0",)),
    Test(tuple(NETWORK.texts), KEYWORD, ("77",)),
]


def rule(*selections: list[Test], join: str = AND, filters: tuple[list[Test], ...] = ()) -> Rule:
    return Rule(NETWORK, [*map(Selection, selections)], join, [*map(Selection, filters)])


def found(given: list[Rule]) -> list[set[int]]:
    """The rules that EVENT matches, by the loop, SQLite, the compiled scan and Tamis."""
    scan, sql, made = TestScan(given), SqlRules(given), Detections(given, [EVENT])
    subject = Subject(made)
    subject.load()
    pairs = [
        PythonLoop(given).match_all([EVENT]),
        sql.match_all([EVENT]),
        scan.match_all(scan.records([EVENT])),
        subject.pairs(subject.engine, made.events),
        subject.pairs(subject.engine, made.table()),
    ]
    sql.close()
    return [{number for _, number in each} for each in pairs]


def test_single_tests() -> None:
    given = [rule([test]) for test in HOLDING + FAILING]
    assert found(given) == [set(range(len(HOLDING)))] * 5


@pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning")
def test_joins_and_filters() -> None:
    yes, no = HOLDING[0], FAILING[1]
    missing = FAILING[8]
    given = [
        rule([yes, yes]),
        rule([yes], [no], join=OR),
        rule([yes], [no], [yes], join=FIRST),
        rule([yes], filters=([no], [missing])),
        rule([yes], filters=([yes, missing],)),
        rule([yes, no]),
        rule([yes], [no]),
        rule([no], [yes], join=FIRST),
        rule([yes], [no], join=FIRST),
        rule([yes], filters=([no], [yes])),
    ]
    assert found(given) == [set(range(5))] * 5


def test_another_source_matches_nothing() -> None:
    event = EVENT | {"_category": "image_load"}
    given = [rule([HOLDING[0]])]
    scan, sql = TestScan(given), SqlRules(given)
    assert PythonLoop(given).match(event) == []
    assert sql.match_all([event]) == scan.match_all(scan.records([event])) == set()
    sql.close()


def test_all_agree_on_the_workload() -> None:
    subject = Subject(w7(60, 200))
    peers = subject.peers(200)
    expected = rules.agreed(peers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject.load()
        subject.check(expected, 200)
    assert subject.refused <= set(range(60))


@pytest.mark.slow
def test_matches_are_about_one_half_and_stay_when_rules_grow() -> None:
    for count, events in ((3_800, 150), (38_000, 60)):
        made = w7(count, events)
        scan = TestScan(made.rules)
        matches = len(scan.match_all(scan.records(made.events))) / events
        assert 0.3 < matches < 1.0


def test_peers_that_differ_are_noticed() -> None:
    with pytest.raises(AssertionError, match="SQLite differs"):
        rules.agreed({rules.LOOP: lambda: {(0, 1)}, rules.SQL: set})


def test_a_wrong_match_is_noticed() -> None:
    subject = Subject(w7(60, 50))
    with pytest.raises(AssertionError):
        subject.check({(0, 0)}, 50)


@pytest.mark.slow
def test_every_figure_runs() -> None:
    run = measure(TINY, quick=True)
    assert run.skipped == {}
    figures = {row.figure for row in run.rows}
    assert len(figures) == 13
    assert len({row.key for row in run.rows}) == len(run.rows), "runs can be compared"
    assert all(row.value > 0 for row in run.rows if row.unit != "refused")


def test_what_takes_too_long_or_is_refused_is_listed() -> None:
    bench = Bench(TINY, quick=True)
    with bench.row("refused", 1) as row:
        row.figure("before", "x", 1)
        rules.Engine().subscribe("a <")
    bench.sizes = Sizes(seconds=1)
    with bench.row("slow", 1):
        time.sleep(5)
    assert [row.figure for row in bench.run.rows] == ["refused"]
    assert bench.run.skipped["refused, 1"].startswith("ParseError: ")
    assert bench.run.skipped["slow, 1"] == "TimeIsUpError: it took longer than 1 s"
    with pytest.raises(TimeIsUpError), time_cap(1):
        time.sleep(5)


def test_main(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rules, "QUICK", TINY)
    monkeypatch.setattr(rules, "use_one_core", lambda core: core)
    path = tmp_path / "run.json"
    assert rules.main(["--quick", "--only", "like", "--markdown", "--output", str(path)]) == path
    assert "like with a wildcard inside" in capsys.readouterr().out
    assert len(Run.load(path).rows) == 2
