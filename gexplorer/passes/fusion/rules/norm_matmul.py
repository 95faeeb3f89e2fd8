"""LayerNorm or RMSNorm and the linear layer that reads it."""

from __future__ import annotations

from gexplorer.passes.fusion.norm_linear import NormLinear, after_norm


class NormMatMul(NormLinear):
    """A normalisation and the one linear layer that reads it become one kernel (the first rule of article A1).

    before:  MatMul(RmsNorm(x, gamma), w)
    after:   NormMatMul(x, gamma, w)

    Runs behind Add + norm, which is preferred: GE has that kernel, and the normalised rows pass through L2 in either
    case, as the vector cores of 910B have no path to the L1 of the cube cores.
    """

    name = "norm_matmul"
    order = 725
    kernel = "NormMatMul"
    saves = "One round trip of the normalised hidden state through memory."
    pattern = after_norm("MatMul|MatMulBias|Gemm|GateUpMatMul")
