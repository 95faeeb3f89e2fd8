"""How an allocator rounds sizes, and which sharing it dares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# GE's numbers. Source: CANN's memory assigner (MEM_ALIGN_SIZE, and the 32 bytes that a kernel may read beyond its end).
BLOCK_BYTES = 512
PADDING_BYTES = 32
UNIT_BYTES = 32
# Limits of the environment variable OP_NO_REUSE_MEM. Source: CANN's memory assigner.
MOST_ENTRIES = 10
LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Policy:
    """What an allocator may do.

    Views always lie in what they are views of: a view has no kernel that could copy it.

    Attributes:
        alignment_bytes: every buffer is rounded up to a multiple of it and begins at one.
        tensor_padding_bytes: what GE adds to a tensor before that; 0 for nothing, not even rounding up to 32.
        in_place: whether an operator may write over an input that nobody needs any more.
        zero_copy: whether Concat and Split may be spared by placing the parts where the whole is.
        closed: whether lifetimes may not even touch: an operator's inputs then never share with the next one's outputs.
        across_streams: whether a buffer may be taken over by another stream, once a sync proves that it is free.
        never_reuse: tensors, or operators whose tensors keep their place for the whole program, by name.
    """

    alignment_bytes: int = BLOCK_BYTES
    tensor_padding_bytes: int = PADDING_BYTES
    in_place: bool = True
    zero_copy: bool = True
    closed: bool = False
    across_streams: bool = True
    never_reuse: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.alignment_bytes < 1 or self.tensor_padding_bytes < 0:
            raise OptionError(
                f"alignment of {self.alignment_bytes} bytes with {self.tensor_padding_bytes} of padding means nothing"
            )

    @classmethod
    def unaligned(cls) -> Policy:
        """No rounding at all: what sizes alone would need."""
        return cls(alignment_bytes=1, tensor_padding_bytes=0)

    def padded_bytes(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """A tensor's size as GE counts it: ``(bytes + 32 + padding - 1) // 32 * 32``, with a padding of 32."""
        padding = self.tensor_padding_bytes
        if not padding:
            return size_bytes
        return (size_bytes + UNIT_BYTES + padding - 1) // UNIT_BYTES * UNIT_BYTES

    def aligned_bytes(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The size of a tensor's block: padded, then rounded up to the alignment.

        Example of GE's own: 802,816 bytes are padded to 802,848 and take a block of 803,328.
        """
        block = self.alignment_bytes
        return -(-self.padded_bytes(size_bytes) // block) * block


def parse_never_reuse(text: str) -> tuple[str, ...]:
    """The operators (by name or type) that a text in the form of OP_NO_REUSE_MEM lists.

    Args:
        text: entries parted by commas, at most 10, at most 2,000 characters in all.

    Raises:
        OptionError: it is longer, or an entry is empty.
    """
    if len(text) > LONGEST_TEXT:
        raise OptionError(f"OP_NO_REUSE_MEM: {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    if not text.strip():
        return ()
    entries = [entry.strip() for entry in text.split(",")]
    if "" in entries:
        raise OptionError(f"OP_NO_REUSE_MEM: entry {entries.index('') + 1} of {text!r} is empty")
    if len(entries) > MOST_ENTRIES:
        raise OptionError(f"OP_NO_REUSE_MEM: {len(entries)} entries, at most {MOST_ENTRIES} are allowed")
    return tuple(dict.fromkeys(entries))
