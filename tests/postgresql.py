"""A PostgreSQL server of its own for tests, on a socket in a folder; it can be stopped and started.

Java knows no such sockets: with a port, it listens on loopback too.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class PostgresqlServer:
    """A server, and the address of its database."""

    def __init__(self, folder: Path, prefix: list[str], control: str, port: int | None) -> None:
        self._folder, self._prefix, self._control = folder, prefix, control
        self._listen = "-c listen_addresses=''" if port is None else f"-h 127.0.0.1 -p {port}"
        self.address = f"host={folder} port={port or 5432} user=tamis dbname=postgres"
        self.url = f"postgresql://tamis@/postgres?host={folder}"

    def start(self) -> None:
        """Start it, or start it again."""
        options = f"{self._listen} -k {self._folder} -c fsync=off"
        self._run("-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Let it end at once, as if it had crashed."""
        self._run("-m", "immediate", "stop")

    def _run(self, *arguments: str) -> None:
        command = [*self._prefix, self._control, "-D", str(self._folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder)


@contextmanager
def postgresql_server(port: int | None = None) -> Iterator[PostgresqlServer]:
    """A fresh server that runs; the test is skipped where none is installed."""
    initdb, control = _program("initdb"), _program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("PostgreSQL is not installed")
    prefix: list[str] = []
    folder = Path(tempfile.mkdtemp(prefix="tamis-pg-"))
    if os.geteuid() == 0:  # which it refuses to run as
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("there is no user postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        prefix = ["runuser", "-u", "postgres", "--"]
    create = [*prefix, initdb, "-D", str(folder / "data"), "-U", "tamis", "-A", "trust"]
    subprocess.run(create, check=True, capture_output=True, cwd=folder)
    server = PostgresqlServer(folder, prefix, control, port)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str | None:
    """Where a program of the server is; Debian keeps those of each version by themselves."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(kept[-1]) if kept else None)
