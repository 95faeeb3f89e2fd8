"""What a product with all that rides on it needs of the buffers, and costs; for thousands of tiles at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.overlap import body_us, double_buffered, pipeline_us
from gexplorer.cost.tile import ACCUMULATOR_BYTES, Floats, GemmTiles, Ints, ceil_div, footprints
from gexplorer.cost.vector import passes
from gexplorer.cost.waves import waves
from gexplorer.cost.work import Instructions
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.formula import Formula
from gexplorer.kernels.gemm_epilogue import strip_bytes
from gexplorer.kernels.gemm_kernel import TABLE_BYTES, Assignment, GemmKernel, GemmTile, Operand, assign
from gexplorer.kernels.landscape import BUFFERS, Space
from gexplorer.kernels.program import BIAS_TABLE_BYTES

_DIVISIONS = frozenset(("div", "sqrt"))
_EXPONENTIALS = frozenset(("exp", "log"))


@dataclass(frozen=True, slots=True)
class Held:
    """What the rest of a fused kernel keeps in a core's buffers while the product is computed.

    A prologue that leaves a normalised panel in L1 holds ``K`` elements of it for each row of a block; a second
    product in the same kernel holds its own sums in L0C.

    Attributes:
        l1_bytes: of L1, whatever the tile.
        l1_bytes_per_row: of L1, for each row of a block.
        l0c_bytes: of L0C.
        ub_bytes: of UB.
    """

    l1_bytes: int = 0
    l1_bytes_per_row: int = 0
    l0c_bytes: int = 0
    ub_bytes: int = 0


NOTHING = Held()


def too_small(kernel: GemmKernel, space: Space, double: bool, chip: Chip, held: Held = NOTHING) -> NDArray[np.int8]:
    """For each tile the first buffer that it does not fit, as an index into ``BUFFERS``; 0 where it fits, [Tm, Tn, Tk].

    Args:
        kernel: the product and what follows it.
        space: the tiles.
        double: true where L1, L0A and L0B hold two panels each.
        chip: the chip.
        held: what the rest of a fused kernel keeps.
    """
    size, split = chip.capacity, chip.cube_vector_path == "gm"
    m, n = space.m[:, None, None], space.n[:, None]
    # The cost model counts two panels each.
    panels = 1 if double else 2
    need = footprints(kernel.work, GemmTiles(m, n, space.k))
    row = n * (kernel.bias.bits / 8) if kernel.bias is not None and split else np.zeros(1)
    row = np.where(n * TABLE_BYTES <= BIAS_TABLE_BYTES, row, 0)
    fit = {
        "l0a": need["l0a"] <= panels * size.l0a_bytes,
        "l0b": need["l0b"] <= panels * size.l0b_bytes,
        "l0c": need["l0c"] + held.l0c_bytes <= size.l0c_bytes,
        "l1": need["l1"] / panels + row + held.l1_bytes + held.l1_bytes_per_row * m <= size.l1_bytes,
        "ub": _strip_fits(kernel, space.n, chip, held)[:, None],
    }
    codes = np.zeros((len(space.m), len(space.n), len(space.k)), np.int8)
    for name in reversed(BUFFERS):
        if name in fit:
            codes[~np.broadcast_to(fit[name], codes.shape)] = BUFFERS.index(name)
    return codes


def kernel_us(kernel: GemmKernel, tiles: GemmTiles, double: bool, chip: Chip) -> Floats:
    """Time of the kernel with each of the tiles, [T].

    Without riders and with double buffers it is ``cost.gemm``'s. With single ones loading, feeding and computing take
    turns, so their times add up. A vector epilogue is one more pipe behind the store; the kernel is then one of both
    kinds of cores.
    """
    result = np.empty(len(tiles.m))
    # The vector unit has the bias where the table does not.
    table = tiles.n * TABLE_BYTES <= BIAS_TABLE_BYTES
    for on_table in (True, False):
        where = np.flatnonzero(table == on_table)
        if len(where):
            some = GemmTiles(tiles.m[where], tiles.n[where], tiles.k[where], tiles.order)
            result[where] = _us(kernel, some, double, chip, assign(kernel, int(some.n[0]), chip))
    return result


def _us(kernel: GemmKernel, tiles: GemmTiles, double: bool, chip: Chip, assigned: Assignment[Operand]) -> Floats:
    work, split = kernel.work, chip.cube_vector_path == "gm"
    if assigned.vector is None and double:
        return gemm_cost(work, tiles, chip).total_us
    stored, unit = work, chip
    if assigned.vector is not None:
        stored = replace(work, out_dtype=kernel.sum_dtype)
        if not split:
            unit = replace(chip, paths=MappingProxyType({**chip.paths, "l0c->gm": chip.paths["l0c->ub"]}))
    found = gemm_cost(stored, tiles, unit)
    pipes, w = found.pipes, waves(work, tiles, chip.cube_cores)
    gap = w.count * ceil_div(work.k, tiles.k) * chip.cube.gap_cycles / chip.cycles_per_us
    if double:
        compute = np.maximum(pipes["cube"] + gap, pipes["mte1"])
        inner = pipeline_us(pipes["mte2"], compute, 1 / (w.count * ceil_div(work.k, tiles.k)))
    else:
        inner = pipes["mte2"] + pipes["mte1"] + pipes["cube"] + gap
    two_blocks = double_buffered(tiles.m * tiles.n * float(ACCUMULATOR_BYTES), chip.capacity.l0c_bytes)
    body = body_us(inner, pipes["fixpipe"], pipes["fixpipe"] / w.count, two_blocks)
    operand_bytes = sum(_bytes(operand.shape, operand.dtype.bits) for operand in assigned.operands)
    launch = chip.launch.cube_us
    if assigned.vector is not None:
        busiest = w.outer_sum() * w.inner
        share = busiest / (work.batch * work.m * work.n)
        rider = _vector_us(kernel, assigned.vector, busiest, share * operand_bytes, chip)
        body = pipeline_us(body, rider, 1 / w.count)
        launch = chip.launch.mixed_us if split else launch
    # What goes through a workspace stays in L2: HBM sees the result alone.
    hbm_bytes = found.hbm_bytes + work.batch * work.m * work.n * (work.out_bytes - stored.out_bytes) + operand_bytes
    return launch + np.maximum(body, hbm_bytes / chip.hbm.achieved_bytes_per_us)


def _vector_us(kernel: GemmKernel, formula: Formula, elements: Ints, operand_bytes: Floats, chip: Chip) -> Floats:
    """Time of the busiest of the vector cores' pipes, [T]."""
    units = max(chip.vector_per_cube, 1.0)
    cycles = elements * 4 * passes(instructions_of(formula), chip) / chip.vector.bytes_per_cycle
    read = operand_bytes
    if chip.cube_vector_path == "gm":
        read = read + elements * (kernel.sum_dtype.bits / 8)
    rates = {path: chip.paths[path].bytes_per_us for path in ("gm->ub", "ub->gm")}
    write = elements * (kernel.out_dtype.bits / 8)
    slowest = np.maximum.reduce([cycles / chip.cycles_per_us, read / rates["gm->ub"], write / rates["ub->gm"]])
    return slowest / units


def instructions_of(formula: Formula) -> Instructions:
    """A formula's instructions for one element, by what they cost; the cast on the way out is one more."""
    names = [step.op for step in formula.instructions]
    exp = sum(name in _EXPONENTIALS for name in names)
    divide = sum(name in _DIVISIONS for name in names)
    return Instructions(simple=len(names) - exp - divide + 1, exp=exp, divide=divide)


def _strip_fits(kernel: GemmKernel, columns: Ints, chip: Chip, held: Held) -> NDArray[np.bool_]:
    """Where UB holds a strip of one row of so many columns, [Tn]."""
    fit = np.ones(len(columns), bool)
    if kernel.epilogue is None and kernel.bias is None:
        return fit
    for index, n in enumerate(columns.tolist()):
        assigned = assign(kernel, n, chip)
        if assigned.vector is not None:
            need = strip_bytes(kernel, GemmTile(16, n, 16), chip, assigned, 1)
            fit[index] = need + held.ub_bytes <= chip.capacity.ub_bytes
    return fit


def _bytes(shape: tuple[int, ...], bits: int) -> int:
    return int(np.prod(shape)) * bits // 8
