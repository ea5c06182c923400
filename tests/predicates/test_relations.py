"""Relations: exact on conjunctions, and sound on everything."""

from __future__ import annotations

import os
import time
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis import KnownFacts, Taxonomy, Verdict, parse
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression
from tamis.predicates.facts import Facts, conforms
from tamis.predicates.normal import normalise
from tamis.predicates.regions import Region
from tamis.predicates.relations import covers, overlaps
from tamis.predicates.snapping import snapped
from tamis.predicates.to_expression import predicate_of
from tests.contract.naive import count_bindings, naive_match
from tests.contract.strategies import dense_events, dense_expressions
from tests.predicates.worlds import WORLDS, Truths
from tests.strategies import PATHS, attribute_expressions, events

SEED = int(os.environ.get("SEED", "1"))
PARENTS = {
    "chair": ["furniture"],
    "throne": ["chair", "regalia"],
    "crown": ["regalia"],
    "table": ["furniture"],
    "furniture": ["thing"],
    "regalia": ["thing"],
}
FACTS = KnownFacts(
    unique=["price", "title", "count"],
    integers=["count"],
    kinds={"price": "number", "flag": "boolean"},
    taxonomy=Taxonomy(PARENTS),
)

# Cases. Without a schema nothing is known; with it, ``price``, ``title`` and ``count`` are unique.

COVERS = [
    # ordered
    ("x < 5", "x < 3"),
    ("x <= 5", "x < 5"),
    ("x < 5", "x between 1 and 4"),
    ("x != 5", "x > 5"),
    ("x != 5", "x = '5'"),
    ("x > 1", "x > 2 and x < 9"),
    ("x > 4 and x < 6", "x = 5"),
    ("x < 5 or x > 6", "x in (1, 2, 7)"),
    ("x >= timestamp '2026-01-01'", "x = timestamp '2026-05-01'"),
    ("true", "x = 1"),
    ("x = 1", "x = 1 and y = 2"),
    ("x = 1", "false"),
    # enumerated
    ("x in (1, 2, 3)", "x in (1, 3)"),
    ("x in (1, 2, 3)", "x = 2"),
    ("x in (1, 2)", "x in (1, 2, 3) and x < 3"),
    ("x not in (1, 2)", "x = 3"),
    ("x in (true, false)", "x = true"),
    # strings
    ("x starts with 'a'", "x starts with 'ab'"),
    ("x starts with 'a'", "x = 'abc'"),
    ("x >= 'a'", "x starts with 'a'"),
    ("x between 'a' and 'b'", "x starts with 'a'"),
    ("x like 'ab%'", "x starts with 'abc'"),
    ("x starts with 'ab'", "x like 'abc%d'"),
    ("x = 'ab'", "x like 'ab'"),
    ("x >= 'a\\u0000'", "x > 'a'"),
    # presence, and what stands inside
    ("x is present", "x = 5"),
    ("x is present", "x.y = 5"),
    ("x is present", "x.y is present"),
    ("x is present", "not x contains 1"),
    ("x.y is missing", "x is missing"),
    # all values
    ("x contains 5", "x = 5"),
    ("x = 5", "x contains 5"),
    ("x < 9", "x contains 5 and x > 100"),
    ("x contains 'A' ignoring case", "x contains 'a'"),
    # texts
    ("x contains text 'oak'", "x in ('oak', 'soak')"),
    ("x contains text 'oak'", "x contains text 'soaked'"),
    ("x contains text 'oak'", "x like '%oaken%'"),
    ("x ends with 'k'", "x ends with 'oak'"),
    ("not x ends with 'oak'", "not x ends with 'k'"),
    ("x starts with ''", "x matches '[a-z]+'"),
    ("x = 'AB' ignoring case", "x = 'ab' ignoring case"),
    ("x in ('A', 'b') ignoring case", "x = 'a' ignoring case"),
    ("x in cidr '10.0.0.0/8'", "x in cidr '10.1.0.0/16'"),
    ("x in cidr '10.0.0.0/8'", "x = '10.1.2.3'"),
    ("x is a 'chair'", "x = 'chair'"),
    # attributes against each other
    ("x <= y", "x < y"),
    ("x != y", "x < y"),
    ("x < y", "x < y and y < z"),
    # disjunctions
    ("x = 1 or y = 1", "y = 1 and z = 1"),
    ("x < 3 and y = 1 or x >= 3 and y = 1", "x between 1 and 5 and y = 1"),
    ("x = 1 or y = 1", "x = 1 and z = 1 or y = 1"),
    # truth tests
    ("x < 5", "(x < 3) is true"),
    ("(x < 5) is true", "x < 3"),
    ("not x < 5", "(x < 5) is false"),
    ("(x = 1) is not true", "(x = 1) is not true and y = 2"),
    ("x = 1 unless y = 2", "x = 1 and z = 3 unless y = 2"),
    ("(x = 1 or y = 1) is true", "x = 1 and z = 1"),
    # calls and patterns
    ("near('x', ?d)", "near('x', ?d) and ?d < 5"),
    ("not (near('x', ?d) and ?d < 5)", "not (near('x', ?d) and ?d < 5) and a = 1"),
]

