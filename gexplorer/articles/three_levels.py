"""Row 3: one operator at three levels."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.kernels.text import to_text
from gexplorer.ops.table import lookup
from gexplorer.ops.work import types_of

_MODEL = """
input %x : float16[512,1024]
input %b : float16[256]
input %w : float16[1024,256]
%p = MatMul(%x, %w) #product
%s = Add(%p, %b) #bias
%y = Relu(%s) #relu
output %y
"""


class ThreeLevels(Row):
    """MatMul, Add and Relu: as read, as a node of the compiled graph, and as a tile program."""

    row = 3
    title = "Three levels: ONNX IR, CANN IR, operator IR"
    article = says(
        onnx_ir="neutral of frameworks",
        cann_ir="Ascend's graph: attributes and constraints of shapes; fusion and memory planning happen here",
        bisheng_ir="the operator: tiling and layout in memory",
    )
    note = (
        "The real GE calls the middle level AscendIR. The third one is modelled: a program of loops, moves and "
        "instructions that an interpreter runs, not BiSheng's."
    )

    def compute(self) -> Mapping[str, object]:
        """Operators, types and the program of the one kernel that comes of three operators."""
        built = compiled(_MODEL)
        (node,) = built.graph.order
        inputs, outputs = types_of(built.graph, node)
        body = node.body
        assert body is not None
        found = [lookup(inner, *types_of(body, inner)).cann for inner in body.order]
        (generated,) = built.kernels[node.name].programs
        program = to_text(generated.program).splitlines()
        return {
            "onnx_ir": [inner.op for inner in built.steps[0].before.order],
            "cann_ir": node.op,
            "cann_ir_of": found,
            "cann_ir_inputs": ", ".join(map(str, inputs)),
            "cann_ir_outputs": ", ".join(map(str, outputs)),
            "kernel_ir": generated.text,
            "kernel_ir_tile": generated.tile_text,
            "kernel_ir_lines": len(program),
        }
