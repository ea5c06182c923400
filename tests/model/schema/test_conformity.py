"""R1, R2 and R3: the paper's events, every way to break a rule, and all views by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis.errors import EventError, InvalidEventError, SchemaError
from tamis.model.events.event import Event
from tamis.model.kinds import equal
from tamis.model.paths import Path, format_path
from tamis.model.schema.schema import Schema
from tamis.model.schema.views import Annotation
from tests.schemas import E1, E2, paper_schema, schemas

SCHEMA = paper_schema()


def test_the_first_event_of_the_paper_is_valid() -> None:
    assert SCHEMA.violations(E1) == []
    SCHEMA.check(E1)
    SCHEMA.check({**E1, "material": "oak"})


def test_the_second_event_of_the_paper_breaks_rule_2() -> None:
    with pytest.raises(InvalidEventError) as caught:
        SCHEMA.check(E2)
    (violation,) = caught.value.violations
    assert (violation.rule, violation.attribute) == ("R2", "furniture_category")
    assert violation.types == ("furniture",)
    assert str(caught.value) == (
        "R2: 'furniture_category' is missing; it is mandatory in furniture"
    )
    assert isinstance(caught.value, EventError)


def test_a_view_over_both_types() -> None:
    view = SCHEMA.view(["antiques", "furniture"])
    assert {format_path(path) for path in view.mandatory} == {
        "price",
        "quantity",
        "period",
        "furniture_category",
    }
    assert view.attributes - view.mandatory == {("material",)}
    assert view.with_only([]).attributes == view.mandatory
    with pytest.raises(SchemaError, match="unknown event type 'antique'; did you mean 'antiques'"):
        SCHEMA.view(["antique"])


def test_priorities() -> None:
    types = {"s": {"a": "optional multiple"}, "t": {"a": "mandatory unique"}}
    view = Schema(attributes={"a": "string"}, types=types).view(["s", "t"])
    assert view.annotations == {("a",): Annotation(mandatory=True, unique=False)}


@pytest.mark.parametrize(
    "changes, rule, said",
    [
        ({"event_type": None}, "R1", "'event_type' is missing"),
        ({"event_type": []}, "R1", "'event_type' is empty"),
        ({"event_type": {"a": 1}}, "R1", "'event_type' is a mapping"),
        ({"event_type": {}}, "R1", "'event_type' is a mapping"),
        ({"event_type": ["antiques", "furnitur"]}, "R1", "did you mean 'furniture'"),
        ({"event_type": 5}, "R1", "5 is not a known event type"),
        ({"price": "cheap"}, "R2", "is 'cheap', a string and no number"),
        ({"quantity": 1.5}, "R2", "is 1.5, outside of its domain; it holds integers"),
        ({"period": "XIX"}, "R2", "is 'XIX', outside of its domain; did you mean 'XVI"),
        ({"furniture_category": "tabel"}, "R2", "did you mean 'table'"),
        ({"price": [1, 2]}, "R2", "'price' has 2 values; it is unique in antiques and furniture"),
        ({"price": []}, "R2", "'price' has no values"),
        ({"price": {}}, "R2", "'price' is a mapping"),
        ({"material": {}}, "R2", "'material' is a mapping, and no value; it is an attribute"),
        ({"wheels": 4}, "R3", "'wheels' is not an attribute of antiques and furniture"),
        ({"materal": "oak"}, "R3", "did you mean 'material'"),
        ({"seller": {"name": "ann"}}, "R3", "'seller.name' is not an attribute"),
        ({"seller": {}}, "R3", "'seller' is not an attribute"),
        ({"tags": []}, "R3", "'tags' is not an attribute"),
    ],
)
def test_broken_rules(changes: dict[str, Any], rule: str, said: str) -> None:
    found = SCHEMA.violations({**E1, **changes})
    assert [violation.rule for violation in found] == [rule]
    assert said in found[0].reason


def test_a_repeated_value_is_one() -> None:
    SCHEMA.check({**E1, "price": [200, 200.0]})


def test_an_attribute_of_another_type() -> None:
    (violation,) = SCHEMA.violations(
        {"event_type": "antiques", "price": 1, "quantity": 1, "period": "XVI", "material": "oak"}
    )
    assert violation.rule == "R3"
    assert violation.types == ("antiques",)
    assert violation.reason.endswith("not an attribute of antiques; it is one of furniture")


def test_types_of_events_that_name_none() -> None:
    event = {name: value for name, value in E1.items() if name not in ("event_type", "period")}
    SCHEMA.check(event, types=["furniture"])
    assert SCHEMA.violations(event)[0].rule == "R1"
    assert SCHEMA.violations(E2, types=["antiques"])[0].rule == "R2"  # E2 names its own


def test_all_that_is_broken_is_told() -> None:
    event = {"event_type": "furniture", **{f"x{n}": 1 for n in range(20)}}
    with pytest.raises(InvalidEventError, match="and 13 more") as caught:
        SCHEMA.check(event)
    assert len(caught.value.violations) == 23


NESTED = Schema(
    attributes={"items.price": "number", "items.size.width": "number", "name": "string"},
    types={
        "order": {
            "items.price": "mandatory multiple",
            "items.size.width": "optional unique",
            "name": "optional unique",
        },
        "note": {"name": "mandatory unique"},
    },
)


@pytest.mark.parametrize(
    "event, rules",
    [
        ({"items": [{"price": 1}, {"price": [2, 3]}]}, []),
        ({"items": [{"price": 1, "size": {"width": 3}}]}, []),
        ({"items": [{"price": 1, "size": {}}]}, []),
        ({"items": [{"price": 1, "size": []}]}, []),
        ({"items": {"price": []}}, []),
        ({"items": []}, ["R2"]),
        ({"items": [{"price": 1, "size": [{"width": 1}, {"width": 2}]}]}, ["R2"]),
        ({"items": [{"price": 1, "size": 5}]}, ["R3"]),
        ({"items": [{"price": 1}, 5]}, ["R3"]),
        ({"items": [{"price": {"x": 1}}]}, ["R2", "R3"]),
    ],
)
def test_nested_attributes(event: dict[str, Any], rules: list[str]) -> None:
    found = NESTED.violations({"event_type": "order", **event})
    assert [violation.rule for violation in found] == rules


def test_a_mapping_of_another_type_is_none_of_this_one() -> None:
    (found,) = NESTED.violations({"event_type": "note", "name": "n", "items": []})
    assert found.rule == "R3"


# By brute force: all views over the types of an event, each tried by the letter of the paper.


def all_views(schema: Schema, types: frozenset[str]) -> Iterator[Mapping[Path, tuple[str, str]]]:
    """Every R for which (E, R) is a view over the schema."""
    triples = [
        (path, *str(annotation).split())
        for type in types
        for path, annotation in schema.types[type].annotations.items()
    ]
    paths = sorted({path for path, _, _ in triples})
    for size in range(len(paths) + 1):
        for chosen in combinations(paths, size):
            if any(n == "mandatory" and path not in chosen for path, n, _ in triples):
                continue
            view: dict[Any, tuple[str, str]] = {}
            for path in chosen:
                said = {word for other, *words in triples if other == path for word in words}
                view[path] = (
                    "mandatory" if "mandatory" in said else "optional",
                    "multiple" if "multiple" in said else "unique",
                )
            yield view


def is_instance(schema: Any, event: Event) -> bool:
    """Whether an event, of flat or nested paths without lists of mappings, fits some view."""
    names = list(event.values(schema.event_type))
    if not names or not all(name in schema.types for name in names):
        return False
    pairs = dict(pairs_of(event.attributes, ()))
    del pairs[schema.event_type]
    return any(
        pairs.keys() == view.keys()
        and all(value in schema.domain(path) for path in view for value in pairs[path])
        and all(
            pairs[path] and all(equal(value, pairs[path][0]) for value in pairs[path])
            for path, (_, u) in view.items()
            if u == "unique"
        )
        for view in all_views(schema, frozenset(names))
    )


def pairs_of(tree: dict[str, Any], path: Path) -> Iterator[tuple[Path, list[Any]]]:
    for key, node in tree.items():
        if isinstance(node, dict):
            yield from pairs_of(node, (*path, key))
        else:
            yield (*path, key), node if isinstance(node, list) else [node]


VALUES = st.sampled_from([0, 1, 3, 4, 1.5, "poor", "good", "p", "r", True, "x", b"x"])
CELLS = st.none() | VALUES | st.lists(VALUES, max_size=3)
EVENTS = st.fixed_dictionaries(
    {
        "event_type": st.none()
        | st.sampled_from(["s", "v"])
        | st.lists(st.sampled_from(["s", "t", "u"]), max_size=3),
        "a": CELLS,
        "b": CELLS,
        "d": CELLS,
    },
    optional={
        "c": st.dictionaries(
            st.sampled_from(["x", "y", "z"]), CELLS.filter(lambda c: c is not None), min_size=1
        )
    },
)


@given(schemas(), EVENTS)
@example(
    Schema(attributes={"a": "number"}, types={"s": {"a": "optional multiple"}}),
    {"event_type": "s", "a": [1, 1]},
)
def test_an_event_is_valid_if_some_view_fits_it(schema: Schema, raw: dict[str, Any]) -> None:
    event = Event(raw)
    assert (schema.violations(event) == []) is is_instance(schema, event)
