"""Queries of SPARQL and the 5-tuples of G-ToPSS as subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

import tamis
from tamis import ParseError, SubscriptionError, parse
from tamis.language.json_form import from_json, to_json


@pytest.mark.parametrize(
    "query",
    [
        "PREFIX ex: <http://x/> ASK { ?a ex:p ?b FILTER (?b > 5) }",
        "prefix ex: <http://x/> # one\n select ?a WHERE { ?a ex:p ?b FILTER (?b > 5) } # end",
        "prefix ex: <http://x/> SELECT DISTINCT ?a ?b { ?a ex:p ?b . FILTER (?b > 5) }",
        "prefix ex: <http://x/> SELECT * where{ ?a ex:p ?b FILTER(?b > 5) }",
        "prefix ex: <http://x/> SELECT*WHERE{ ?a ex:p ?b FILTER(?b > 5) }",
        "# a {\nprefix ex: <http://x/>\nSELECT # b\n?a $b #\nWHERE #c\n{ ?a ex:p ?b FILTER (?b > 5) }",
    ],
)
def test_queries(query: str) -> None:
    assert tamis.dialects.sparql(query) == parse("{ ?a <http://x/p> ?b FILTER (?b > 5) }")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }", "line 1, column 1: 'CONSTRUCT'"),
        ("SELECT (count(*) as ?n) { ?a ?b ?c }", "column 8: '('"),
        ("SELECT ?a FROM <x:g> WHERE { ?a ?b ?c }", "column 11: 'FROM' in a query"),
        ("BASE <http://x/> ASK { <a> ?b ?c }", "column 1: 'BASE'"),
        ("SELECT { ?a ?b ?c }", "column 8: '{'"),
        ("ASK { ?a ?b ?c FILTER NOT EXISTS { ?a ?b 5 } }", "column 23: NOT EXISTS"),
        ("SELECT * { ?a ?b ?c } ORDER BY ?a", "column 23: 'ORDER' after the pattern"),
        ("ASK { ?a ?b ?c } LIMIT 1", "column 18: 'LIMIT' after the pattern"),
        ("ASK { OPTIONAL { ?a ?b ?c } }", "column 7: OPTIONAL"),
        ("ASK { { ?a ?b ?c } UNION { ?a ?b ?d } }", "column 7: a nested group"),
        ("ASK { ?a <x:p>/<x:q> ?c }", "column 15: a property path"),
        ("ASK { ?a <x:p> ?c MINUS { ?a <x:q> ?c } }", "column 19: MINUS"),
        ("ASK { ?a <x:p> ?c FILTER (lang(?c) = 'en') }", "column 27: the function lang"),
        ("ASK { ?a <x:p> ?c", "expected"),
        ("ASK { ?a <x:p> '}' } and a = 1", "'AND' after the pattern"),
        ("", "the end in a query"),
        ("select ?a where", "column 16: the end in a query"),
    ],
)
def test_queries_that_are_refused(query: str, problem: str) -> None:
    with pytest.raises(ParseError, match=problem.replace("(", r"\(").replace("*", r"\*")):
        tamis.dialects.sparql(query)


_is_a = {"kind": "is-a", "op": "<=", "value": "http://x/Publication"}
TUPLES: list[Any] = [
    ["?y", "http://x/author", {"literal": "Arno"}, [_is_a], []],
    ["http://x/s", "http://x/year", "?x", [], [{"kind": "value", "op": ">", "value": 1999}]],
]


def test_five_tuples() -> None:
    assert tamis.dialects.five_tuples(TUPLES) == parse(
        "prefix x: <http://x/> { ?y x:author 'Arno' . x:s x:year ?x "
        "FILTER (?y descendant of x:Publication) FILTER (?x > 1999) }"
    )
    kinds = {"=": "direct instance of", ">=": "ancestor of"}
    for operator, words in kinds.items():
        constraint = {"kind": "is-a", "op": operator, "value": "http://x/C"}
        made = tamis.dialects.five_tuples([["?a", "http://x/p", 5, [constraint], []]])
        assert made == parse(f"{{ ?a <http://x/p> 5 FILTER (?a {words} <http://x/C>) }}")
    assert tamis.dialects.five_tuples([["?a", "?p", True, [], []]]) == parse("{ ?a ?p true }")


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({}, "list of 5-tuples"),
        ([["?a", "?b", "?c"]], "tuple 0 has not these five"),
        ([["?a", "?b", 1.5, [], []]], "'1.5' is not a term in tuple 0"),
        ([["?a", "?b", "?c", 5, []]], "constraints are a list"),
        ([["?a", "?b", "?c", [{"op": "="}], []]], "keys kind, op and value"),
        ([["x:a", "?b", "?c", [_is_a], []]], "only a variable"),
        ([["?a", "?b", "?c", [{"kind": "is-a", "op": "<", "value": "x:C"}], []]], "is-a has"),
        ([["?a", 5, "?c", [], []]], "IRIs or variables"),
        ([["?a", "?b", {"literal": "x", "kind": 1}, [], []]], "is not a term"),
    ],
)
def test_five_tuples_that_are_refused(form: Any, problem: str) -> None:
    with pytest.raises(SubscriptionError, match=problem):
        tamis.dialects.five_tuples(form)


FILTERS = [
    "?x = ex:a",
    "?x in (ex:a, 'b'@de, 5)",
    "?x not in (1, 2)",
    "regex(str(?x), 'a.b', 'i') && !bound(?y)",
    "strstarts(?x, 'http') || ?y < 5",
    "?x descendant of ex:C",
    "?x ancestor of <http://x/C>",
    "?x direct instance of ex:C",
    "'1'^^xsd:date != ?x",
    "str(?x) = 'NaN' || ?x = 'NaN'^^xsd:double",
]


@pytest.mark.parametrize("text", FILTERS)
def test_filters_in_all_notations(text: str) -> None:
    made = parse(f"prefix ex: <http://x/> {{ ?x ?p ?y FILTER ({text}) }}")
    assert parse(str(made)) == made
    assert from_json(to_json(made)) == made
    assert eval(repr(made), {"pattern": tamis.pattern}) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("?x = foo:a", "column 25: unknown prefix 'foo:'"),
        ("regex(?x)", "expected ','"),
        ("regex(?x, '(')", "not a regular expression"),
        ("regex(?x, 'a', 'x')", "the flags 'x'"),
        ("regex(5, 'a')", r"expected a \?variable or str"),
        ("str(str(?x)) = 'a'", "str\\(\\) takes"),
        ("bound(str(?x))", "bound\\(\\) takes"),
        ("?x descendant of 5", "the IRI of a class"),
        ("?x descendant of 'a'@en", "to the IRI of a class"),
        ("?x direct of ex:C", "expected 'instance'"),
        ("?x in ex:a", r"expected '\('"),
        ("strstart(?x, 'a')", "did you mean 'strstarts'"),
        ("bound(?z)", "not in any triple"),
    ],
)
def test_filters_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ParseError, match=problem):
        parse(f"{{ ?x ?p ?y FILTER ({text}) }}", prefixes={"ex": "http://x/"})


@pytest.mark.parametrize(
    "form",
    [
        {"filter": "bound", "term": {"variable": "x"}},
        {"left": {"attribute": "a"}, "op": "=", "right": {"iri": "http://x/a"}},
        {"not": {"left": {"string of": "x"}, "op": "=", "right": {"value": 1}}},
    ],
)
def test_tests_of_filters_stand_in_patterns_only(form: Any) -> None:
    with pytest.raises(SubscriptionError, match="belongs into the filters of a pattern"):
        from_json(form)
