"""Variants made of Python's values, as wide or as narrow as the format allows."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tamis.model.timestamp import Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def column_of(documents: Iterable[Any], width: int = 1) -> pa.Array:
    """A column as Spark sends it; None is a null."""
    pairs = [None if each is None else encoded(each, width) for each in documents]
    rows = [None if pair is None else {"value": pair[0], "metadata": pair[1]} for pair in pairs]
    kind = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
    return pa.array(rows, kind)


def encoded(document: Any, width: int = 1) -> tuple[bytes, bytes]:
    """Value and metadata; offsets and ids take at least ``width`` bytes."""
    keys: dict[str, int] = {}
    value = _value(document, keys, width)
    texts = [key.encode() for key in keys]
    places = [0]
    for text in texts:
        places.append(places[-1] + len(text))
    size = max(width, _bytes_for(max(places[-1], len(texts))))
    parts = [bytes([1 | size - 1 << 6]), len(texts).to_bytes(size, "little")]
    parts += [place.to_bytes(size, "little") for place in places]
    return value, b"".join([*parts, *texts])


def _bytes_for(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)


def _value(raw: Any, keys: dict[str, int], width: int) -> bytes:
    if isinstance(raw, dict):
        return _container(raw, keys, width)
    if isinstance(raw, list):
        return _container(raw, keys, width)
    if raw is None or isinstance(raw, bool):
        return bytes([(0 if raw is None else 1 if raw else 2) << 2])
    if isinstance(raw, str):
        text = raw.encode()
        if len(text) < 64 and width < 4:
            return bytes([len(text) << 2 | 1]) + text
        return bytes([16 << 2]) + len(text).to_bytes(4, "little") + text
    if isinstance(raw, bytes):
        return bytes([15 << 2]) + len(raw).to_bytes(4, "little") + raw
    if isinstance(raw, int):
        return _integer(raw)
    if isinstance(raw, float):
        return bytes([7 << 2]) + struct.pack("<d", raw)
    if isinstance(raw, Decimal):
        return _decimal(raw)
    if isinstance(raw, Timestamp):
        return bytes([18 << 2]) + struct.pack("<q", raw.nanoseconds)
    if isinstance(raw, datetime):
        moment = raw if raw.tzinfo else raw.replace(tzinfo=UTC)
        passed = moment - _EPOCH
        micros = (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
        return bytes([(12 if raw.tzinfo else 13) << 2]) + struct.pack("<q", micros)
    assert isinstance(raw, date), raw
    return bytes([11 << 2]) + struct.pack("<i", (raw - _EPOCH.date()).days)


def _integer(raw: int) -> bytes:
    for kind, form in ((3, "<b"), (4, "<h"), (5, "<i"), (6, "<q")):
        try:
            return bytes([kind << 2]) + struct.pack(form, raw)
        except struct.error:
            pass
    return _decimal(Decimal(raw))


def _decimal(raw: Decimal) -> bytes:
    sign, digits, exponent = raw.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) + "0" * max(exponent, 0)) * (-1 if sign else 1)
    for kind, size in ((8, 4), (9, 8), (10, 16)):
        if -(1 << 8 * size - 1) <= unscaled < 1 << 8 * size - 1:
            number = unscaled.to_bytes(size, "little", signed=True)
            return bytes([kind << 2, max(-exponent, 0)]) + number
    raise OverflowError(f"{raw} has more than 128 bits")


def _container(raw: Any, keys: dict[str, int], width: int) -> bytes:
    names = sorted(raw, key=str.encode) if isinstance(raw, dict) else []
    values = [_value(each, keys, width) for each in ([raw[n] for n in names] if names else raw)]
    ids = [keys.setdefault(name, len(keys)) for name in names]
    places = [0]
    for value in values:
        places.append(places[-1] + len(value))
    size = max(width, _bytes_for(places[-1]))
    id_size = max(width, _bytes_for(max(ids, default=0)))
    large = len(values) > 255 or width > 2
    if isinstance(raw, dict):
        header = (size - 1 | id_size - 1 << 2 | large << 4) << 2 | 2
    else:
        header = (size - 1 | large << 2) << 2 | 3
    parts = [bytes([header]), len(values).to_bytes(4 if large else 1, "little")]
    parts += [id.to_bytes(id_size, "little") for id in ids]
    parts += [place.to_bytes(size, "little") for place in places]
    return b"".join([*parts, *values])
