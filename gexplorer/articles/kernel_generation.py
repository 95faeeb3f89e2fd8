"""Row 12: from the description of an operator to the kernel in the offline model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.compiler import Compilation
from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generate import generate
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.text import to_text
from gexplorer.kernels.tiling import Searches
from gexplorer.offline.model import OfflineModel

_MODEL = """
input %x : float16[2048,4096]
input %b : float16[4096]
input %w : float16[4096,4096]
%p = MatMul(%x, %w) #product
%s = Add(%p, %b) #bias
%y = Relu(%s) #relu
output %y
"""


class KernelGeneration(Row):
    """MatMul + bias + Relu of 2,048 x 4,096 by 4,096 x 4,096, all the way, on both generations of core."""

    row = 12
    title = "Kernel generation: description, tiling, cube or vector, code, link"
    article = says(
        description="type, shapes, attributes",
        tiling="tile_m, tile_k, block_size; what is between just fits L1 (1 MB)",
        units="products to the cube, elementwise to the vector unit",
        code="BiSheng or ATC makes a binary",
        link="into a shared object",
    )
    note = (
        "What bounds a tile is not L1 alone: most tiles are kept out by L0A, L0B or L0C, which hold what the cube "
        "reads and sums. Nor is all that is elementwise the vector unit's: a split core adds a bias row and cuts off "
        "at 0 while it stores (fixpipe). Binaries of BiSheng cannot be made here; the tile program stands in their "
        "place, and runs."
    )

    def compute(self) -> Mapping[str, object]:
        """By chip: candidates and the chosen tile, the unit of each operator, the program, the file."""
        return {soc: _on(soc) for soc in ("Ascend910B3", "Ascend910A")}


def _on(soc: str) -> dict[str, object]:
    built = compiled(_MODEL, soc=soc)
    (node,) = built.graph.order
    found = generate(built.graph, node, Searches(load_chip(soc), "exhaustive"))
    if isinstance(found, Refusal):
        return {"operator": node.op, "refused": str(found)}
    (kernel,) = found
    return {
        "operator": node.op,
        "inputs": ", ".join(str(built.graph.tensor(name)) for name in node.inputs),
        "outputs": ", ".join(str(built.graph.tensor(name)) for name in node.outputs),
        "computes": kernel.text,
        **_tiling(kernel),
        "units": dict(_units(kernel, built)),
        "program_lines": len(to_text(kernel.program).splitlines()),
        "om": _saved(built),
    }


def _tiling(kernel: Generated) -> dict[str, object]:
    landscape = kernel.landscape
    assert landscape is not None
    return {
        "tile": kernel.tile_text,
        "tiles": len(landscape.total_us),
        "tiles_that_fit": int(landscape.feasible.sum()),
        "kept_out_by": landscape.kept_out(),
        "chosen_us": round(landscape.chosen_us, 1),
        "best_of_all_us": round(landscape.best_us, 1),
        "occupied_share": {part.level: round(part.share, 4) for part in kernel.occupied},
    }


def _units(kernel: Generated, built: Compilation) -> list[tuple[str, str]]:
    body = built.graph.order[-1].body
    assert body is not None
    return [(body.nodes[name].op, unit) for name, unit in kernel.units]


def _saved(built: Compilation) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        path = built.save(Path(folder) / "article.om")
        return {"size_bytes": path.stat().st_size, "kernels": len(OfflineModel(path).program.kernels)}
