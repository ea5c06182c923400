"""Files: damaged and foreign ones are refused, and writing is atomic."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tamis import Engine, StorageError
from tamis.arrays.array_writer import save_arrays
from tamis.engine import engine_file
from tamis.engine.subscriptions import MATCHERS


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    engine = Engine()
    engine.subscribe_many([(f"s{index}", f"a = {index}") for index in range(20)])
    engine.save(tmp_path / "engine")
    return tmp_path / "engine"


def test_flipped_bytes_are_found(saved: Path) -> None:
    data = saved.read_bytes()
    chance = random.Random(1)
    for _ in range(300):
        place = chance.randrange(len(data))
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        saved.write_bytes(damaged)
        with pytest.raises(StorageError):
            Engine.load(saved)


def test_cut_files_are_found(saved: Path) -> None:
    data = saved.read_bytes()
    for length in range(0, len(data), 7):
        saved.write_bytes(data[:length])
        with pytest.raises(StorageError):
            Engine.load(saved)


@pytest.mark.parametrize("data", [b"", b"\x00" * 100, b"[]\n", b"{}\n{}\n", b'{"tamis": 99}\n\n'])
def test_foreign_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(StorageError, match="x"):
        Engine.load(tmp_path / "x")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="x"):
        Engine.load(tmp_path / "x")
    with pytest.raises(StorageError, match=tmp_path.name):
        Engine.load(tmp_path)


def test_a_file_of_other_arrays_is_no_engine(tmp_path: Path) -> None:
    save_arrays(tmp_path / "x", {"a": np.arange(3)}, {})
    with pytest.raises(StorageError, match="no engine"):
        Engine.load(tmp_path / "x")
    save_arrays(tmp_path / "x", {"a": np.arange(3)}, {"content": "tamis engine", "settings": {}})
    with pytest.raises(StorageError, match=r"not a whole engine|no strings"):
        Engine.load(tmp_path / "x")


@pytest.mark.parametrize("matcher", MATCHERS)
def test_everything_comes_back(tmp_path: Path, matcher: str) -> None:
    engine = Engine(matcher=matcher, taxonomy={"doll": ["toy"]})
    engine.subscribe_many(  # so many that they are taken in as columns
        [(f"s{index}", f"a = {index % 7} and b < {index}") for index in range(1_100)]
    )
    engine.subscribe("kind is a 'toy'", id="toys", metadata={"owner": "ann"})
    engine.subscribe("title contains text 'oak'", id="oak")
    engine.subscribe("a = 1", id="off", enabled=False)
    engine.unsubscribe("s8")
    engine.unsubscribe("s15")
    engine.subscribe("a = 1 and b = 5", id="s8")
    engine.disable("s22")
    engine.save(tmp_path / "x")
    for verify in (True, False):
        check_loaded(engine, Engine.load(tmp_path / "x", verify=verify), tmp_path)


def check_loaded(engine: Engine, loaded: Engine, tmp_path: Path) -> None:
    """Hold a loaded engine against the one that was saved; change it, and save and load it too."""
    assert len(loaded) == len(engine)
    assert {each.id: each for each in loaded} == {each.id: each for each in engine}
    events = [{"a": 1, "b": 5}, {"a": 1, "b": 100}, {"kind": "doll"}, {"title": "an oak"}, {}]
    for event in events:
        assert sorted(loaded.match(event)) == sorted(engine.match(event))
    loaded.unsubscribe("toys")
    loaded.subscribe("a = 1", id="s15")
    assert "s15" in loaded.match({"a": 1})
    assert loaded.match({"kind": "doll"}) == []
    loaded.save(tmp_path / "y")
    again = Engine.load(tmp_path / "y")
    for event in events:
        assert sorted(again.match(event)) == sorted(loaded.match(event))


def test_kinds_come_back_however_the_taxonomy_is_ordered(tmp_path: Path) -> None:
    taxonomy = {"table": ["furniture"], "doll": ["toy"], "chair": ["furniture"], "axe": []}
    engine = Engine(taxonomy=taxonomy)
    for kind in ("furniture", "toy", "axe", "table"):
        engine.subscribe(f"category is a '{kind}'", id=kind)
    engine.save(tmp_path / "x")
    loaded = Engine.load(tmp_path / "x")
    for category in (*taxonomy, "furniture", "toy", "none"):
        event = {"category": category}
        assert sorted(loaded.match(event)) == sorted(engine.match(event))


def test_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="disk full"):
        Engine().save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["engine"]


def test_segments_of_another_layout_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    engine.subscribe_many({"a": "x = 1 unless y = 2", "b": "t contains text 'oak'"})
    with monkeypatch.context() as patch:
        patch.setattr(engine_file, "COMPILED", "of another layout")
        engine.save(tmp_path / "older")
    loaded = Engine.load(tmp_path / "older")
    for event in ({"x": 1}, {"x": 1, "y": 2}, {"t": "an oak"}):
        assert sorted(loaded.match(event)) == sorted(engine.match(event))


@pytest.mark.slow
def test_two_builds_from_the_same_input_are_identical(tmp_path: Path) -> None:
    """Also in processes that hash strings differently."""
    program = """
import sys, warnings
from tamis import Engine
warnings.simplefilter("ignore")
rows = {
    str(n): f"(a = {n} or b contains text 'x{n % 7}' ignoring case or c like '%y{n}%z') and d{n % 5} < {n}"
    f" unless e{n % 11} in ('p', 'q{n}') and f matches '[ab]{n % 13}+'"
    for n in range(1_500)
}
engine = Engine()
engine.subscribe_many(rows)
engine.settle()
engine.save(sys.argv[1])
"""
    files = []
    for seed in ("1", "2"):
        path = tmp_path / seed
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program, str(path)], env=environment, check=True)
        files.append(path.read_bytes())
    assert files[0] == files[1]
