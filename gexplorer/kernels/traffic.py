"""Bytes that a generated program moves on every path: closed forms, which counting confirms to the byte.

The bare work's are the cost model's; here is what riders add.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.traffic import gemm_traffic
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, Operand, assign


def gemm_bytes(kernel: GemmKernel, cut: GemmTile, chip: Chip) -> dict[str, int]:
    """Bytes by path of ``gemm_program``, of all cores together; paths in alphabetical order."""
    work, assigned = kernel.work, assign(kernel, cut.n, chip)
    traffic = gemm_traffic(work, GemmTiles.of(cut.m, cut.n, cut.k, cut.order))
    left, right, out = (round(float(side[0])) for side in (traffic.left, traffic.right, traffic.out))
    total: Counter[str] = Counter({"gm->l1": left + right, "l1->l0a": left, "l1->l0b": right})
    if assigned.table:
        assert kernel.bias is not None
        row = _operand_bytes(Operand("bias", (1, 1, work.n), kernel.bias), kernel, cut)
        total += Counter({"gm->l1": row, "l1->bt": row})
    if assigned.vector is None:
        total["l0c->gm"] = out
        return dict(sorted(total.items()))
    sums = kernel.sum_dtype.nbytes(work.batch * work.m * work.n)
    way = ("l0c->gm", "gm->ub") if chip.cube_vector_path == "gm" else ("l0c->ub",)
    total += Counter(dict.fromkeys(way, sums))
    total["gm->ub"] += sum(_operand_bytes(operand, kernel, cut) for operand in assigned.operands)
    total["ub->gm"] = out
    return {path: number for path, number in sorted(total.items()) if number}


def _operand_bytes(operand: Operand, kernel: GemmKernel, cut: GemmTile) -> int:
    """Every block reads its part; where the operand is repeated along an axis, each block along it reads it again."""
    work = kernel.work
    lengths = (work.batch, work.m, work.n)
    blocks = (work.batch, -(-work.m // cut.m), -(-work.n // cut.n))
    reads = [length if size > 1 else count for size, length, count in zip(operand.shape, lengths, blocks, strict=True)]
    return operand.dtype.nbytes(prod(reads))