COVERS_BY_FACTS = [
    ("count between 4 and 5", "count in (4, 5)"),
    ("count in (4, 5)", "count between 4 and 5"),
    ("count < 5", "count <= 4.5"),
    ("x = 1", "count > 4 and count < 5"),
    ("category is a 'furniture'", "category is a 'chair'"),
    ("category is a 'regalia'", "category is a 'throne'"),
    ("category is a 'throne'", "category is a 'chair' and category is a 'regalia'"),
    ("category in ('throne', 'crown', 'regalia')", "category is a 'regalia'"),
    ("category is a 'thing'", "category in ('chair', 'crown')"),
    ("not category is a 'chair'", "category is a 'regalia' and not category = 'throne'"),
    ("flag in (true, false)", "flag != 1"),
    ("not title contains 'a'", "title = 'b'"),
    ("title.x is missing", "title = 'b'"),
    ("price = 5", "price contains 5"),
]

COVERS_NOT = [
    ("x < 3", "x < 5"),
    ("x = 1 and y = 2", "x = 1"),
    ("x < 5 or x >= 5", "x is present"),
    ("x < 5 or x >= 5", "x != 'a'"),
    ("x between 4 and 5", "x is present"),
    ("x in (4, 5)", "x between 4 and 5"),
    ("x.y is present", "x is present"),
    ("x = 1 or x != 1", "x is present"),
    ("x is missing", "x = 1"),
    ("x = 1 and x.y = 2", "x contains 1 and x.y = 2"),
    ("items.color = 'red' and items.price = 1", "items.color contains 'red' and items.price = 1"),
    ("not x contains 1", "x = 2"),
    ("x <= y", "x = y"),
    ("x starts with 'b'", "x >= 'b'"),
    ("x != 1", "true"),
    ("x is a 'furniture'", "x is a 'chair'"),
    ("not far('x', ?e)", "near('x', ?e) and not far('x', ?e)"),
    ("(far('x', ?e)) is not true", "near('x', ?e) and (far('x', ?e)) is not true"),
    ("not (near('x', ?d) and ?d < 5)", "near('x', ?d) and not ?d < 5"),
    ("near('x', ?d) and far('x', ?d)", "(near('x', ?d)) is true and (far('x', ?d)) is true"),
    ("x = 1", "(x = 1) is not false"),
    ("(x = 1) is unknown", "x is missing"),
    ("(x = 1) is not true", "x = 2"),
    (
        "x.y = 1 and (x.z = 2) is not true",
        "x.y contains 1 and x.y = 3 and (x.z = 2) is not true",
    ),
    ("x = 1 and (x = 2) is not true", "x contains 1 and x = 3 and (x = 2) is not true"),
]

