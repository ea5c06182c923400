"""Snapshots from folders of change files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tamis
from tamis.spark import Index, Snapshots, match
from tests.spark.oracle import events_frame
from tests.spark.test_snapshots import texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]


@pytest.fixture
def changes(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    return tmp_path / "changes"


def put(path: Path, *rows: Row) -> None:
    """Write a change file as one should: beside its place, and rename it."""
    temporary = path.with_name(f".{path.name}")
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(list(rows)), temporary)
    else:
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows))
    temporary.rename(path)


def row(id: Any, subscription: str | None, **more: Any) -> Row:
    return {"id": id, "subscription": subscription, **more}


def versions(index: Index) -> dict[str, Any]:
    """The versions by id, of what is in the engine."""
    slots = dict(zip(index.engine.slot_ids().to_pylist(), index.columns["version"].to_pylist()))
    return {id: slots[id] for id in texts(index)}


# What files say.


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_adding_replacing_and_removing(changes: Path, tmp_path: Path, suffix: str) -> None:
    put(changes / f"1.{suffix}", row("a", "x = 1", version=1), row("b", "x = 2", version=1))
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    assert texts(snapshots.index) == {"a": "x = 1", "b": "x = 2"}
    put(changes / f"2.{suffix}", row("a", "x = 10", version=2), row("b", None, version=2))
    put(changes / f"3.{suffix}", row("c", "x = 3", version=3), row("nobody", None, version=3))
    assert snapshots.refresh() == 2
    saved = Index.open(snapshots.file)
    assert texts(saved) == texts(snapshots.index) == {"a": "x = 10", "c": "x = 3"}
    assert versions(saved) == {"a": 2, "c": 3}
    put(changes / f"4.{suffix}", row("b", "x = 20", version=4))
    snapshots.refresh()
    assert versions(Index.open(snapshots.file)) == {"a": 2, "b": 4, "c": 3}


def test_the_last_row_of_an_id_holds(changes: Path, tmp_path: Path) -> None:
    put(changes / "1.ndjson", row("a", "x = 1"), row("b", "x = 1"), row("c", None))
    put(
        changes / "2.ndjson",
        *(row("a", "x = 2"), row("a", None), row("a", "x = 3")),
        *(row("b", "x = 2"), row("b", None)),
        *(row("c", "x ="), row("c", "x = 3")),
    )
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    assert texts(snapshots.index) == {"a": "x = 3", "c": "x = 3"}
    assert snapshots.index.rejected.num_rows == 0


def test_faulty_rows_are_set_aside(changes: Path, tmp_path: Path) -> None:
    put(changes / "1.ndjson", row("a", "x = 1", version=1), row("b", "x = 2", version=1))
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    put(changes / "2.ndjson", row("a", "x <", version=2), row("c", "x = 3", version=2))
    put(changes / "3.ndjson", row(None, "x = 4", version=3), row("d", "f()", version=3))
    assert snapshots.refresh() == 2
    assert versions(Index.open(snapshots.file)) == {"a": 1, "b": 1, "c": 2}
    lines = (tmp_path / "snapshots" / "000002.rejected.ndjson").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [(each["id"], each["subscription"]) for each in found] == [
        ("a", "x <"),
        (None, "x = 4"),
        ("d", "f()"),
    ]
    assert all(each["error"] for each in found)


def test_ids_that_are_numbers(spark: SparkSession, changes: Path, tmp_path: Path) -> None:
    kinds = pa.schema({"id": pa.int64(), "subscription": pa.string(), "version": pa.int32()})
    initial = Index.of(pa.Table.from_pylist([row(1, "x = 1", version=1)], kinds))
    put(changes / "1.ndjson", row(2, "x = 2", version=5), row(1, None))
    put(changes / "2.parquet", row(3, "x = 3", version=6), row(2**53 + 1, "x = 4", version=7))
    folder = tmp_path / "snapshots"
    snapshots = Snapshots.from_changes(folder, changes, initial=initial)
    events = events_frame(spark, [{"id": x, "x": x} for x in range(5)], {"x": pa.int64()})
    matches = match(events, snapshots)
    assert matches.dtypes[1:] == [("subscription_id", "bigint"), ("version", "int")]
    found = {tuple(each) for each in matches.collect()}
    assert found == {(2, 2, 5), (3, 3, 6), (4, 2**53 + 1, 7)}
    put(changes / "3.ndjson", row("x", "x = 1"))
    with pytest.raises(
        tamis.SubscriptionError, match="ids have type string in the changes, but int64"
    ):
        snapshots.refresh()
    put(changes / "3.ndjson", row("9", "x = 9"))
    snapshots.refresh()
    again = Snapshots.from_changes(folder, changes)
    assert sorted(texts(again.index), key=int) == ["2", "3", "9", str(2**53 + 1)]
    assert again.index.id_type == pa.int64()


# Files that cannot be taken.


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("2.ndjson", b'{"id": "b"', r"cannot read .*2\.ndjson: .*; fix or remove it"),
        (
            "2.ndjson",
            b'{"id": "b", "subscription": 5}',
            "'subscription' of the changes must be text",
        ),
        (
            "2.ndjson",
            b'{"id": "b", "subscripton": "x = 2"}',
            "line 1 must be an object with the keys",
        ),
        ("2.parquet", b"PAR1", r"cannot read .*2\.parquet"),
        ("2.ndjson", b'{"key": "b", "subscription": "x = 2"}', "line 1 must be an object"),
        (
            "2.ndjson",
            b'{"id": "b", "subscription": "x", "version": "v"}',
            "column 'version' has type",
        ),
    ],
    ids=["cut", "number", "misspelt", "parquet", "column", "version"],
)
def test_a_file_that_cannot_be_read(
    changes: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    put(changes / "1.ndjson", row("a", "x = 1", version=1))
    (changes / name).write_bytes(content)
    put(changes / "3.ndjson", row("c", "x = 3", version=3))
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    assert texts(Index.open(snapshots.file)) == {"a": "x = 1"}  # those behind it wait
    for _ in range(2):
        with pytest.raises(tamis.TamisError, match=message):
            snapshots.refresh()
        assert texts(snapshots.index) == {"a": "x = 1"}
        assert snapshots.number == 1
    (changes / name).unlink()
    put(changes / "2.ndjson", row("b", "x = 2", version=2))
    assert snapshots.refresh() == 2
    assert versions(Index.open(snapshots.file)) == {"a": 1, "b": 2, "c": 3}


def test_a_column_of_texts_that_is_none(changes: Path, tmp_path: Path) -> None:
    put(changes / "1.parquet", {"id": "a", "subscription": 5})
    with pytest.raises(tamis.TamisError, match="'subscription'"):
        Snapshots.from_changes(tmp_path / "snapshots", changes)


def test_an_empty_file_changes_nothing(changes: Path, tmp_path: Path) -> None:
    put(changes / "1.ndjson")
    put(changes / "2.ndjson", row("a", "x = 1"))
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    assert texts(snapshots.index) == {"a": "x = 1"}


def test_a_folder_that_is_not_there(changes: Path, tmp_path: Path) -> None:
    with pytest.raises(tamis.StorageError, match=r"cannot list .*nowhere: No such file"):
        Snapshots.from_changes(tmp_path / "snapshots", tmp_path / "nowhere")


def test_other_files_are_left_alone(changes: Path, tmp_path: Path) -> None:
    for name in (".1.ndjson", "_2.ndjson", "3.json", "4.ndjson.tmp", "README"):
        (changes / name).write_text("nonsense")
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    assert (snapshots.number, len(snapshots.index)) == (1, 0)


# Going on.


def test_a_restart_goes_on_where_it_was(changes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    initial = Index.of(pa.table({"id": ["i"], "subscription": ["x = 0"]}))
    put(changes / "1.ndjson", row("a", "x = 1"), row("b", "x = 1"))
    Snapshots.from_changes(folder, changes, initial=initial)
    put(changes / "2.ndjson", row("a", None))
    again = Snapshots.from_changes(folder, changes)
    assert again.number == 2
    assert texts(again.index) == {"i": "x = 0", "b": "x = 1"}
    assert Snapshots.from_changes(folder, changes).number == 2
    put(changes / "3.ndjson", row("b", "x = 3"), row("c", "x = 3"))
    assert again.refresh() == 3
    assert texts(Index.open(again.file)) == {"i": "x = 0", "b": "x = 3", "c": "x = 3"}


def test_files_that_were_taken_may_go(changes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    put(changes / "1.ndjson", row("a", "x = 1"))
    snapshots = Snapshots.from_changes(folder, changes)
    (changes / "1.ndjson").unlink()
    assert snapshots.refresh() == 1
    put(changes / "2.ndjson", row("b", "x = 2"))
    assert snapshots.refresh() == 2
    put(changes / "1.ndjson", row("a", "x = 10"))  # a new one
    assert snapshots.refresh() == 3
    again = Snapshots.from_changes(folder, changes)
    assert again.number == 3
    assert texts(again.index) == {"a": "x = 10", "b": "x = 2"}


@pytest.mark.parametrize("count", [900, 1_100], ids=["one by one", "as columns"])
def test_replacing_for_ever_takes_no_more_room(changes: Path, tmp_path: Path, count: int) -> None:
    """Slots are given back now and then, and the columns move with them."""
    snapshots = Snapshots.from_changes(tmp_path / "snapshots", changes)
    sizes = []
    for number in range(12):
        rows = [row(f"s{n}", f"x = {number}", version=number) for n in range(count)]
        put(changes / f"{number:02}.ndjson", *rows)
        snapshots.refresh()
        sizes.append(snapshots.file.stat().st_size)
        assert set(versions(snapshots.index).values()) == {number}
    assert max(sizes) < 5 * sizes[0]
    assert set(texts(snapshots.index).values()) == {"x = 11"}
    assert versions(Index.open(snapshots.file)) == {f"s{n}": 11 for n in range(count)}
