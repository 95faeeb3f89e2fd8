"""A whole feed-forward block as one kernel."""

from __future__ import annotations

from gexplorer.passes.fusion.pattern import Op, const, op
from gexplorer.passes.fusion.rule import Rule

_LINEAR = "MatMul|MatMulBias|Gemm"
_BOTH = "GateUpMatMul|NormMatMul"
_WEIGHT = const(wanted="a constant weight")
_ACTIVATIONS = "Relu|Gelu|FastGelu|Silu|Swish|HardSwish|Mish|Tanh|Sigmoid|com.microsoft::Gelu|com.microsoft::FastGelu"


def _first() -> Op:
    return op(f"{_LINEAR}|NormMatMul", "x", _WEIGHT)


class Ffn(Rule):
    """Two or three linear layers around an activation become one kernel.

    before:  MatMul(SwiGlu(GateUpMatMul(x, wg, wu)), wd); MatMulBias(Gelu(MatMulBias(x, w1, b1)), w2, b2)
    after:   FFN(x, wg, wu, wd);                          FFN(x, w1, b1, w2, b2)

    Off unless asked for: the activation of one tile of rows and both weights fit the L1 of a core only in small models.
    Otherwise the kernel over-fuses: it gives its products smaller tiles and loads the weights more often than the saved
    round trip is worth. CANN's FFN kernel is entered by hand too.
    """

    name = "ffn"
    order = 730
    default = False
    kernel = "FFN"
    costly = True
    saves = "One round trip of the widest activation of the network through memory, and one or two launches."
    near = 3
    reads = ("x",)
    pattern = (
        op(_LINEAR, op("SwiGlu|GeGluV2", op(_BOTH, "x"), op(_BOTH, "x", output=1)), _WEIGHT),
        op(_LINEAR, op("SwiGlu|GeGluV2", _first(), _first()), _WEIGHT),
        op(_LINEAR, op(_ACTIVATIONS, _first()), _WEIGHT),
    )
