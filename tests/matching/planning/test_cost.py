"""What a subscription is estimated to cost, who is warned, and what is refused."""

from __future__ import annotations

import warnings

import pytest

import tamis
from tamis.matching.covers.chances import PRESENCE, VALUE, text_chance
from tamis.matching.covers.covers import cover_of
from tamis.matching.planning.cost import ARITHMETIC, CHECK, EVALUATION, ORACLE, PATTERN, cost_of
from tamis.matching.sieve.signatures import TEST
from tamis.model.limits import Limits

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

PARENTS = {"doll": ["Toy"], "robot": ["Toy"]}

ORDINARY = [
    "kind = 'a' and price < 5",
    "price < 5",
    "x != 5",
    "not (x = 5 and y = 3)",
    "x not in (1, 2, 3) and y != 'a'",
    "title matches 'error [0-9]+'",
    "title like '%oak%t_ble'",
    "title contains text 'oak'",
    "not title contains text 'oak'",
    "tags contains 'new' and not tags contains 'used'",
    "a < b",
    "kind = 'a' and title matches '[ab]+'",
    "kind = 'a' and a + b > 5",
    "x is missing",
    "category is a 'Toy' or not category is a 'doll'",
    "ip in cidr ('10.0.0.0/8', '::/0')",
    "title = 'oak' ignoring case",
    "true",
    " or ".join(f"a{n} = {n} and b{n} < {n}" for n in range(100)),
    "a in ({0}) and b in ({0})".format(", ".join(map(str, range(0, 200, 2)))),
    "price < 5 and a + b > 5",
]
COSTLY = [
    "title matches '[ab]+'",
    "not title like '%oak%chair%'",
    "a + b > 5",
    "not (a + b > 5)",
]


def cost(text: str) -> float:
    return cost_of(cover_of(tamis.parse(text))).nanoseconds


@pytest.mark.parametrize("text", ORDINARY)
def test_nobody_is_warned_of_what_is_ordinary(text: str) -> None:
    engine = tamis.Engine(taxonomy=PARENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.subscribe(tamis.parse(text))
    assert engine.cost(text).nanoseconds <= Limits().costly


@pytest.mark.parametrize("text", COSTLY)
def test_who_costs_every_event_dearly_is_named(text: str) -> None:
    engine = tamis.Engine()
    with pytest.warns(tamis.CostlyWarning, match="'dear' costs about .* ns an event") as caught:
        engine.subscribe(text, id="dear")
    assert caught[0].filename == __file__
    with pytest.warns(tamis.CostlyWarning):
        engine.subscribe_many({"other": text})
    assert len(engine) == 2


@pytest.mark.parametrize("text", COSTLY)
def test_a_limit_refuses(text: str) -> None:
    engine = tamis.Engine(limits=Limits(cost=150))
    with pytest.raises(tamis.LimitError, match="the limit is 150 ns; add a clause that"):
        engine.subscribe(text)
    found = engine.subscribe_many({"dear": text, "cheap": "a = 1"}, errors="collect")
    assert found.ids == ["cheap"]
    assert isinstance(found.rejected[0].error, tamis.LimitError)


def test_thresholds_can_be_set() -> None:
    with pytest.warns(tamis.CostlyWarning):
        tamis.Engine(limits=Limits(costly=1)).subscribe(tamis.attr("x") != 5)
    tamis.Engine(limits=Limits(costly=1_000)).subscribe("title matches '[ab]'")


def test_the_oracle_warns_of_nothing() -> None:
    tamis.Engine(matcher="scan", limits=Limits(cost=1)).subscribe("a + b > 5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", TEST),
        ("x = 1", PRESENCE * VALUE * TEST),
        ("x in (1, 2, 3)", PRESENCE * 3 * VALUE * TEST),
        ("x != 1", PRESENCE * TEST),
        ("title matches '[ab]'", PRESENCE * (TEST + PATTERN)),
        ("a < b", PRESENCE**2 * (TEST + CHECK)),
        ("a + b > 5", PRESENCE**2 * (TEST + ARITHMETIC)),
        ("tags contains 'x' ignoring case", PRESENCE * (TEST + ORACLE)),
        ("x = 1 and a < b", PRESENCE**3 * VALUE * (TEST + CHECK)),
        ("x = 1 or y = 1", 2 * PRESENCE * VALUE * TEST),
        ("title contains text 'oak'", PRESENCE * text_chance(3) * TEST),
        (
            "title like '%oak%ch_ir'",
            PRESENCE * text_chance(3) * text_chance(2) ** 2 * (TEST + EVALUATION + PATTERN),
        ),
        ("x is missing", (1 - PRESENCE) * TEST),
        ("x < 5 and x > 7", 0),
    ],
)
def test_estimates(text: str, expected: float) -> None:
    assert cost(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "title matches '[ab]'",
            "no key: every event that has 'title' is tested by a regular expression",
        ),
        (
            "not title contains text 'oak' and title matches '[ab]'",
            "no key: every event that has 'title' is tested by a regular expression",
        ),
        (
            " and ".join(f"a{n} = {n}" for n in range(9)),
            "hardly any event is tested against its box",
        ),
        ("a like 'x%' and not a like '%'", "it never matches"),
        ("x = 1 and a + b > 5", "about 1 event in 237 is tested by arithmetic"),
        ("true", "no key: every event is tested against its box"),
        ("a = 1 and a = 2", "it never matches"),
        (
            "title matches '[ab]' or x = 1",
            (
                "no key: every event that has 'title' is tested by a regular expression"
                "; the dearest of 2 alternatives"
            ),
        ),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    assert tamis.Engine().cost(text).reason == reason


def test_any_form_of_a_subscription_is_taken() -> None:
    engine = tamis.Engine()
    expression = tamis.parse("title matches '[ab]'")
    expected = engine.cost("title matches '[ab]'")
    assert engine.cost(expression) == engine.cost(tamis.to_json(expression)) == expected
    assert str(expected).startswith("about 227 ns an event (no key: ")
    with pytest.raises(tamis.ParseError):
        engine.cost("title matches")
    with pytest.raises(tamis.SubscriptionError):
        engine.cost("x is a 'thing'")


def test_the_estimate_and_the_plan_agree_on_who_has_no_key() -> None:
    dear, keyed = "title matches '[ab]'", "kind = 'k{}' and title matches '[ab]'"
    engine = tamis.Engine(limits=Limits(costly=1_000))
    engine.subscribe_many({"dear": dear, **{str(n): keyed.format(n) for n in range(50)}})
    assert engine.plan().unserved == ("dear",)
    assert engine.cost(dear).reason.startswith("no key")
    assert not engine.cost(keyed).reason.startswith("no key")
