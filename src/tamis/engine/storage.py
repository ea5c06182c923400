"""Engines in files: lines of JSON, the first with the settings, the last with a checksum.

The file is written beside its place and renamed, so that a crash leaves the old one or the new one.
Version 1 is read by every later version of Tamis.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tamis.engine.subscription import Subscription
from tamis.errors import StorageError

FORMAT = 1


def save_rows(
    path: str | os.PathLike[str], settings: dict[str, Any], subscriptions: Iterable[Subscription]
) -> None:
    """Write settings and subscriptions, atomically."""
    target = Path(path)
    digest = hashlib.sha256()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
    try:
        with os.fdopen(handle, "wb") as file:

            def write(line: dict[str, Any]) -> None:
                data = json.dumps(line).encode() + b"\n"
                digest.update(data)
                file.write(data)

            write({"tamis": FORMAT, **settings})
            for each in subscriptions:
                fields = {"metadata": each.metadata, "enabled": each.enabled}
                write({"id": each.id, "subscription": each.text, **fields})
            write({"sha256": digest.hexdigest()})
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load_rows(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The settings and the rows of a file, whose checksum must fit."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise StorageError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
    header = _line(path, lines[0])
    if header.get("tamis") != FORMAT:
        raise StorageError(f"{os.fspath(path)} is no engine of format {FORMAT}")
    if len(lines) < 3 or lines[-1]:
        raise StorageError(f"{os.fspath(path)} is cut short: restore it from a copy")
    body = b"\n".join(lines[:-2]) + b"\n"
    if _line(path, lines[-2]).get("sha256") != hashlib.sha256(body).hexdigest():
        raise StorageError(f"{os.fspath(path)} is damaged: its checksum does not fit")
    del header["tamis"]
    return header, [_line(path, line) for line in lines[1:-2]]


def _line(path: str | os.PathLike[str], line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{os.fspath(path)} is no engine: {error}") from error
    if not isinstance(row, dict):
        raise StorageError(f"{os.fspath(path)} is no engine")
    return row
