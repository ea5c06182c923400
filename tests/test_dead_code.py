"""Nothing is defined that nothing but tests uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "benchmarks", "examples")
CALLED_BY_OTHERS = {
    "connect_unix_socket": "httpcore asks every network backend for it",
    "diagram_count": "a size that the paper names; tests compare it",
    "do_OPTIONS": "http.server calls it",
    "do_POST": "http.server calls it",
    "eval": "PySpark calls it",
    "file_line": "a field that is written as JSON",
    "keep_house": "for hosts that have no thread for it, and for tests",
    "load_index": "the other half of save_index",
    "log_message": "http.server calls it",
    "on_broken_pipe": "rich calls it",
}
"""Names that nothing of ours reads, and why they are there."""


def definitions(tree: ast.Module) -> Iterator[str]:
    """Names at the level of the module and of its classes; what a decorator takes is in use."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef):
            continue
        for each in node.body:
            match each:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    if not each.decorator_list:
                        yield each.name
                case ast.Assign(targets=[ast.Name(id=name)]):
                    yield name
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name


def uses(tree: ast.Module) -> Iterator[str]:
    """Names that are read, imported, given as keywords, or written in a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.ImportFrom(names=names):
                yield from (alias.name for alias in names)
            case ast.Constant(value=str(text)) if len(text) < 200:
                yield from re.findall(r"\w+", text)


def test_whatever_is_defined_is_used() -> None:
    used: set[str] = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        used |= set(re.findall(r"\w+", page.read_text()))
    defined: dict[str, str] = {}
    for path in (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))):
        tree = ast.parse(path.read_text())
        used |= set(uses(tree))
        if path.is_relative_to(ROOT / "src"):
            defined |= dict.fromkeys(definitions(tree), path.relative_to(ROOT).as_posix())
    dead = {name: path for name, path in defined.items() if name not in used and name[:2] != "__"}
    assert dead.keys() - CALLED_BY_OTHERS.keys() == set(), dead
    assert CALLED_BY_OTHERS.keys() <= dead.keys(), "some are in use"
