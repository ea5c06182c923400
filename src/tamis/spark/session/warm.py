"""Load the kernels by matching a few events, as workers do."""

from __future__ import annotations

_VARIANT = b"\x02\x02\x00\x01\x00\x02\x04\x0c\x01\x05x", b"\x01\x02\x00\x01\x02ab"
"""``{"a": 1, "b": "x"}``."""


def warm_up() -> None:
    """Match one event of each kind, so that the kernels are compiled or read from their cache."""
    import pyarrow as pa

    from tamis.arrays.documents.documents import JsonDocuments, VariantDocuments
    from tamis.engine.engine import Engine

    engine = Engine()
    engine.subscribe("a = 1 and b = 'x' and c < 2 or b = 'y' and c between 1 and 3", id="s")
    engine.subscribe("b contains text 'x' and b matches '[xy]' unless a = 2", id="t")
    table = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [1.5, 2.5]})
    for _ in engine.match_chunks(table):
        pass
    texts = pa.array(['{"a": 1, "b": "x", "c": 1.5}'])
    variant = pa.array([{"value": _VARIANT[0], "metadata": _VARIANT[1]}])
    for documents in (JsonDocuments(texts), VariantDocuments(variant)):
        for _ in engine.document_matcher().chunks(documents, None, 1):
            pass
