"""Runs W3C test suites from their manifests: ``python -m tests.w3c_runner PATH [PATH …]``.

PATH is a manifest (``manifest.ttl``) of an RDF suite (Turtle, N-Triples, TriG, N-Quads, RDF/XML) or of
SPARQL query evaluation, or a folder with manifests below it. Of SPARQL, those tests are run whose
queries are basic graph patterns with FILTERs that we support, and only whether there is a solution
is compared; all others are skipped, with the construct as the reason. The suites themselves are
not part of this repository.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tamis import EventError, ParseError, dialects
from tamis.errors import TamisError
from tamis.graphs.index import PatternIndex
from tamis.graphs.reader import read_graph, read_publications
from tamis.model.rdf_terms import RDF_TYPE

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
FORMATS = {
    ".ttl": "turtle",
    ".nt": "n-triples",
    ".trig": "trig",
    ".nq": "n-quads",
    ".rdf": "rdf/xml",
}
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Result(NamedTuple):
    """What came of one test."""

    name: str
    outcome: str
    reason: str = ""


def manifests(path: Path) -> Iterator[Path]:
    """A manifest, or all below a folder."""
    if path.is_dir():
        yield from sorted(path.rglob("manifest.ttl"))
    else:
        yield path


def run_manifest(path: Path) -> Iterator[Result]:
    """The results of the tests that a manifest lists."""
    about: dict[Any, dict[str, list[Any]]] = {}
    for subject, predicate, value in read_graph(
        path.read_bytes(), "turtle", base=path.resolve().as_uri()
    ):
        about.setdefault(subject, {}).setdefault(predicate.value, []).append(value)
    for test, said in about.items():
        kinds = [
            str(getattr(each, "value", "")).rpartition("#")[2] for each in said.get(RDF_TYPE, ())
        ]
        kind = next((each for each in kinds if "Test" in each), "")
        if not kind or MF + "action" not in said:
            continue
        name = str(getattr(test, "value", test)).rpartition("#")[2]
        yield _run(name, kind, said, about)


def _run(name: str, kind: str, said: dict[str, list[Any]], about: dict[Any, Any]) -> Result:
    (action,) = said[MF + "action"]
    try:
        if "QueryEvaluation" in kind:
            return _run_query(name, about[action], said)
        return _run_syntax(name, kind, _file(action))
    except (OSError, KeyError, ValueError) as error:
        return Result(name, SKIPPED, f"the files of the test cannot be read: {error}")


def _file(node: Any) -> Path:
    return Path(unquote(urlsplit(node.value).path))


def _run_syntax(name: str, kind: str, path: Path) -> Result:
    """Whether a document is accepted as it should be."""
    if path.suffix not in FORMATS:
        return Result(name, SKIPPED, f"files of {path.suffix}")
    wrong = "Negative" in kind
    try:
        read_publications(path.read_bytes(), FORMATS[path.suffix], base=path.as_uri())
    except EventError as error:
        return Result(name, PASSED) if wrong else Result(name, FAILED, str(error)[:200])
    return Result(name, FAILED, "accepted") if wrong else Result(name, PASSED)


def _run_query(name: str, action: dict[str, list[Any]], said: dict[str, list[Any]]) -> Result:
    """Whether a query has a solution where it should have one."""
    query = _file(action[QT + "query"][0]).read_text("utf-8")
    data = _file(action[QT + "data"][0])
    result = _file(said[MF + "result"][0])
    if result.suffix not in (".srx", ".srj"):
        return Result(name, SKIPPED, f"results of {result.suffix}")
    try:
        pattern = dialects.sparql(query)
    except (ParseError, TamisError) as error:
        return Result(name, SKIPPED, str(error).splitlines()[0])
    text = result.read_text("utf-8")
    expected = "<result>" in text or "<boolean>true" in text or '"bindings": [ {' in text
    index = PatternIndex()
    index.add(0, pattern)
    graph = read_graph(data.read_bytes(), FORMATS[data.suffix], base=data.as_uri())
    found = len(index.view().match_graphs([graph]).row) > 0
    if found == expected:
        return Result(name, PASSED)
    return Result(name, FAILED, f"a solution was {'' if found else 'not '}found")


def main(arguments: list[str]) -> int:
    """Print what failed and was skipped, and how many of each."""
    if not arguments:
        print(__doc__)
        return 2
    counts: Counter[str] = Counter()
    for path in (each for name in arguments for each in manifests(Path(name))):
        for result in run_manifest(path):
            counts[result.outcome] += 1
            if result.outcome != PASSED:
                print(f"{result.outcome:8} {result.name}: {result.reason}")
    print(
        ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "no tests"
    )
    return 1 if counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
