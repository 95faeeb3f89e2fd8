"""Attention: two products with a softmax between them, the scores never in memory."""

from __future__ import annotations

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_cut import attention_cut
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel, attention_bytes
from gexplorer.kernels.described import Described
from gexplorer.kernels.described_attention import describe_attention
from gexplorer.kernels.described_gemm import products_of
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches


class FlashAttention(Generator[AttentionKernel, AttentionCut]):
    """A part with two products and a Softmax."""

    name = "flash_attention"
    order = 10
    kernel = AttentionKernel
    tile = AttentionCut

    def describe(self, part: Part) -> Described | Refusal | None:
        """The kernel, read from the result up to Q, K and V."""
        if len(products_of(part)) != 2 or not any(inner.op == "Softmax" for inner in part.nodes):
            return None
        return describe_attention(part)

    def choose(self, kernel: AttentionKernel, searches: Searches) -> Chosen[AttentionCut]:
        """The fastest of the tiles of powers of two that fit."""
        tile, evaluations = searches.once(kernel, lambda: attention_cut(kernel, searches.chip))
        if isinstance(tile, str):
            raise OptionError(tile)
        return Chosen(tile, evaluations=evaluations)

    def program(self, kernel: AttentionKernel, tile: AttentionCut, chip: Chip, name: str) -> Program:
        """Blocks of queries, each along all keys; a wide head along its width as well."""
        return attention_program(kernel, tile, chip, name)

    def traffic(self, kernel: AttentionKernel, tile: AttentionCut, chip: Chip) -> dict[str, int]:
        """K and V again for each block of queries; scores between the units."""
        return attention_bytes(kernel, tile, chip)

    def text(self, kernel: AttentionKernel) -> str:
        """Such as ``attention of 28 heads (4 of keys), 2048 queries, 2048 keys, width 128, float16``."""
        work = kernel.work
        shared = f" ({work.kv_heads} of keys)" if work.kv_heads and work.kv_heads != work.heads else ""
        width = f"{work.width}" if work.columns == work.width else f"{work.width} and {work.columns}"
        mask = ", causal" if work.causal else ", masked" if kernel.mask is not None else ""
        sizes = f"{work.queries} queries, {work.keys} keys, width {width}"
        return f"attention of {work.heads} heads{shared}, {sizes}, {work.dtype.label}{mask}"

    def tile_text(self, tile: AttentionCut) -> str:
        """Such as ``128q x 256k``, or ``128q x 128k x 64`` where an MMAD takes a slice of its sums only."""
        return f"{tile.queries}q x {tile.keys}k" + (f" x {tile.slice}" if tile.slice else "")
