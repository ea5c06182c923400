"""The arrays of this system by name: first by what they hold, then by what they mean.

A signature says what an array is by one of these names, and each has one meaning everywhere. Where
several arrays have the same type but not the same meaning, their names differ: ``Slots`` index
``Ranks`` no more than a row indexes a label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt16s = NDArray[np.uint16]
UInt64s = NDArray[np.uint64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Numerics = Int64s | UInt64s | Float64s
"""Numbers as events have them: in 64 bits, whatever the type."""
Arrays = dict[str, NDArray[Any]]
"""Flat arrays by name, as they stand in a file."""

Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
"""Where each of several things begins, and where the last one ends."""
Rows = NDArray[np.int64]
"""Rows of a batch."""
Truths = NDArray[np.int8]
"""Truth values, one for each of several candidates."""

Ranks = NDArray[np.int32]
"""Places between the constants of an axis; they stay as long as their segment."""
Labels = NDArray[np.int64]
"""The same for structures that change in place."""
Positions = NDArray[np.int32]
"""Places of cuts on a line."""
Uses = NDArray[np.uint8]
"""For each cut of a line whether intervals end there (``matching/lines/line.py``)."""
Packed = NDArray[np.uint16] | NDArray[np.uint32]
"""Ranks of a sieve, in two bytes if all sizes allow it."""

Slots = NDArray[np.int32]
"""The small integers of subscriptions."""
Numbers = NDArray[np.int32]
"""Numbers of boxes, axes, nodes and other things that an index keeps."""
Buckets = NDArray[np.int64]
"""The table of a hash table."""
Addresses = NDArray[np.int64]
"""Arrays by address and length, to be handed to a kernel as one."""
Cursor = NDArray[np.int64]
"""Where a kernel that fills buffers goes on."""
Answers = NDArray[np.object_]
"""What the oracle said of each of several pairs, or None."""
Tally = NDArray[np.int64]
"""What the kernels of a published algorithm count (``published/index.py``)."""
Counters = NDArray[Any]
"""Counters of satisfied predicates, in as few bytes as their greatest value allows."""
