"""The pipeline on Spark, local[2]: documents, columns, Kafka, changes, shards.

    python -m benchmarks.pipeline [--quick] [--only json|columns|kafka|latency|changes|shards|large]
        [--seconds N] [--output FILE.json] [--markdown]

All ways of a figure are timed in one run, and must find the same matches. Kafka's jars are fetched
by Maven the first time. The whole takes half an hour; ``--quick`` with 100k subscriptions a few
minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks import pipeline_changes, pipeline_documents, pipeline_kafka, pipeline_shards
from benchmarks.report import Run, complain, end_run, markdown_table, rich_table
from benchmarks.spark import SIZES, Bench
from tests.jars import SPARK_KAFKA, jars

FIGURES = {
    "json": pipeline_documents.json,
    "columns": pipeline_documents.columns,
    "kafka": pipeline_kafka.throughput,
    "latency": pipeline_kafka.latency,
    "changes": pipeline_changes.changes,
    "shards": pipeline_shards.beside_broadcast,
    "large": pipeline_shards.large,
}


def measure(quick: bool, only: list[str] | None, seconds: float | None) -> Run:
    """Measure all figures, or some of them."""
    wanted = [name for name in FIGURES if not only or name in only]
    needs_kafka = {"kafka", "latency"}.intersection(wanted)
    settings = {"spark.jars": ",".join(jars(SPARK_KAFKA))} if needs_kafka else {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(quick, Path(folder), SIZES, settings)
        bench.seconds = seconds
        for name in wanted:
            complain(f"{name} …")
            FIGURES[name](bench)
        bench.session.stop()
        end_run(bench.run)
    return bench.run


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep the results and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline")
    parser.add_argument("--quick", action="store_true", help="100k subscriptions, fewer events")
    parser.add_argument("--only", action="append", choices=FIGURES, help="one figure (repeatable)")
    parser.add_argument("--seconds", type=float, help="how long Kafka must last (300)")
    parser.add_argument("--output", type=Path, help="JSON; by default into benchmarks/results")
    parser.add_argument("--markdown", action="store_true", help="a table to paste")
    options = parser.parse_args(arguments)
    run = measure(options.quick, options.only, options.seconds)
    path = options.output or run.default_path("pipeline")
    run.save(path)
    complain(f"results in {path}")
    if options.markdown:
        print(markdown_table(run))
    else:
        Console(width=max(Console().width, 120)).print(rich_table(run))


if __name__ == "__main__":
    main()
