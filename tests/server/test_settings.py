"""The settings file, and the command that reads it."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tamis.broker import Broker, NewSubscription, Publication
from tamis.server.serve import broker_settings
from tamis.server.settings import ServerSettings, SettingsError, read_settings
from tests.postgresql import postgresql_server


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[servr]\n", "did you mean 'server'?"),
        ("[server]\nprot = 1\n", "did you mean 'port'?"),
        ('[server]\nport = "80"\n', "port must be a int"),
        ('[server]\nlog = "xml"\n', "text, json"),
        ("[server]\nport = -1\n", "negative"),
        ('[server]\ntls_key = "x"\n', "tls_certificate"),
        ("[server]\ncors_origins = [1]\n", "list of strings"),
        ("nonsense", "no TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "tamis.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)
    assert part in str(caught.value)


def test_operators_are_allowed_by_name() -> None:
    assert not broker_settings({}).operators
    assert set(broker_settings({"operators": ["keywords"]}).operators) == {"keywords"}
    with pytest.raises(SettingsError, match="did you mean 'keywords'"):
        broker_settings({"operators": ["keyword"]})
    with pytest.raises(SettingsError, match="list of names"):
        broker_settings({"operators": "keywords"})


class _Service(BaseHTTPRequestHandler):
    """Answers that the fifth camera sees sixty people."""

    def do_POST(self) -> None:
        calls = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["calls"]
        results = [[60] if each["event"] == {"camera": 5} else [] for each in calls]
        body = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_what_operators_reach_is_said_by_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "cars.db") as cars:
        cars.execute("create table cars (plate text, name text)")
        cars.execute("insert into cars values ('B 1', 'Police'), ('B 2', 'Ada')")
    geometry = {"type": "Point", "coordinates": [13.4, 52.5]}
    feature = {"type": "Feature", "properties": {"name": "the office"}, "geometry": geometry}
    places = {"type": "FeatureCollection", "features": [feature]}
    (tmp_path / "places.geojson").write_text(json.dumps(places))
    module = "import tamis\n@tamis.operator\ndef is_fresh_today(event):\n    return True\n"
    (tmp_path / "operators_of_a_test.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    table = {
        "operators": ["ask", "lookup", "near", "is_fresh_today"],
        "operator_modules": ["operators_of_a_test"],
        "places": [str(tmp_path / "places.geojson")],
        "services": {
            "test mob": {"url": f"http://127.0.0.1:{server.server_port}/", "reads": ["camera"]}
        },
        "queries": {
            "test owner": {
                "database": f"sqlite:///{tmp_path / 'cars.db'}",
                "attribute": "plate",
                "sql": "select plate, name from cars where plate in ({})",
            }
        },
    }
    try:
        with Broker.open(f"sqlite:///{tmp_path / 'b.db'}", broker_settings(table)) as broker:
            key, _ = broker.create_key("admin", ["admin"]).result()
            me = broker.identify(key)
            texts = {
                "lookup": "lookup('test owner', ?name) and ?name = 'Police'",
                "ask": "ask('test mob', ?people) and ?people > 50",
                "near": "near('the office')",
                "mine": "camera is present and is_fresh_today()",
            }
            for id, text in texts.items():
                broker.subscribe(NewSubscription(text, id=id), me).result()
            events = [
                {"plate": "B 1", "camera": 5, "longitude": 13.4, "latitude": 52.5},
                {"plate": "B 2", "camera": 6, "longitude": 14.4, "latitude": 52.5},
            ]
            outcomes = broker.publish([Publication(each) for each in events], me).result()
            assert [(each.matched, each.incomplete) for each in outcomes] == [(4, 0), (1, 0)]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({"operator_modules": ["there_is_no_such_module"]}, "there_is_no_such_module"),
        ({"operator_modules": "x"}, "list of strings"),
        ({"places": ["/nowhere.geojson"]}, "nowhere.geojson"),
        ({"services": {"mob": {"url": "ftp://x", "reads": []}}}, "services.mob: a service has"),
        ({"services": {"mob": {"url": "http://x"}}}, "services.mob needs reads"),
        ({"services": {"mob": 3}}, r"\[broker.services.mob\]"),
        ({"services": 3}, r"\[broker.services.NAME\]"),
        ({"queries": {"q": {"databse": "x"}}}, "queries.q.databse; there are database"),
        ({"queries": {"q": {"database": "x", "attribute": "a", "sql": "{}"}}}, "not a database"),
        ({"queries": {"q": {"database": 3, "attribute": "a", "sql": "{}"}}}, "must be a str"),
        (
            {"queries": {"q": {"database": "sqlite:///x", "attribute": "a", "sql": "select"}}},
            "queries.q: the query 'q' needs",
        ),
    ],
)
def test_mistakes_about_operators_are_named(table: dict[str, object], part: str) -> None:
    with pytest.raises(SettingsError, match=part):
        broker_settings(table)


def test_files_of_the_broker_are_paths() -> None:
    settings = broker_settings({"secret": "a.key", "index": "folder"})
    assert (settings.secret, settings.index) == (Path("a.key"), Path("folder"))
    limits = broker_settings({"limits": {"text": 100}, "quotas": {"calls": 3, "requests": 10}})
    assert broker_settings({}).limits.text == 100_000
    assert broker_settings({"limits": {"values": 7}}).limits.text == 100_000
    assert (limits.limits.text, limits.quotas.calls, limits.quotas.requests) == (100, 3, 10)
    for wrong in ({"quotas": {"calls": "x"}}, {"quotas": 3}, {"limits": {"txt": 3}}):
        with pytest.raises(SettingsError, match=r"quotas|did you mean 'text'"):
            broker_settings(wrong)
    with pytest.raises(SettingsError, match="secret is a path"):
        broker_settings({"secret": 7})


def test_settings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tamis.toml"
    path.write_text(
        '[server]\nport = 9\nwait_seconds = 3\ncors_origins = ["https://a.example"]\n[broker]\nlease = 60.0\n'
    )
    settings = read_settings(path)
    assert settings.server == ServerSettings(
        port=9, wait_seconds=3.0, cors_origins=("https://a.example",)
    )
    assert settings.broker == {"lease": 60.0}


def start(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], str, str]:
    command = [sys.executable, "-m", "tamis.cli.main", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "openapi.json" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    if not (folder / "seen").exists():  # the key comes next
        said += process.stderr.readline()
    (address,) = re.findall(r"console is at (\S+)/\n", said)
    keys = re.findall(r"tk_\S+", said)
    return process, address, keys[0] if keys else ""


@pytest.mark.slow
def test_serve_alone_works_and_keeps_everything(tmp_path: Path) -> None:
    process, address, key = start(tmp_path)
    headers = {"Authorization": f"Bearer {key}"}
    try:
        body = {"subscription": "a = 1", "id": "one"}
        assert (
            httpx.post(
                f"{address}/v1/subscriptions", json=body, headers=headers, timeout=120
            ).status_code
            == 201
        )
        assert httpx.get(f"{address}/readyz", timeout=120).json() == {"status": "ready"}
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) in (0, -signal.SIGTERM)
        process.communicate()
    assert (tmp_path / "tamis.db").exists()
    (tmp_path / "seen").touch()
    process, address, again = start(tmp_path)
    try:
        assert again == "", "the key is shown only once"
        found = httpx.get(f"{address}/v1/subscriptions/one", headers=headers, timeout=120).json()
        assert found["subscription"] == "a = 1"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
        process.communicate()


@pytest.mark.slow
def test_serve_on_postgresql(tmp_path: Path) -> None:
    with postgresql_server() as server:
        process, address, key = start(tmp_path, "--store", server.url)
        try:
            headers = {"Authorization": f"Bearer {key}"}
            answer = httpx.post(f"{address}/v1/events", json={"a": 1}, headers=headers, timeout=120)
            assert answer.status_code == 200
            assert (tmp_path / "tamis.key").stat().st_mode & 0o077 == 0
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)
            process.communicate()


def test_wrong_settings_are_a_wrong_usage(run, tmp_path: Path) -> None:
    (tmp_path / "tamis.toml").write_text("[server]\nprot = 1\n")
    result = run("serve", "--config", str(tmp_path / "tamis.toml"))
    assert result.exit_code == 2
    assert "did you mean 'port'?" in result.stderr
