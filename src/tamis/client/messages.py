"""Server-sent events, read line by line (WHATWG, section 9.2.6)."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """One server-sent event."""

    event: str
    data: str
    id: str | None


class MessageReader:
    """Puts lines together to messages."""

    def __init__(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, line: str) -> Message | None:
        """Take a line without its end; the message that it completes, if it completes one."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._event = value
            elif name == "data":
                self._data.append(value)
            elif name == "id":
                self._id = value
            return None
        found = None
        if self._data:
            found = Message(self._event or "message", "\n".join(self._data), self._id)
        self._event, self._data = "", []
        return found
