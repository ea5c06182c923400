"""A real cluster on one machine, and what an index takes of an executor's memory."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis.spark
from tamis.spark.index.shipping import ship
from tests.spark.processes import (
    PYTHON,
    ROOT,
    Program,
    children_of,
    environment,
    running,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = (*PYTHON, str(Path(__file__).with_name("cluster_driver.py")))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tamis as a wheel, installed where executors find it."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, "wheel", *options, str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    target = folder / "packages"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


class Cluster:
    """A master and its workers."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        import pyspark

        from tamis.spark.session.java import ensure_java

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"spark://127.0.0.1:{free.getsockname()[1]}"
        home = Path(pyspark.__file__).parent
        env = environment(
            JAVA_HOME=ensure_java(),
            SPARK_HOME=str(home),
            SPARK_WORKER_DIR=str(folder / "work"),
            SPARK_LOCAL_DIRS=str(folder / "local"),
            SPARK_DAEMON_MEMORY="256m",
        )
        del env["PYTHONPATH"]

        def start(name: str, *arguments: str) -> Program:
            command = (str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}")
            options = ("--host", "127.0.0.1", "--webui-port", "0")
            return stack.enter_context(running(*command, *options, *arguments, env=env))

        self.master = start("master.Master", "--port", self.address.rpartition(":")[2])
        size = ("--cores", "1", "--memory", "700m")
        self.workers = [start("worker.Worker", *size, self.address) for _ in range(2)]

    def executors(self) -> list[int]:
        """The processes that the workers have started."""
        return [pid for worker in self.workers for pid in children_of(worker.process.pid)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path, stack)


def said(program: Program, part: str) -> Any:
    """What a driver says of a part."""
    program.wait_for(f"{part} ", 240)
    (line,) = (line for line in program.lines if line.startswith(f"{part} "))
    return json.loads(line.removeprefix(part))


@pytest.fixture
def kernels(packages: Path, tmp_path: Path) -> Iterator[Program]:
    """A process that compiles the kernels of the installed Tamis, once for all executors."""
    env = environment(PYTHONPATH=str(packages), NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    code = "from tamis.spark.session.warm import warm_up; warm_up()"
    with running(*PYTHON, "-c", code, env=env) as program:
        yield program


@pytest.mark.timeout(420)
def test_a_cluster(kernels: Program, cluster: Cluster, packages: Path, tmp_path: Path) -> None:
    arguments = (cluster.address, str(packages), str(tmp_path))
    assert kernels.wait() == 0, kernels.output
    compiled = sorted((tmp_path / "numba").rglob("*.nbi"))
    assert compiled
    with running(*DRIVER, *arguments) as driver:
        assert set(said(driver, "where")) == {str(packages / "tamis" / "__init__.py")}
        assert sorted((tmp_path / "numba").rglob("*.nbi")) == compiled  # nothing was compiled anew
        assert said(driver, "contract") > 1_000
        assert said(driver, "stream") == 18
        city = said(driver, "city")
        assert city["right"]
        assert city["again"]
        assert city["matches"] > city["bound"] > 0
        assert 100 < city["results"]["locIn('Bronx')@1"] <= 200  # at most once for each frame
        said(driver, "running")
        before = cluster.executors()
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        found = said(driver, "disturbed")
        assert found["right"]
        assert found["rows"] == 10_000
        assert found["failed"] > 0  # it did have work
        assert driver.wait(60) == 0, driver.output


# Memory.


def mapped(process: int, name: str) -> tuple[int, int]:
    """The bytes of a file that a process has in memory, and its share of them."""
    sizes = {"Rss": 0, "Pss": 0}
    inside = False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(name)
        elif inside and line.split(":")[0] in sizes:
            sizes[line.split(":")[0]] += int(line.split()[1]) * 1024
    return sizes["Rss"], sizes["Pss"]


def test_workers_share_the_pages_of_an_index(spark: SparkSession, tmp_path: Path) -> None:
    count = 200_000
    texts = [f"a = {number} and b < {number % 100}" for number in range(count)]
    index = tamis.spark.Index.of(pa.table({"id": range(count), "subscription": texts}))
    index.save(tmp_path / "saved")
    size = (tmp_path / "saved").stat().st_size
    events = spark.range(0, 4 * count, 1, 8).selectExpr("id", f"id % {count} AS a", "0 AS b")
    matches = tamis.spark.match(events, tmp_path / "saved")
    assert matches.count() == 4 * (count - count // 100)
    name = ship(spark, tmp_path / "saved").name
    seen = [mapped(pid, name) for pid in descendants(os.getpid())]
    found = [(rss, pss) for rss, pss in seen if rss > size / 4]
    assert len(found) >= 2
    whole, shared = (sum(column) for column in zip(*found))
    assert shared < 1.1 * size
    assert whole > 1.6 * shared  # each of them has most of it in sight


def descendants(parent: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    tree: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            tree.setdefault(int(fields[1]), []).append(int(entry))
    found = [parent]
    for pid in found:
        found += tree.get(pid, [])
    return found
