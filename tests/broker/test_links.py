"""Linked brokers: in one process, and in several that are killed and cut off from each other."""

from __future__ import annotations

import json
import os
import random
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication
from tamis.errors import TamisError
from tests.broker.conftest import ALL, bodies, eventually
from tests.broker.link_node import SECRET
from tests.certificates import certificate

NODES = 8
FAULTS = 30 if os.environ.get("TAMIS_SOAK") else 3
KEYS = 3


def key_of(path: Path, name: str) -> str:
    """A key for links, made before the broker is linked."""
    with Broker.open(f"sqlite:///{path / name}.db", BrokerSettings(secret=SECRET)) as broker:
        return broker.create_key("neighbour", ["link"]).result()[0]


@contextmanager
def pair(tmp_path: Path, **options: Any) -> Iterator[tuple[Broker, Broker]]:
    """Two brokers that are linked."""
    key = key_of(tmp_path, "a")
    common = {"anonymous": ALL, "secret": SECRET, "housekeeping": 0.1, **options}
    left = BrokerSettings(name="a", links={"b": ""}, link_listen="127.0.0.1:0", **common)
    with Broker.open(f"sqlite:///{tmp_path / 'a'}.db", left) as a:
        url = f"ws://127.0.0.1:{a.link_port}/"
        right = BrokerSettings(name="b", links={"a": url}, link_key=key, **common)
        with Broker.open(f"sqlite:///{tmp_path / 'b'}.db", right) as b:
            eventually(lambda: a.is_settled and b.is_settled)
            yield a, b


def test_events_cross_a_link(tmp_path: Path) -> None:
    with pair(tmp_path) as (a, b):
        me = a.anonymous()
        here = a.subscribe(NewSubscription("price < 5", id="here"), me).result().ticket
        there = b.subscribe(NewSubscription("price < 9", id="there"), me).result().ticket
        eventually(lambda: [each.entries for each in (*a.links(), *b.links())] == [1, 1])
        for n, price in enumerate((3, 7, 11)):
            a.publish([Publication({"price": price}, id=f"e{n}")], me).result()
        b.publish([Publication({"price": 4})], me).result()
        eventually(lambda: bodies(b.read("there", me, ticket=there)) and len(a.events(me)) == 4)
        eventually(lambda: len(bodies(b.read("there", me, ticket=there))) == 3)
        found = bodies(b.read("there", me, ticket=there))
        assert sorted(each["price"] for each in found) == [3, 4, 7]
        assert sorted(each["price"] for each in bodies(a.read("here", me, ticket=here))) == [3, 4]
        assert len(b.events(me)) == 3  # the event that nobody wants did not cross
        b.update("there", me, ticket=there, subscription="price > 10").result()

        def crossed() -> bool:
            a.publish([Publication({"price": 12})], me).result()
            return {"price": 12} in bodies(b.read("there", me, ticket=there))

        eventually(crossed)
        assert [each.is_connected for each in a.links()] == [True]
        eventually(lambda: list(a._state.routes().values()) == ["b"])  # for its next start


def test_a_link_over_tls(tmp_path: Path) -> None:
    public, private = certificate(tmp_path)
    key = key_of(tmp_path, "a")
    common = {"anonymous": ALL, "secret": SECRET}
    left = BrokerSettings(
        name="a", links={"b": ""}, link_listen="127.0.0.1:0", link_certificate=public,
        link_certificate_key=private, **common,
    )  # fmt: skip
    with Broker.open(f"sqlite:///{tmp_path / 'a'}.db", left) as a:
        right = BrokerSettings(
            name="b", links={"a": f"wss://127.0.0.1:{a.link_port}/"}, link_key=key, **common
        )
        trusting = replace(right, link_authority=public)
        with Broker.open(f"sqlite:///{tmp_path / 'b'}.db", trusting) as b:
            eventually(lambda: all(each.is_synced for each in (*a.links(), *b.links())))
        with (
            pytest.raises(ssl.SSLCertVerificationError),
            connect(f"wss://127.0.0.1:{a.link_port}/", proxy=None, open_timeout=120),
        ):
            pass


def test_who_may_link(tmp_path: Path) -> None:
    with pair(tmp_path) as (a, _):
        address = f"ws://127.0.0.1:{a.link_port}/"
        publisher, _ = a.create_key("p", ["publish"]).result()
        linker, _ = a.create_key("l", ["link"]).result()
        other_tenant, _ = a.create_key("x", ["admin"], tenant="x").result()
        for key, name, status in (
            ("wrong", "b", 401), ("", "b", 401), (publisher, "b", 403), (linker, "stranger", 403),
            (other_tenant, "b", 403),
        ):  # fmt: skip
            headers = {"Authorization": f"Bearer {key}", "Tamis-Broker": name}
            with pytest.raises(InvalidStatus) as error:
                connect(address, additional_headers=headers, proxy=None, open_timeout=120)
            assert error.value.response.status_code == status
        headers = {"Authorization": f"Bearer {linker}", "Tamis-Broker": "b"}
        with connect(address, additional_headers=headers, proxy=None, open_timeout=120) as other:
            other.send("{ no message")
            with pytest.raises(ConnectionClosed, match="1008"):
                while True:  # messages of the overlay may come before
                    other.recv(timeout=120)
    with pytest.raises(TamisError, match="needs a name"):
        Broker.open(f"sqlite:///{tmp_path / 'c'}.db", BrokerSettings(links={"x": ""}))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        settings = BrokerSettings(name="c", links={"x": ""}, link_listen=address)
        with pytest.raises(OSError, match="in use"):
            Broker.open(f"sqlite:///{tmp_path / 'c'}.db", settings)


