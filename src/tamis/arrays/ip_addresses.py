"""A kernel that reads IP addresses as Python's ``ipaddress`` does, without a scope.

10.0.0.1                 40a000001                              version 4, 8 digits
::ffff:10.0.0.1          600000000000000000000ffff0a000001      version 6, 32 digits
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Int64s, Offsets

_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_LONGEST = 45
"""Characters of the longest address that can be written: six groups and one of version 4."""


@kernel
def parse_addresses(offsets: Offsets, data: Bytes, out: Bytes, lengths: Offsets) -> None:
    """Write the form of each address, and its length, which is 0 for what is none."""
    groups = np.empty(10, np.int64)
    for i in range(len(lengths)):
        start, stop = offsets[i], offsets[i + 1]
        lengths[i] = 0
        four = _read_four(data, start, stop)
        if four >= 0:
            out[i, 0] = 52
            _write(four, 8, out[i], 1)
            lengths[i] = 9
        elif _read_six(data, start, stop, groups):
            out[i, 0] = 54
            for j in range(8):
                _write(groups[j], 4, out[i], 1 + 4 * j)
            lengths[i] = 33


@kernel
def _write(number: int, count: int, out: Bytes, at: int) -> None:
    for i in range(count):
        out[at + i] = _DIGITS[(number >> (4 * (count - 1 - i))) & 15]


@kernel
def _read_four(data: Bytes, start: int, stop: int) -> int:
    """An address of version 4 as a number, or -1: four decimal numbers without leading zeros."""
    if stop - start < 7 or stop - start > 15:
        return -1
    address, part, digits, parts = 0, 0, 0, 0
    for i in range(start, stop + 1):
        character = data[i] if i < stop else np.uint8(46)
        if character == 46:
            if digits == 0 or part > 255:
                return -1
            address = address << 8 | part
            part, digits, parts = 0, 0, parts + 1
        elif 48 <= character <= 57 and digits < 3 and not (digits == 1 and part == 0):
            part, digits = part * 10 + int(character) - 48, digits + 1
        else:
            return -1
    return address if parts == 4 else -1


@kernel
def _digit(character: int) -> int:
    """The value of a hexadecimal digit, or -1."""
    if 48 <= character <= 57:
        return character - 48
    letter = character | 32
    return letter - 87 if 97 <= letter <= 102 else -1


@kernel
def _read_six(data: Bytes, start: int, stop: int, groups: Int64s) -> bool:
    """Read an address of version 6 into eight groups; False if it is none.

    Groups stand between colons; -1 is an empty one. Two colons, once, stand for groups of zeros.
    """
    if stop - start < 2 or stop - start > _LONGEST:
        return False
    count = _read_groups(data, start, stop, groups)
    if count < 3:
        return False
    skipped = -1
    for i in range(1, count - 1):
        if groups[i] < 0:
            if skipped >= 0:
                return False
            skipped = i
    if skipped < 0:
        return count == 8 and groups[0] >= 0 and groups[7] >= 0
    before, behind = skipped, count - skipped - 1
    if groups[0] < 0:
        before -= 1
        if before > 0:
            return False
    if groups[count - 1] < 0:
        behind -= 1
        if behind > 0:
            return False
    if before + behind > 7:
        return False
    shift = 8 - count
    for i in range(behind):  # from the end that does not overwrite what is still to be moved
        j = count - 1 - i if shift > 0 else count - behind + i
        groups[j + shift] = groups[j]
    for i in range(before, 8 - behind):
        groups[i] = 0
    return True


@kernel
def _read_groups(data: Bytes, start: int, stop: int, groups: Int64s) -> int:
    """The number of groups, at most nine, or 0 if one of them is none."""
    count, first = 0, start
    for i in range(start, stop + 1):
        if i < stop and data[i] != 58:
            continue
        if count == 9:
            return 0
        four = np.int64(-1)
        if i == stop:
            four = np.int64(_read_four(data, first, stop))
        if four >= 0:
            if count == 8:
                return 0
            groups[count] = four >> 16
            groups[count + 1] = four & 0xFFFF
            return count + 2
        group = np.int64(-1)
        if i - first > 4:
            return 0
        for j in range(first, i):
            digit = _digit(int(data[j]))
            if digit < 0:
                return 0
            group = max(group, np.int64(0)) << 4 | digit
        groups[count] = group
        count, first = count + 1, i + 1
    return count
