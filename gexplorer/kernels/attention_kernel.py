"""What an attention kernel computes, how it is cut, and the bytes that it moves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gexplorer.cost.work import Attention
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Least, least, variable

_SUM_BYTES = 4


Layout = tuple[str, ...]  # axes of a tensor in memory: "rows", "columns", "h0", "h1", ... for the axes of the heads


@dataclass(frozen=True, slots=True)
class Mask:
    """What is added to the scaled scores.

    Attributes:
        layout: its axes: of the heads those along which it is not repeated, "rows" unless it is one row for all
            queries, and "columns", one for each key.
        dtype: its element type.
    """

    layout: Layout
    dtype: DType = DType.FLOAT32


@dataclass(frozen=True, slots=True)
class AttentionKernel:
    """Attention of one or more heads, and how its tensors lie in memory.

    Heads are counted along one axis or several, h0, h1, ...: batch, heads of K and V, heads of Q that share one of
    these. A tensor that lacks one of the axes is shared along it.

    Attributes:
        work: heads, queries, keys, widths.
        heads: lengths of the axes of heads; their product is the number of heads.
        q: axes of Q as it lies.
        k: axes of K; its rows are keys.
        v: axes of V.
        out: axes of the output.
        scale: factor of the scores; None for 1 / sqrt(width).
        mask: what is added to the scores; None for nothing.
    """

    work: Attention
    heads: tuple[int, ...]
    q: Layout
    k: Layout
    v: Layout
    out: Layout
    scale: float | None = None
    mask: Mask | None = None

    @staticmethod
    def of(
        work: Attention, *, scale: float | None = None, mask: Mask | None = None, k_transposed: bool = False
    ) -> AttentionKernel:
        """A kernel whose tensors lie head after head.

        ``h0`` are the heads of K and V, ``h1`` those of Q for each; K lies as [width, keys] if it is transposed.
        """
        kv = work.kv_heads or work.heads
        whole, shared = ("h0", "h1", "rows", "columns"), ("h0", "rows", "columns")
        k = ("h0", "columns", "rows") if k_transposed else shared
        return AttentionKernel(work, (kv, work.heads // kv), whole, k, shared, whole, scale, mask)

    def shape(self, layout: Layout, rows: int, columns: int) -> tuple[int, ...]:
        """Lengths of a tensor's axes."""
        sizes = {"rows": rows, "columns": columns} | {f"h{i}": size for i, size in enumerate(self.heads)}
        return tuple(sizes[axis] for axis in layout)

    def require_possible(self, cut: AttentionCut, chip: Chip) -> None:
        """Raises OptionError for a tile that the cube cannot take, or for queries that would see no key."""
        m, n, k = chip.cube.shape(self.work.dtype.bits)
        sides = (("queries", cut.queries, m), ("keys", cut.keys, max(n, k)), ("terms", cut.slice or k, k))
        for axis, length, unit in sides:
            if length < 1 or length % unit:
                raise OptionError(f"tile of {length} {axis} is no multiple of {unit}, what {chip.name}'s cube takes")
        if self.work.causal and self.work.queries > self.work.keys:
            raise OptionError(
                f"causal attention of {self.work.queries} queries and {self.work.keys} keys: some see none"
            )


@dataclass(frozen=True, slots=True)
class AttentionCut:
    """How attention is cut.

    Attributes:
        queries: of the block that a core works on.
        keys: that it takes at a time.
        slice: terms of its sums that an MMAD takes, columns of Q and K or keys of V, for heads of any width; 0 where
            the width lies in L0A and L0B whole.
    """

    queries: int
    keys: int
    slice: int = 0


def keys_seen(work: Attention, cut: AttentionCut) -> Least:
    """Keys that a block of queries goes along: all, or those up to its last query's own place."""
    if not work.causal:
        return least(work.keys)
    return least(work.keys, variable("q") + (cut.queries + work.keys - work.queries))


def attention_bytes(kernel: AttentionKernel, cut: AttentionCut, chip: Chip) -> dict[str, int]:
    """Bytes by path of ``attention_program``, of all cores together: the closed form.

    Without a mask to be added, what goes to and from memory is ``cost.attention.attention_traffic`` to the byte.
    """
    work, split = kernel.work, chip.cube_vector_path == "gm"
    e = work.dtype.bits // 8
    total: Counter[str] = Counter()
    seen = keys_seen(work, cut)
    for q in range(0, work.queries, cut.queries):
        rows = min(cut.queries, work.queries - q)
        keys = seen.at({"q": q})
        tiles = -(-keys // cut.keys)
        scores, partial = rows * keys * _SUM_BYTES, tiles * rows * work.columns * _SUM_BYTES
        # In slices: Q for each tile of keys, P for each part of the output, which is cleared, read and written.
        q_times, p_times = (tiles, -(-work.columns // cut.keys)) if cut.slice else (1, 1)
        total["gm->l1"] += (q_times * rows * work.width + keys * (work.width + work.columns)) * e
        total["gm->l1"] += split * rows * keys * e
        total["l1->l0a"] += rows * (q_times * work.width + p_times * keys) * e
        total["l1->l0b"] += keys * (work.width + work.columns) * e
        if cut.slice:
            kept = (tiles + 1) * rows * work.columns * _SUM_BYTES
            total += Counter({"gm->ub": kept, "ub->gm": kept})
        total["ub->gm"] += rows * work.columns * e + split * rows * keys * e
        if split:
            total += Counter({"l0c->gm": scores + partial, "gm->ub": scores + partial})
        else:
            total += Counter({"l0c->ub": scores + partial, "ub->l1": rows * keys * e})
        if kernel.mask is not None:
            total["gm->ub"] += kernel.mask.dtype.nbytes(keys * (rows if "rows" in kernel.mask.layout else 1))
    return {path: work.heads * number for path, number in sorted(total.items())}