class Proxy:
    """A wire that can be cut."""

    def __init__(self) -> None:
        self.target = 0
        """The port that it leads to."""
        self._pairs: list[socket.socket] = []
        self._is_cut = False
        self._is_closed = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                here, _ = self._server.accept()
            except OSError:
                continue
            try:
                if self._is_cut:
                    raise ConnectionError
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                here.close()
                continue
            self._pairs += [here, there]
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()

    def cut(self) -> None:
        self._is_cut = True
        for each in self._pairs:
            each.close()
        self._pairs.clear()

    def heal(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self._is_closed = True
        self.cut()
        self._server.close()


def _pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while data := one.recv(65_536):
            other.sendall(data)
    except OSError:
        pass
    for each in (one, other):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        each.close()


class Node:
    """A broker in a process of its own."""

    def __init__(self, form: dict[str, Any], wires: list[Proxy]) -> None:
        """``wires`` lead to it."""
        self._form, self._wires = form, wires
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it; whoever asks meanwhile waits until it has said that it is ready."""
        root = Path(__file__).parents[2]
        with self._lock:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.broker.link_node", json.dumps(self._form)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=root,
                env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
            )
            assert self._process.stdout is not None
            port = json.loads(self._process.stdout.readline())["port"]
            for wire in self._wires:
                wire.target = port

    def ask(self, **command: Any) -> Any:
        """The answer to a command, or None if the process was killed before it came."""
        with self._lock:
            process = self._process
            assert process is not None
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(command) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline() or "null")
            except (OSError, ValueError):
                return None

    def kill(self) -> None:
        process = self._process
        assert process is not None
        process.kill()
        process.wait()
        with self._lock:
            for stream in (process.stdin, process.stdout):
                try:
                    stream.close()  # type: ignore[union-attr]
                except OSError:
                    pass


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_killed_and_cut_off_under_load(tmp_path: Path) -> None:
    """A tree of brokers: each but the first dials an earlier one, over a wire that can be cut."""
    rng = random.Random(20)
    with ExitStack() as stack:
        keys = [key_of(tmp_path, f"n{n}") for n in range(NODES)]
        links: list[dict[str, str]] = [{} for _ in range(NODES)]
        parents = {}
        wires = []
        for n in range(1, NODES):
            parent = parents[n] = rng.randrange(n)
            wires.append(Proxy())
            stack.callback(wires[-1].close)
            links[n][f"n{parent}"] = f"ws://127.0.0.1:{wires[-1].port}/"
            links[parent][f"n{n}"] = ""
        nodes = []
        for n in range(NODES):
            form = {
                "url": f"sqlite:///{tmp_path / f'n{n}'}.db",
                "name": f"n{n}",
                "links": links[n],
                "listen": "127.0.0.1:0",
                "key": keys[parents[n]] if n else "",
            }
            nodes.append(Node(form, [wires[child - 1] for child in parents if parents[child] == n]))
            nodes[n].start()
            stack.callback(nodes[n].kill)
        _settle(nodes)
        tickets = {}
        for n, node in enumerate(nodes):
            key = n % KEYS
            tickets[n] = node.ask(subscribe=f"key = {key}", id=f"s{n}")
        _settle(nodes)
        acknowledged, tried = _publish_with_faults(nodes, wires, rng)
        _settle(nodes)
        for n, node in enumerate(nodes):
            got = node.ask(read=f"s{n}", ticket=tickets[n])
            wanted = {number for number, key in acknowledged.items() if key == n % KEYS}
            possible = {number for number, key in tried.items() if key == n % KEYS}
            assert len(got) == len(set(got)), "an event came twice"
            assert wanted <= set(got), f"n{n} misses {sorted(wanted - set(got))}"
            assert set(got) <= possible
        assert len(acknowledged) > 10 * FAULTS


def _publish_with_faults(
    nodes: list[Node], wires: list[Proxy], rng: random.Random
) -> tuple[dict[int, int], dict[int, int]]:
    """Publish everywhere while brokers are killed and wires cut; what was acknowledged, and all."""
    acknowledged: dict[int, int] = {}
    tried: dict[int, int] = {}
    is_done = threading.Event()

    def publish(node: Node, first: int) -> None:
        number = first
        while not is_done.is_set():
            events = [{"n": number + n, "key": (number + n) % KEYS} for n in range(5)]
            tried.update({each["n"]: each["key"] for each in events})
            answer = node.ask(publish=events)
            if answer is None:
                time.sleep(0.05)  # it is down; the same events again
                continue
            acknowledged.update({n: n % KEYS for n in answer})
            number += 5
            time.sleep(0.02)

    threads = [
        threading.Thread(target=publish, args=(node, 1_000_000 * (n + 1)))
        for n, node in enumerate(nodes)
    ]
    for thread in threads:
        thread.start()
    try:
        for fault in range(FAULTS):
            time.sleep(rng.uniform(0.2, 1.0))
            if fault % 2:
                wire = rng.choice(wires)
                wire.cut()
                time.sleep(rng.uniform(0.1, 2.0))
                wire.heal()
            else:
                node = rng.choice(nodes)
                node.kill()
                time.sleep(rng.uniform(0.0, 1.0))
                node.start()
        time.sleep(0.5)
    finally:
        is_done.set()
        for thread in threads:
            thread.join()
    return acknowledged, tried


def _settle(nodes: list[Node]) -> None:
    """Wait until nothing waits, twice in a row."""
    for _ in range(2):
        eventually(lambda: all(node.ask(settled=True) for node in nodes), 1_000.0)
        time.sleep(0.3)
