"""Row 25: what becomes of each operator."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType
from gexplorer.ops.table import lookup

_MODELS = {
    "linear": """
input %x : float16[64,64]
input %w : float16[64,64]
input %b : float16[64]
%t = Transpose(%w) {perm = [1, 0]} #t
%p = MatMul(%x, %t) #p
%y = Add(%p, %b) #y
output %y
""",
    "layer_norm": """
input %x : float16[64,64]
input %scale : float16[64]
input %shift : float16[64]
%y = LayerNormalization(%x, %scale, %shift) {axis = -1} #y
output %y
""",
    "silu": """
input %x : float16[64,64]
%g = Sigmoid(%x) #g
%y = Mul(%x, %g) #y
output %y
""",
    "sdpa": """
input %q : float16[1,4,64,64]
input %k : float16[1,4,64,64]
input %v : float16[1,4,64,64]
%t = Transpose(%k) {perm = [0, 1, 3, 2]} #t
%s = MatMul(%q, %t) #s
%p = Softmax(%s) {axis = -1} #p
%y = MatMul(%p, %v) #y
output %y
""",
}
_ALONE = (("Relu", ""), ("HannWindow", ""), ("StringConcat", ""), ("Foo", "com.example"))


class OperatorMap(Row):
    """The article's four functions as they are exported, and one operator for each of the three outcomes."""

    row = 25
    title = "Operator map: one CANN operator, several, or the CPU"
    article = says(
        linear="MatMul + BiasAdd",
        layer_norm="LayerNorm",
        silu="SiLU",
        sdpa="FlashAttention",
        else_="composed of basic operators, else the CPU: a performance disaster",
    )
    note = (
        "A fallback as such is torch_npu's doing, in eager mode: GE itself stops the build at an operator that no "
        "engine takes. Both are shown: the outcome, and the line UnsupportedOp."
    )

    def compute(self) -> Mapping[str, object]:
        """Kernels of the four, and the table's answer for single operators."""
        found = {name: compiled(model).graph.order for name, model in _MODELS.items()}
        return {
            **{name: " + ".join(node.op for node in nodes) for name, nodes in found.items()},
            "outcomes": [_row(op, domain) for op, domain in _ALONE],
        }


def _row(op: str, domain: str) -> dict[str, object]:
    type_ = TensorType(DType.FLOAT16, (64, 64))
    found = lookup(Node("n", op, ("x",), ("y",), domain=domain), [type_], [type_])
    return {"operator": op, "outcome": str(found.outcome), "cann": found.cann, "unit": str(found.unit)}
