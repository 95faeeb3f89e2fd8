"""What a kernel has to do, whatever the chip and the tile: sizes, element types, instructions."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gexplorer.ir.dtypes import DType


@dataclass(frozen=True, slots=True)
class Gemm:
    """A product of matrices, or of a batch of them: ``out[b, m, n] = sum over k of left[b, m, k] * right[b, k, n]``.

    A convolution is one too: M output pixels, N output channels, K = input channels * kernel (``conv_as_gemm``).

    Attributes:
        m: rows of the left matrix.
        n: columns of the right matrix.
        k: length of the sum.
        dtype: element type of both matrices.
        out_dtype: element type of the result; None for that of the matrices.
        batch: independent products in one kernel.
        left_distinct: share of the left matrix's elements that are distinct in memory; below 1 for a convolution,
            whose rows are overlapping windows of one feature map.
        hf32: float32 elements are rounded to HF32 before they are multiplied, which is faster. CANN does so by default
            for convolutions and for no other product (atc, ``--allow_hf32``); for other types it means nothing.
    """

    m: int
    n: int
    k: int
    dtype: DType = DType.FLOAT16
    out_dtype: DType | None = None
    batch: int = 1
    left_distinct: float = 1.0
    hf32: bool = False

    @property
    def element_bytes(self) -> float:
        """Bytes of an element of the inputs."""
        return self.dtype.bits / 8

    @property
    def out_bytes(self) -> float:
        """Bytes of an element of the output."""
        return (self.out_dtype or self.dtype).bits / 8

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every term."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def compulsory_bytes(self) -> float:
        """Every distinct input once, the output once."""
        left = self.m * self.k * self.left_distinct
        return self.batch * ((left + self.k * self.n) * self.element_bytes + self.m * self.n * self.out_bytes)


def conv_as_gemm(
    pixels: int,
    channels: int,
    filters: int,
    kernel: tuple[int, ...],
    *,
    stride: tuple[int, ...] | None = None,
    dtype: DType = DType.FLOAT16,
    out_dtype: DType | None = None,
    groups: int = 1,
) -> Gemm:
    """A convolution as the product that the cube unit computes (implicit im2col).

    Args:
        pixels: output positions, of all images of the batch.
        channels: input channels.
        filters: output channels.
        kernel: sizes of the kernel, such as (3, 3).
        stride: steps of the kernel; 1 along each axis if left out.
        dtype: element type of input and weights.
        out_dtype: element type of the output.
        groups: groups of channels; each is one product of the batch.

    Each input element appears in about ``prod(kernel) / prod(stride)`` rows, borders left out of account.
    """
    taps = prod(kernel)
    distinct = min(1.0, prod(stride or (1,)) / taps)
    return Gemm(pixels, filters // groups, channels // groups * taps, dtype, out_dtype, groups, distinct, hf32=True)


@dataclass(frozen=True, slots=True)
class Attention:
    """Softmax(Q K^T) V of one or more heads in one kernel, the scores never in memory (FlashAttention).

    Attributes:
        heads: query heads, of all sequences of the batch.
        queries: rows of Q of one head.
        keys: rows of K and V.
        width: columns of Q and K.
        value_width: columns of V; None for ``width``.
        dtype: element type of Q, K, V and the output.
        kv_heads: heads that K and V have; None for as many as Q.
        causal: true if a query sees only the keys up to its own place.
        extra_passes: vector passes over the scores besides the softmax: a separate scale, a mask, a dropout.
        mask_bytes: bytes of a mask that are read from memory for every score; 0 for none, or one row for all queries.
    """

    heads: int
    queries: int
    keys: int
    width: int
    value_width: int | None = None
    dtype: DType = DType.FLOAT16
    kv_heads: int | None = None
    causal: bool = False
    extra_passes: int = 0
    mask_bytes: float = 0

    @property
    def columns(self) -> int:
        """Columns of V and of the output."""
        return self.value_width or self.width

    @property
    def scores(self) -> float:
        """Scores of one head that are computed at all; causal ones are cut along the diagonal."""
        if not self.causal:
            return self.queries * self.keys
        # Query i sees keys 0 .. keys - queries + i, so the last `rows` queries see some, the first of them the fewest.
        rows = min(self.queries, self.keys)
        return rows * (2 * self.keys - rows + 1) / 2

    @property
    def flops(self) -> float:
        """Two products over all scores, 2 operations a term; the softmax is the vector unit's."""
        return 2 * self.heads * self.scores * (self.width + self.columns)

    @property
    def compulsory_bytes(self) -> float:
        """Q, K and V once, the output once."""
        kv_heads = self.kv_heads or self.heads
        elements = self.heads * self.queries * (self.width + self.columns)
        return (elements + kv_heads * self.keys * (self.width + self.columns)) * self.dtype.bits / 8


@dataclass(frozen=True, slots=True)
class Instructions:
    """Vector instructions for one element, by what they cost."""

    simple: float = 0
    exp: float = 0
    divide: float = 0
    reduce: float = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Work of the vector unit: row by row, or element by element as one long row.

    Attributes:
        rows: independent rows; a row is not cut where it is reduced.
        width: elements of a row.
        read_bytes: bytes read, every distinct input once.
        write_bytes: bytes written.
        instructions: instructions for one element.
        row_wise: true where rows are reduced, so that each costs its own overhead and lies on one core.
        element_bytes: bytes of an element while it is computed with.
        shared_bytes: of ``read_bytes``, those that all rows share (scale and shift of a norm).
    """

    rows: int
    width: int
    read_bytes: float
    write_bytes: float
    instructions: Instructions
    row_wise: bool = True
    element_bytes: float = 4
    shared_bytes: float = 0

    @property
    def elements(self) -> int:
        """Elements of all rows."""
        return self.rows * self.width

    @property
    def flops(self) -> float:
        """One operation for each instruction on each element."""
        i = self.instructions
        return self.elements * (i.simple + i.exp + i.divide + i.reduce)

    @property
    def compulsory_bytes(self) -> float:
        """What is read and written."""
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True, slots=True)
class Move:
    """Data that only changes place: transpose, gather, scatter, concat, a change of format.

    Attributes:
        read_bytes: bytes read.
        write_bytes: bytes written.
        run_bytes: bytes that lie together on the side where they lie together least.
    """

    read_bytes: float
    write_bytes: float
    run_bytes: float

    @property
    def compulsory_bytes(self) -> float:
        """What is read and written."""
        return self.read_bytes + self.write_bytes


Work = Gemm | Attention | Vector | Move
