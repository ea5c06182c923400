"""A PostgreSQL server of its own, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def postgresql() -> Iterator[str]:
    """The address of a fresh database."""
    programs = [_program(name) for name in ("initdb", "pg_ctl")]
    if None in programs:
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
    data = folder / "data"
    options = f"-c listen_addresses='' -k {folder} -c fsync=off"
    start = [*prefix, programs[1], "-D", data, "-w", "-l", folder / "log", "-o", options, "start"]
    stop = [*prefix, programs[1], "-D", data, "-m", "immediate", "stop"]
    quiet = {"check": True, "capture_output": True, "cwd": folder}
    subprocess.run([*prefix, programs[0], "-D", data, "-U", "tamis", "-A", "trust"], **quiet)  # type: ignore[call-overload]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    try:
        yield f"host={folder} user=tamis dbname=postgres"
    finally:
        subprocess.run(stop, **quiet)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str | None:
    """Where a program of the server is; Debian keeps those of each version by themselves."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(kept[-1]) if kept else None)
