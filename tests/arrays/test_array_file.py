"""Files of arrays: what is saved comes back, whatever is damaged is refused, nothing crashes."""

from __future__ import annotations

import errno
import gc
import json
import os
import pickle
import random
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tamis.arrays.array_file import fingerprint, open_arrays
from tamis.arrays.array_layout import Entry
from tamis.arrays.array_writer import save_arrays
from tamis.arrays.string_file import string_arrays, strings_of
from tamis.errors import LimitError, StorageError

DTYPES = "?,i1,u1,i2,u2,i4,u4,i8,u8,f2,f4,f8,c8,c16".split(",")
PREAMBLE = struct.Struct("<8sIQQI")

READ_ALL = """
import sys
from tamis.errors import StorageError
from tamis.arrays.array_file import open_arrays

def read_all(path):
    try:
        with open_arrays(path, verify=False) as arrays:
            return all(len(array.tobytes()) == array.nbytes for array in arrays.values())
    except StorageError:
        return False
"""


def small() -> dict[str, NDArray[Any]]:
    return {
        "lines/3/hi": np.arange(5, dtype=np.int32),
        "empty": np.zeros((0, 3), np.float64),
        "one": np.array(7, np.uint16),
        "square": np.arange(6, dtype=np.float32).reshape(2, 3),
        "truth": np.array([True, False, True]),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_arrays(tmp_path / "arrays", small(), {"kind": "test", "count": 3})
    return tmp_path / "arrays"


def forge(path: Path, change: Any, hole: int = 0) -> None:
    """Rewrite the document of a file, with sizes and checksum that fit, and a hole at the end."""
    data = path.read_bytes()
    magic, version, head_size, _, _ = PREAMBLE.unpack(data[: PREAMBLE.size])
    text = data[PREAMBLE.size : head_size]
    changed = change(json.loads(text))
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    text = text.ljust(-(-(len(text) + PREAMBLE.size) // 64) * 64 - PREAMBLE.size)
    body = data[head_size:]
    sizes = (PREAMBLE.size + len(text), PREAMBLE.size + len(text) + len(body) + hole)
    guarded = PREAMBLE.pack(magic, version, *sizes, 0)[:-4]
    checksum = zlib.crc32(text, zlib.crc32(guarded)).to_bytes(4, "little")
    path.write_bytes(guarded + checksum + text + body)
    os.truncate(path, sizes[1])


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )


# What is saved comes back

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    arrays=st.dictionaries(
        st.text(max_size=8),
        st.sampled_from(DTYPES).flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_dims=4))
        ),
        max_size=6,
    ),
    header=st.dictionaries(st.text(max_size=5), values, max_size=4),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any], header: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip"
    save_arrays(path, arrays, header)
    first = path.read_bytes()
    for verify in (True, False):
        opened = open_arrays(path, verify)
        assert opened.header == header
        assert list(opened) == sorted(arrays)
        for name, array in arrays.items():
            assert opened[name].dtype == array.dtype
            assert opened[name].shape == array.shape
            assert opened[name].tobytes() == array.tobytes()
    save_arrays(path, dict(reversed(arrays.items())), dict(reversed(header.items())))
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.asfortranarray(np.arange(400_000, dtype=np.int32).reshape(1000, 400)),
        np.arange(300_000)[::-3],
        np.broadcast_to(np.float32(1.5), (700, 600)),
        np.arange(10, dtype=">i4"),
        np.arange(200_000, dtype=">f8").reshape(2, -1).T,
        np.zeros((1,) * 64),
        np.zeros((0, 1 << 40), np.int8),
    ],
    ids=lambda array: f"{array.dtype.str}{array.shape[:3]}",
)
def test_any_memory_order(tmp_path: Path, array: NDArray[Any]) -> None:
    save_arrays(tmp_path / "a", {"x": array, "y": np.arange(3)}, {})
    opened = open_arrays(tmp_path / "a")
    assert opened["x"].dtype == array.dtype.newbyteorder("<")
    assert opened["x"].shape == array.shape
    assert array.size == 0 or np.array_equal(opened["x"], array)
    assert opened["y"].tolist() == [0, 1, 2]


