"""Engines in files: one file of flat arrays (arrays/array_file.py), opened by memory mapping.

    ids, texts        strings by slot; the texts are read when somebody asks for one
    table             hash table of the ids
    metadata          JSON of those slots that have any
    disabled, removed slots
    segments/…        the sieve's segments, if a file is of this layout
    door/…            its index of patterns
    attachments/…     bytes of others

Format 1 is read by every later version of Tamis up to 1.x.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tamis.engine.store import Store
from tamis.errors import StorageError
from tamis.matching.capabilities import Saves, capability
from tamis.matching.protocol import Matcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tamis.arrays.array_file import ArrayFile

CONTENT = "tamis engine"
COMPILED = "compiled 2"
"""What the header calls the segments. It is another name when their layout changes: a file in which
this one is missing has its texts compiled again."""
_ATTACHMENT = "attachments/"


def save_engine(
    path: str | os.PathLike[str],
    settings: Mapping[str, Any],
    store: Store,
    matcher: Matcher,
    attachments: Mapping[str, Any],
) -> None:
    """Write an engine, atomically."""
    import numpy as np

    from tamis.arrays.array_writer import save_arrays

    header: dict[str, Any] = {"content": CONTENT, "settings": settings}
    arrays = _store_arrays(store)
    saves = capability(matcher, Saves)
    if saves is not None:
        header[COMPILED], compiled = saves.arrays()
        arrays.update(compiled)
    for name, content in attachments.items():
        arrays[_ATTACHMENT + name] = np.frombuffer(content, np.uint8)
    save_arrays(path, arrays, header)


def attachments_of(file: ArrayFile) -> dict[str, Any]:
    """The bytes that were saved with an engine, where they lie in the file."""
    names = [name for name in file if name.startswith(_ATTACHMENT)]
    return {name.removeprefix(_ATTACHMENT): file[name].data for name in names}


def open_engine(path: str | os.PathLike[str], verify: bool) -> tuple[ArrayFile, dict[str, Any]]:
    """The arrays of an engine's file, and its settings."""
    from tamis.arrays.array_file import open_arrays

    file = open_arrays(path, verify)
    settings = file.header.get("settings")
    if file.header.get("content") != CONTENT or not isinstance(settings, dict):
        raise StorageError(f"{os.fspath(path)} is a file of arrays, but no engine")
    return file, settings


def restore_matcher(matcher: Matcher, file: ArrayFile) -> bool:
    """Give a matcher the segments of a file; False if it has none for it."""
    saves = capability(matcher, Saves)
    header = file.header.get(COMPILED)
    if saves is None or not isinstance(header, list):
        return False
    gone = [*file["disabled"].tolist(), *file["removed"].tolist()]
    saves.restore(header, file, gone)
    return True


def _store_arrays(store: Store) -> dict[str, NDArray[Any]]:
    import numpy as np
    import pyarrow as pa

    from tamis.arrays.string_file import string_arrays
    from tamis.arrays.string_table import StringTable, without_rows

    gone = ~store.present()
    ids = store.ids.all()
    if gone.any():
        ids = without_rows(ids, gone)
    metadata = {slot: json.dumps(each) for slot, each in sorted(store.metadata.items())}
    return {
        **string_arrays(ids, "ids"),
        **string_arrays(store.texts.all(), "texts"),
        **string_arrays(pa.array(metadata.values(), pa.large_string()), "metadata"),
        "table": StringTable(ids).table,
        "metadata/slots": np.fromiter(metadata, np.int64),
        "disabled": np.array(sorted(store.disabled), np.int64),
        "removed": np.flatnonzero(gone),
    }


def restore_store(file: ArrayFile, verify: bool) -> Store:
    """The store of a file, whose strings stay in it."""
    from tamis.arrays.string_file import strings_of
    from tamis.arrays.string_table import StringTable

    store = Store()
    ids = StringTable(strings_of(file, "ids", verify), file["table"])
    store.add_many(store.reserve_many(ids.strings, strings_of(file, "texts", verify)), ids)
    store.forget(file["removed"].tolist())
    store.disabled.update(file["disabled"].tolist())
    slots = file["metadata/slots"].tolist()
    for slot, text in zip(slots, strings_of(file, "metadata", verify).to_pylist(), strict=True):
        store.metadata[slot] = json.loads(str(text))
    return store