DISJOINT = [
    ("x is missing", "x = 1"),
    ("x is missing", "x.y is present"),
    ("x contains 1", "not x contains 1"),
    ("x = 1", "not x contains 1"),
    ("x in (1, 2)", "not x contains 1 and not x contains 2"),
    ("x = 1 and x.y = 2", "true"),
    ("x > 5 and x < 5", "x = 1"),
    ("false", "true"),
]

DISJOINT_BY_FACTS = [
    ("price < 1", "price > 2"),
    ("price = 1", "price in (2, 3)"),
    ("price = 1", "price.x = 2"),
    ("count > 4", "count < 5"),
    ("title starts with 'a'", "title = 'b'"),
    ("title starts with 'a'", "title ends with 'b' and title < 'a'"),
    ("title = 'oak'", "title contains text 'elm'"),
    ("title like '%a%b'", "not title like '%a%b'"),
    ("(price < 5) is unknown", "(price < 5) is not unknown"),
    ("price = 1 and x = 1", "x = 2 and price = 3 or price = 4"),
    ("title is a 'furniture'", "title is a 'crown'"),
    ("price = 'a'", "true"),
    ("flag = 1", "true"),
]

OVERLAP = [
    ("x < 1", "x > 2"),
    ("x = 1", "x.y = 2"),
    ("x like 'a%'", "not x like 'a%'"),
    ("x is missing", "y is missing"),
    ("items.color = 'red'", "items.color = 'blue' and items.price < 5"),
    ("x contains 1", "x contains 2"),
    ("x.z = 2 and x.y != 1", "x != 1 and x.y is present"),
]

OVERLAP_WITH_FACTS = [
    ("price < 2", "price > 1"),
    ("title is a 'chair'", "title is a 'regalia'"),
    ("title starts with 'a'", "title ends with 'b'"),
    ("count > 4", "count < 6"),
]


@pytest.mark.parametrize("a, b", COVERS)
def test_covers(a: str, b: str) -> None:
    assert tamis.covers(a, b)
    assert tamis.covers(a, b, FACTS)


@pytest.mark.parametrize("a, b", COVERS_BY_FACTS)
def test_covers_by_what_is_known(a: str, b: str) -> None:
    assert tamis.covers(a, b, FACTS)


@pytest.mark.parametrize("a, b", COVERS_NOT)
def test_covers_not(a: str, b: str) -> None:
    assert not tamis.covers(a, b)


@pytest.mark.parametrize(
    "a, b",
    [
        ("(x = 1) is not true", "x = 1"),
        ("(x < 1) is unknown", "(x < 1) is not unknown"),
        ("(x < 1) is not false", "not x < 1"),
    ],
)
def test_truth_tests_under_different_bindings_may_overlap(a: str, b: str) -> None:
    assert tamis.overlaps(a, b)
    assert tamis.relation(a, b).overlaps is not False


@pytest.mark.parametrize("a, b", DISJOINT)
def test_disjoint(a: str, b: str) -> None:
    assert not tamis.overlaps(a, b)
    assert not tamis.overlaps(b, a)
    assert not tamis.overlaps(a, b, FACTS)


@pytest.mark.parametrize("a, b", DISJOINT_BY_FACTS)
def test_disjoint_by_what_is_known(a: str, b: str) -> None:
    assert not tamis.overlaps(a, b, FACTS)
    assert not tamis.overlaps(b, a, FACTS)


@pytest.mark.parametrize("a, b", OVERLAP)
def test_overlap(a: str, b: str) -> None:
    assert tamis.overlaps(a, b)
    assert tamis.relation(a, b).overlaps is True


@pytest.mark.parametrize("a, b", OVERLAP_WITH_FACTS)
def test_overlap_with_what_is_known(a: str, b: str) -> None:
    assert tamis.relation(a, b, FACTS).overlaps is True


