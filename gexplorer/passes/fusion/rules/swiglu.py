"""SwiGLU: a gate with SiLU times a linear branch."""

from __future__ import annotations

from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule


class SwiGlu(Rule):
    """silu(gate) * up becomes one kernel.

    before:  Mul(Mul(gate, Sigmoid(gate)), up)
    after:   SwiGlu(gate, up)
    """

    name = "swiglu"
    order = 650
    kernel = "SwiGlu"
    saves = "Two round trips of the widest activation of the network."
    near = 3
    pattern = op.Mul(op.Mul("gate", op.Sigmoid("gate")), "up")
