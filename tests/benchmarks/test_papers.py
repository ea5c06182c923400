"""The experiments of the papers, at sizes that take no time; and that they notice what is wrong."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import gryphon, gtopss, lesubscribe, operators, padres, pages, run
from benchmarks.papers.catalogue import PAPERS
from benchmarks.papers.contenders import ALL, SIEVE, GaveUpError, Indexed, Sieved
from benchmarks.papers.experiment import Competition, Paper
from benchmarks.papers.gryphon_verdicts import SUBLINEARITY, bound
from benchmarks.papers.measuring import PROCESSING, Effort, check
from benchmarks.papers.results import Measurement, Results
from benchmarks.papers.subject import (
    Subject,
    balanced_order,
    lists_of,
    matrix_of,
    message_of,
    reply_of,
)
from benchmarks.workloads import le_subscribe
from tamis.errors import LimitError
from tamis.published.boxes import UNBOUNDED
from tamis.published.index import BoxHits
from tamis.published.naive import Naive

# Keys of the sieve are scrambled by unsigned arithmetic that wraps around, also without the JIT.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

FEW = 12 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 30
EFFORT = Effort(repeats=2, seconds=0.001, patience=60)
SIZES = {
    "lesubscribe": lesubscribe.Sizes(
        counts=(FEW // 3, FEW), shares=(0.0, 1.0), shares_at=FEW, naive_at=FEW, tiny=(FEW,),
        domains=(1, 3), domains_at=FEW, types=(1, 3), types_at=FEW, engine_at=FEW, added=12,
        events=40, effort=EFFORT,
    ),
    "gryphon": gryphon.Sizes(counts=(60, 120), gains_at=60, events=40, effort=EFFORT),
    "operators": operators.Sizes(
        subscriptions=(40, 80), predicates=50, fixed=60, several=(30, 60), few=30, longest=(5, 8),
        engine=(60, 30), batch=20, events=3,
    ),
    "padres": padres.Sizes(
        count=400, insertions=(200, 400), sample=20, merged=300, thresholds=(0.0, 0.1, 1.0), few=80,
        below=50, overlay=(5, 60), repeats=1,
    ),
    "gtopss": gtopss.Sizes((20, 40), 40, (FEW * 10, FEW * 20), 5, 5, 0.001),
}  # fmt: skip


def nothing(done: int, total: int, about: str) -> None:
    """No progress to show."""


@pytest.fixture(scope="module", params=PAPERS)
def measured(request: pytest.FixtureRequest) -> tuple[Paper, Results]:
    """A paper and all of its measurements."""
    paper = run.paper_of(request.param)
    return paper, run.measure(paper, SIZES[paper.name], nothing)


def test_every_figure_has_every_algorithm(measured: tuple[Paper, Results]) -> None:
    paper, found = measured
    for figure in paper.figures:
        names = {row.algorithm for row in found.of(figure.measured)}
        if paper.name == "operators":
            assert names >= {*operators.NAMES, operators.COVER} or figure.name == "overhead"
        elif paper.name == "padres":
            assert names
        elif paper.name == "gtopss":
            assert "ours" in names or figure.name == "9c"
        elif figure.name == "addition":
            assert names == {*ALL} - {SIEVE}
        elif figure.measured not in ("constant", "gains", "types", "subscribe"):
            assert names >= {*ALL}
    for row in found.rows:
        assert (row.best is None) == (row.worst is None)
        assert row.note or (row.best and row.worst and row.best <= row.worst)


def test_verdicts_are_told(measured: tuple[Paper, Results]) -> None:
    paper, found = measured
    told = paper.verdicts(found)
    nothing_found = paper.verdicts(Results())
    assert [verdict.claim for verdict in told] == [verdict.claim for verdict in nothing_found]
    assert {verdict.holds for verdict in nothing_found} == {None}
    assert run.verdict_table(paper, found).row_count == len(told)


def test_results_are_kept(measured: tuple[Paper, Results], tmp_path: Path) -> None:
    paper, found = measured
    machine = run.begin_run(True, None)
    run.end_run(machine)
    run.keep(paper, found, machine, tmp_path)
    again, same_machine = run.kept(paper, tmp_path)
    assert len(again.rows) == len(found.rows)
    assert set(again.rows) == set(found.rows)
    assert same_machine == machine
    for figure in paper.figures:
        picture = tmp_path / pages.picture_name(paper, figure)
        assert "<svg" in picture.read_text("utf-8")
        assert picture.stat().st_size < 60_000


def test_the_page_of_a_paper_is_filled_in(measured: tuple[Paper, Results], tmp_path: Path) -> None:
    paper, found = measured
    machine = run.begin_run(True, None)
    run.end_run(machine)
    shutil.copy(run.DOCS / f"{paper.name}.md", tmp_path)
    page = run.write_page(paper, found, machine, tmp_path)
    first = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+\.svg)\)", first):
        assert (tmp_path / target).exists()
    for verdict in paper.verdicts(found):
        assert verdict.claim in first
    run.write_page(paper, found, machine, tmp_path)
    assert page.read_text("utf-8") == first, "writing twice changes nothing"


@pytest.mark.parametrize("name", PAPERS)
def test_pages_have_a_place_for_every_figure(name: str) -> None:
    paper = run.paper_of(name)
    page = (run.DOCS / f"{name}.md").read_text("utf-8")
    wanted = ["run", "verdicts", *(figure.name for figure in paper.figures)]
    assert pages.fill(page, dict.fromkeys(wanted, "new")).count("\nnew\n") == len(wanted)
    names = {figure.name for figure in paper.figures}
    assert len(names) == len(paper.figures)


def test_only_what_a_figure_needs_is_measured() -> None:
    found = run.measure(lesubscribe.PAPER, SIZES["lesubscribe"], nothing, ["tiny"])
    assert found.names() == ["tiny"]


def test_progress_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    run.measure(gryphon.PAPER, SIZES["gryphon"], lambda *step: told.append(step), ["gains"])
    total = told[0][1]
    assert [done for done, _, _ in told] == [*range(total + 1)]
    assert {all for _, all, _ in told} == {total}


# --- what is measured is right --------------------------------------------------------------------


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject.of(le_subscribe(150, 80, values=3), aside=20)


class Forgetful(Naive):
    """Loses the last box of every chunk."""

    def stab(self, points):
        for chunk in super().stab(points):
            yield BoxHits(chunk.point[:-1], chunk.box[:-1])


class Limited(Naive):
    """Holds a hundred boxes."""

    def add(self, boxes):
        if self._table.count > 100:
            raise LimitError("more than 100 boxes: take another")
        super().add(boxes)


def test_wrong_matches_are_not_timed(subject: Subject) -> None:
    about = Measurement("9a", "forgetful", 130, 130)
    with pytest.raises(AssertionError):
        Competition(EFFORT).enter(
            partial(Indexed, Forgetful), subject, about, {"9a": PROCESSING}, "W1"
        )


def test_who_gave_up_is_not_asked_again_about_more(subject: Subject) -> None:
    competition, asked = Competition(EFFORT), []

    def enter(n: int, series: str) -> list[Measurement]:
        def make(subject: Subject, patience: float) -> Indexed:
            if subject.subscriptions > 50:
                asked.append((n, series))
            return Indexed(Limited if n > 50 else Naive, subject, patience)

        about, figures = Measurement("9a", "limited", n, n), {"9a": PROCESSING, "9b": PROCESSING}
        contender, rows = competition.enter(make, subject, about, figures, series)
        assert (contender is None) == (n > 50)
        return rows

    for n in (130, 200, 40):
        rows = enter(n, "W1")
        assert [row.figure for row in rows] == ["9a", "9b"]
        for row in rows:
            assert (row.best is None) == (n > 50)
            assert row.note == ("more than 100 boxes" if n > 50 else "")
    enter(200, "W3")
    assert asked == [(130, "W1"), (40, "W1"), (200, "W3")]


def test_an_algorithm_that_takes_too_long_to_build_gives_up(subject: Subject) -> None:
    with pytest.raises(GaveUpError, match="s to build"):
        Indexed(Naive, subject, 0.0)


def test_naive_and_sieve_agree_with_the_scan(subject: Subject) -> None:
    naive = Indexed(Naive, subject, 60)
    for contender in (naive, Sieved(subject)):
        check(contender, subject, subject.expected)
        with pytest.raises(AssertionError):
            check(contender, subject, subject.expected_aside)
    assert subject.subscriptions == naive.table.count == 130


def test_ranges_are_no_equalities(subject: Subject) -> None:
    boxes, sides = subject.boxes, subject.sides
    ranges = (boxes.low != boxes.high) | (boxes.low % 2 == 0)
    assert (sides.low[ranges] < sides.high[ranges]).all()
    assert (sides.low[~ranges] == sides.high[~ranges]).all()
    assert ((sides.high == UNBOUNDED) | (sides.low == 0))[ranges].all(), "all are one-sided"
    assert (sides.high == UNBOUNDED).any()


def test_messages_and_replies_arrive_as_they_were_sent() -> None:
    matrix = np.array([[3, -1], [-1, 0], [7, 7]])
    assert (matrix_of(message_of(matrix)) == matrix).all()
    ranks = matrix.astype(np.int32)
    assert matrix_of(message_of(ranks)).dtype == np.int32
    numbers = np.array([0, 2, 2], np.int32), np.array([5, 9, 4], np.int32)
    lists = lists_of(
        reply_of([BoxHits(*(n[:1] for n in numbers)), BoxHits(*(n[1:] for n in numbers))], 3)
    )
    assert [each.tolist() for each in lists] == [[5], [], [4, 9]]
    assert [each.tolist() for each in lists_of(reply_of([], 2))] == [[], []]


def test_every_beginning_of_the_events_has_all_sets_of_attributes() -> None:
    ranks = np.where(np.random.default_rng(1).random((400, 3)) < 0.5, 1, -1).astype(np.int32)
    order = balanced_order(ranks)
    assert sorted(order.tolist()) == [*range(400)]
    for first in range(0, 160, 8):
        assert len(np.unique(ranks[order[first : first + 8]], axis=0)) == 8


def test_the_bound_of_the_theorem() -> None:
    assert pytest.approx(0.681, abs=0.0005) == SUBLINEARITY
    k1, v, power = 31, 5, 1_000 ** (np.log(31) / (np.log(5) + np.log(31)))
    by_hand = (v * k1 * (k1 * power - 1) * (np.log(5) + np.log(31))) / ((v * k1 - 1) * np.log(31))
    assert bound(1_000) == pytest.approx(by_hand)
    assert bound(2_000) / bound(1_000) == pytest.approx(2**0.681, rel=0.001)


# --- what is said of it -----------------------------------------------------------------------------


def rows_of(figure: str, times: dict[str, list[float]], xs: list[int]) -> list[Measurement]:
    return [
        Measurement(figure, name, x, x, best=best, worst=best, evaluated=1.0)
        for name, line in times.items()
        for x, best in zip(xs, line)
    ]


@pytest.mark.parametrize(
    ("quarantining", "holds"), [([1.0, 2.0], True), ([1.0, 20.0], False), ([6.0, 2.0], False)]
)
def test_the_order_of_curves_must_hold_at_every_place(
    quarantining: list[float], holds: bool
) -> None:
    times = {"fair_predicate": [9.0, 90.0], "equality_preferred": [5.0, 10.0]}
    rows = rows_of("9a", {**times, "quarantining": quarantining}, [10_000, 100_000])
    [verdict] = [v for v in lesubscribe.PAPER.verdicts(Results(rows)) if v.claim.startswith("9a")]
    assert verdict.holds is holds


@pytest.mark.parametrize(("visited", "holds"), [([10.0, 100.0], True), ([10.0, 1e7], False)])
def test_the_theorem_must_hold_at_every_place(visited: list[float], holds: bool) -> None:
    rows = rows_of("w4", {"gryphon, plain": [1.0, 2.0]}, [1_000, 10_000])
    rows = [replace(row, visited=count) for row, count in zip(rows, visited)]
    told = {v.claim.split(":")[0]: v for v in gryphon.PAPER.verdicts(Results(rows))}
    assert told["the theorem"].holds is holds
    assert told["nodes visited grow sublinearly with N"].holds is False


def test_a_page_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for '10'"):
        pages.fill("<!-- results: 9a -->\n<!-- end -->", {"10": ""})


def test_what_is_written_by_hand_stays() -> None:
    page = "by hand\n<!-- results: 9a -->\nold\n<!-- end -->\nmore\n<!-- results: 10 -->\n<!-- end -->\n"
    filled = pages.fill(page, {"9a": "new", "10": r"\1"})
    assert filled == page.replace("old", "new").replace("10 -->\n", "10 -->\n\\1\n")