def test_all_notations_are_taken() -> None:
    form = {"attribute": "x", "op": "<", "value": 5}
    assert tamis.covers(form, tamis.attr("x") < 3)
    assert tamis.equivalent("x < 5", form)
    assert not tamis.equivalent("x <= 5", form)
    with pytest.raises(tamis.SubscriptionError):
        tamis.covers("x = 1", 5)  # type: ignore[arg-type]


def test_a_kind_that_is_none_is_named() -> None:
    with pytest.raises(tamis.TamisError, match="did you mean 'number'"):
        KnownFacts(kinds={"x": "numbr"})


# The relation in one word, with witnesses.


@pytest.mark.parametrize(
    "a, b, verdict, certain",
    [
        ("x < 5 and x > 1", "x > 1 and not x >= 5", Verdict.EQUIVALENT, True),
        ("x < 5", "x < 3", Verdict.COVERS, True),
        ("x = 1 and y = 1", "y = 1", Verdict.COVERED, True),
        ("x = 1", "x = 2", Verdict.OVERLAPPING, True),
        ("price = 1", "price = 2", Verdict.DISJOINT, True),
        ("x matches '^(ab|cd)$'", "x matches '^(cd|ab)$'", Verdict.OVERLAPPING, False),
        ("near('x')", "x = 1", Verdict.OVERLAPPING, False),
        ("false", "x = 1 and x = 2", Verdict.EQUIVALENT, True),
        ("false", "x = 1", Verdict.COVERED, True),
    ],
)
def test_verdicts(a: str, b: str, verdict: Verdict, certain: bool) -> None:
    found = tamis.relation(a, b, FACTS)
    assert (found.verdict, found.certain) == (verdict, certain)


def test_witnesses() -> None:
    found = tamis.relation("x < 5", "x > 3 and y = 'a'")
    assert found.both == Event({"x": 4, "y": "a"})
    assert found.only_a == Event({"x": 2})
    assert found.only_b == Event({"x": 6, "y": "a"})
    assert tamis.relation("price != 1", "not price contains 2", FACTS).only_a == Event({"price": 2})
    apart = tamis.relation("x < 1", "x > 2")
    assert apart.both == Event({"x": [0, 3]})
    nested = tamis.relation("items.color = 'red'", "items.color = 'blue' and items.price < 5")
    assert nested.both == Event({"items": [{"color": "red"}, {"color": "blue", "price": 4}]})


# Intersection and hull.


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("x < 5", "x > 1", "x > 1 and x < 5"),
        ("x in (1, 2)", "x in (2, 3)", "x = 2"),
        ("x in (1, 2)", "y = 3", "x in (1, 2) and y = 3"),
        ("x != 1", "x != 'a'", "not x in (1, 'a')"),
        ("x < 1", "x > 2", "false"),
        ("x > 1", "x != 3", "x > 1 and x != 3"),
        ("x starts with 'a'", "x starts with 'ab'", "x starts with 'ab'"),
        ("x like '%a'", "not x contains 1", "not x contains 1 and x like '%a'"),
        ("x = 1 or y = 2", "z = 3", "(x = 1 or y = 2) and z = 3"),
    ],
)
def test_intersection(a: str, b: str, expected: str) -> None:
    assert str(tamis.intersect(a, b)) == expected


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("x = 4", "x = 5", "x in (4, 5)"),
        ("count = 4", "count = 5", "count between 4 and 5"),
        ("count < 4", "count = 4", "count <= 4"),
        ("x < 5 and y = 1", "x between 3 and 8", "x <= 8"),
        ("x < 1", "x > 2", "x < 1 or x > 2"),
        ("x = 1", "y = 1", "true"),
        ("x = 1", "x is present", "x is present"),
        ("x.y = 1", "x.z = 1", "x is present"),
        ("x contains 1", "x = 1", "x contains 1"),
        ("category is a 'chair'", "category is a 'table'", "category is a 'furniture'"),
        ("category = 'throne'", "category is a 'crown'", "category is a 'regalia'"),
        ("category is a 'throne'", "category is a 'table'", "category is a 'furniture'"),
        ("x like '%a' and y = 1", "x like '%a'", "x like '%a'"),
        ("x = 1 and x = 2", "y = 3", "y = 3"),
        ("false", "false", "false"),
        ("x != 1", "x = 1", "x = true or x != true"),
        ("x = 'a' ignoring case and x.y = 1", "z = 1", "z = 1"),
        ("(x = 1) is not true and y = 1", "(x = 1) is not true", "(x = 1) is not true"),
        ("p('x', ?d) and ?d < 5 and y = 1", "p('x', ?d) and ?d < 5", "?d < 5 and p('x', ?d)"),
        ("p('x', ?d) and ?d < 5 and y = 1", "q('x', ?d) and ?d < 5 and y = 2", "y in (1, 2)"),
    ],
)
def test_hull(a: str, b: str, expected: str) -> None:
    assert str(tamis.hull(a, b, FACTS)) == expected


