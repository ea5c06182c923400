"""The overlay: every event reaches exactly the right brokers, whatever happens to messages."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tamis.engine.engine import Engine
from tamis.errors import DuplicateIdError, TamisError, UnknownIdError
from tamis.language.parser import parse
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.routing.distribution import UniformIntegers
from tamis.routing.link_table import MergePolicy
from tamis.routing.merging import MergeRules
from tamis.routing.messages import Timeouts, Verb
from tamis.routing.overlay import Overlay, named_by_text
from tamis.routing.simulator import Simulator, Weather, random_tree
from tests.examples import examples
from tests.routing.world import FACTS, check_publishing, matches, random_event, random_filter

IS_SOAK = bool(os.environ.get("TAMIS_SOAK"))
MODES = ["simple", "covering", "merging"]
EVERYTHING = parse("a >= 0")
RULES = MergeRules(0.1, distribution=UniformIntegers({"a": 8, "b": 8, "c": 8}))
STORM = Weather(loss=0.2, repetition=0.2, least=0.01, most=2.0)


def simulator(
    brokers: int,
    seed: int,
    mode: str,
    weather: Weather | None = None,
    chords: Iterable[tuple[str, str]] = (),
) -> Simulator:
    edges = {*random_tree(brokers, seed), *chords}
    timing = Timeouts(1.0, 10.0, 1_000.0)
    return Simulator(
        sorted(edges),
        seed,
        weather,
        mode=mode,
        facts=FACTS,
        timing=timing,
        rules=RULES,
        policy=MergePolicy(changes=4, share=0),
    )


def change(world: Simulator, rng: random.Random, serial: int, kept: set[str]) -> None:
    """Let a client come or go; those that are kept stay."""
    name = rng.choice(list(world.hosts))
    there = [id for id in world.hosts[name].subscriptions if id not in kept]
    if there and rng.random() < 0.45:
        world.unsubscribe(name, rng.choice(there))
    else:
        world.subscribe(name, f"s{serial}", random_filter(rng))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(2))
def test_in_good_weather(mode: str, seed: int) -> None:
    rng = random.Random(seed)
    world = simulator(7, seed, mode)
    for n in range(3):
        world.advertise(f"b{2 * n}", f"adv{n}", random_filter(rng) if n else EVERYTHING)
    world.settle()
    for turn in range(4):
        for n in range(12):
            change(world, rng, 100 * turn + n, set())
        world.settle()
        check_publishing(world, rng, 8, f"e{turn}-")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(2))
def test_in_a_storm_nothing_is_lost_for_those_who_stay(mode: str, seed: int) -> None:
    """Events are published while clients come and go and brokers crash and return."""
    rng = random.Random(seed)
    world = simulator(6, seed, mode, STORM)
    world.advertise("b0", "adv0", EVERYTHING)
    world.advertise("b3", "adv1", EVERYTHING)
    kept = {}
    for n in range(12):
        kept[f"k{n}"] = f"b{n % 6}", random_filter(rng)
        world.subscribe(*kept[f"k{n}"][:1], f"k{n}", kept[f"k{n}"][1])
    world.settle()
    events, down = {}, ""
    for turn in range(40):
        change(world, rng, turn, set(kept))
        events[f"e{turn}"] = random_event(rng)
        world.publish(rng.choice(["b0", "b3"]), f"e{turn}", events[f"e{turn}"])
        if turn % 12 == 5:
            down = rng.choice(list(world.brokers))
            world.crash(down)
        if turn % 12 == 9:
            world.start(down)
            down = ""
        world.run(rng.uniform(0.1, 3.0))
        if turn % 12 == 11:
            world.settle()
    if down:
        world.start(down)
    world.settle()
    assert not world.losses
    for id, event in events.items():
        for own, (name, expression) in kept.items():
            was_stored = own in world.hosts[name].stored.get(id, ())
            assert was_stored == matches(expression, event), (id, own, name)
    check_publishing(world, rng, 10, "after")


@pytest.mark.parametrize("mode", MODES)
def test_a_ring_with_chords(mode: str) -> None:
    rng = random.Random(3)
    edges = [(f"b{n}", f"b{(n + 1) % 8}") for n in range(8)] + [("b0", "b4"), ("b2", "b6")]
    options = {
        "mode": mode,
        "facts": FACTS,
        "rules": RULES,
        "policy": MergePolicy(changes=4, share=0),
    }
    world = Simulator(edges, 1, STORM, through_json=True, **options)
    world.advertise("b0", "adv0", EVERYTHING)
    world.advertise("b5", "adv1", parse("a >= 0 and b >= 0"))
    world.settle()
    for n in range(30):
        change(world, rng, n, set())
    world.settle()
    check_publishing(world, rng, 12, "e")
    world.unadvertise("b5", "adv1")
    world.settle()
    check_publishing(world, rng, 5, "f")


@pytest.mark.parametrize("seed", range(300) if IS_SOAK else [5, 11, 43, 46, 75, 78])
def test_in_a_storm_over_cycles_nothing_is_lost_for_those_who_stay(seed: int) -> None:
    """A broker that returns must keep its routes, and must not wait for an event that waits for
    itself."""
    rng = random.Random(seed)
    count = rng.randint(3, 7)
    chords = []
    for _ in range(rng.randint(1, 3)):
        a, b = sorted(rng.sample(range(count), 2))
        chords.append((f"b{a}", f"b{b}"))
    world = simulator(count, seed, rng.choice(MODES), STORM, chords)
    publishers = rng.sample(sorted(world.hosts), 2)
    for name in publishers:
        world.advertise(name, f"adv-{name}", EVERYTHING)
    kept = {}
    for n in range(10):
        kept[f"k{n}"] = rng.choice(sorted(world.hosts)), random_filter(rng)
        world.subscribe(kept[f"k{n}"][0], f"k{n}", kept[f"k{n}"][1])
    world.settle()
    events, down = {}, ""
    for turn in range(40):
        change(world, rng, turn, set(kept))
        events[f"e{turn}"] = random_event(rng)
        world.publish(rng.choice(publishers), f"e{turn}", events[f"e{turn}"])
        if not down and rng.random() < 0.15:
            down = rng.choice(list(world.brokers))
            world.crash(down)
        elif down and rng.random() < 0.3:
            world.start(down)
            down = ""
        world.run(rng.uniform(0.1, 3.0))
    if down:
        world.start(down)
    world.settle(3_000.0)
    assert not world.losses
    for id, event in events.items():
        for own, (name, expression) in kept.items():
            was_stored = own in world.hosts[name].stored.get(id, ())
            assert was_stored == matches(expression, event), (id, own, name)
    check_publishing(world, rng, 10, "after")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_brokers_that_return_at_once_do_not_wait_for_each_other(mode: str, seed: int) -> None:
    """Some crash together, at last all; nothing is held back until ``Timeouts.hold``."""
    rng = random.Random(seed)
    world = simulator(7, seed, mode, STORM)
    world.advertise("b0", "adv0", EVERYTHING)
    world.advertise("b5", "adv1", parse("a > 2"))
    kept = {}
    for n in range(12):
        kept[f"k{n}"] = f"b{n % 7}", random_filter(rng)
        world.subscribe(kept[f"k{n}"][0], f"k{n}", kept[f"k{n}"][1])
    world.settle()
    events = {}
    for turn, count in enumerate([2, 3, 4, 7]):
        down = rng.sample(sorted(world.brokers), count)
        for name in down:
            world.crash(name)
        for n in range(4):
            change(world, rng, 10 * turn + n, set(kept))
            events[f"e{turn}-{n}"] = random_event(rng)
            world.publish("b0", f"e{turn}-{n}", events[f"e{turn}-{n}"])
            world.run(rng.uniform(0.1, 2.0))
        for name in down:
            world.start(name)
            world.run(rng.uniform(0.0, 2.0))
        world.settle(300.0)
    assert not world.losses
    for id, event in events.items():
        for own, (name, expression) in kept.items():
            was_stored = own in world.hosts[name].stored.get(id, ())
            assert was_stored == matches(expression, event), (id, own, name)
    check_publishing(world, rng, 10, "after")


def test_covering_and_merging_send_less() -> None:
    counts, entries = {}, {}
    for mode in MODES:
        rng = random.Random(1)
        world = simulator(15, 1, mode)
        world.advertise("b0", "adv", EVERYTHING)
        world.settle()
        for n in range(150):
            world.subscribe(f"b{rng.randrange(15)}", f"s{n}", random_filter(rng))
        world.settle()
        counts[mode] = world.counts[Verb.SUBSCRIBE]
        entries[mode] = sum(broker.entries for broker in world.brokers.values())
        check_publishing(world, rng, 5, "e")
    assert counts["covering"] < 0.5 * counts["simple"]
    assert entries["merging"] < entries["covering"] < entries["simple"]


def test_what_replaces_is_acknowledged_before_what_it_replaces_is_withdrawn() -> None:
    broker = Overlay("b1", ["b2"], facts=FACTS)
    other = Overlay("b2", ["b1"], facts=FACTS)
    other.advertise("adv", EVERYTHING, 0.0)

    def exchange() -> list[Verb]:
        said = []
        while broker.outbox or other.outbox:
            for one, two in ((broker, other), (other, broker)):
                sent = list(one.outbox)
                one.outbox.clear()
                for message in sent:
                    said.append(message.verb)
                    two.receive(message, 0.0)
        return said

    exchange()
    broker.subscribe("narrow", parse("a < 3"), 0.0)
    exchange()
    broker.subscribe("wide", parse("a < 5"), 0.0)
    said = [verb for verb in exchange() if verb != Verb.HELLO]
    assert said == [Verb.SUBSCRIBE, Verb.ACKNOWLEDGE, Verb.UNSUBSCRIBE, Verb.ACKNOWLEDGE]
    assert set(other.links["b1"].subscriptions) == {named_by_text("wide", parse("a < 5"))}
    broker.unsubscribe("wide", 0.0)
    said = exchange()
    assert said == [Verb.SUBSCRIBE, Verb.ACKNOWLEDGE, Verb.UNSUBSCRIBE, Verb.ACKNOWLEDGE]
    assert set(other.links["b1"].subscriptions) == {named_by_text("narrow", parse("a < 3"))}


def test_a_neighbour_that_does_not_return_is_reported_and_may_come_back() -> None:
    world = Simulator([("b0", "b1")], facts=FACTS, timing=Timeouts(1.0, 5.0, 20.0))
    world.advertise("b0", "adv", EVERYTHING)
    world.subscribe("b1", "s", parse("a > 3"))
    world.settle()
    world.crash("b1")
    world.publish("b0", "lost", {"a": 5})
    world.run(60.0)
    (loss,) = world.losses
    assert (loss.neighbour, loss.events, loss.entries) == ("b1", ["lost"], 1)
    assert not world.hosts["b0"].unpublished
    world.start("b1")
    world.settle()
    world.publish("b0", "e", {"a": 5})
    world.settle()
    assert world.hosts["b1"].stored == {"e": {"s"}}


@pytest.mark.parametrize("mode", MODES)
def test_brokers_that_were_given_up_find_their_place_again(mode: str) -> None:
    """Neighbours have forgotten all that came from them, and events meanwhile are reported."""
    rng = random.Random(6)
    timing = Timeouts(1.0, 4.0, 5.0)
    edges = [*random_tree(5, 6), ("b0", "b4")]
    world = Simulator(edges, 6, STORM, mode=mode, facts=FACTS, timing=timing, rules=RULES)
    world.advertise("b0", "adv0", EVERYTHING)
    world.advertise("b2", "adv1", parse("a >= 0 and b < 5"))
    for turn in range(5):
        down = f"b{rng.randrange(5)}"
        for n in range(6):
            change(world, rng, 10 * turn + n, set())
        world.crash(down)
        for n in range(4):
            world.publish("b0", f"e{turn}-{n}", random_event(rng))
        world.run(rng.uniform(3.0, 40.0))
        world.start(down)
    world.settle()
    assert world.losses
    world.losses.clear()
    check_publishing(world, rng, 10, "after")
    assert not world.losses


@pytest.mark.parametrize("former", ["b1", "b3", "no neighbour any more"])
def test_a_route_that_does_not_come_back_is_replaced(former: str) -> None:
    world = Simulator([("b0", "b1"), ("b1", "b2"), ("b2", "b3")], facts=FACTS)
    world.advertise("b0", "adv", EVERYTHING)
    world.subscribe("b2", "s", parse("a > 3"))
    world.settle()
    host = world.hosts["b2"]
    (id,) = host.routes
    assert host.routes == {id: "b1"}
    host.routes = {id: former}
    world.crash("b2")
    world.start("b2")
    world.settle(50.0)
    assert host.routes == {id: "b1"}
    world.publish("b0", "e", {"a": 5})
    world.settle()
    assert host.stored == {"e": {"s"}}


def test_only_the_broker_that_is_gone_is_given_up() -> None:
    """Those on the way to it hold its event too, and wait without being dead."""
    edges = [("b0", "b1"), ("b1", "b2"), ("b2", "b3")]
    world = Simulator(edges, facts=FACTS, timing=Timeouts(1.0, 5.0, 20.0))
    world.advertise("b0", "adv", EVERYTHING)
    world.subscribe("b3", "s", parse("a > 3"))
    world.settle()
    world.crash("b3")
    world.publish("b0", "lost", {"a": 5})
    world.run(60.0)
    assert [(each.neighbour, each.events) for each in world.losses] == [("b3", ["lost"])]
    assert not world.hosts["b0"].unpublished


def test_mistakes_are_refused() -> None:
    with pytest.raises(TamisError, match="unknown mode 'cover'"):
        Overlay("b", [], mode="cover")
    broker = Overlay("b", [])
    broker.subscribe("s", EVERYTHING, 0.0)
    with pytest.raises(DuplicateIdError, match="unsubscribe it first"):
        broker.subscribe("s", EVERYTHING, 0.0)
    with pytest.raises(UnknownIdError, match="no client of b"):
        broker.unsubscribe("t", 0.0)
    broker.advertise("adv", EVERYTHING, 0.0)
    with pytest.raises(DuplicateIdError, match="unadvertise it first"):
        broker.advertise("adv", EVERYTHING, 0.0)
    with pytest.raises(UnknownIdError, match="no client of b has an advertisement"):
        broker.unadvertise("other", 0.0)
    assert repr(broker) == "<broker b: 0 links, 0 entries>"


@pytest.mark.parametrize("mode", MODES)
def test_an_id_may_come_again_with_another_subscription(mode: str) -> None:
    """What the first one covered must be known before the second takes its place."""
    rng = random.Random(2)
    world = simulator(4, 2, mode, STORM)
    world.advertise("b0", "adv", EVERYTHING)
    world.subscribe("b3", "kept", parse("a < 4"))
    world.settle()
    for turn in range(12):
        if turn:
            world.unsubscribe("b3", "s")
        world.subscribe("b3", "s", parse(f"a < {turn + 4}" if turn % 2 else f"b = {turn % 8}"))
        world.publish("b0", f"e{turn}", {"a": 1, "b": 9, "c": 1})
        world.run(rng.uniform(0.1, 2.0))
    world.settle()
    assert all("kept" in world.hosts["b3"].stored[f"e{turn}"] for turn in range(12))
    check_publishing(world, rng, 10, "after")


@pytest.mark.parametrize("mode", MODES)
def test_an_advertisement_may_come_again_as_another(mode: str) -> None:
    rng = random.Random(4)
    world = simulator(6, 4, mode)
    world.advertise("b0", "adv", parse("a < 2"))
    for n in range(20):
        world.subscribe(f"b{n % 6}", f"s{n}", random_filter(rng))
    world.settle()
    few = sum(broker.entries for broker in world.brokers.values())
    world.unadvertise("b0", "adv")
    world.advertise("b0", "adv", EVERYTHING)
    world.settle()
    assert sum(broker.entries for broker in world.brokers.values()) > few
    check_publishing(world, rng, 10, "e")


def test_a_taxonomy_is_asked_by_the_engine_that_is_given() -> None:
    taxonomy = Taxonomy({"chair": ["furniture"]})
    ends = {}
    for name, other in (("b0", "b1"), ("b1", "b0")):
        ends[name] = Overlay(name, [other], engine=Engine(taxonomy=taxonomy))
    ends["b0"].advertise("adv", parse("kind is present"), 0.0)
    ends["b1"].subscribe("s", parse("kind is a 'furniture'"), 0.0)

    def exchange() -> None:
        while any(end.outbox for end in ends.values()):
            for end in ends.values():
                sent, end.outbox[:] = list(end.outbox), []
                for message in sent:
                    ends[message.receiver].receive(message, 0.0)

    exchange()
    ends["b0"].publish("e", {"kind": "chair"}, 0.0)
    exchange()
    assert [each.subscriptions for each in ends["b1"].deliveries] == [["s"]]


NESTED = [
    "a < 7",
    "a < 5",
    "a < 3",
    "a = 5",
    "a < 5 and b > 2",
    "b > 2",
    "b > 4",
    "b > 4 and c = 1",
]


class Story(RuleBasedStateMachine):
    """Whatever clients, brokers and the network do, in any order.

    A subscription *stands* from the time that the network has settled with it until it goes. Events
    that are published meanwhile must reach those that stand, and no others.
    """

    @initialize(
        mode=st.sampled_from(MODES),
        seed=st.integers(0, 99),
        chords=st.sampled_from([[], [("b0", "b3")], [("b0", "b3"), ("b1", "b2"), ("b2", "b3")]]),
    )
    def begin(self, mode: str, seed: int, chords: list[tuple[str, str]]) -> None:
        self.rng = random.Random(seed)
        self.world = simulator(4, seed, mode, STORM, chords)
        self.world.advertise("b0", "adv", EVERYTHING)
        self.world.advertise("b3", "other", parse("a > 1"))
        self.serial = 0
        self.down: str | None = None
        self.standing: dict[str, str] = {}
        self.meanwhile: dict[str, dict[str, int]] = {}

    @rule(text=st.sampled_from(NESTED), where=st.integers(0, 3), events=st.integers(0, 6))
    def subscribe(self, text: str, where: int, events: int) -> None:
        self.serial += 1
        self.world.subscribe(f"b{where}", f"s{self.serial}", parse(text))
        self.publish_meanwhile(events)

    @rule(where=st.integers(0, 3), which=st.integers(0, 5), events=st.integers(0, 6))
    def unsubscribe(self, where: int, which: int, events: int) -> None:
        there = list(self.world.hosts[f"b{where}"].subscriptions)
        if there:
            id = there[which % len(there)]
            self.world.unsubscribe(f"b{where}", id)
            self.standing.pop(id, None)
        self.publish_meanwhile(events)

    @rule(where=st.integers(0, 3))
    def crash_or_return(self, where: int) -> None:
        if self.down is None:
            self.down = f"b{where}"
            self.world.crash(self.down)
        else:
            self.world.start(self.down)
            self.down = None

    @rule(duration=st.floats(0.1, 5.0))
    def wait(self, duration: float) -> None:
        self.world.run(duration)

    def publish_meanwhile(self, count: int) -> None:
        for _ in range(count):
            self.serial += 1
            event = self.meanwhile[f"m{self.serial}"] = random_event(self.rng)
            self.world.publish("b0", f"m{self.serial}", event)
            self.world.run(0.3)

    @rule()
    def publish(self) -> None:
        if self.down is not None:
            self.world.start(self.down)
            self.down = None
        self.world.settle()
        for id, event in self.meanwhile.items():
            for own, name in self.standing.items():
                was_stored = own in self.world.hosts[name].stored.get(id, ())
                expression = self.world.hosts[name].subscriptions[own]
                assert was_stored == matches(expression, event), (id, own, name)
        self.meanwhile.clear()
        hosts = self.world.hosts.items()
        self.standing = {id: name for name, host in hosts for id in host.subscriptions}
        self.serial += 1
        check_publishing(self.world, self.rng, 3, f"e{self.serial}-")

    @invariant()
    def nothing_was_given_up(self) -> None:
        if hasattr(self, "world"):
            assert not self.world.losses


Story.TestCase.settings = examples(40, stateful_step_count=30)
TestStory = Story.TestCase
