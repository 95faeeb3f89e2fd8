"""SwiGLU: a gate with SiLU times a linear branch."""

from __future__ import annotations

from gexplorer.passes.fusion.gates import GatedUnit
from gexplorer.passes.fusion.pattern import op


class SwiGlu(GatedUnit):
    """silu(gate) · up becomes one kernel; where both are the halves of one tensor, the kernel reads that.

    before:  Mul(Mul(gate, Sigmoid(gate)), up)
    after:   SwiGlu(gate, up)

    Runs before the epilogues of the cube unit, which would take the SiLU to the gate's MatMul and leave the Mul behind.
    """

    name = "swiglu"
    order = 645
    kernel = "SwiGlu"
    telling = frozenset(("Sigmoid", "Silu", "Swish"))
    saves = "Two round trips of the widest activation of the network through memory."
    pattern = (
        op.Mul(op.Mul("gate", op.Sigmoid("gate")), "up"),
        op.Mul(op("Silu|Swish", "gate", name="activation"), "up"),
    )
