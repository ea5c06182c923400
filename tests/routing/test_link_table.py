"""What a neighbour should know: covering, mergers and their ends, policies, advertisements."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.parser import parse
from tamis.routing.distribution import UniformIntegers
from tamis.routing.filters import Filter
from tamis.routing.link_table import COVERING, MERGING, SIMPLE, LinkTable, MergePolicy
from tamis.routing.merging import MergeRules
from tests.examples import examples
from tests.routing.world import FACTS, matches, random_event, random_filter

AT_ONCE = MergePolicy(changes=1, share=0)
UNIFORM = UniformIntegers({"a": 8, "b": 8, "c": 8})


def table(
    rules: MergeRules | None = None, policy: MergePolicy = AT_ONCE, mode: str = MERGING
) -> LinkTable:
    return LinkTable("b1/b2", mode, FACTS, rules, policy)


def add(own: LinkTable, *texts: str, now: float = 0.0, promised: tuple[str, ...] = ()) -> set[str]:
    for text in texts:
        own.add(text, Filter.of(parse(text), FACTS))
    own.review(now, lambda: [Filter.of(parse(each), FACTS) for each in promised])
    return wanted(own)


def wanted(own: LinkTable) -> set[str]:
    return {str(each) for each in own.wanted.values()}


def test_modes() -> None:
    texts = ("a < 5", "a < 3", "a = 5", "b = 1")
    assert add(table(mode=SIMPLE), *texts) == set(texts)
    assert add(table(mode=COVERING), *texts) == {"a < 5", "a = 5", "b = 1"}
    assert add(table(), *texts) == {"a <= 5", "b = 1"}


def test_a_merger_ends_when_a_member_goes_or_is_covered() -> None:
    own = table()
    assert add(own, "a < 5", "a = 5") == {"a <= 5"}
    own.remove("a = 5")
    assert wanted(own) == {"a < 5"}
    assert add(own, "a = 5") == {"a <= 5"}
    assert add(own, "a < 7") == {"a < 7"}
    own.remove("a < 7")
    assert wanted(own) == {"a < 5", "a = 5"}


def test_a_merger_absorbs_what_lies_within_it() -> None:
    own = table()
    assert add(own, "a < 5 and b = 1", "a = 5 and b = 1") == {"a <= 5 and b = 1"}
    assert add(own, "a between 4 and 5 and b = 1 and c = 2") == {"a <= 5 and b = 1"}
    own.remove("a between 4 and 5 and b = 1 and c = 2")
    assert wanted(own) == {"a <= 5 and b = 1"}
    add(own, "a between 4 and 5 and b = 1 and c = 2")
    own.remove("a < 5 and b = 1")
    assert wanted(own) == {"a = 5 and b = 1", "a between 4 and 5 and b = 1 and c = 2"}


@pytest.mark.parametrize(
    ("policy", "early", "late"),
    [
        (MergePolicy(changes=5, share=0), {"a < 5", "a = 5"}, {"a <= 7"}),
        (MergePolicy(changes=1, share=0, size=4), {"a < 5", "a = 5"}, {"a <= 7"}),
        (MergePolicy(changes=1, share=0, period=9), {"a < 5", "a = 5"}, {"a <= 7"}),
        (MergePolicy(changes=1, share=0, outputs=3), {"a < 5", "a = 5"}, {"a <= 7"}),
        (MergePolicy(changes=1, share=0, rate=1.0), {"a < 5", "a = 5"}, {"a <= 7"}),
        (MergePolicy(changes=1, share=0, bandwidth=1.0), {"a < 5", "a = 5"}, {"a <= 7"}),
    ],
    ids=["changes", "size", "period", "outputs", "rate", "bandwidth"],
)
def test_policies_say_when(policy: MergePolicy, early: set[str], late: set[str]) -> None:
    own = table(policy=policy)
    own.events = 5
    assert add(own, "a < 5", "a = 5", now=1.0) == early
    if policy.outputs:
        add(own, "a >= 6 and a < 7", "a between 7 and 7")
        assert wanted(own) != late
        own = table(policy=policy._replace(outputs=1.5))
        assert add(own, "a <= 5", "a between 6 and 7", now=1.0) == late
        return
    assert add(own, "a = 6", "a = 7", "b < 1 and b > 2", now=20.0) == late


def test_mergers_are_checked_again_when_advertisements_change() -> None:
    """Section 5.4: nobody publishes what lies between, until somebody does."""
    own = table(MergeRules(0.0, distribution=UNIFORM))
    add(own, "a > 5", "a = 3", promised=("a > 5",))
    assert wanted(own) == {"a >= 3"}
    own.recheck(lambda: [Filter.of(parse("a > 5"), FACTS)])
    assert wanted(own) == {"a >= 3"}
    own.recheck(lambda: [Filter.of(parse("a > 1"), FACTS)])
    assert wanted(own) == {"a > 5", "a = 3"}


def test_perfect_mergers_stay_whatever_is_advertised() -> None:
    """Nothing is known of how z is distributed."""
    own = table(MergeRules(0.1, distribution=UNIFORM))
    assert add(own, "z < 5", "z = 5") == {"z <= 5"}
    own.recheck(lambda: [Filter.of(parse("z > 5"), FACTS)])
    assert wanted(own) == {"z <= 5"}


@pytest.mark.parametrize("rules", [MergeRules(), MergeRules(0.05, distribution=UNIFORM)])
@examples(25)
@given(seed=st.integers(0, 10_000))
def test_whatever_comes_and_goes_nothing_is_missed(rules: MergeRules, seed: int) -> None:
    rng = random.Random(seed)
    own = table(rules, MergePolicy(changes=3, share=0))
    there: dict[str, Filter] = {}
    known: dict[str, object] = {}
    for n in range(40):
        if there and rng.random() < 0.4:
            id = rng.choice(list(there))
            del there[id]
            own.remove(id)
        else:
            there[f"s{n}"] = Filter.of(random_filter(rng), FACTS)
            own.add(f"s{n}", there[f"s{n}"])
        own.review(n, list)
        for id in own.changed:
            known[id] = own.wanted.get(id)
        own.changed.clear()
        assert {id: each for id, each in known.items() if each is not None} == own.wanted
        event = random_event(rng)
        if any(matches(each.expression, event) for each in there.values()):
            assert any(matches(each, event) for each in own.wanted.values())
        elif rules.distribution is None:
            assert not any(matches(each, event) for each in own.wanted.values())
