"""Runs W3C test suites from their manifests: ``python -m tests.w3c_runner PATH [PATH …]``.

PATH is a manifest (``manifest.ttl``) of an RDF suite (Turtle, N-Triples, TriG, N-Quads, RDF/XML) or of
SPARQL query evaluation, or a folder with manifests below it. Documents must be accepted or refused,
and mean what the result of the test says. Of SPARQL, those tests are run whose queries are basic
graph patterns with FILTERs that we support, and the sets of solutions are compared, with blank nodes
as one; all others are skipped, with the construct as the reason. The suites themselves are not part
of this repository.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyoxigraph

from tamis import EventError, dialects
from tamis.errors import TamisError
from tamis.graphs.index import PatternIndex
from tamis.graphs.reader import read_graph, read_publications, term_of_node
from tamis.graphs.term_syntax import document_of
from tamis.model.rdf_terms import RDF_TYPE, BlankNode, RdfTerm

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
FORMATS = {
    ".ttl": "turtle",
    ".nt": "n-triples",
    ".trig": "trig",
    ".nq": "n-quads",
    ".rdf": "rdf/xml",
}
RESULTS = {".srx": "XML", ".srj": "JSON", ".tsv": "TSV"}
"""The formats of solutions, by their names in pyoxigraph."""
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

Solutions = set[frozenset[tuple[str, str]]]
"""Each as its variables and the texts of their terms."""


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
        result = _file(said[MF + "result"][0]) if MF + "result" in said else None
        return _run_document(name, kind, _file(action), result)
    except (OSError, KeyError, ValueError) as error:
        return Result(name, SKIPPED, f"the files of the test cannot be read: {error}")


def _file(node: Any) -> Path:
    return Path(unquote(urlsplit(node.value).path))


def _run_document(name: str, kind: str, path: Path, result: Path | None) -> Result:
    """Whether a document is accepted as it should be, and means what it should."""
    if path.suffix not in FORMATS:
        return Result(name, SKIPPED, f"files of {path.suffix}")
    wrong = "Negative" in kind
    try:
        found = _dataset(path, path.as_uri())
    except EventError as error:
        return Result(name, PASSED) if wrong else Result(name, FAILED, str(error)[:200])
    if wrong:
        return Result(name, FAILED, "accepted")
    if result is not None and found != _dataset(result, path.as_uri()):
        return Result(name, FAILED, "other triples than those of the result")
    return Result(name, PASSED)


def _dataset(path: Path, base: str) -> pyoxigraph.Dataset:
    """What a document says, with canonical names of blank nodes."""
    found = pyoxigraph.Dataset()
    form = pyoxigraph.RdfFormat.N_TRIPLES
    for name, graph in read_publications(path.read_bytes(), FORMATS[path.suffix], base=base):
        for triple in pyoxigraph.parse(document_of(graph), format=form):
            parts = triple.subject, triple.predicate, triple.object
            found.add(pyoxigraph.Quad(*parts, _graph_name(name)))
    found.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return found


def _graph_name(name: str | None) -> Any:
    if name is None:
        return pyoxigraph.DefaultGraph()
    if name.startswith("_:"):
        return pyoxigraph.BlankNode(name[2:])
    return pyoxigraph.NamedNode(name)


def _run_query(name: str, action: dict[str, list[Any]], said: dict[str, list[Any]]) -> Result:
    """Whether a query has the solutions that it should have."""
    query = _file(action[QT + "query"][0]).read_text("utf-8")
    data = _file(action[QT + "data"][0])
    result = _file(said[MF + "result"][0])
    if result.suffix not in RESULTS:
        return Result(name, SKIPPED, f"results of {result.suffix}")
    try:
        pattern = dialects.sparql(query)
    except TamisError as error:
        return Result(name, SKIPPED, str(error).splitlines()[0])
    names = [variable.name for variable in pattern.variables()]
    index = PatternIndex()
    index.add(0, pattern)
    graph = read_graph(data.read_bytes(), FORMATS[data.suffix], base=data.as_uri())
    matches = index.view().match_graphs([graph], every=True)
    found = [dict(zip(names, line)) for line in matches.solutions(0)] if len(matches.row) else []
    form = getattr(pyoxigraph.QueryResultsFormat, RESULTS[result.suffix])
    expected = pyoxigraph.parse_query_results(result.read_bytes(), format=form)
    if isinstance(expected, pyoxigraph.QueryBoolean):
        if bool(found) == bool(expected):
            return Result(name, PASSED)
        return Result(name, FAILED, f"a solution was {'' if found else 'not '}found")
    wanted = [variable.value for variable in expected.variables]
    ours = _solutions([{name: line[name] for name in wanted if name in line} for line in found])
    theirs = _solutions(
        [
            {name: term_of_node(line[name]) for name in wanted if line[name] is not None}
            for line in expected
        ]
    )
    if ours == theirs:
        return Result(name, PASSED)
    return Result(
        name, FAILED, f"{len(ours - theirs)} solutions too many, {len(theirs - ours)} missing"
    )


def _solutions(lines: list[dict[str, RdfTerm]]) -> Solutions:
    return {
        frozenset(
            (name, "_:" if isinstance(term, BlankNode) else str(term))
            for name, term in line.items()
        )
        for line in lines
    }


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
