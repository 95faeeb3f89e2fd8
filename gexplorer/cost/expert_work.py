"""Kernels of a mixture of experts: how many rows go to all experts is known, how many to each is not."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.cost.instructions import instructions_of, shaped
from gexplorer.cost.kernel_work import CannotTell, KernelWork, Stage
from gexplorer.cost.work import Gemm, Instructions, Move, Vector
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.row import Unit
from gexplorer.ops.table import entry_of
from gexplorer.ops.work import types_of

EXPERT_KERNELS = frozenset(("MoeInitRouting", "GroupedMatmul", "MoeFinalizeRouting"))
EVEN = "the rows are taken to be spread evenly over the experts"


def expert_work(node: Node, body: Graph, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> KernelWork:
    """The work of one of the kernels that ``moe_experts`` makes.

    Raises:
        CannotTell: the number of rows is not known either.
    """
    experts, rows = node.attributes.get("experts"), node.attributes.get("rows")
    if not isinstance(experts, int) or not isinstance(rows, int) or rows < 1:
        raise CannotTell("how many rows go to the experts is not known before run time")
    if node.op == "GroupedMatmul":
        return _grouped(body, experts, rows, inputs)
    type_, width = _states(outputs)
    data = rows * width * type_.dtype.bits / 8
    if node.op == "MoeInitRouting":
        return KernelWork(
            (Stage(Move(data, data, width * type_.dtype.bits / 8), name=node.op),), "move", 2 * data, note=EVEN
        )
    # Each row times its share is added to its token's row; the sum is kept on the way.
    made = float(shaped(outputs[0])[0].nbytes or 0)
    done = Instructions(simple=2)
    work = Vector(1, rows * width, data + made, made, done, row_wise=False, element_bytes=type_.dtype.bits / 8)
    return KernelWork((Stage(work, name=node.op),), "vector", data + 2 * made, flops=2 * rows * width, note=EVEN)


def _states(types: Sequence[Type | None]) -> tuple[TensorType, int]:
    """Type and width of the hidden states among some tensors."""
    for type_ in types:
        if isinstance(type_, TensorType) and type_.dtype.is_float and type_.shape:
            width = type_.shape[-1]
            if isinstance(width, int):
                return type_, width
    raise CannotTell("the width of the hidden states is not known")


def _grouped(body: Graph, experts: int, rows: int, inputs: Sequence[Type | None]) -> KernelWork:
    """One product for each expert, with the columns of its gate and its up projection side by side."""
    columns, k, each = 0, 0, -(-rows // experts)
    dtype, result = None, 0
    riders = Instructions()
    for inner in body.order:
        entry = entry_of(inner)
        if entry is None:
            continue
        if entry.family.unit is Unit.CUBE:
            given, _ = types_of(body, inner)
            right, _ = shaped(given[1])
            assert right.shape is not None
            length, width = right.shape[-2:]
            if not isinstance(length, int) or not isinstance(width, int):
                raise CannotTell("the size of an expert's weights is not known")
            k, dtype, result = length, right.dtype, width
            columns += width
        elif entry.family.unit is Unit.VECTOR:
            one = instructions_of(inner, entry.row.flops)
            riders = Instructions(riders.simple + one.simple, riders.exp + one.exp, riders.divide + one.divide)
    if dtype is None:
        raise CannotTell("there is no product in it")
    n = columns // experts
    work = Gemm(each, n, k, dtype, batch=experts)
    e = dtype.bits / 8
    behind = None
    if riders != Instructions():
        share = Instructions(*(x / experts for x in (riders.simple, riders.exp, riders.divide)))
        behind = Vector(1, rows * result, 0.0, rows * result * e, share, row_wise=False, element_bytes=e)
    weights = sum(t.nbytes or 0 for t in inputs if isinstance(t, TensorType))
    border = weights + rows * k * e + rows * result * e
    return KernelWork((Stage(work, behind=behind, name="GroupedMatmul"),), "gemm", border, flops=work.flops, note=EVEN)
