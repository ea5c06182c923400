"""What sources and sinks need: libraries of Java, file systems, a server of Kafka that answers.

Each function yields what is wrong, and a remedy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tamis.errors import suggestion
from tamis.spark.index.shipping import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
    "avro": "org.apache.spark:spark-avro_2.13:{version}",
    "delta": "io.delta:delta-spark_{release}_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{release}_2.13",
}
_FILE_SYSTEMS = {
    "s3a": "org.apache.hadoop:hadoop-aws:{version}",
    "abfs": "org.apache.hadoop:hadoop-azure:{version}",
    "abfss": "org.apache.hadoop:hadoop-azure:{version}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
}
SERVERS = "kafka.bootstrap.servers"
_PATIENCE = 10
"""Seconds in which a server of Kafka must answer."""
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


def missing_file_system(session: SparkSession, place: str) -> Iterator[str]:
    """A remedy if Spark cannot open a place."""
    from py4j.protocol import Py4JJavaError

    if is_remote(session):
        yield (
            "a pipeline needs a session of its own cluster: Spark Connect gives no access to "
            "Hadoop's file systems"
        )
        return
    jvm: Any = session._jvm
    scheme = place.partition(":")[0] if ":" in place else "file"
    try:
        settings = session._jsc.hadoopConfiguration()
        jvm.org.apache.hadoop.fs.Path(place).getFileSystem(settings)
    except Py4JJavaError as error:
        said = str(error.java_exception.getMessage())
        package = _FILE_SYSTEMS.get(scheme)
        if package is None or not ("No FileSystem" in said or "ClassNotFound" in said):
            yield f"Spark cannot open {place}: {said}"
        else:
            package = package.format(version=jvm.org.apache.hadoop.util.VersionInfo.getVersion())
            yield (
                f"Spark has no file system {scheme!r} for {place}: add {package!r} to "
                "spark.jars.packages, or the jars themselves to spark.jars"
            )


def unavailable_kafka(
    session: SparkSession, options: Mapping[str, str], topics: str = ""
) -> Iterator[str]:
    """A server that does not answer, or that does not know a topic (of a list with commas)."""
    from py4j.protocol import Py4JJavaError

    try:
        with _kafka(session, options) as admin:
            known = sorted(str(name) for name in admin.listTopics().names().get())
    except Py4JJavaError as error:
        cause = error.java_exception.getCause() or error.java_exception
        yield f"Kafka at {options.get(SERVERS)!r} does not answer: {cause.getMessage()}"
        return
    for topic in _names(topics):
        if topic not in known:
            yield f"there is no topic {topic!r}; {suggestion(topic, known) or 'make it first'}"


def kafka_partitions(
    session: SparkSession, options: Mapping[str, str], topics: str
) -> dict[str, int]:
    """How many partitions topics have (of a list with commas)."""
    with _kafka(session, options) as admin:
        found = admin.describeTopics(_names(topics)).allTopicNames().get()
        return {str(name): int(found[name].partitions().size()) for name in found}


@contextmanager
def _kafka(session: SparkSession, options: Mapping[str, str]) -> Iterator[Any]:
    """Kafka's client for questions about topics, with the settings of a source or sink."""
    jvm: Any = session._jvm
    settings = jvm.java.util.Properties()
    for name, value in options.items():
        if name.startswith("kafka."):
            settings.setProperty(name.removeprefix("kafka."), value)
    settings.setProperty("request.timeout.ms", str(500 * _PATIENCE))
    settings.setProperty("default.api.timeout.ms", str(1000 * _PATIENCE))
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    try:
        yield admin
    finally:
        admin.close()


def _names(topics: str) -> list[str]:
    return [each.strip() for each in topics.split(",") if each.strip()]
