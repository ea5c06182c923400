"""The runner of W3C's suites, on a manifest of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.w3c_runner import main

MANIFEST = """
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix rdft: <http://www.w3.org/ns/rdftest#> .
<#good> a rdft:TestTurtlePositiveSyntax ; mf:action <good.ttl> .
<#bad> a rdft:TestTurtleNegativeSyntax ; mf:action <bad.ttl> .
<#wrong> a rdft:TestTurtleNegativeSyntax ; mf:action <good.ttl> .
<#query> a mf:QueryEvaluationTest ;
    mf:action [ qt:query <query.rq> ; qt:data <good.ttl> ] ; mf:result <yes.srx> .
"""


def test_outcomes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {
        "manifest.ttl": MANIFEST,
        "good.ttl": "<a> <b> 5 .",
        "bad.ttl": "<a> <b>",
        "query.rq": "ASK { ?a ?b ?c FILTER (?c > 4) }",
        "yes.srx": "<sparql><boolean>true</boolean></sparql>",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "failed   wrong: accepted" in said
    assert said.endswith("1 failed, 3 passed\n")
    (tmp_path / "query.rq").write_text("ASK { OPTIONAL { ?a ?b ?c } }")
    main([str(tmp_path / "manifest.ttl")])
    assert "OPTIONAL in a graph pattern" in capsys.readouterr().out
    assert main([]) == 2
