"""Other releases of Spark for tests, installed once beside the environment and then kept.

Some libraries come half a year after a release of Spark: Delta and Iceberg are tested on 4.1.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.jars import CACHE
from tests.spark.processes import PYTHONPATH, environment

SPARK_41 = ("pyspark==4.1.1", "py4j==0.10.9.9")


def environment_of(packages: tuple[str, ...]) -> dict[str, str]:
    """The variables of a program that runs on a release of Spark."""
    folder = CACHE / packages[0]
    if not folder.exists():
        partial = CACHE / f"{folder.name}.{os.getpid()}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        run = subprocess.run([*command, str(partial), *packages], capture_output=True, text=True)
        assert run.returncode == 0, f"pip cannot install {packages[0]}:\n{run.stderr[-2000:]}"
        partial.rename(folder)
    return environment(PYTHONPATH=os.pathsep.join([str(folder), PYTHONPATH]))
