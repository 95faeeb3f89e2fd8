"""What turns some bytes into others that are mostly the same: runs to copy, and what is new between them.

A report carries its variants so: their parts share nearly all of their bytes with the parts of the compilation itself.
A difference is the four letters ``GXD1``, four lengths in bytes (u32, little-endian: of the source, the target, the
runs, the places), the runs, the places, and the new bytes. The runs are pairs of numbers: how many new bytes come
next, and how many are then copied. A copy comes from as far ahead in the source as the copy before it did (the first:
from the same place as in the target), and one place further for each that its number says: 0, -1, 1, -2, ... are
written as 0, 1, 2, 3. Numbers have seven bits a byte, the lowest first, the eighth bit set in all but the last byte.
What is left of the new bytes after the last copy ends the target. ``widgets/src/core/delta.ts`` reads it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

MAGIC = b"GXD1"
_HEAD = struct.Struct("<4s4I")
# So many equal bytes are looked for: enough that few are equal by accident, few enough to find what is between edits.
_ANCHOR_BYTES = 16
_FIRST_LOOK_BYTES = 64
_TABLE_BITS = 20
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # odd numbers without a pattern


def difference(source: bytes, target: bytes) -> bytes:
    """What makes the target of the source: exact for any bytes, the same for the same ones.

    Every run of ``_ANCHOR_BYTES`` of the target is looked up among those of the source, the last of equal ones. From
    the first that is found on, the copy is as long as it can be. Where the copy before it would go on behind the new
    bytes, it does: most changes replace something in its place.

    Time grows with the length of both, and with the number of copies.
    """
    found, places = _anchors(source, target)
    runs, moves, fresh = bytearray(), bytearray(), bytearray()
    copied = ahead = 0  # how much of the target there is, and by how much the source is ahead of it
    here_of, place_of = found.data, places.data
    while (at := bisect_left(here_of, copied)) < len(here_of):
        here = here_of[at]
        length = _alike_from(source, here + ahead, target, here)
        shift = ahead if length >= _ANCHOR_BYTES else place_of[at] - here
        if shift != ahead:
            length = _alike_from(source, here + shift, target, here)
        back = _alike_before(source, here + shift, target, here, here - copied)
        start, end = here - back, here + length
        _number(runs, start - copied)
        _number(runs, end - start)
        _number(moves, 2 * (shift - ahead) if shift >= ahead else 2 * (ahead - shift) - 1)
        fresh += target[copied:start]
        copied, ahead = end, shift
    fresh += target[copied:]
    return b"".join((_HEAD.pack(MAGIC, len(source), len(target), len(runs), len(moves)), runs, moves, fresh))


def applied(source: bytes, delta: bytes) -> bytes:
    """The target of a difference.

    Raises:
        ValueError: it is no difference, is damaged, or belongs to another source.
    """
    if len(delta) < _HEAD.size or delta[: len(MAGIC)] != MAGIC:
        raise ValueError("not a difference: it does not begin with GXD1")
    _, source_bytes, target_bytes, runs_bytes, moves_bytes = _HEAD.unpack_from(delta)
    if source_bytes != len(source):
        raise ValueError(f"the difference is to {source_bytes} bytes, not to these {len(source)}")
    middle = _HEAD.size + runs_bytes
    runs, moves = _numbers(delta[_HEAD.size : middle]), _numbers(delta[middle : middle + moves_bytes])
    fresh = middle + moves_bytes
    target = bytearray()
    ahead = 0
    for count, length, move in zip(runs[::2], runs[1::2], moves, strict=True):
        target += delta[fresh : fresh + count]
        fresh += count
        ahead += -(move + 1) // 2 if move % 2 else move // 2
        start = len(target) + ahead
        if start < 0 or start + length > len(source):
            raise ValueError("the difference is damaged: it copies what is not there")
        target += source[start : start + length]
    target += delta[fresh:]
    if len(target) != target_bytes:
        raise ValueError(f"the difference is damaged: it makes {len(target)} bytes instead of {target_bytes}")
    return bytes(target)


def _anchors(source: bytes, target: bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where in the target runs begin that the source has too, in order; and where in the source."""
    there, here = _windows(source), _windows(target)
    table = np.zeros(1 << _TABLE_BITS, np.intp)
    table[_slots(there)] = np.arange(len(there[0]))  # of several in one slot the last one stays
    candidates = table[_slots(here)]
    if not len(there[0]):
        return np.zeros(0, np.intp), candidates[:0]
    equal = (there[0][candidates] == here[0]) & (there[1][candidates] == here[1])
    found = np.flatnonzero(equal)
    return found, candidates[found]


def _windows(data: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The run that begins at each byte, as two numbers."""
    count = max(0, len(data) - _ANCHOR_BYTES + 1)
    eights = np.zeros(count + 8 if count else 0, "<u8")
    for first in range(8):
        part = np.frombuffer(data, "<u8", (len(data) - first) // 8, first) if len(data) >= first else eights[:0]
        rows = eights[first::8]
        rows[: len(part)] = part[: len(rows)]
    return eights[:count], eights[8 : count + 8]


def _slots(windows: tuple[NDArray[np.uint64], NDArray[np.uint64]]) -> NDArray[np.uint64]:
    mixed = windows[0] * np.uint64(_MIX[0]) ^ windows[1] * np.uint64(_MIX[1])
    return mixed * np.uint64(_MIX[0]) >> np.uint64(64 - _TABLE_BITS)


def _alike_from(one: bytes, at: int, other: bytes, here: int) -> int:
    """How many bytes are equal from two places on."""
    if at < 0:
        return 0
    most = min(len(one) - at, len(other) - here)
    done, look = 0, _FIRST_LOOK_BYTES
    while done < most:
        part, second = one[at + done : at + min(done + look, most)], other[here + done : here + min(done + look, most)]
        if part != second:
            return done + _first_unlike(part, second)
        done += len(part)
        look *= 2
    return max(0, most)


def _alike_before(one: bytes, at: int, other: bytes, here: int, most: int) -> int:
    """How many bytes are equal before two places."""
    most = min(most, at)
    count = 0
    while count < most and one[at - count - 1] == other[here - count - 1]:
        count += 1
    return count


def _first_unlike(one: bytes, other: bytes) -> int:
    """Where two runs of bytes that are not equal differ first."""
    unlike = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return ((unlike & -unlike).bit_length() - 1) // 8  # by its lowest bit


def _number(data: bytearray, number: int) -> None:
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)


def _numbers(data: bytes) -> list[int]:
    found: list[int] = []
    number = bits = 0
    for byte in data:
        number |= (byte & 0x7F) << bits
        bits += 7
        if byte < 0x80:
            found.append(number)
            number = bits = 0
    return found
