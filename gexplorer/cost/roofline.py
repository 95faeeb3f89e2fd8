"""The roofline: the least time that peak rates allow, and the baseline that the model has to beat."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.cost.kernel_work import KernelWork
from gexplorer.cost.work import Attention, Gemm, Move, Vector, Work
from gexplorer.hardware.spec import Chip


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where a kernel stands under two roofs.

    Attributes:
        flops: operations.
        peak_flops_per_us: the unit's peak.
        hbm_intensity: operations a byte that must cross the HBM roof.
        l2_intensity: operations a byte that crosses the L2 roof; None where it is not known.
        least_us: time under the HBM roof, the law that no kernel beats.
        least_l2_us: time under the L2 roof; None where ``l2_intensity`` is.
    """

    flops: float
    peak_flops_per_us: float
    hbm_intensity: float
    l2_intensity: float | None
    least_us: float
    least_l2_us: float | None


def peak_flops_per_us(work: Work, chip: Chip) -> float:
    """Peak of the unit that does the work, over all cores; of moves, 0."""
    if isinstance(work, Gemm | Attention):
        hf32 = isinstance(work, Gemm) and work.hf32
        return chip.cube_cores * chip.cycles_per_us * chip.cube.flops_per_cycle(work.dtype.bits, hf32=hf32)
    if isinstance(work, Vector):
        return chip.vector_cores * chip.cycles_per_us * chip.vector.bytes_per_cycle / work.element_bytes
    return 0.0


def kernel_peak_flops_per_us(work: KernelWork, chip: Chip) -> float:
    """The highest peak of the works of a kernel's dearest unit, at their own element types; of moves, 0."""
    works = [stage.main for stage in work.stages]
    products = [one for one in works if isinstance(one, Gemm | Attention)]
    return max((peak_flops_per_us(one, chip) for one in products or works), default=0.0)


def roofline(work: Work, chip: Chip, l2_bytes: float | None = None) -> Roofline:
    """The roofline of a kernel.

    Args:
        work: what it does.
        chip: the chip.
        l2_bytes: bytes that it moves between L2 and the cores, from its cost.
    """
    flops = 0.0 if isinstance(work, Move) else float(work.flops)
    peak = peak_flops_per_us(work, chip)
    compute_us = flops / peak if peak else 0.0
    hbm_us = work.compulsory_bytes / chip.hbm.bytes_per_us
    cube = isinstance(work, Gemm | Attention)
    cores, path = (chip.cube_cores, "gm->l1") if cube else (chip.vector_cores, "gm->ub")
    l2_rate = cores * chip.paths[path].bytes_per_us
    return Roofline(
        flops=flops,
        peak_flops_per_us=peak,
        hbm_intensity=flops / work.compulsory_bytes,
        l2_intensity=flops / l2_bytes if l2_bytes else None,
        least_us=max(compute_us, hbm_us),
        least_l2_us=max(compute_us, l2_bytes / l2_rate) if l2_bytes else None,
    )


def launch_us(work: Work, chip: Chip) -> float:
    """What starting a kernel of this kind costs."""
    if isinstance(work, Gemm):
        return chip.launch.cube_us
    return chip.launch.mixed_us if isinstance(work, Attention) else chip.launch.vector_us


def baseline_us(work: Work, chip: Chip) -> float:
    """Roofline plus launch, what many tools print, with the fitted launch and the rate that HBM really reaches.

    It knows no tiles, no waves and no L2.
    """
    flops = 0.0 if isinstance(work, Move) else float(work.flops)
    peak = peak_flops_per_us(work, chip)
    compute_us = flops / peak if peak else 0.0
    return launch_us(work, chip) + max(compute_us, work.compulsory_bytes / chip.hbm.achieved_bytes_per_us)
