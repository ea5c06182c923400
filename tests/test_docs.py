"""Every example in the documentation runs, and shows what it says."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tamis
from tamis.language.json_form import schema
from tamis.model.limits import Limits
from tamis.predicates import regions as boxes
from tamis.predicates import relations, witness

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SPARK = [ROOT / "README.md", ROOT / "docs" / "spark.md", ROOT / "docs" / "pipeline.md"]
"""Pages with examples that need a session, which run in a process of their own."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def run_page(page: Path, *, spark: bool) -> None:
    """Run the Python of a page, all of it or only the blocks that need no Spark.

    A comment such as ``# ['id']`` behind a call is its result, and a block of text behind a block of
    Python is what that prints.
    """
    names: dict[str, Any] = {}
    pattern = r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?"
    for block, shown in re.findall(pattern, page.read_text(), re.DOTALL):
        if not spark and "spark" in block:
            continue
        with redirect_stdout(io.StringIO()) as output:
            exec(compile(block, page.name, "exec"), names)
        if shown:
            assert _lines(output.getvalue()) == _lines(shown), f"{block} prints {output.getvalue()}"
        for call, result in re.findall(r"^(\w.*?)\s+# (\[.*\])$", block, re.MULTILINE):
            assert eval(call, names) == eval(result), call


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in ("spark.md", "broker.md")],
    ids=lambda page: page.name,
)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, spark=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", SPARK, ids=lambda page: page.name)
def test_examples_on_spark_run(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    code = (
        f"import pathlib, tests.test_docs as t; t.run_page(pathlib.Path({str(page)!r}), spark=True)"
    )
    source = Path(tamis.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_names_of_spark_are_documented() -> None:
    source = (ROOT / "src" / "tamis" / "spark" / "__init__.py").read_text()
    (names,) = re.findall(r"__all__ = (\[.*?\])", source, re.DOTALL)
    page = (ROOT / "docs" / "api.md").read_text()
    missing = [name for name in eval(names) if f"`{name}" not in page]
    assert not missing, f"docs/api.md does not mention {missing}"


def test_json_examples_fit_the_schema() -> None:
    for page in PAGES:
        for block in blocks(page, "json"):
            form = json.loads(block)
            jsonschema.validate(form, schema())
            assert tamis.to_json(tamis.from_json(form)) == form


def section(page: str, title: str) -> str:
    """What stands below a heading of the language page."""
    text = (ROOT / "docs" / page).read_text()
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_predicates_of_the_language_page_parse_to_what_they_say() -> None:
    table = section("language.md", "Predicates")
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| `(.+?)` ?…? \|", table, re.MULTILINE)
    assert len(rows) >= 14
    for text, python in rows:
        expression = tamis.parse(text)
        source = python if python.startswith("attr") else f"attr({text.split()[0]!r}){python}"
        assert eval(source, vars(tamis)) == expression, text


def test_combinations_of_the_language_page_parse_to_what_they_say() -> None:
    a, b = (tamis.attr(name) == 1 for name in "ab")
    lines = section("language.md", "Combining them").replace("\\|", "\0").splitlines()
    rows = [line.split("|")[1:3] for line in lines if re.match(r"\| `[^|]*A", line)]
    assert len(rows) == 7
    for cells in rows:
        texts, sources = (re.findall("`([^`]+)`", cell.replace("\0", "|")) for cell in cells)
        for text, source in zip(texts, sources):
            written = text.replace("A", "a = 1").replace("B", "b = 1")
            assert eval(source, {"A": a, "B": b}) == tamis.parse(written), text


def test_every_limit_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    for name in Limits.__dataclass_fields__:
        default = getattr(Limits(), name)
        assert re.search(rf"\| `{name}` \| {default:,} \|", page), name


def test_limits_of_spark_are_documented() -> None:
    pytest.importorskip("pyspark")
    from tamis.spark.snapshots.folder import _BATCHES, _NEWEST, _REPLAYED
    from tamis.spark.snapshots.sources import MAX_CHANGE_FILE

    page = (ROOT / "docs" / "limits.md").read_text()
    assert f"| {MAX_CHANGE_FILE:,} bytes |" in page
    assert f"the last {_NEWEST}, and those of the last {_REPLAYED} micro-batches" in page
    assert f"| the last {_BATCHES} |" in page


def test_limits_of_relations_are_documented() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    assert f"| {relations.MAX_WORK:,} ranges, " in page
    assert f"| {boxes.MAX_LISTED} |" in page
    assert f"| {boxes.MAX_TERMS:,} ({boxes.MAX_PREPARED:,} in one subscription)" in page
    assert f"| {witness.MAX_CANDIDATES} |" in page


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
