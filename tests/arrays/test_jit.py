"""Compilation: announced when it is the first, kept on disk, and possible where nothing is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MATCH = """
import time
start = time.process_time()
import tamis
engine = tamis.Engine()
engine.subscribe("a = 1 and b < 5 and c starts with 'x'", id="x")
assert engine.match({"a": 1, "b": 3, "c": "xy"}) == ["x"]
assert engine.match({"a": 1, "b": 7, "c": "xy"}) == []
print(time.process_time() - start)
"""
WITHOUT_CACHE = """
from numba.core import caching
caching.CacheImpl._locator_classes = []  # as where no folder can be written
"""

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)

SYMBOLS = """
import os
import numpy as np
from tamis.arrays.jit import kernel

def sorted_once(numbers):
    numbers.sort()

child = os.fork()
compiled = kernel(sorted_once)
compiled(np.array([2, 1]))
text = next(iter(compiled.inspect_llvm().values()))
names = [line for line in text.splitlines() if line.startswith("define") and "run_quicksort" in line]
assert names
os.write(1, (names[0].split("@")[1].split("(")[0] + "\\n").encode())
if child:
    os.waitpid(child, 0)
"""


def run(code: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )


@pytest.mark.slow
def test_first_use_is_announced_and_the_second_is_quick(tmp_path: Path) -> None:
    assert "compiling the kernels" in run(MATCH, tmp_path).stderr
    again = [run(MATCH, tmp_path) for _ in range(3)]
    assert {each.stderr for each in again} == {""}
    assert min(float(each.stdout) for each in again) < 2


@pytest.mark.slow
def test_where_nothing_can_be_kept_it_is_compiled_each_time(tmp_path: Path) -> None:
    assert "compiling the kernels" in run(WITHOUT_CACHE + MATCH, tmp_path).stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_no_two_processes_give_one_name_to_what_they_compile(tmp_path: Path) -> None:
    """What they compiled for the cache is loaded into one process: each name must mean one thing."""
    names = [name for _ in range(2) for name in run(SYMBOLS, tmp_path).stdout.split()]
    assert len(names) == 4
    assert len(set(names)) == 4, "processes and their forks count from the same number"
