"""GeGLU: a gate with GELU times a linear branch."""

from __future__ import annotations

from gexplorer.passes.fusion.gates import GatedUnit
from gexplorer.passes.fusion.pattern import op


class GeGlu(GatedUnit):
    """gelu(gate) · up becomes one kernel; where both are the halves of one tensor, the kernel reads that.

    before:  Mul(Gelu(gate), up)
    after:   GeGluV2(gate, up)

    Runs before the epilogues of the cube unit, which would take the GELU to the gate's MatMul and leave the Mul behind.
    """

    name = "geglu"
    ge_name = "GeGluV2FusionPass"
    order = 646
    kernel = "GeGluV2"
    telling = frozenset(("Gelu", "FastGelu"))
    saves = "One round trip of the widest activation of the network through memory."
    pattern = op.Mul(op("Gelu|FastGelu|com.microsoft::Gelu|com.microsoft::FastGelu", "gate", exact=True), "up")
