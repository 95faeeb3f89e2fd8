"""The sweep of ``overlaps`` for a million rectangles: two ordered sets of ranks, compiled.

A set of ranks is a bitmap, 64 ranks a word, with a Fenwick tree over the words: a rank is one prefix sum and one
count of bits, and for a million rectangles the tree still fits the first-level cache. Imports numba, which takes
0.3 s: import this module where it is needed, not at the top.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

_ONE = np.uint64(1)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)


@nb.njit(inline="always")
def _ones(word: np.uint64) -> np.int64:
    """Number of bits set in a word."""
    word = word - ((word >> _ONE) & _M1)
    word = (word & _M2) + ((word >> np.uint64(2)) & _M2)
    word = (word + (word >> np.uint64(4))) & _M4
    return np.int64((word * _H01) >> np.uint64(56))


@nb.njit(inline="always")
def _flip(bits: NDArray[np.uint64], tree: NDArray[np.int32], rank: np.int32, change: int) -> None:
    """Puts a rank into the set (change 1) or takes it out (change -1)."""
    word = int(rank >> 6)
    bits[word] ^= _ONE << np.uint64(rank & 63)
    word += 1
    while word < len(tree):
        tree[word] += change
        word += word & -word


@nb.njit(inline="always")
def _below(bits: NDArray[np.uint64], tree: NDArray[np.int32], rank: np.int32) -> np.int64:
    """How many ranks of the set are below ``rank``."""
    word = int(rank >> 6)
    count = _ones(bits[word] & ((_ONE << np.uint64(rank & 63)) - _ONE))
    while word > 0:
        count += tree[word]
        word &= word - 1
    return count


@nb.njit(cache=True)
def count_met(
    opens: NDArray[np.int64],
    closes: NDArray[np.int64],
    closed_before: NDArray[np.int64],
    rank_begin: NDArray[np.int32],
    rank_end: NDArray[np.int32],
    begun: NDArray[np.int32],
    ended: NDArray[np.int32],
) -> NDArray[np.int64]:
    """For each of ``opens``, how many live rectangles it overlaps when it opens.

    Args:
        opens: [n] rows in order of opening.
        closes: [n] rows in order of closing.
        closed_before: [n] how many have closed when each of ``opens`` opens.
        rank_begin: [n] place of each row's begin among all begins.
        rank_end: [n] place of each row's end among all ends.
        begun: [n] for each row, the number of begins before its end.
        ended: [n] for each row, the number of ends at or before its begin.
    """
    n = len(opens)
    words = (n >> 6) + 1
    begin_bits, end_bits = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    begin_tree, end_tree = np.zeros(words + 1, np.int32), np.zeros(words + 1, np.int32)
    met = np.zeros(n, np.int64)
    closed = 0
    for at in range(n):
        while closed < closed_before[at]:
            dead = int(closes[closed])
            _flip(begin_bits, begin_tree, rank_begin[dead], -1)
            _flip(end_bits, end_tree, rank_end[dead], -1)
            closed += 1
        row = int(opens[at])
        met[at] = _below(begin_bits, begin_tree, begun[row]) - _below(end_bits, end_tree, ended[row])
        _flip(begin_bits, begin_tree, rank_begin[row], 1)
        _flip(end_bits, end_tree, rank_end[row], 1)
    return met
