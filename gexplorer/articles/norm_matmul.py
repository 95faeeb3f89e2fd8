"""Row 6: what LayerNorm + MatMul in one kernel saves, of the intermediate and of the whole."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.hardware.catalogue import load_chip
from gexplorer.hardware.spec import Chip

_COLUMNS, _FP16_BYTES = 4096, 2
_MODEL = """
input %x : float16[ROWS,4096]
input %scale : float16[4096]
input %shift : float16[4096]
input %w : float16[4096,4096]
%n = LayerNormalization(%x, %scale, %shift) {axis = -1} #norm
%y = MatMul(%n, %w) #product
output %y
"""


class NormMatMul(Row):
    """The pair at a prompt of 2,048 tokens and at one token, on a coupled core and on split ones."""

    row = 6
    title = "LayerNorm + MatMul: 400 ns through HBM become 20 ns through L1"
    article = says(through_hbm_ns=400, through_l1_ns=20, saved=0.95)
    note = (
        "The articles' 95 % is of the time to hand the intermediate over, not of the two kernels, which they do not "
        "give. Only a coupled core (910A, 310P) has a way from the vector unit to L1. On 910B the hand-over goes "
        "through memory all the same, where L2 catches it: what is saved there is a launch and the waiting of one "
        "kind of core for the other, and with one token the launch of a kernel of both kinds costs more than it saves."
    )

    def compute(self) -> Mapping[str, object]:
        """The hand-over by each way there is, and the whole kernels before and after."""
        return {
            f"{soc}_{rows}_{'row' if rows == 1 else 'rows'}": _at(load_chip(soc), rows)
            for soc in ("Ascend910A", "Ascend910B3")
            for rows in (2048, 1)
        }


def _at(chip: Chip, rows: int) -> dict[str, object]:
    model = _MODEL.replace("ROWS", str(rows))
    apart, fused = (compiled(model, soc=chip.name, fusion={"norm_matmul": on}).cost.latency_us for on in (False, True))
    ways = _hand_over_us(chip, rows)
    return {
        "hand_over_us": {name: round(us, 4) for name, us in ways.items()},
        "hand_over_saved": 1 - min(ways.values()) / ways["hbm"],
        "apart_us": round(apart, 2),
        "fused_us": round(fused, 2),
        "whole_saved": 1 - fused / apart,
    }


def _hand_over_us(chip: Chip, rows: int) -> dict[str, float]:
    """Time to write the intermediate and read it again, by way; all cores at once, start-up of a transfer left out."""
    each = rows * _COLUMNS * _FP16_BYTES
    busy = min(rows, chip.cube_cores) / chip.cube_cores  # a row lies on one core

    def us(path: str, cores: int) -> float:
        return each / (chip.paths[path].bytes_per_us * cores * busy)

    cold = chip.hbm.cold_core_bytes_per_us * chip.cube_cores * busy
    ways = {
        "hbm": 2 * each / min(chip.hbm.achieved_bytes_per_us, cold),
        "l2": us("ub->gm", chip.vector_cores) + us("gm->l1", chip.cube_cores),
    }
    if chip.cube_vector_path == "direct":
        ways["l1"] = us("ub->l1", chip.cube_cores)
    return ways
