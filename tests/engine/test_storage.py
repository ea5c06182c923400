"""Files: damaged and foreign ones are refused, and writing is atomic."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tamis import Engine, StorageError


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
    with pytest.raises(StorageError, match="cannot read"):
        Engine.load(tmp_path / "x")
    with pytest.raises(StorageError, match="cannot read"):
        Engine.load(tmp_path)


def test_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        Engine().save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["engine"]
