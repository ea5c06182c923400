"""The settings file, and the command that reads it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

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


def test_files_of_the_broker_are_paths() -> None:
    settings = broker_settings({"secret": "a.key", "index": "folder"})
    assert (settings.secret, settings.index) == (Path("a.key"), Path("folder"))
    limits = broker_settings({"limits": {"text": 100}, "quotas": {"calls": 3, "requests": 10}})
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