def test_a_hull_is_sound_where_another_binding_would_help() -> None:
    a = "items.color = 'Red' ignoring case and items.price = 1"
    b = "items.color contains 'red' and items.price = 1"
    found = tamis.hull(a, b)
    assert tamis.covers(found, a)
    assert tamis.covers(found, b)


def test_a_hull_of_too_many_values_is_a_range() -> None:
    many = [f"x in ({', '.join(str(2 * n + k) for n in range(9_000))})" for k in (0, 30_001)]
    assert str(tamis.hull(*many)) == "x between 0 and 47999"


@given(attribute_expressions())
def test_a_set_is_written_as_a_predicate(expression: Expression) -> None:
    for conjunction in normalise(expression).conjunctions:
        for path, values in conjunction.box.items():
            text = str(predicate_of(path, values))
            (again,) = normalise(parse(text)).conjunctions
            assert not again.literals
            assert snapped(again.box[path]) == snapped(values), text


# Laws, against brute force on events with lists.


def small_events() -> st.SearchStrategy[dict[str, Any]]:
    return (events() | dense_events()).filter(lambda event: count_bindings(event) <= 100)


def any_facts() -> st.SearchStrategy[Facts]:
    names = st.lists(st.sampled_from(["a", "b", "c", "items", "items.color", "items.price", "n.m"]))
    kinds = st.dictionaries(
        st.sampled_from(["a", "items.color", "items.price"]),
        st.sampled_from(["number", "string", "boolean"]),
    )
    return st.builds(
        lambda unique, integers, kinds: KnownFacts(
            unique=unique, integers=integers, kinds=kinds, taxonomy=WORDS
        ),
        *(names, names, kinds),
    )


WORD_PARENTS = {"red": ["blue"], "Red": ["red", ""], "10.0.0.1": []}
WORDS = Taxonomy(WORD_PARENTS)
EXPRESSIONS = attribute_expressions() | dense_expressions()
EVENTS = st.lists(small_events(), min_size=1, max_size=6)


def _matches(expression: Expression, event: dict[str, Any]) -> bool:
    return naive_match(expression, event, WORD_PARENTS)


@given(
    a=EXPRESSIONS,
    b=EXPRESSIONS,
    facts=st.just(KnownFacts(taxonomy=WORDS)) | any_facts(),
    rows=EVENTS,
)
def test_laws(a: Expression, b: Expression, facts: Facts, rows: list[dict[str, Any]]) -> None:
    ours, theirs = Region.of(a, facts), Region.of(b, facts)
    both, around = tamis.intersect(a, b), tamis.hull(a, b, facts)
    assert parse(str(both)) == both
    assert parse(str(around)) == around
    for region in (ours, theirs):
        assert covers(region, region)
        assert covers(Region.of(around, facts), region)
        assert covers(region, Region.of(a & b, facts))
        assert covers(Region.of(a | b, facts), region)
    for event in rows:
        if not conforms(Event(event), facts, PATHS):
            continue
        in_a, in_b = _matches(a, event), _matches(b, event)
        assert not (covers(ours, theirs) and in_b and not in_a)
        assert not (covers(theirs, ours) and in_a and not in_b)
        assert overlaps(ours, theirs) or not (in_a and in_b)
        assert _matches(both, event) is _matches(a & b, event)
        assert not (in_a or in_b) or _matches(around, event)
        assert not (ours.never_matches and in_a)


