"""Where a stream of notifications is, so that it can go on after the connection broke."""

from __future__ import annotations

import json
from typing import Any

from tamis.client.errors import error_of
from tamis.client.messages import Message
from tamis.client.records import Gap, Notification, notification_of
from tamis.client.requests import TRIES, Answer, wait_before
from tamis.errors import TamisError


class GapWarning(UserWarning):
    """Notifications are missing: the broker's retention removed them before they were read."""


class StreamState:
    """The position of a stream, and how often in a row it failed."""

    SILENCE = 60.0
    """Seconds without a sign of life after which a connection counts as broken."""

    def __init__(self, after: int | None) -> None:
        self.position = after
        self._failures = 0

    def query(self) -> dict[str, Any]:
        """Where the next connection begins."""
        return {} if self.position is None else {"after": self.position}

    def take(self, message: Message, place: str) -> Notification | Gap | None:
        """What a message says; the stream is alive, and has come this far."""
        self._failures = 0
        document = json.loads(message.data)
        if message.event == "end":
            raise error_of(document.get("status", 0), document)
        if message.event == "gap":
            self.position = document["upto"]
            return Gap(place.rpartition("/")[2], document["count"], document["upto"])
        if message.event != "notification":
            return None
        found = notification_of(document)
        self.position = found.position
        return found

    def failed(self, error: Exception) -> None:
        """Count a connection that broke; too many in a row are an error."""
        self._failures += 1
        if self._failures >= 2 * TRIES:
            reason = str(error) or type(error).__name__
            raise TamisError(
                f"the stream broke {self._failures} times in a row: {reason}"
            ) from error

    def may_retry(self, answer: Answer) -> bool:
        """Whether to come back after such an answer."""
        self._failures += 1
        return answer.status_code in (429, 502, 503, 504) and self._failures < 2 * TRIES

    def wait(self, answer: Answer | None = None) -> float:
        """Seconds until the next connection."""
        return wait_before(max(1, self._failures), answer)
