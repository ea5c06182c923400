"""Java libraries for tests, fetched by Maven once and then taken from its folder.

Spark fetches ``spark.jars.packages`` itself, on most machines. Tests do not rely on that: they name
each jar, so that they see the same ones everywhere.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

SPARK_KAFKA = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
"""Spark's connector, the newest that there is with all its parts, and what it needs beyond Spark."""
KAFKA = ("org.apache.kafka:kafka_2.13:4.3.1", "org.slf4j:slf4j-simple:1.7.36")
"""A broker."""
S3A = (
    "org.apache.hadoop:hadoop-aws:3.5.0",
    "software.amazon.awssdk:bundle:2.35.4",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
)
LAKES = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.apache.spark:spark-avro_2.13:4.1.1",
)
"""Delta, Iceberg and Avro for Spark 4.1."""
POSTGRESQL = ("org.postgresql:postgresql:42.7.14",)

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tamis-tests"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>tamis</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY = """<dependency>
<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}
</dependency>"""
_ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


def jars(coordinates: Sequence[str], *, alone: bool = True) -> list[str]:
    """The paths of jars; unless ``alone``, with all that they depend on."""
    pom = _POM.format(
        "".join(
            _DEPENDENCY.format(*each.split(":"), _ALONE if alone else "") for each in coordinates
        )
    )
    folder = CACHE / hashlib.blake2b(pom.encode(), digest_size=8).hexdigest()
    listed = folder / "jars.txt"
    if not listed.exists() or not all(map(os.path.exists, listed.read_text().split(":"))):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(pom)
        _run_maven(folder, listed)
    return listed.read_text().strip().split(":")


def _run_maven(folder: Path, listed: Path) -> None:
    found = listed.with_suffix(f".{os.getpid()}")
    command = ["mvn", "-B", "-q", "dependency:build-classpath", f"-Dmdep.outputFile={found}"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, f"Maven cannot fetch the jars of {folder}:\n{run.stdout[-2000:]}"
    found.replace(listed)
