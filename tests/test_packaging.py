"""What a fresh clone promises: files, extras, no foreign hosts in the lock file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tamis

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_extras() -> None:
    wanted = {"spark", "server", "rdf", "operators", "dev", "all"}
    assert wanted <= set(PROJECT["optional-dependencies"])


def test_every_dependency_has_a_range() -> None:
    extras = PROJECT["optional-dependencies"]
    groups = [PROJECT["dependencies"]]
    groups += [extras[name] for name in extras if name not in TOO_LARGE]
    for requirement in (one for group in groups for one in group):
        assert ">=" in requirement or requirement.startswith("tamis["), requirement


def test_lock_names_no_address() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


TOO_LARGE = {"embeddings"}
"""Extras that are not installed by default."""


def test_lock_covers_the_dependencies() -> None:
    locked = set(re.findall(r"^([\w-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    groups = [PROJECT["dependencies"]]
    groups += [extras[name] for name in extras if name not in TOO_LARGE]
    for requirement in (one for group in groups for one in group):
        name = re.split(r"[<>=\[]", requirement)[0]
        assert name in locked or name == "tamis", requirement


def test_changelog_begins_with_the_version() -> None:
    assert f"## {tamis.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_readme_shows_both_commands_first() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:45])
    assert "make demo" in first_screen
    assert "make test" in first_screen
