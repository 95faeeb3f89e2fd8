"""Bytes as text: thirteen bits as two of 91 letters, an eighth shorter than base64.

The letters are all of printable ASCII but ``"``, ``&``, ``<`` and the backslash, in their order: nothing of the text is
escaped in a string of JSON, in HTML or in an attribute of HTML. Bits are taken from the highest of the first byte on;
a pair of letters is a number below 2^13, the first letter the greater part. Where one to six bits are left at the end
they are the upper ones of a single letter below 64, where seven to twelve are left they are those of a pair. What fills
a letter up is zero, so every text has one reading and all bytes have one text. ``widgets/src/core/base91.ts`` and
``loader.js`` read it. This is not Henke's basE91, whose pairs are 13 or 14 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LETTERS = bytes(code for code in range(0x20, 0x7F) if code not in b'"&<\\')
_PAIR_BITS = 13
_SINGLE_BITS = 6
# So many bytes are eight pairs.
_BLOCK_BYTES = 13
_LETTER_OF = np.frombuffer(LETTERS, np.uint8)
_NONE = 255
_NUMBER_OF = np.full(256, _NONE, np.uint8)
_NUMBER_OF[_LETTER_OF] = np.arange(len(LETTERS))


def encoded(data: bytes) -> str:
    """The text of some bytes."""
    blocks = np.zeros((-(-len(data) // _BLOCK_BYTES), _BLOCK_BYTES + 2), np.uint32)  # two more: a pair ends in three
    flat = np.zeros(len(blocks) * _BLOCK_BYTES, np.uint8)
    flat[: len(data)] = np.frombuffer(data, np.uint8)
    blocks[:, :_BLOCK_BYTES] = flat.reshape(-1, _BLOCK_BYTES)
    pairs = np.empty((len(blocks), 8), np.uint32)
    for place in range(8):
        byte, bit = divmod(_PAIR_BITS * place, 8)
        three = blocks[:, byte] << 16 | blocks[:, byte + 1] << 8 | blocks[:, byte + 2]
        pairs[:, place] = three >> (24 - _PAIR_BITS - bit) & (1 << _PAIR_BITS) - 1
    whole, left = divmod(8 * len(data), _PAIR_BITS)
    numbers = pairs.reshape(-1)[: whole + (left > _SINGLE_BITS)]
    text = _LETTER_OF[np.stack(np.divmod(numbers, len(LETTERS)), axis=1)].tobytes()
    if 0 < left <= _SINGLE_BITS:
        text += LETTERS[pairs.reshape(-1)[whole] >> (_PAIR_BITS - _SINGLE_BITS)].to_bytes(1, "big")
    return text.decode()


def decoded(text: str) -> bytes:
    """The bytes of a text.

    Raises:
        ValueError: it is no such text, or not the one that ``encoded`` gives.
    """
    letters = _NUMBER_OF[np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)]
    if (letters == _NONE).any():
        raise ValueError("a text of bytes has letters that stand for nothing")
    pairs = letters[: len(letters) // 2 * 2].reshape(-1, 2).astype(np.uint32)
    numbers = pairs[:, 0] * len(LETTERS) + pairs[:, 1]
    bits = _bits(numbers, _PAIR_BITS)
    if len(letters) % 2:
        bits = np.concatenate([bits, _bits(letters[-1:].astype(np.uint32), _SINGLE_BITS)])
    filling = bits[len(bits) // 8 * 8 :]
    if filling.any() or len(filling) > _PAIR_BITS - 1 - _SINGLE_BITS - len(letters) % 2:
        raise ValueError("a text of bytes ends as none does")
    return np.packbits(bits[: len(bits) - len(filling)]).tobytes()


def _bits(numbers: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    """The lowest bits of each number, the highest first."""
    if (numbers >> count).any():
        raise ValueError("a text of bytes has letters that stand together for nothing")
    return (numbers[:, None] >> np.arange(count - 1, -1, -1, dtype=np.uint32) & 1).astype(np.uint8).reshape(-1)
