"""Libraries of Java that sources and sinks need, and how to get them if they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
    "avro": "org.apache.spark:spark-avro_2.13:{version}",
    "delta": "io.delta:delta-spark_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime",
}


def missing_format(session: SparkSession, name: str) -> Iterator[str]:
    """A remedy if Spark does not know a format."""
    from pyspark.errors import PySparkException

    jvm: Any = session._jvm
    state = session._jsparkSession.sessionState()
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(
            name, state.conf()
        )
    except PySparkException:
        package = _PACKAGES.get(name, "the library that brings it")
        package = package.format(version=session.version)
        yield (
            f"Spark has no format {name!r}: add {package!r} to spark.jars.packages, or the jars "
            "themselves to spark.jars"
        )
