"""A web service: rows are posted as JSON, some hundred at a time.

    POST url    Idempotency-Key: auctions-3f9a2c01/12/3/0
    [{"key": ["event", "subscription"], "event_id": …, "subscription_id": …, …}, …]

A batch that is run again posts the same rows. Each has a ``key``, by which the service can drop
repeats; the header is the same for a repeated request if Spark divides the batch alike, which it
mostly does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tamis.errors import MissingExtraError, StorageError
from tamis.spark.pipeline.settings import Duration, Options
from tamis.spark.pipeline.sinks.sink import BatchRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUSY = (408, 425, 429)
"""Statuses that mean: try again."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that rows are posted to, from the executors."""

    url: str
    """where to post: "https://example.org/matches" """
    rows: int = 500
    """rows in a request"""
    timeout: Duration = 30.0
    """how long a request may take"""
    attempts: int = 5
    """how often a request is tried, with growing pauses, before the batch is tried again"""
    headers: Options = field(default_factory=dict)
    """more headers, such as authorization"""

    def problems(self) -> Iterator[str]:
        """A URL that is none, or no HTTP client."""
        if not self.url.startswith(("http://", "https://")):
            yield f"url must begin with 'http://' or 'https://', not {self.url!r}"
        if self.rows < 1 or self.attempts < 1:
            yield "rows and attempts must be at least 1"
        try:
            import httpx  # noqa: F401
        except ImportError:
            yield "a webhook needs httpx: pip install 'tamis[spark]'"

    def check(self, session: SparkSession) -> Iterator[str]:
        """Nothing can be missing."""
        yield from ()

    def write(self, rows: BatchRows) -> None:
        """Post the rows of a batch."""
        post = _Post(self, f"{quote(rows.pipeline)}/{rows.batch}", rows.key)
        rows.frame.toJSON().foreachPartition(post)  # type: ignore[arg-type]


class _Post(NamedTuple):
    """Posts the rows of a partition, in an executor."""

    hook: Webhook
    name: str
    key: tuple[str, ...]

    def __call__(self, rows: Iterator[str]) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("a webhook needs httpx: pip install 'tamis[spark]'") from error
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        with httpx.Client(timeout=self.hook.timeout, headers=dict(self.hook.headers)) as client:
            number = 0
            while chunk := [json.loads(row) for row in islice(rows, self.hook.rows)]:
                for row in chunk:
                    row["key"] = [row.get(name) for name in self.key]
                self._post(client, chunk, f"{self.name}/{partition}/{number}")
                number += 1

    def _post(self, client: Any, chunk: list[Any], name: str) -> None:
        import httpx

        said = ""
        for attempt in range(self.hook.attempts):
            if attempt:
                time.sleep(min(30.0, 0.2 * 2**attempt))
            try:
                answer = client.post(self.hook.url, json=chunk, headers={"Idempotency-Key": name})
            except httpx.HTTPError as error:
                said = str(error) or type(error).__name__
                continue
            if answer.is_success:
                return
            said = f"status {answer.status_code}: {answer.text[:200]}"
            if answer.status_code < 500 and answer.status_code not in _BUSY:
                break
        raise StorageError(f"cannot post to {self.hook.url}: {said}")