@given(a=dense_expressions(), b=dense_expressions(), facts=any_facts())
def test_witnesses_are_verified(a: Expression, b: Expression, facts: Facts) -> None:
    found = tamis.relation(a, b, facts)
    for event, wanted in (
        (found.both, (True, True)),
        (found.only_a, (True, False)),
        (found.only_b, (False, True)),
    ):
        if event is not None:
            assert conforms(event, facts, PATHS)
            assert (_matches(a, event.attributes), _matches(b, event.attributes)) == wanted


# Limits.


def test_large_disjunctions_are_given_up_in_time() -> None:
    ten = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(10))
    many = ", ".join(map(str, range(9_000)))
    started = time.process_time()
    a, b = f"{ten} and x in ({many})", f"{ten} and x in ({many}, -1)"
    assert tamis.overlaps(a, b)
    assert not tamis.covers(b, a)  # not known
    assert tamis.covers(a, a)
    assert time.process_time() - started < 10


# Exactness: every event of a small world is tried.


@cache
def truths_of(name: str) -> Truths:
    """The conjunctions of a world, which are the same whatever is known of it."""
    return Truths([*dict.fromkeys(WORLDS[name].conjunctions(Random(SEED), 100))])


@pytest.mark.parametrize("typed", [False, True], ids=["any kind", "typed"])
@pytest.mark.parametrize("unique", [(), ("x", "y")], ids=["lists", "unique"])
@pytest.mark.parametrize("name", WORLDS)
def test_relations_of_conjunctions_are_exact(
    name: str, unique: tuple[str, ...], typed: bool
) -> None:
    world = WORLDS[name]
    if name == "integers" and not typed:
        pytest.skip("a world of integers has no values between them")
    facts = world.facts(unique, typed=typed)
    events = world.all_events(facts)
    matched = truths_of(name).masks(events)
    regions = [Region.of(expression, facts) for expression in truths_of(name).expressions]
    for a, ours in zip(regions, matched):
        for b, theirs in zip(regions, matched):
            covered, common = theirs & ~ours == 0, ours & theirs != 0
            if name == "nested":  # all events are too many: a witness decides, in the next test
                agrees = (not covers(a, b) or covered) and (overlaps(a, b) or not common)
            else:
                agrees = covers(a, b) is covered and overlaps(a, b) is common
            assert agrees, f"covered: {covered}, common: {common}: {a.expression} | {b.expression}"


@pytest.mark.parametrize("typed", [False, True], ids=["any kind", "typed"])
@pytest.mark.parametrize("unique", [(), ("x", "y")], ids=["lists", "unique"])
@pytest.mark.parametrize("name", WORLDS)
def test_relations_of_conjunctions_are_certain(
    name: str, unique: tuple[str, ...], typed: bool
) -> None:
    """What is not known to cover does not, and what may overlap does: an event shows it."""
    world = WORLDS[name]
    facts = world.facts(unique, typed=typed)
    chance = Random(SEED)
    expressions = world.conjunctions(chance, 60)
    for _ in range(200):
        a, b = chance.choice(expressions), chance.choice(expressions)
        found = tamis.relation(a, b, facts)
        assert None not in (found.covers, found.covered, found.overlaps), f"{a} | {b}: {found}"


def test_beyond_the_limit_of_alternatives_nothing_is_known() -> None:
    many = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(40))
    assert not tamis.covers(many, "a0 = 1")
    assert not tamis.covers("a0 = 1", many)
    assert tamis.covers(many, many)
    assert tamis.overlaps(many, "a0 = 1")
    assert tamis.relation(many, "a0 = 1").verdict == "overlapping"
    assert tamis.covers(tamis.hull(many, "a0 = 1"), "a0 = 1")
