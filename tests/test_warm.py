"""Kernels are compiled before the tests only if a source has changed."""

import os
from pathlib import Path

import pytest

from tests import warm


def test_the_state_changes_with_every_source(tmp_path: Path) -> None:
    one, other = tmp_path / "a.py", tmp_path / "b.py"
    one.write_text("a = 1\n")
    other.write_text("b = 1\n")
    states = [warm.state_of([one, other]), warm.state_of([one])]
    assert warm.state_of([other, one]) == states[0]
    os.utime(one, (1, 1))
    states.append(warm.state_of([one, other]))
    other.write_text("b = 12\n")
    states.append(warm.state_of([one, other]))
    assert len(set(states)) == len(states)


def test_what_is_compiled_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tamis"
    package.mkdir()
    (package / "__init__.py").write_text("")
    compiled = []
    monkeypatch.setattr(warm, "find_spec", lambda _: Spec(package / "__init__.py"))
    monkeypatch.setattr(warm, "compile_kernels", lambda: compiled.append(1))
    warm.main()
    warm.main()
    assert len(compiled) == 1
    (package / "new.py").write_text("")
    warm.main()
    assert len(compiled) == 2


class Spec:
    """Where a package is."""

    def __init__(self, origin: Path) -> None:
        self.origin = str(origin)
