"""Changes of subscriptions while a pipeline runs: every second micro-batch comes with a change file
of 10,000 rows, each with a subscription that an event of that very micro-batch matches.

    batch      1        2        3        4     …
    changes          10,000           10,000         half of them replace, a tenth remove
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from benchmarks import workloads
from benchmarks.pipeline_documents import documents
from benchmarks.pipeline_shards import rules
from benchmarks.spark import Bench
from tamis.spark.pipeline import BatchReport, Call, EventSource, Pipeline, SubscriptionSource

CHANGES, EVENTS = 10_000, 20_000
TURNS = 6
"""Change files, of which the first loads what later ones find loaded."""
_MARK = 1 << 40
"""The first id of the subscriptions that show that a change has come."""


def changes(bench: Bench) -> None:
    """What 10,000 changes cost, and that the next micro-batch sees them."""
    size = bench.largest
    rules(bench, size)
    scene = _Scene(bench, size)
    scene.run()
    plain, changed = scene.reports[2::2], scene.reports[3::2]
    found = {each.version for each in scene.reports}
    assert found == set(range(1, TURNS + 2)), found
    assert scene.seen == [*range(TURNS)], scene.seen

    def add(what: str, value: float, must: float | None = None) -> None:
        bench.add(f"{CHANGES:,} changes, {what}", size, "pipeline", "s", value, must, more=False)

    spent = [each.times["subscriptions"] for each in changed]
    add("compile, save and ship", float(np.median(spent)))
    without = float(np.median([each.seconds for each in plain]))
    longer = [each.seconds - without for each in changed]
    add("a micro-batch longer by", float(np.median(longer)), 2.0)
    add("the longest", max(longer))
    add("a micro-batch without", without)


class _Scene:
    """A pipeline that is fed with a file of events and a file of changes in turns."""

    def __init__(self, bench: Bench, size: int) -> None:
        self._bench, self._size = bench, size
        self._folder = bench.folder / "changes"
        for name in ("events", "changes"):
            (self._folder / name).mkdir(parents=True)
        self._texts = [row.event for row in documents(bench, EVENTS).select("event").collect()]
        self._new = list(workloads.w2(CHANGES * TURNS, 1, 99).texts())
        self._stop = threading.Event()
        self.reports: list[BatchReport] = []
        self.seen: list[int] = []
        """The changes of which an event has told."""

    def run(self) -> None:
        rules = self._bench.folder / f"rules-{self._size}"
        pipeline = Pipeline(
            EventSource("json", str(self._folder / "events"), options={"maxFilesPerTrigger": "1"}),
            SubscriptionSource("parquet", str(rules), changes=str(self._folder / "changes")),
            [Call(self._take)],
            str(self._folder / "state"),
        )
        self._feed(0)
        pipeline.run(self._bench.session, told=self._told, stop=self._stop)

    def _told(self, report: BatchReport) -> None:
        self.reports.append(report)
        if len(self.reports) > 2 * TURNS + 1:
            self._stop.set()
        else:
            self._feed(len(self.reports))

    def _take(self, matches: DataFrame, _: int) -> None:
        marks = matches.where(f"subscription_id >= {_MARK}").collect()
        self.seen += sorted({row.subscription_id - _MARK for row in marks} - set(self.seen))

    def _feed(self, batch: int) -> None:
        """The events of a micro-batch; every second one comes with changes."""
        lines = self._texts
        if batch % 2 and batch > 1:
            turn = batch // 2 - 1
            self._put(f"changes/{turn}.ndjson", self._changes(turn))
            lines = [*lines, json.dumps({"id": f"mark {turn}", "mark": turn})]
        self._put(f"events/{batch:03}.json", lines)

    def _changes(self, turn: int) -> list[str]:
        ids = np.random.default_rng(turn).choice(self._size, CHANGES, replace=False)
        ids[CHANGES // 2 :] += self._size * (turn + 1)
        texts: list[str | None] = list(self._new[CHANGES * turn : CHANGES * (turn + 1)])
        texts[: CHANGES // 10] = [None] * (CHANGES // 10)
        rows = [*zip(ids.tolist(), texts), (_MARK + turn, f"mark = {turn}")]
        return [json.dumps({"id": id, "subscription": text}) for id, text in rows]

    def _put(self, name: str, lines: list[str]) -> None:
        path = self._folder / name
        hidden = Path(path.parent, f".{path.name}")
        hidden.write_text("\n".join(lines) + "\n")
        hidden.rename(path)