def test_views_are_aligned_read_only_and_share_one_map(saved: Path) -> None:
    arrays = open_arrays(saved)
    places = [array.__array_interface__["data"][0] for array in arrays.values()]
    assert all(place % 64 == 0 for place in places)
    assert max(places) - min(places) < saved.stat().st_size
    for array in arrays.values():
        assert array.flags.aligned
        assert array.flags.c_contiguous
        with pytest.raises(ValueError):
            array[...] = 0
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_it_is_a_mapping(saved: Path) -> None:
    arrays = open_arrays(saved)
    assert list(arrays) == ["empty", "lines/3/hi", "one", "square", "truth"]
    assert len(arrays) == 5
    assert "one" in arrays
    assert "two" not in arrays
    assert arrays.get("two") is None
    assert arrays.nbytes == sum(array.nbytes for array in small().values())
    assert arrays == arrays
    assert arrays != open_arrays(saved)
    assert len({arrays, arrays}) == 1
    assert repr(arrays) == f"<ArrayFile '{saved}': 5 arrays, 49 bytes>"
    with pytest.raises(KeyError, match="no array 'two' in"):
        arrays["two"]
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(arrays)


def test_nothing_at_all_is_a_file_too(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", {}, {})
    arrays = open_arrays(tmp_path / "a")
    assert (dict(arrays), arrays.header, arrays.nbytes) == ({}, {}, 0)


def test_views_outlive_the_file(saved: Path) -> None:
    with open_arrays(saved) as arrays:
        kept = arrays["lines/3/hi"][1:]
    assert repr(arrays).endswith("bytes, closed>")
    with pytest.raises(StorageError, match="is closed: open it again"):
        arrays["one"]
    del arrays
    gc.collect()
    saved.unlink()
    assert kept.tolist() == [1, 2, 3, 4]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_the_last_view_unmaps(saved: Path) -> None:
    arrays = open_arrays(saved)
    view = arrays["one"]
    arrays.close()
    assert str(saved) in Path("/proc/self/maps").read_text()
    del view
    assert str(saved) not in Path("/proc/self/maps").read_text()
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert str(saved) not in links


# What cannot be saved


@pytest.mark.parametrize(
    "array",
    [
        np.array([None, 1], object),
        np.array(["a"]),
        np.array([b"a"]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "i4,f8"),
        np.zeros(2, np.longdouble),
        np.zeros(2, "V3"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_other_dtypes_are_refused(tmp_path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="no array of numbers: 'x' is of dtype"):
        save_arrays(tmp_path / "a", {"x": array}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [float("nan"), object(), {1}, b"x"])
def test_a_header_must_be_json(tmp_path: Path, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        save_arrays(tmp_path / "a", {}, {"x": value})
    assert not list(tmp_path.iterdir())


def test_a_header_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.arrays.array_writer.MAX_HEAD", 1024)
    with pytest.raises(LimitError, match="bytes of table and header"):
        save_arrays(tmp_path / "a", {}, {"x": "y" * 1024})


# Damage


def test_every_flipped_byte_is_found(saved: Path) -> None:
    data = saved.read_bytes()
    assert len(data) < 1500
    for place in range(len(data)):
        for pattern in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            saved.write_bytes(data[:place] + bytes([data[place] ^ pattern]) + data[place + 1 :])
            with pytest.raises(StorageError, match="arrays"):
                open_arrays(saved)


def test_no_flipped_byte_crashes_without_verify(saved: Path) -> None:
    code = f"""{READ_ALL}
data = open(sys.argv[1], "rb").read()
opened = 0
for place in range(len(data)):
    for pattern in (1, 2, 4, 8, 16, 32, 64, 128, 255):
        with open(sys.argv[1], "wb") as file:
            file.write(data[:place] + bytes([data[place] ^ pattern]) + data[place + 1 :])
        opened += read_all(sys.argv[1])
print(opened / 9)
"""
    head_size = PREAMBLE.unpack(saved.read_bytes()[: PREAMBLE.size])[2]
    behind = saved.stat().st_size - head_size
    result = run(code, saved)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == behind  # flips behind the head, and no others, go unseen


def test_every_truncation_and_every_extension_is_refused(saved: Path) -> None:
    code = f"""{READ_ALL}
data = open(sys.argv[1], "rb").read()
for length in [*range(len(data)), len(data) + 1, len(data) + 5000]:
    with open(sys.argv[1], "wb") as file:
        file.write(data[:length].ljust(length, bytes(1)))
    assert not read_all(sys.argv[1]), length
"""
    data = saved.read_bytes()
    result = run(code, saved)
    assert result.returncode == 0, result.stderr
    saved.write_bytes(data[:-1])
    with pytest.raises(StorageError, match=f"it has {len(data) - 1:,} bytes instead of"):
        open_arrays(saved)


def test_truncation_of_a_file_of_many_pages(tmp_path: Path) -> None:
    path = tmp_path / "arrays"
    save_arrays(path, {"x": np.arange(100_000)}, {})
    for length in (799_000, 400_000, 4096, 100, 31):
        os.truncate(path, length)
        with pytest.raises(StorageError, match="restore it from a copy or build it again"):
            open_arrays(path, verify=False)


def row(**fields: object) -> Any:
    """A change to the row of 'square', which lies between others."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        next(each for each in document["arrays"] if each["name"] == "square").update(fields)
        return document

    return change


HUGE = 1 << 62
FORGED = {
    "no JSON": lambda _: b"{",
    "no UTF-8": lambda _: b'{"arrays": "\xff"}',
    "UTF-16": lambda document: json.dumps(document).encode("utf-16"),
    "deep": lambda _: b"[" * 100_000,
    "long number": lambda _: b"[" + b"9" * 10_000 + b"]",
    "no object": lambda _: [],
    "no table": lambda document: {**document, "arrays": None},
    "no header": lambda document: {**document, "header": 3},
    "row without fields": lambda document: {**document, "arrays": [{}]},
    "row that is no object": lambda document: {**document, "arrays": [3]},
    "twice": lambda document: {**document, "arrays": [*document["arrays"], document["arrays"][0]]},
    "name": row(name=["x"]),
    "second name": row(name="one"),
    "unknown dtype": row(dtype="<i3"),
    "object dtype": row(dtype="|O"),
    "dtype of a wrong type": row(dtype=["<i4"]),
    "dtype with a field": row(dtype="<i4,<i4"),
    "other size": row(dtype="<f8"),
    "checksum": row(checksum=None),
    "negative shape": row(shape=[-2, -3]),
    "float shape": row(shape=[2.0, 3]),
    "bool shape": row(shape=[True, 6]),
    "no shape": row(shape=6),
    "many dimensions": row(shape=[1] * 65 + [6]),
    "other shape": row(shape=[2, 4]),
    "product that overflows to 24 bytes": row(shape=[HUGE, 4, 6]),
    "empty and huge": row(shape=[0, HUGE, HUGE], length=0),
    "empty and beyond 64 bits": row(shape=[0, 1 << 64], length=0),
    "huge length": row(shape=[HUGE], dtype="|u1", length=HUGE),
    "beyond the end": row(shape=[1000], dtype="|u1", length=1000),
    "huge offset": row(offset=HUGE),
    "offset beyond 64 bits": row(offset=1 << 70),
    "negative offset": row(offset=-64),
    "offset of a wrong type": row(offset="64"),
    "unaligned": row(offset=132),
    "overlapping the one before": row(offset=0),
    "overlapping the one after": row(shape=[65], dtype="|u1", length=65),
    "length of a wrong type": row(length=24.0),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("verify", [True, False])
def test_forged_heads_are_refused(saved: Path, change: Any, verify: bool) -> None:
    forge(saved, change)
    with pytest.raises(StorageError, match=r"is damaged, .*: restore it from a copy") as caught:
        open_arrays(saved, verify)
    assert str(saved) in str(caught.value)
    assert len(str(caught.value)) < 400


junk = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    | st.sampled_from([0, 64, 128, HUGE, 1 << 63, 1 << 64])
    | st.lists(st.integers(-2, 1 << 65), max_size=5) | st.sampled_from(["<i8", "|u1", "|b1"])
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Entry._fields), junk), max_size=4))
def test_no_forged_table_crashes(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "forged"
    save_arrays(path, small(), {})

    def change(document: dict[str, Any]) -> dict[str, Any]:
        for index, field, value in changes:
            document["arrays"][index][field] = value
        return document

    forge(path, change)
    for verify in (False, True):
        try:
            with open_arrays(path, verify) as arrays:
                assert all(len(array.tobytes()) == array.nbytes for array in arrays.values())
        except StorageError:
            pass


@pytest.mark.parametrize("size", [0, 31, 33, 63, 1 << 27, 1 << 63, (1 << 64) - 64])
def test_absurd_head_sizes_are_refused(saved: Path, size: int) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[:12] + size.to_bytes(8, "little") + data[20:])
    with pytest.raises(StorageError, match="its head is cut short or of a wrong size"):
        open_arrays(saved, verify=False)


def test_padding_is_verified_even_where_the_table_leaves_much(saved: Path) -> None:
    forge(saved, lambda document: {**document, "arrays": []})
    assert len(open_arrays(saved, verify=False)) == 0
    with pytest.raises(StorageError, match="the padding behind its arrays is not zero"):
        open_arrays(saved)


# Foreign files and other versions


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a", "b" * 100)
    chance = random.Random(1)
    for content in [b"a = 3\n" * 50, b"a", (tmp_path / "zip").read_bytes(), chance.randbytes(999)]:
        path.write_bytes(content)
        for verify in (True, False):
            with pytest.raises(StorageError, match="is not a file of arrays: give one that Tamis"):
                open_arrays(path, verify)
    path.write_bytes(b"")
    with pytest.raises(StorageError, match="is damaged, cut short at 0 bytes"):
        open_arrays(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(StorageError, match="give the path of a file"):
            open_arrays(path)
    for missing in (tmp_path / "none", tmp_path / "pipe" / "x", tmp_path / ("x" * 300), "a\0b"):
        with pytest.raises(StorageError, match=r"cannot read .*; check the path"):
            open_arrays(missing)


def test_permissions(saved: Path) -> None:
    saved.chmod(0)
    saved.parent.chmod(0o500)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        with pytest.raises(StorageError, match="Permission denied; check the path"):
            open_arrays(saved)
        with pytest.raises(StorageError, match="Permission denied; check the folder"):
            save_arrays(saved, {}, {})
    finally:
        os.seteuid(user)
        saved.parent.chmod(0o700)


def test_a_newer_format_tells_what_it_needs(saved: Path) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[:8] + (2).to_bytes(4, "little") + data[12:])
    forge(saved, lambda document: {"needs": "1.7", "tables": []})
    with pytest.raises(StorageError, match=r"is of format 2: it needs Tamis 1\.7, upgrade"):
        open_arrays(saved)
    forge(saved, lambda _: {})
    with pytest.raises(StorageError, match="it needs Tamis of a later version, upgrade"):
        open_arrays(saved)


def test_there_is_no_format_0(saved: Path) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[:8] + bytes(4) + data[12:])
    forge(saved, lambda document: document)
    with pytest.raises(StorageError, match="there is no format 0"):
        open_arrays(saved)


def test_unknown_keys_are_ignored(saved: Path) -> None:
    def change(document: dict[str, Any]) -> dict[str, Any]:
        rows = [{**each, "unit": "EUR"} for each in document["arrays"]]
        return {**document, "arrays": rows, "written": "today"}

    forge(saved, change)
    assert open_arrays(saved)["one"] == 7


def test_format_1_stays_as_it_is(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", {"x": np.array([1, 2], np.int16)}, {"k": 1})
    text = (
        b'{"arrays":[{"checksum":"%08x","dtype":"<i2","length":4,"name":"x","offset":0,'
        b'"shape":[2]}],"header":{"k":1},"needs":"0.1"}'
    )
    text = (text % zlib.crc32(b"\1\0\2\0")).ljust(192 - 32)
    guarded = b"\x93TAMIS\r\n" + struct.pack("<IQQ", 1, 192, 196)
    checksum = struct.pack("<I", zlib.crc32(guarded + text))
    assert (tmp_path / "a").read_bytes() == guarded + checksum + text + b"\1\0\2\0"


# Writing


def test_a_file_may_be_saved_over_itself(saved: Path) -> None:
    before = saved.read_bytes()
    with open_arrays(saved) as arrays:
        save_arrays(saved, arrays, arrays.header)
    assert saved.read_bytes() == before


def test_files_have_the_usual_permissions(saved: Path) -> None:
    umask = os.umask(0o022)
    os.umask(umask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_disk_that_is_full_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*File too large; check the folder"):
            save_arrays(saved, {"x": np.ones(1_000_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    before = saved.read_bytes()
    monkeypatch.setattr(os, function, fail)
    with pytest.raises((StorageError, KeyboardInterrupt)):
        save_arrays(saved, {"x": np.ones(3)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_place_that_cannot_be_written(saved: Path) -> None:
    for path in (saved.parent / "none" / "a", saved / "a", saved.parent):
        with pytest.raises(StorageError, match="cannot write"):
            save_arrays(path, {}, {})
    assert list(saved.parent.iterdir()) == [saved]


def test_a_link_stays_and_its_target_is_written(saved: Path) -> None:
    folder = saved.parent / "links"
    folder.mkdir()
    (folder / "near").symlink_to(saved)
    (folder / "far").symlink_to("near")
    for link, number in (("near", 1), ("far", 2)):
        save_arrays(folder / link, {"x": np.full(3, number)}, {})
        assert (folder / link).is_symlink()
        with open_arrays(saved) as arrays:
            assert arrays["x"].tolist() == [number] * 3
    assert sorted(path.name for path in folder.iterdir()) == ["far", "near"]
    assert not saved.is_symlink()


def test_a_link_to_nothing_creates_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    save_arrays(tmp_path / "link", {}, {"a": 1})
    assert (tmp_path / "link").is_symlink()
    assert open_arrays(tmp_path / "target").header == {"a": 1}
    (tmp_path / "astray").symlink_to("none/target")
    (tmp_path / "round").symlink_to("round")
    for name in ("astray", "round"):
        with pytest.raises(StorageError, match=f"cannot write .*{name}: .*; check the folder"):
            save_arrays(tmp_path / name, {}, {})
        assert (tmp_path / name).is_symlink()


def test_nothing_but_a_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        before = {path.name: path.lstat().st_mode for path in tmp_path.iterdir()}
        for path, sort in (
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "folder", "a directory"),
            (tmp_path / "socket", "a socket"),
            (tmp_path / "nowhere", "a device"),
            (Path("/dev/null"), "a device"),
        ):
            with pytest.raises(
                StorageError, match=f"cannot write {path}: it is {sort}; give the path"
            ):
                save_arrays(path, {}, {})
    assert {path.name: path.lstat().st_mode for path in tmp_path.iterdir()} == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("path", [None, 5, 1.5, b"bytes", "", [], Path])
def test_what_is_no_path_is_refused(path: Any) -> None:
    for use in (open_arrays, fingerprint, lambda path: save_arrays(path, {}, {})):
        with pytest.raises(StorageError, match=r"a path is a string or a pathlib\.Path, not"):
            use(path)


def test_a_path_with_a_null_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*null"):
        save_arrays(f"{tmp_path}/a\0b", {}, {})


def test_a_reader_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_arrays(path, {"x": np.zeros(100_000)}, {"version": 1})
    old = open_arrays(path, verify=False)
    save_arrays(path, {"x": np.ones(3)}, {"version": 2})
    assert old.header["version"] == 1
    assert old["x"].tolist() == [0] * 100_000
    new = open_arrays(path)
    assert (new.header["version"], new["x"].tolist()) == (2, [1, 1, 1])


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    code = """
import sys
import numpy as np
from tamis.arrays.array_writer import save_arrays

for version in range(1, 1_000_000):
    x = np.full(300_000, version)
    save_arrays(sys.argv[1], {"x": x, "y": x[:version]}, {"version": version})
    if version == 1:
        print("begun", flush=True)
"""
    chance = random.Random(2)
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"begun\n"
            time.sleep(chance.random() * 0.05)
            writer.send_signal(signal.SIGKILL)
        arrays = open_arrays(path)
        version = arrays.header["version"]
        assert (arrays["x"] == version).all()
        assert len(arrays["y"]) == version


# Memory and time


def test_nothing_is_copied(tmp_path: Path) -> None:
    arrays = {"x": np.ones(4_000_000), "y": np.ones((2000, 2000), order="F")[:, ::2]}
    tracemalloc.start()
    try:
        save_arrays(tmp_path / "a", arrays, {})
        opened = open_arrays(tmp_path / "a")
        assert opened["x"][-1] == opened["y"][-1, -1] == 1
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_half_a_gigabyte_opens_at_once(saved: Path) -> None:
    size = 500_000_000
    last = {"name": "x", "dtype": "|u1", "shape": [size], "length": size, "checksum": ""}
    last["offset"] = 256
    forge(saved, lambda document: {**document, "arrays": [*document["arrays"], last]}, size + 64)
    started = time.thread_time()
    arrays = open_arrays(saved, verify=False)
    assert arrays["x"][-1] == 0
    assert arrays["one"] == 7
    assert time.thread_time() - started < 0.05


def test_many_arrays_open_at_once(tmp_path: Path) -> None:
    arrays = {f"lines/{index}/hi": np.arange(index) for index in range(1000)}
    save_arrays(tmp_path / "a", arrays, {})
    started = time.thread_time()
    opened = open_arrays(tmp_path / "a", verify=False)
    assert time.thread_time() - started < 0.05
    assert all(np.array_equal(opened[name], array) for name, array in arrays.items())


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
def test_processes_share_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_arrays(path, {"x": np.ones(2_000_000)}, {})
    code = """
import re, sys
from tamis.arrays.array_file import open_arrays

arrays = open_arrays(sys.argv[1])
assert arrays["x"].sum() == 2_000_000
print("read", flush=True)
sys.stdin.readline()
part = open("/proc/self/smaps").read().split(sys.argv[1])[1]
part = part[: part.index("VmFlags")]
sizes = dict(re.findall(r"(\\w+): +(\\d+) kB", part))
print(int(sizes["Shared_Clean"]) + int(sizes["Shared_Dirty"]))
print(int(sizes["Private_Clean"]) + int(sizes["Private_Dirty"]), flush=True)
sys.stdin.readline()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) for _ in range(2)]
    try:
        assert [worker.stdout.readline() for worker in workers] == ["read\n"] * 2
        for worker in workers:
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in workers:
            shared, private = int(worker.stdout.readline()), int(worker.stdout.readline())
            assert shared >= 16_000_000 // 1024
            assert private == 0
    finally:
        for worker in workers:
            worker.communicate("\n")


# Strings


@given(st.lists(st.none() | st.text(max_size=6)), st.data())
def test_strings_come_back(values: list[str | None], data: st.DataObject) -> None:
    kinds = [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    array = pa.array(values, data.draw(st.sampled_from(kinds)))
    start = data.draw(st.integers(0, len(values)))
    part = array.slice(start, data.draw(st.none() | st.integers(0, len(values))))
    arrays = string_arrays(part, "texts/1")
    assert strings_of(arrays, "texts/1").to_pylist() == part.to_pylist()
    assert ("texts/1/valid" in arrays) == (part.null_count > 0)


def test_strings_in_a_file_are_not_copied(tmp_path: Path) -> None:
    ids = pa.array([f"subscription {index} ü" for index in range(1000)] + [None])
    save_arrays(tmp_path / "a", {**string_arrays(ids, "ids"), **string_arrays(ids[:0])}, {})
    arrays = open_arrays(tmp_path / "a")
    strings = strings_of(arrays, "ids")
    assert isinstance(strings, pa.LargeStringArray)
    assert strings.equals(ids.cast(pa.large_string()))
    for buffer, name in zip(strings.buffers(), ("valid", "offsets", "data")):
        assert buffer is not None
        assert buffer.address == arrays[f"ids/{name}"].__array_interface__["data"][0]
    assert len(strings_of(arrays)) == 0
    arrays.close()
    del arrays
    gc.collect()
    assert strings[999].as_py() == "subscription 999 ü"


def test_only_strings_are_strings() -> None:
    for array in (pa.array([1]), pa.array([b"x"]), pa.array([1]).dictionary_encode()):
        with pytest.raises(TypeError, match="no array of strings"):
            string_arrays(array)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": None},
        {"data": np.frombuffer(b"ab", np.uint8)},
        {"data": np.frombuffer(b"abc", np.int8)},
        {"data": np.frombuffer(b"ab\xff", np.uint8)},
        {"offsets": np.zeros(0, np.int64)},
        {"offsets": np.array([0, 1, 3], np.int32)},
        {"offsets": np.array([[0, 3]])},
        {"offsets": np.array([0, 1 << 60, 3])},
        {"offsets": np.array([0, -5, 3])},
        {"offsets": np.array([1, 2, 3])},
        {"valid": np.zeros(0, np.uint8)},
        {"valid": np.zeros(1, np.int8)},
    ],
    ids=lambda changes: " ".join(f"{name} {value}" for name, value in changes.items()),
)
def test_strings_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    arrays = {**string_arrays(pa.array(["a", "bc"])), **changes}
    arrays = {f"ids/{name}": value for name, value in arrays.items() if value is not None}
    with pytest.raises(StorageError, match=r"no strings 'ids' in these arrays: .* build it again"):
        strings_of(arrays, "ids")
