"""Events: the canonical tree, its paths, its limits."""

import math
import pickle
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.events.rows import events_of
from tamis.model.limits import MAX_DEPTH, Limits
from tamis.model.rdf_terms import Iri, RdfLiteral
from tamis.model.timestamp import Timestamp

ORDER = Event({"shop": "x", "items": [{"color": "red", "price": 3}, {"color": "blue"}], "tags": []})


@pytest.mark.parametrize(
    ("path", "values", "present"),
    [
        (("shop",), ["x"], True),
        (("items",), [], True),
        (("items", "color"), ["red", "blue"], True),
        (("items", "price"), [3], True),
        (("items", "size"), [], False),
        (("tags",), [], True),
        (("tags", "x"), [], False),
        (("shop", "x"), [], False),
        (("none",), [], False),
    ],
)
def test_values_and_presence(path, values, present):
    assert list(ORDER.values(path)) == values
    assert ORDER.present(path) is present


def test_nodes_include_mappings():
    assert list(ORDER.nodes(("items",))) == [{"color": "red", "price": 3}, {"color": "blue"}]


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ({"a": None}, {}),
        ({"a": pd.NA, "b": pd.NaT, "c": np.datetime64("NaT")}, {}),
        ({"a": [None, 1, None]}, {"a": [1]}),
        ({"a": [None]}, {"a": []}),
        ({"a": [[None], [1, [None, 2]]]}, {"a": [[], [1, [2]]]}),
        ({"a": {"b": None}}, {"a": {}}),
        ({"a": [{"b": None}]}, {"a": [{}]}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({"a": {1}}, {"a": [1]}),
        ({"a": frozenset({"x"})}, {"a": ["x"]}),
        ({"a": np.array([1, 2])}, {"a": [1, 2]}),
        ({"a": np.array([[1.5], [2.5]])}, {"a": [[1.5], [2.5]]}),
        ({"a": np.array(["2024-01-01", "NaT"], "M8[ns]")}, {"a": [Timestamp.parse("2024-01-01")]}),
        ({"a": MappingProxyType({"b": 1})}, {"a": {"b": 1}}),
        ({"": {"": 1}}, {"": {"": 1}}),
        ({"a.b": 1}, {"a.b": 1}),
    ],
)
def test_the_canonical_tree(raw, canonical):
    assert Event(raw).attributes == canonical


def test_a_source_that_changes_later_leaves_the_event_alone():
    raw = {"a": {"b": [1]}}
    event = Event(raw)
    raw["a"]["b"].append(2)
    assert list(event.values(("a", "b"))) == [1]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": [0]}, {"a": [False]}),
        ({"a": 1}, {"a": [1]}),
        ({"a": {}}, {"a": []}),
        ({"a": {}}, {}),
        ({"a": "1"}, {"a": 1}),
        ({"a": "x"}, {"a": b"x"}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [1]}, {"a": [1, 1]}),
        ({"a": math.nan}, {"a": math.nan}),
    ],
)
def test_unequal_events(a, b):
    assert Event(a) != Event(b)
    assert Event(b) != Event(a)


def test_equal_events():
    assert Event({"a": 1, "b": [{"c": 2}]}) == Event({"b": [{"c": 2.0}], "a": 1.0})
    assert Event({}) != {}
    assert Event.of(ORDER) is ORDER
    assert Event.of({"a": 1}) == Event({"a": 1})
    with pytest.raises(TypeError):
        hash(ORDER)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "mapping, not a list"),
        ("a", "mapping, not a str"),
        ({1: 2}, "key under the top is of type int"),
        ({"a": {None: 2}}, "key under 'a' is of type NoneType"),
        ({10**5000: 1}, "of type int"),
        ({"\ud800": 1}, "surrogate.* as a key under the top"),
        ({"a": {"b": [1, "\ud800"]}}, "surrogate.* at 'a.b'"),
        ({"a.b": 2**64}, "64 bits.* at '`a.b`'"),
        ({"a": [object()]}, "object.* at 'a'"),
        ({"a": iter([1])}, "iterator.* at 'a'"),
        ({"a": range(3)}, "range.* at 'a'"),
        ({"x" * 1000: 1j}, "xxx…$"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refusals_name_the_place(raw, message):
    with pytest.raises(EventError, match=message):
        Event(raw)


def nested(depth, *layers):
    """A value below so many layers, taken in turn."""
    tree = 1
    for level in range(depth):
        tree = layers[level % len(layers)](tree)
    return tree


@pytest.mark.parametrize(
    "layers",
    [
        [lambda tree: {"a": tree}],
        [lambda tree: [tree]],
        [lambda tree: {"a": tree}, lambda tree: [tree]],
        [lambda tree: [tree]] * 40 + [lambda tree: {"a": tree}],
    ],
    ids=["mappings", "lists", "both", "lists between mappings"],
)
def test_depth(layers):
    Event({"top": nested(MAX_DEPTH - 1, *layers)})
    for depth in (MAX_DEPTH, 10 * MAX_DEPTH, 5_000):
        with pytest.raises(LimitError, match=f"at most {MAX_DEPTH} levels deep .*top"):
            Event({"top": nested(depth, *layers)})


def test_a_mapping_inside_itself():
    loop = {}  # type: ignore
    loop["a"] = [loop]
    with pytest.raises(LimitError, match="deep"):
        Event(loop)


def test_limits():
    limits = Limits(values=5, string=3)
    Event({"a": [1, 2], "b": "abc", "c": b"abc"[:3]}, limits)
    with pytest.raises(LimitError, match="at most 5"):
        Event({"a": [1, 2, 3], "b": None, "c": None}, limits)
    with pytest.raises(LimitError, match=r"a string of 4 at 'a'.* 3"):
        Event({"a": "abcd"}, limits)
    with pytest.raises(LimitError, match="at 'b'"):
        Event({"b": [b"abcd"]}, limits)


def test_rows_are_named():
    rows = [{"a": 1}, ORDER, {"a": 2**64}]
    events = events_of(rows)
    assert next(events) == Event({"a": 1})
    assert next(events) is ORDER
    with pytest.raises(EventError, match=r"^row 2: .* at 'a'"):
        next(events)
    with pytest.raises(LimitError, match=r"^row 0: "):
        list(events_of([{"a": "xx"}], Limits(string=1)))


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("xy", max_size=3),
    lambda trees: (
        st.lists(trees, max_size=3) | st.dictionaries(st.sampled_from("abc"), trees, max_size=3)
    ),
    max_leaves=20,
)


