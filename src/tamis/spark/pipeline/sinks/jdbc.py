"""A table of a database, by JDBC: the rows of a batch are replaced in one transaction.

    executors  ──Spark's JDBC writer──>  matches_tamis_batch    (a table for the batch, replaced)
    driver     ──one transaction──────>  delete from matches where batch = 12
                                         delete from matches where the key is in the new rows
                                         insert into matches select …, 12 from the new rows

So a batch is there as a whole or not at all, a repeated one changes nothing, and an event that
comes twice is there once. This is plain SQL, the same for every database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tamis.errors import StorageError
from tamis.spark.pipeline.settings import Options
from tamis.spark.pipeline.sinks.sink import BATCH, BatchRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIBRARIES = {
    "postgresql": "org.postgresql:postgresql",
    "mysql": "com.mysql:mysql-connector-j",
    "mariadb": "org.mariadb.jdbc:mariadb-java-client",
    "sqlserver": "com.microsoft.sqlserver:mssql-jdbc",
    "oracle": "com.oracle.database.jdbc:ojdbc11",
}


@dataclass(frozen=True, slots=True)
class Jdbc:
    """A table of a database; it is made if it does not exist, with a column ``batch``."""

    url: str
    """the database: "jdbc:postgresql://host/name" """
    table: str
    """the table, which gets a column "batch" """
    user: str | None = None
    """the user of the database"""
    password: str | None = None
    """the password; better: "options = { … }" from a file that only you can read"""
    options: Options = field(default_factory=dict)
    """options of Spark's JDBC writer, such as "driver" and "batchsize" """

    @property
    def target(self) -> str:
        """The table, where no other sink may write: rows of a batch are replaced."""
        return f"{self.url} {self.table}"

    def problems(self) -> Iterator[str]:
        """A URL that is none."""
        if not self.url.startswith("jdbc:"):
            yield f"url must begin with 'jdbc:', as in 'jdbc:postgresql://host/name': {self.url!r}"

    def check(self, session: SparkSession) -> Iterator[str]:
        """The driver may be missing, or the database unavailable."""
        if self._driver(session) is None:
            kind = self.url.split(":")[1]
            library = _LIBRARIES.get(kind, f"the JDBC driver of {kind}")
            yield (
                f"Spark has no driver for {self.url}: add {library!r} to spark.jars.packages, or "
                "its jar to spark.jars"
            )
            return
        try:
            with self._connection(session):
                pass
        except StorageError as error:
            yield str(error)

    def write(self, rows: BatchRows) -> None:
        """Replace the rows of a batch."""
        session = rows.frame.sparkSession
        staging = f"{self.table}_tamis_batch"
        driver = self._driver(session).getClass().getName()  # Spark itself looks only beside itself
        options = {**self._login(), "batchsize": "10000", "driver": driver, **self.options}
        writer = rows.frame.write.options(**options).mode("overwrite")
        writer.option("url", self.url).option("dbtable", staging).save(format="jdbc")
        names = [f'"{name}"' for name in rows.frame.columns]
        with self._connection(session) as connection:
            for statement in self._statements(connection, staging, names, rows):
                _execute(connection, statement)
            connection.commit()

    def _statements(
        self, connection: Any, staging: str, names: Sequence[str], rows: BatchRows
    ) -> Iterator[str]:
        columns = ", ".join(names)
        if not self._exists(connection):
            yield f"CREATE TABLE {self.table} AS SELECT {columns} FROM {staging} WHERE 1 = 0"
            yield f'ALTER TABLE {self.table} ADD COLUMN "{BATCH}" BIGINT'
        same = " AND ".join(f'n."{each}" = {self.table}."{each}"' for each in rows.key)
        yield f'DELETE FROM {self.table} WHERE "{BATCH}" = {rows.batch}'
        yield f"DELETE FROM {self.table} WHERE EXISTS (SELECT 1 FROM {staging} n WHERE {same})"
        yield (
            f'INSERT INTO {self.table} ({columns}, "{BATCH}") '
            f"SELECT {columns}, {rows.batch} FROM {staging}"
        )
        yield f"DROP TABLE {staging}"

    def _exists(self, connection: Any) -> bool:
        schema, _, name = self.table.rpartition(".")
        found = connection.getMetaData().getTables(None, schema or None, name, None)
        return bool(found.next())

    def _login(self) -> dict[str, str]:
        given = {"user": self.user, "password": self.password}
        return {name: value for name, value in given.items() if value is not None}

    def _driver(self, session: SparkSession) -> Any:
        """The driver for the URL, among all that Spark's class loader finds."""
        jvm: Any = session._jvm
        loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
        kind = jvm.java.lang.Class.forName("java.sql.Driver")
        if "driver" in self.options:
            return loader.loadClass(self.options["driver"]).getConstructor([]).newInstance([])
        for driver in jvm.java.util.ServiceLoader.load(kind, loader).iterator():
            if driver.acceptsURL(self.url):
                return driver
        return None

    @contextmanager
    def _connection(self, session: SparkSession) -> Iterator[Any]:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        properties: Any = session._jvm.java.util.Properties()  # type: ignore[union-attr]
        for name, value in {**self._login(), **self.options}.items():
            properties.setProperty(name, value)
        try:
            connection = self._driver(session).connect(self.url, properties)
            connection.setAutoCommit(False)
            try:
                yield connection
            finally:
                connection.close()
        except Py4JJavaError as error:
            said = error.java_exception.getMessage()
            raise StorageError(f"the database {self.url}: {said}") from error


def _execute(connection: Any, statement: str) -> None:
    prepared = connection.createStatement()
    try:
        prepared.executeUpdate(statement)
    finally:
        prepared.close()
