"""Load the kernels by matching a few events, as workers do."""

from __future__ import annotations


def warm_up() -> None:
    """Match one event of each kind, so that the kernels are compiled or read from their cache."""
    import pyarrow as pa

    from tamis.engine.engine import Engine

    engine = Engine()
    engine.subscribe("a = 1 and b = 'x' and c < 2 or b = 'y' and c between 1 and 3", id="s")
    engine.subscribe("b contains text 'x' and b matches '[xy]' unless a = 2", id="t")
    table = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [1.5, 2.5]})
    for _ in engine.match_chunks(table):
        pass