def reached(tree, path):
    """The values at a path, said in another way: what each list element reaches, joined."""
    if isinstance(tree, list):
        return [value for element in tree for value in reached(element, path)]
    if tree is None or (not path and isinstance(tree, dict)):
        return []
    if not path:
        return [tree]
    return reached(tree.get(path[0]), path[1:]) if isinstance(tree, dict) else []


@given(st.dictionaries(st.sampled_from("abc"), TREES, max_size=3), st.text("abc", max_size=4))
def test_values_of_any_tree(raw, keys):
    event = Event(raw)
    values = list(event.values(tuple(keys)))
    assert values == reached(raw, tuple(keys))
    assert event.present(tuple(keys)) or not values
    assert Event(event.attributes) == event


# Graphs and payloads.

TRIPLE = (Iri("http://x/a"), Iri("http://x/p"), RdfLiteral("1"))


def test_graph_and_payloads() -> None:
    image = object()
    event = Event({"a": [1]}, graph=[TRIPLE, TRIPLE], payloads={"image": image})
    assert event.graph == frozenset({TRIPLE})
    assert event.payloads == {"image": image}
    assert repr(event) == "Event({'a': [1]}, graph=<1 triples>, payloads=<image>)"
    assert Event({}).graph is None
    assert Event({}, graph=[]).graph == frozenset()
    other = event.replaced({"a": [2]})
    assert (other.graph, other.payloads) == (event.graph, event.payloads)


def test_equality_of_graphs_and_payloads() -> None:
    assert Event({}, graph=[TRIPLE]) == Event({}, graph=[TRIPLE])
    assert Event({}, graph=[]) != Event({})
    payload = object()
    assert Event({}, payloads={"x": payload}) == Event({}, payloads={"x": payload})
    assert Event({}, payloads={"x": object()}) != Event({}, payloads={"x": object()})
    array = np.array([1, 2])
    assert Event({}, payloads={"x": array}) == Event({}, payloads={"x": array})
    assert Event({}, payloads={"x": array}) != Event({}, payloads={"x": array.copy()})


def test_events_with_graphs_can_be_pickled() -> None:
    event = Event({"a": 1}, graph=[TRIPLE], payloads={"x": 1})
    assert pickle.loads(pickle.dumps(event)) == event


def test_wrong_graphs() -> None:
    for wrong in (1, (TRIPLE[0], TRIPLE[1]), ("a", "b", "c"), (TRIPLE[2], TRIPLE[1], TRIPLE[0])):
        with pytest.raises(EventError, match="triple"):
            Event({}, graph=[wrong])  # type: ignore[list-item]
    with pytest.raises(LimitError, match="1 triples"):
        Event({}, Limits(triples=1), graph=[TRIPLE, (TRIPLE[0], TRIPLE[1], TRIPLE[0])])


def test_graphs_and_payloads_of_the_wrong_kind() -> None:
    with pytest.raises(EventError, match="iterable of triples"):
        Event({}, graph=5)  # type: ignore[arg-type]
    for payloads in (5, {1: "x"}):
        with pytest.raises(EventError, match="payloads are a mapping"):
            Event({}, payloads=payloads)  # type: ignore[arg-type]
