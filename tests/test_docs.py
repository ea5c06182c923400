"""Every example in the documentation runs, and shows what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tamis
from tamis.language.jsonform import schema
from tamis.model.limits import Limits

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)
        for call, result in re.findall(r"^(\w.*?)\s+# (\[.*\])$", block, re.MULTILINE):
            assert eval(call, names) == eval(result), call
    shown = capsys.readouterr().out.strip()
    if page.name == "README.md":
        assert shown.splitlines() == [
            line[4:] for line in page.read_text().splitlines() if re.match(r" {4}[✗✓├└ ]", line)
        ]


def test_json_examples_fit_the_schema() -> None:
    for page in PAGES:
        for block in blocks(page, "json"):
            form = json.loads(block)
            jsonschema.validate(form, schema())
            assert tamis.to_json(tamis.from_json(form)) == form


def test_predicates_of_the_language_page_parse_to_what_they_say() -> None:
    page = (ROOT / "docs" / "language.md").read_text()
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| `(.+?)` ?…? \|", page, re.MULTILINE)
    assert len(rows) >= 14
    for text, python in rows:
        expression = tamis.parse(text)
        source = python if python.startswith("attr") else f"attr({text.split()[0]!r}){python}"
        assert eval(source, vars(tamis)) == expression, text


def test_every_limit_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    for name in Limits.__dataclass_fields__:
        default = getattr(Limits(), name)
        assert re.search(rf"\| `{name}` \| {default:,} \|", page), name


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
