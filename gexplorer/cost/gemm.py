"""The cost of a matrix product, for one tile or thousands at once."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.overlap import body_us, double_buffered, pipeline_us
from gexplorer.cost.pipes import gemm_pipes
from gexplorer.cost.residency import residency
from gexplorer.cost.tile import ACCUMULATOR_BYTES, GemmTiles, ceil_div
from gexplorer.cost.traffic import gemm_traffic, hbm_read_bytes
from gexplorer.cost.waves import waves
from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip


def gemm_cost(work: Gemm, tiles: GemmTiles, chip: Chip) -> KernelCost:
    """Cost of a product with each of the tiles; arrays of shape [T].

    Loading (MTE2) runs beside computing (cube, fed by MTE1), one MMAD's panels apart. Storing (fixpipe) runs beside
    both only if L0C holds two blocks. The kernel takes no less than HBM needs for its bytes.
    """
    w = waves(work, tiles, chip.cube_cores)
    found = residency(work, w, chip, tiles.order)
    traffic = gemm_traffic(work, tiles)
    hbm_read = hbm_read_bytes(work, traffic, tiles, found)
    pipes = gemm_pipes(work, tiles, w, found, hbm_read, chip)
    compute = np.maximum(pipes.cube + pipes.gap, pipes.mte1)
    inner = pipeline_us(pipes.mte2, compute, 1 / (w.count * ceil_div(work.k, tiles.k)))
    two_blocks = double_buffered(tiles.m * tiles.n * float(ACCUMULATOR_BYTES), chip.capacity.l0c_bytes)
    body = body_us(inner, pipes.fixpipe, pipes.last_store, two_blocks)
    hbm_bytes = hbm_read + traffic.out
    hbm = hbm_bytes / chip.hbm.achieved_bytes_per_us
    return KernelCost(
        total_us=chip.launch.cube_us + np.maximum(body, hbm),
        launch_us=chip.launch.cube_us,
        pipes={
            "cube": pipes.cube,
            "mte1": pipes.mte1,
            "mte2": pipes.mte2,
            "fixpipe": pipes.fixpipe,
            "hbm": hbm,
        },
        hbm_bytes=hbm_bytes,
        l2_bytes=traffic.on_chip,
        l1_bytes=traffic.left + traffic.right,
        ub_bytes=np.zeros(len(tiles.m)),
        compulsory_bytes=work.compulsory_bytes,
        waves=w.count,
        tail_idle=w.tail_idle,
    )
