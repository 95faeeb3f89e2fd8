"""LayerNorm or RMSNorm and the projections of an attention that read it."""

from __future__ import annotations

from gexplorer.passes.fusion.norm_linear import NormLinear, after_norm


class NormQkv(NormLinear):
    """A normalisation and the query, key and value projections that read it become one kernel.

    before:  q, k, v = QkvMatMul(RmsNorm(x, gamma), wq, wk, wv)
    after:   q, k, v = NormQkvMatMul(x, gamma, wq, wk, wv)

    GE's own rule is for the LayerNorm of a Swin transformer. Runs behind Add + norm, see ``norm_matmul``.
    """

    name = "norm_qkv"
    ge_name = "SwinTransformerLnQKVFusionPass"
    order = 724
    kernel = "NormQkvMatMul"
    saves = "One round trip of the normalised hidden state through memory."
    pattern = after_norm("QkvMatMul")
