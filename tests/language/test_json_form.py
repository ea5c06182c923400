"""The JSON form: it loses nothing, fits its schema, and says where a form is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tamis.errors import LimitError, SubscriptionError
from tamis.language.json_form import from_json, schema, to_json
from tamis.language.parser import parse
from tamis.language.python import attr, call, quantity, timestamp, var
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits
from tamis.model.rdf_terms import Iri, RdfLiteral
from tamis.predicates.expression import Comparison, Expression, Not, Pattern, all_of, any_of
from tamis.predicates.operands import Attribute, Constant, Variable, calculate
from tests.strategies import attribute_expressions, expressions

VALIDATOR = Draft202012Validator(schema())
NAMES = {
    "attr": attr,
    "var": var,
    "quantity": quantity,
    "call": call,
    "timestamp": timestamp,
    "all_of": all_of,
    "any_of": any_of,
    "pattern": parse,
}
TRIPLE = [{"variable": "s"}, {"iri": "urn:p"}, {"literal": "x", "language": "en"}]


@given(expressions() | attribute_expressions())
def test_the_form_gives_the_expression_back(expression: Expression) -> None:
    assert from_json(json.loads(json.dumps(to_json(expression)))) == expression


@given(expressions())
def test_every_form_fits_the_schema(expression: Expression) -> None:
    VALIDATOR.validate(to_json(expression))


@given(expressions())
def test_the_python_notation_gives_the_expression_back(expression: Expression) -> None:
    assert eval(repr(expression), NAMES) == expression


@pytest.mark.parametrize(
    "expression",
    [
        Comparison(Variable("x"), "<", Attribute(("p",))),
        Comparison(calculate(Variable("x"), "+", Constant(1)), ">=", Attribute(("p",))),
        Not(all_of(attr("a").is_present(), any_of())),
        all_of(*[attr("a") == value for value in range(100)]),
    ],
)
def test_the_python_notation_of_what_python_would_turn_around(expression: Expression) -> None:
    assert eval(repr(expression), NAMES) == expression


def test_the_schema_is_one_and_its_examples_fit() -> None:
    Draft202012Validator.check_schema(schema())
    for name, definition in schema()["$defs"].items():
        for example in definition.get("examples", []):
            Draft202012Validator({**schema(), "$ref": f"#/$defs/{name}"}).validate(example)


def test_the_examples_of_the_schema_can_be_read() -> None:
    shapes = [
        reference["$ref"].split("/")[-1] for reference in schema()["$defs"]["expression"]["anyOf"]
    ]
    forms = [form for shape in shapes for form in schema()["$defs"][shape]["examples"]]
    for form in [*forms, *schema()["examples"]]:
        assert to_json(from_json(form)) == form


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        (attr("new.price") < 5, {"attribute": "new.price", "op": "<", "value": 5}),
        (attr("a") == True, {"attribute": "a", "op": "=", "value": True}),  # noqa: E712
        (
            attr("at") >= timestamp("2026-01-01"),
            {"attribute": "at", "op": ">=", "value": {"timestamp": "2026-01-01T00:00:00Z"}},
        ),
        (
            attr("a").is_in(["x"], ignore_case=True),
            {"attribute": "a", "op": "in", "values": ["x"], "ignore_case": True},
        ),
        (attr(("a.b",)).is_missing(), {"attribute": "`a.b`", "op": "is missing"}),
        (~~attr("a").is_present(), {"not": {"attribute": "a", "op": "is missing"}}),
        (
            (attr("a") < 1).is_unknown(),
            {"expression": {"attribute": "a", "op": "<", "value": 1}, "op": "is unknown"},
        ),
        (
            ~attr("a").is_present().is_true(),
            {"expression": {"attribute": "a", "op": "is present"}, "op": "is not true"},
        ),
        (
            (~(attr("a") == 1).is_false()).is_true(),
            {
                "expression": {
                    "expression": {"attribute": "a", "op": "=", "value": 1},
                    "op": "is not false",
                },
                "op": "is true",
            },
        ),
        (all_of(), {"and": []}),
        (any_of(), {"or": []}),
        (
            attr("a") < attr("b"),
            {"left": {"attribute": "a"}, "op": "<", "right": {"attribute": "b"}},
        ),
        (
            var("d") * 2 < 5,
            {
                "left": {
                    "arithmetic": "*",
                    "left": {"variable": "d"},
                    "right": {"value": 2},
                },
                "op": "<",
                "right": {"value": 5},
            },
        ),
        (
            call("near", "Bronx", quantity(5, "km"), var("d")),
            {
                "call": "near",
                "arguments": ["Bronx", {"quantity": 5, "unit": "km"}, {"variable": "d"}],
            },
        ),
        (
            Pattern(((Variable("s"), Iri("urn:p"), RdfLiteral("x", language="en")),)),
            {"pattern": [TRIPLE]},
        ),
    ],
    ids=repr,
)
def test_forms_are_as_documented(expression: Expression, form: dict[str, Any]) -> None:
    assert to_json(expression) == form
    assert from_json(form) == expression


def test_constants_are_folded_and_single_parts_unwrapped() -> None:
    one, two = {"value": 1}, {"value": 2}
    total = {"arithmetic": "+", "left": one, "right": two}
    comparison = {"left": total, "op": "<", "right": {"attribute": "a"}}
    assert from_json({"and": [{"or": [comparison]}]}) == (attr("a") > 3)


A = {"attribute": "a"}
TEST = {"attribute": "a", "op": "=", "value": 1}
FAULTS: list[tuple[Any, str, str]] = [
    (None, "an object, not null", "/"),
    ([], "not a list", "/"),
    ("a = 1", "not a string", "/"),
    ({}, "one of the keys and, or", "/"),
    ({1: 2}, "a key is a string, not a number", "/"),
    ({"nad": []}, "did you mean 'and'?", "/"),
    ({"and": {}}, "expected a list, found an object", "/and"),
    ({"and": [TEST, 5]}, "not a number", "/and/1"),
    ({"and": [], "or": []}, "unknown key 'or'", "/"),
    ({"not": [TEST]}, "not a list", "/not"),
    ({"not": TEST, "\ud800": 1}, "unknown key '\\ud800'", "/"),
    ({"expression": TEST}, "'op' is missing", "/"),
    ({"expression": TEST, "op": "is tru"}, "did you mean 'is true'?", "/op"),
    ({"expression": TEST, "op": "="}, "unknown op '='", "/op"),
    ({"expression": A, "op": "is true"}, "'op' is missing", "/expression"),
    ({"expression": TEST, "op": "is true", "value": 1}, "unknown key 'value'", "/"),
    (A, "'op' is missing", "/"),
    ({**TEST, "op": "lik"}, "did you mean 'like'?", "/op"),
    ({**TEST, "op": "starts wiht"}, "did you mean 'starts with'?", "/op"),
    ({**TEST, "op": None}, "expected a string, found null", "/op"),
    ({**TEST, "op": ["="]}, "found a list", "/op"),
    ({**A, "op": "="}, "'value' is missing", "/"),
    ({**A, "op": "=", "valeu": 1}, "did you mean 'value'?", "/"),
    ({**TEST, 5: 1}, "a key is a string", "/"),
    ({**TEST, "attribute": "a..b"}, "not an attribute path", "/attribute"),
    ({**TEST, "attribute": "a-b"}, "backticks", "/attribute"),
    ({**TEST, "attribute": ""}, "not an attribute path", "/attribute"),
    ({**TEST, "attribute": 5}, "found a number", "/attribute"),
    ({**TEST, "attribute": "`\ud800`"}, "surrogate", "/attribute"),
    ({**TEST, "value": None}, "is missing", "/value"),
    ({**TEST, "value": float("nan")}, "NaN", "/value"),
    ({**TEST, "value": float("inf")}, "finite", "/value"),
    (json.loads('{"attribute": "a", "op": "<", "value": 1e400}'), "finite", "/value"),
    (json.loads('{"call": "f", "arguments": [-1e400]}'), "finite", "/arguments/0"),
    ({**TEST, "value": 2**64}, "64 bits", "/value"),
    ({**TEST, "value": 10**5000}, "64 bits", "/value"),
    ({**TEST, "value": "\ud800"}, "surrogate", "/value"),
    ({**TEST, "value": [1]}, "found a list", "/value"),
    ({**TEST, "value": b"x"}, "found a bytes", "/value"),
    ({**TEST, "value": {"date": 1}}, "unknown key 'date'", "/value"),
    ({**TEST, "value": {"timestamp": "yesterday"}}, "ISO 8601", "/value/timestamp"),
    ({**TEST, "value": {"timestamp": "2026-13-01"}}, "month", "/value/timestamp"),
    ({**TEST, "value": {"timestamp": 5}}, "found a number", "/value/timestamp"),
    ({**TEST, "ignore_case": True}, "needs a string", "/value"),
    ({**TEST, "ignore_case": 1}, "true or false", "/ignore_case"),
    ({**TEST, "op": "<", "value": True}, "no order", "/value"),
    ({**TEST, "op": "<", "ignore_case": True}, "unknown key 'ignore_case'", "/"),
    ({**TEST, "op": "is a"}, "needs a string", "/value"),
    ({**TEST, "op": "matches", "value": "("}, "RE2", "/value"),
    ({**TEST, "op": "like", "value": "\\"}, "backslash", "/value"),
    ({**A, "op": "in", "values": []}, "at least one", "/values"),
    ({**A, "op": "in", "values": [1, {}]}, "timestamp", "/values/1"),
    ({**A, "op": "between", "low": 1, "high": "x"}, "one kind", "/"),
    ({**A, "op": "between", "low": 1}, "'high' is missing", "/"),
    ({**A, "op": "in cidr", "networks": ["10.0.0.1/8"]}, "host bits", "/networks/0"),
    ({**A, "op": "in cidr", "networks": [10]}, "found a number", "/networks/0"),
    ({**A, "op": "in cidr", "networks": []}, "at least one", "/networks"),
    ({"left": A, "op": "like", "right": A}, "unknown op 'like'", "/op"),
    ({"left": A, "op": "<"}, "'right' is missing", "/"),
    ({"left": A, "op": "<", "right": 5}, "a term is an object", "/right"),
    ({"left": {"value": 1}, "op": "<", "right": {"value": 1}}, "two constants", "/"),
    ({"left": {**A, "x": 1}, "op": "<", "right": A}, "unknown key 'x'", "/left"),
    (
        {"left": {"arithmetic": "%", "left": A, "right": A}, "op": "<", "right": A},
        "unknown arithmetic '%'",
        "/left/arithmetic",
    ),
    (
        {
            "left": {"arithmetic": "/", "left": {"value": 1}, "right": {"value": 0}},
            "op": "<",
            "right": A,
        },
        "1 / 0 has no result: it divides by zero",
        "/left",
    ),
    (
        {
            "left": {"arithmetic": "+", "left": A, "right": {"value": "x"}},
            "op": "<",
            "right": A,
        },
        "numbers",
        "/left",
    ),
    ({"left": {"variable": "a b"}, "op": "<", "right": A}, "plain word", "/left/variable"),
    ({"call": "near"}, "'arguments' is missing", "/"),
    ({"call": 5, "arguments": []}, "found a number", "/call"),
    ({"call": "now", "arguments": []}, "now() is refused", "/"),
    ({"call": "f", "arguments": [{"quantity": 5, "unit": "kn"}]}, "unknown unit", "/arguments/0"),
    (
        {"call": "f", "arguments": [{"quantity": "5", "unit": "km"}]},
        "needs a number",
        "/arguments/0",
    ),
    (
        {"call": "f", "arguments": [{"quantity": 5, "unit": []}]},
        "found a list",
        "/arguments/0/unit",
    ),
    ({"call": "f", "arguments": [A]}, "unknown key 'attribute'", "/arguments/0"),
    ({"pattern": []}, "at least one triple", "/"),
    ({"pattern": [TRIPLE[:2]]}, "not 2 items", "/pattern/0"),
    ({"pattern": [5]}, "expected a list", "/pattern/0"),
    ({"pattern": [[TRIPLE[2], *TRIPLE[1:]]]}, "unknown key 'literal'", "/pattern/0/0"),
    ({"pattern": [[*TRIPLE[:2], {"iri": "x"}]]}, "absolute IRI", "/pattern/0/2/iri"),
    (
        {"pattern": [[*TRIPLE[:2], {"literal": "x", "language": "?"}]]},
        "language tag",
        "/pattern/0/2",
    ),
    (
        {"pattern": [[*TRIPLE[:2], {"literal": "\udfff"}]]},
        "surrogate",
        "/pattern/0/2/literal",
    ),
    ({"pattern": [TRIPLE], "filters": [TEST]}, "a outside the braces", "/"),
    ({"pattern": [TRIPLE], "filters": {}}, "expected a list", "/filters"),
]


@pytest.mark.parametrize(("form", "message", "place"), FAULTS)
@pytest.mark.parametrize("inside", [False, True])
def test_a_bad_form_is_refused_with_its_place(
    form: Any, message: str, place: str, inside: bool
) -> None:
    if inside:
        form, place = {"or": [TEST, form]}, f"/or/1{place.rstrip('/')}"
    with pytest.raises(SubscriptionError) as caught:
        from_json(form)
    assert message in str(caught.value)
    assert str(caught.value).endswith(f" at {place}")


def nested(levels: int, key: str = "not") -> Any:
    form: Any = TEST
    for _ in range(levels):
        form = {key: form if key == "not" else [form]}
    return form


def test_depth_is_limited_by_the_form_as_by_the_tree() -> None:
    deepest = attr("a") == 1
    for _ in range(MAX_DEPTH):
        deepest = Not(deepest)
    assert from_json(nested(MAX_DEPTH)) == deepest
    assert from_json(to_json(deepest)) == deepest
    assert from_json(nested(MAX_DEPTH, "and")) == from_json(TEST)
    for key in ("not", "and", "or"):
        with pytest.raises(LimitError, match=f"/{key}(/0)?$"):
            from_json(nested(MAX_DEPTH + 1, key))
    with pytest.raises(LimitError, match=" at /not"):
        from_json(nested(100_000))
    with pytest.raises(LimitError, match=r" at /attribute$"):
        from_json({**TEST, "attribute": ".".join("a" * (MAX_DEPTH + 1))})


def test_depth_of_arithmetic_is_limited() -> None:
    term: Any = Variable("x")
    form: Any = {"variable": "x"}
    for _ in range(MAX_DEPTH):
        term = calculate(term, "+", Constant(1))
        form = {"arithmetic": "+", "left": form, "right": {"value": 1}}
    comparison = {"left": form, "op": "<", "right": {"value": 5}}
    assert to_json(from_json(comparison)) == comparison
    for _ in range(10_000):
        form = {"arithmetic": "+", "left": form, "right": {"value": 1}}
    with pytest.raises(LimitError, match=" at /left/left"):
        from_json({**comparison, "left": form})


def test_a_form_that_holds_itself_is_too_deep() -> None:
    form: dict[str, Any] = {}
    form["not"] = form
    with pytest.raises(LimitError, match=" at /not"):
        from_json(form)


def test_sizes_are_limited() -> None:
    few = Limits(items=3, operands=3, pattern=3, text=40)
    assert from_json({"and": [TEST] * 3}, few) == all_of(*[attr("a") == 1] * 3)
    for form, place in [
        ({"and": [TEST] * 4}, "/and"),
        ({**A, "op": "in", "values": [1] * 4}, "/values"),
        ({"call": "f", "arguments": [1] * 4}, "/arguments"),
        ({"pattern": [TRIPLE] * 4}, "/pattern"),
        ({**TEST, "value": "x" * 41}, "/value"),
        ({"and": [{"and": [TEST] * 3}] * 3}, "/and/2/and/2"),
    ]:
        with pytest.raises(LimitError) as caught:
            from_json(form, few)
        assert str(caught.value).endswith(f" at {place}")
    with pytest.raises(LimitError, match=r"100,000.* at /or$"):
        from_json({"or": [TEST] * 100_001})
    with pytest.raises(LimitError, match=r"more than 1,000,000 characters at /value$"):
        from_json({**TEST, "value": "x" * 1_000_001})


@pytest.mark.parametrize(
    ("shape", "key", "form", "size"),
    [
        ("and", "and", lambda size: {"and": [TEST] * size}, LIMITS.operands),
        ("or", "or", lambda size: {"or": [TEST] * size}, LIMITS.operands),
        ("pattern", "pattern", lambda size: {"pattern": [TRIPLE] * size}, LIMITS.pattern),
        (
            "membership",
            "values",
            lambda size: {**A, "op": "in", "values": [1] * size},
            LIMITS.items,
        ),
        (
            "network",
            "networks",
            lambda size: {**A, "op": "in cidr", "networks": ["::1"] * size},
            LIMITS.items,
        ),
        ("call", "arguments", lambda size: {"call": "f", "arguments": [1] * size}, LIMITS.items),
    ],
)
def test_the_schema_and_the_reader_have_the_same_limits(
    shape: str, key: str, form: Callable[[int], Any], size: int
) -> None:
    definition = schema()["$defs"][shape]
    assert definition["properties"][key]["maxItems"] == size
    Draft202012Validator({**schema(), **definition}).validate(form(2))
    from_json(form(size))
    with pytest.raises(LimitError):
        from_json(form(size + 1))


def documents() -> st.SearchStrategy[Any]:
    """Documents made of the words of the form, in no order."""
    words = ["and", "or", "not", "attribute", "op", "value", "left", "right", "call", "pattern"]
    words += ["arguments", "filters", "values", "variable", "iri", "in", "=", "a", "\ud800"]
    leaves = st.sampled_from(words) | st.none() | st.booleans() | st.floats() | st.integers()
    keys = st.sampled_from(words) | st.integers()

    def combine(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)

    return st.recursive(leaves, combine)


def read_or_refuse(form: Any) -> Expression | None:
    """The expression, or None if the form is refused as it should be."""
    message = ""
    try:
        return from_json(form)
    except (SubscriptionError, LimitError) as error:
        message = str(error)
    assert re.search(r" at /[a-z_0-9/]*\Z", message)
    assert message.encode()
    return None


@given(documents())
def test_any_document_is_read_or_refused_with_a_place(document: Any) -> None:
    expression = read_or_refuse(document)
    assert expression is None or from_json(to_json(expression)) == expression


@given(expressions(), st.data())
def test_a_damaged_form_is_read_or_refused_with_a_place(
    expression: Expression, data: st.DataObject
) -> None:
    form = to_json(expression)
    node: Any = form
    while True:
        key = data.draw(st.sampled_from([*node] if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            break
        node = node[key]
    node[key] = data.draw(documents())
    read_or_refuse(form)
