"""What the rules for epilogues of cube kernels share: which kernels take one, and what may ride in it."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Strings, program_key
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.pattern import Op, op
from gexplorer.passes.fusion.products import OPERANDS
from gexplorer.passes.fusion.rule import Rule

# Kernels with two 8-bit operands; whatever rides in their epilogue, they keep these names.
QUANT_CONV = "QuantConv2D"
QUANT_MATMUL = "QuantBatchMatmulV3"
# Weights of few bits, activations as they are.
QUANT_WEIGHT_MATMUL = "WeightQuantBatchMatmulV2"
MATMULS = f"MatMul|MatMulBias|Gemm|{QUANT_MATMUL}|{QUANT_WEIGHT_MATMUL}"
_QUANTISED = (QUANT_CONV, QUANT_MATMUL, QUANT_WEIGHT_MATMUL)
CONVS = f"Conv|ConvBias|ConvBatchNorm|ConvTranspose|{QUANT_CONV}"
# What a kernel says of its operands goes on to the kernel that it becomes part of.
_KEPT = (*OPERANDS, "bits", "group_size")
_ACTIVATIONS = (
    "Relu|LeakyRelu|PRelu|Clip|HardSigmoid|HardSwish|Sigmoid|Tanh|Elu|Selu|Softplus|Gelu|FastGelu|Mish|Silu|Swish"
    "|com.microsoft::Gelu|com.microsoft::FastGelu|com.microsoft::QuickGelu"
)


def activated(inner: Op) -> tuple[Op, ...]:
    """An activation of ``inner``; or ``inner`` times its own sigmoid, see ``has_own_gate``."""
    gate = op.Sigmoid(replace(inner, name="gate"))
    return op(_ACTIVATIONS, inner, name="activation"), op.Mul(inner, gate, name="activation")


def has_own_gate(found: Match) -> bool:
    """False where the sigmoid in a product is that of another kernel."""
    return found.named.get("gate") in (None, found.named["cube"])


def same_type(draft: Draft, first: str, second: str) -> bool:
    """True when two tensors have the same type and, as far as they are known, the same dimensions."""
    a, b = tensor_of(draft, first), tensor_of(draft, second)
    return a is not None and a == b and a.shape is not None


def same_shape(draft: Draft, first: str, second: str) -> bool:
    """True when two tensors certainly have the same type and shape."""
    type_ = tensor_of(draft, first)
    return type_ is not None and same_type(draft, first, second) and None not in (type_.shape or ())


class CubeEpilogue(Rule):
    """A rule that lets vector work ride in the epilogue of a cube kernel; its pattern calls that ``cube``."""

    kind = "ub"

    def kernel_of(self, found: Match) -> str:
        """The rule's kernel; a quantised one stays what it is."""
        cube = found.named["cube"].op
        return cube if cube in _QUANTISED else self.kernel

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The operator on the cube unit, how it reads its operands, and what follows it in the epilogue, in order."""
        cube = found.named["cube"]
        before = cube.attribute("epilogue", Strings())
        assert isinstance(before, Strings)
        members = sorted({node.name: node for node in found.nodes if node is not cube}.values(), key=program_key)
        known = Map({name: value for name, value in cube.attributes.items() if cube.body is not None and name in _KEPT})
        first = cube.attribute("cube", cube.op)
        return known.set("cube", first).set("epilogue", Strings((*before, *(node.op for node in members))))
