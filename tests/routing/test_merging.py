"""Mergers: perfect ones match what their members match, imperfect ones as little more as told."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tamis.bindings.evaluation import Trial, World
from tamis.language.parser import parse
from tamis.model.events.event import Event
from tamis.predicates.facts import NO_FACTS, Facts, KnownFacts
from tamis.routing import distribution
from tamis.routing.distribution import MAX_PIECES, UniformIntegers, imperfection
from tamis.routing.filters import Filter
from tamis.routing.merging import MergeRules, mergers_of

INTEGERS = KnownFacts(integers=["a", "b"], unique=["a", "b"])
UNIFORM = UniformIntegers({"a": 6, "b": 6})


def merged(
    texts: list[str], facts: Facts = NO_FACTS, adverts: tuple[str, ...] = (), **rules: object
) -> list[str]:
    filters = {text: Filter.of(parse(text), facts) for text in texts}
    promised = [Filter.of(parse(text), facts) for text in adverts]
    made = mergers_of(filters, MergeRules(**rules), facts, promised)  # type: ignore[arg-type]
    return sorted(str(each.filter.expression) for each in made)


def test_perfect_mergers() -> None:
    assert merged(["a < 150", "a = 150"]) == ["a <= 150"]
    assert merged(["a < 4", "a >= 5"]) == []
    assert merged(["a < 4", "a >= 4"], INTEGERS) != []
    assert merged(["a <= 4", "a = 5"]) == []
    assert merged(["a <= 4", "a = 5"], INTEGERS) == ["a <= 5"]
    assert merged(["a = 1 and b < 3", "a = 1 and b = 3"]) == ["a = 1 and b <= 3"]
    assert merged(["a = 1 and b < 3", "a = 2 and b = 3"], INTEGERS) == []
    assert merged(["a = 1", "a = 4"], sets=True) == ["a in (1, 4)"]
    assert merged(["a < 'm'", "a = 'm'"]) == ["a <= 'm'"]


def test_the_rules_of_table_1() -> None:
    loose = {"threshold": 1.0, "distribution": UNIFORM}
    assert merged(["a < 2", "a = 4"], INTEGERS, **loose) == ["a <= 4"]
    assert merged(["a > 4", "a = 2"], INTEGERS, **loose) == ["a >= 2"]
    (everything,) = merged(["a < 2", "a > 4"], INTEGERS, **loose)
    for value in range(6):
        assert Trial(Event({"a": value}), World()).matches(parse(everything))


def test_a_threshold_bounds_the_share_of_false_positives() -> None:
    texts = ["a = 0", "a = 2"]
    assert merged(texts, INTEGERS, threshold=0.16, distribution=UNIFORM) == []
    assert merged(texts, INTEGERS, threshold=0.17, distribution=UNIFORM) == ["a between 0 and 2"]


def test_advertisements_make_mergers_better() -> None:
    """The example of section 5.4: nobody publishes what lies between."""
    texts = ["a > 4", "a = 2", "a = 1"]
    adverts = ("a > 4",)
    assert merged(texts, INTEGERS, threshold=0.0, distribution=UNIFORM) == ["a between 1 and 2"]
    found = merged(texts, INTEGERS, adverts, threshold=0.0, distribution=UNIFORM)
    assert found == ["a >= 1"]


@pytest.mark.parametrize("seed", range(6))
def test_degrees_are_exact(seed: int) -> None:
    """By counting all events of a small world."""
    rng = random.Random(seed)

    def text() -> str:
        return " and ".join(
            f"{name} {rng.choice(['<', '<=', '=', '>=', '>'])} {rng.randrange(6)}"
            for name in rng.sample("ab", rng.randint(1, 2))
        )

    members = [text() for _ in range(4)]
    adverts = [text() for _ in range(2)]
    boxes = {each: Filter.of(parse(each), INTEGERS).region.boxes for each in (*members, *adverts)}
    own = [box.sides for each in members for box in boxes[each]]
    promised = [box.sides for each in adverts for box in boxes[each]]
    everything = Filter.of(parse("a >= 0 and b >= 0"), INTEGERS).region.boxes[0].sides
    events = [Event({"a": a, "b": b}) for a, b in product(range(6), repeat=2)]

    def count(texts: list[str], among: list[Event]) -> list[Event]:
        parsed = [parse(each) for each in texts]
        return [e for e in among if any(Trial(e, World()).matches(p) for p in parsed)]

    plain = imperfection(everything, own, UNIFORM)
    assert plain.probability == pytest.approx(1.0)
    assert plain.degree == pytest.approx(1 - len(count(members, events)) / 36)
    if promised:
        within = count(adverts, events)
        degree = 1 - len(count(members, within)) / len(within)
        assert imperfection(everything, own, UNIFORM, promised).degree == pytest.approx(degree)


def test_an_improbable_merger_may_have_any_number_of_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its degree is not measured: it falls into too many pieces."""
    monkeypatch.setattr(distribution, "MAX_PIECES", 0)
    texts = [f"a = 1 and b = {n}" for n in (0, 2, 4)]
    assert merged(texts, INTEGERS, threshold=0.08, distribution=UNIFORM) == []
    found = merged(texts, INTEGERS, threshold=5 / 36, distribution=UNIFORM)
    assert found == ["a = 1 and b between 0 and 4"]


def test_nothing_advertised_is_no_imperfection() -> None:
    def sides(text: str) -> object:
        return Filter.of(parse(text), INTEGERS).region.boxes[0].sides

    found = imperfection(sides("a > 1"), [sides("a > 3")], UNIFORM, [sides("a = 0")])  # type: ignore
    assert found.degree == 0.0
    assert MAX_PIECES > 100


@pytest.mark.parametrize("seed", range(4))
def test_perfect_mergers_match_what_their_members_match(seed: int) -> None:
    rng = random.Random(seed)
    texts = {
        f"{rng.choice('ab')} {rng.choice(['<', '<=', '=', '>='])} {rng.randrange(6)} and c = 1"
        for _ in range(25)
    }
    filters = {text: Filter.of(parse(text), INTEGERS) for text in texts}
    made = mergers_of(filters, MergeRules(sets=bool(seed % 2)), INTEGERS)
    assert made
    for merger in made:
        for a, b in product(range(6), repeat=2):
            trial = Trial(Event({"a": [a, b], "b": b, "c": 1}), World())
            wanted = any(trial.matches(parse(each)) for each in merger.members)
            assert trial.matches(merger.filter.expression) == wanted
