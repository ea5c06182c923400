"""Structured logs: one JSON object a line, or plain text for people."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("tamis.server")


class JsonLines(logging.Formatter):
    """A record as one line of JSON; ``extra={"fields": {…}}`` adds fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, default=str)


_CONTROL = {code: repr(chr(code))[1:-1] for code in (*range(32), 127, 0x85, 0x2028, 0x2029)}
"""Characters that would let a text from outside look like another line, as escapes."""


class TextLines(logging.Formatter):
    """A record as a line of text."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        said = f"{record.getMessage()} {fields}".rstrip().translate(_CONTROL)
        line = f"{time} {record.levelname.lower():<7} {said}"
        if record.exc_info:
            line += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return line


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "fields", {})


def set_up(form: str, level: str) -> None:
    """Let Tamis and uvicorn log to standard error in one form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    for name in ("tamis", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


def log(message: str, level: int = logging.INFO, **fields: Any) -> None:
    """A line with fields."""
    LOG.log(level, message, extra={"fields": fields})
