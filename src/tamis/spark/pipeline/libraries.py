"""Libraries of Java that sources and sinks need, and how to get them if they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tamis.errors import suggestion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
    "avro": "org.apache.spark:spark-avro_2.13:{version}",
    "delta": "io.delta:delta-spark_{release}_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{release}_2.13",
}
_KNOWN = ("json", "csv", "parquet", "orc", "text", "xml", "rate", *_PACKAGES)
_RELEASED = ("delta", "iceberg")
"""Those that have a library of their own for each release of Spark, often half a year later."""
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def missing_format(session: SparkSession, name: str) -> Iterator[str]:
    """A remedy if Spark does not know a format."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    jvm: Any = session._jvm
    state = session._jsparkSession.sessionState()
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(
            name, state.conf()
        )
    except (PySparkException, Py4JJavaError):
        package = _PACKAGES.get(name)
        if package is None:
            hint = suggestion(name, _KNOWN) or "add the library that brings it to spark.jars"
            yield f"Spark has no format {name!r}; {hint}"
            return
        release = ".".join(session.version.split(".")[:2])
        package = package.format(version=session.version, release=release)
        yield (
            f"Spark has no format {name!r}: add {package!r} to spark.jars.packages, or the jars "
            "themselves to spark.jars"
        )
        if name in _RELEASED:
            yield f"if there is no such library for Spark {release} yet, use Spark 4.1"


def missing_extension(session: SparkSession) -> Iterator[str]:
    """A remedy if Spark does not know the statements of Delta."""
    if _EXTENSION not in str(session.conf.get("spark.sql.extensions", "")):
        yield (
            f"the change feed of Delta needs {_EXTENSION!r} in spark.sql.extensions, and "
            f"{_CATALOG!r} as spark.sql.catalog.spark_catalog"
        )
