"""Row 5: the three fusion rules of the first article."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.compiler import Compilation

_NORM = """
input %x : float16[2048,4096]
input %scale : float16[4096]
input %shift : float16[4096]
input %w : float16[4096,4096]
%n = LayerNormalization(%x, %scale, %shift) {axis = -1} #norm
%y = MatMul(%n, %w) #product
output %y
"""
_EPILOGUE = """
input %x : float16[2048,4096]
input %b : float16[4096]
input %w : float16[4096,4096]
%p = MatMul(%x, %w) #product
%s = Add(%p, %b) #bias
%y = Relu(%s) #relu
output %y
"""


class FusionRules(Row):
    """LayerNorm + MatMul, MatMul + bias + Relu, and two products in a row, each compiled."""

    row = 5
    title = "Three rules: LayerNorm + MatMul fuse, MatMul + BiasAdd + ReLU fuse, two MatMuls do not"
    article = says(
        layer_norm_matmul="fuses; what is between stays in L1",
        matmul_bias_relu="fuses",
        two_matmuls="do not fuse: they have no data dependency, and would compete for the cube",
    )
    note = (
        "Rules 1 and 2 are as the article says. Rule 3's reason is wrong as written: two products in a row do depend "
        "on each other. The true one is in the third figure: a panel of rows and both weights do not fit L1, so the "
        "weights would be loaded anew for every panel."
    )

    def compute(self) -> Mapping[str, object]:
        """What each becomes, and what the guard reckons for the pair."""
        norm, epilogue, two = compiled(_NORM), compiled(_EPILOGUE), _pair(4096)
        (refused,) = two.why("consecutive_matmul")
        return {
            "layer_norm_matmul": _kernels(norm),
            "matmul_bias_relu": _kernels(epilogue),
            "two_matmuls": _kernels(two),
            "two_matmuls_reason": refused.reason,
        }


def _pair(width: int) -> Compilation:
    """Two square linear layers of so many columns; their weights are constants, of which only the size matters."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weight = np.zeros((width, width), np.float16)
    shape = [2048, width]
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "first_weight"], ["between"], name="first"),
            helper.make_node("MatMul", ["between", "second_weight"], ["y"], name="second"),
        ],
        "pair",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, shape)],
        [numpy_helper.from_array(weight, name) for name in ("first_weight", "second_weight")],
    )
    from gexplorer.compiler import compile as compile_

    return compile_(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=onnx.IR_VERSION))


def _kernels(built: Compilation) -> str:
    return " then ".join(node.op for node in built.graph.order)
