"""What a node of a graph asks of the chip: the way from operators and fused kernels to the works that have a cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gexplorer.cost.attention_work import OPERATORS, attention_of_operator
from gexplorer.cost.expert_work import EXPERT_KERNELS, expert_work
from gexplorer.cost.fused_work import fused_stages
from gexplorer.cost.instructions import vector_of
from gexplorer.cost.kernel_work import CannotTell, Family, HostWork, KernelWork, NodeWork, NoKernel, Stage, Uncosted
from gexplorer.cost.moves import run_bytes
from gexplorer.cost.products import product_stages
from gexplorer.cost.work import Attention, Gemm, Move
from gexplorer.ir.constant import Constant
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.symbols import Dim
from gexplorer.ir.types import Type
from gexplorer.ops.row import Engine, Outcome, Unit
from gexplorer.ops.table import entry_of, lookup
from gexplorer.ops.traits import ConstantOf, is_control_flow, is_view, makes_nothing
from gexplorer.ops.work import bytes_moved, flops, nbytes, types_of

Types = Sequence[Type | None]
_AICPU = "it runs on the chip's Arm cores (AI CPU), for which no rates are published"


def work_of_node(graph: Graph, node: Node) -> NodeWork:
    """The work of a node in its graph; never raises, never guesses.

    A view launches nothing. A fused kernel is read off its body, an operator off the operator table. Where a size is
    not known before run time, or nobody knows how fast the engine is, the answer is ``Uncosted`` with the reason.
    """
    inputs, outputs = types_of(graph, node)

    def constant_of(name: str) -> Constant | None:
        value = graph.values.get(name)
        return value.constant if value is not None else None

    if is_view(node, constant_of):
        return NoKernel()
    try:
        return _work(node, inputs, outputs, _squares_by_two(node, constant_of))
    except CannotTell as reason:
        return Uncosted(str(reason))


def copy_of_node(graph: Graph, node: Node) -> NodeWork:
    """The work of a view whose bytes have to be copied, as the memory plan could not let it lie in its source.

    A view of unknown size launches nothing: it lies in its source, the plan only cannot prove it.
    """
    inputs, outputs = types_of(graph, node)
    if not is_view(node) or not inputs or inputs[0] is None:
        return NoKernel()
    try:
        given, made = _known([nbytes(inputs[0])]), _known([nbytes(outputs[0])])
    except CannotTell:
        return NoKernel()
    if not made:
        return NoKernel()
    moved = Move(min(given, made), made, made)
    return KernelWork((Stage(moved, name=node.op),), "move", moved.read_bytes + made)


def _work(node: Node, inputs: Types, outputs: Types, squares: frozenset[str]) -> NodeWork:
    if makes_nothing(type_ for name, type_ in zip(node.outputs, outputs, strict=True) if name):
        return NoKernel()
    if node.body is not None:
        return _of_kernel(node, node.body, inputs, outputs)
    found = lookup(node, inputs, outputs)
    if found.outcome is Outcome.FALLBACK:
        return HostWork(_known(map(nbytes, inputs)), _known(map(nbytes, outputs)), found.reason)
    if is_control_flow(node):
        raise CannotTell("how often the graphs inside it run is not known")
    if found.unit is Unit.AICPU:
        raise CannotTell(_AICPU)
    if found.engine is Engine.GE_LOCAL or found.unit is Unit.NONE:
        return NoKernel()
    border = _border(node, inputs, outputs)
    stages = _stages(node, inputs, outputs, found.unit, border, squares)
    return KernelWork(stages, _family(stages, node), border, (0.0,) * (len(stages) - 1), _count(node, inputs, outputs))


def _stages(
    node: Node, inputs: Types, outputs: Types, unit: Unit, border: float, squares: frozenset[str]
) -> tuple[Stage, ...]:
    written = _known(nbytes(type_) for name, type_ in zip(node.outputs, outputs, strict=True) if name)
    if node.op in OPERATORS:
        return (Stage(attention_of_operator(node, inputs, outputs), name=node.op),)
    if unit is Unit.CUBE:
        return product_stages(node, inputs, outputs)
    if unit is Unit.MTE:
        return (Stage(Move(border - written, written, run_bytes(node, inputs, outputs)), name=node.op),)
    entry = entry_of(node)
    if entry is not None and entry.family.work == "unknown":
        raise CannotTell(f"how much {node.op} computes is not known")
    return (Stage(vector_of([(node, inputs, outputs)], border - written, written, squares), name=node.op),)


def _of_kernel(node: Node, body: Graph, inputs: Types, outputs: Types) -> NodeWork:
    if node.op in EXPERT_KERNELS:
        return expert_work(node, body, inputs, outputs)
    border = _border(node, inputs, outputs)
    if node.op == "TransData":
        given, made = _known([nbytes(inputs[0])]), _known([nbytes(outputs[0])])
        stage = Stage(Move(given, made, run_bytes(node, inputs, outputs)), name=node.op)
        return KernelWork((stage,), "move", given + made)
    stages, between = fused_stages(node, body)
    if len(stages) == 1 and not isinstance(stages[0].main, Gemm | Attention | Move):
        # All of it is the vector unit's: what it reads and writes is what crosses the border.
        written = _known(nbytes(type_) for name, type_ in zip(node.outputs, outputs, strict=True) if name)
        read, written = max(border - written, 0.0), min(written, border)
        streamed = replace(stages[0].main, read_bytes=read, write_bytes=written)
        stages = (Stage(streamed, name=node.op),)
    return KernelWork(stages, _family(stages, node), border, between, _count(node, inputs, outputs))


def _family(stages: Sequence[Stage], node: Node) -> Family:
    """By the costliest unit: attention, then products, then vector work, then moves."""
    if any(isinstance(stage.main, Attention) for stage in stages):
        return "flash_attention"
    if any(isinstance(stage.main, Gemm) for stage in stages):
        inner = [node.op, *(n.op for n in node.body.order)] if node.body is not None else [node.op]
        return "conv" if any("Conv" in op for op in inner) else "gemm"
    return "move" if all(isinstance(stage.main, Move) for stage in stages) else "vector"


def _border(node: Node, inputs: Types, outputs: Types) -> float:
    moved = bytes_moved(node, inputs, outputs)
    if not isinstance(moved, int):
        names = (*zip(node.inputs, inputs, strict=True), *zip(node.outputs, outputs, strict=True))
        open_ = next((name for name, type_ in names if name and not isinstance(nbytes(type_), int)), node.name)
        raise CannotTell(f"the size of {open_} is not known before run time")
    return float(moved) - (_arguments(node.body) if node.body is not None else 0.0)


def _arguments(body: Graph) -> float:
    """Bytes of the scalars and axes in a kernel's body: they come with its launch, not from memory."""
    source: dict[str, str] = {}
    read: set[str] = set()
    for inner in body.order:
        if is_view(inner):
            source[inner.outputs[0]] = source.get(inner.inputs[0], inner.inputs[0])
            continue
        entry = entry_of(inner)
        for index, name in enumerate(inner.inputs):
            partly = index == 0 and entry is not None and entry.family.traffic in ("gathered", "shape_only")
            if name and not partly and (entry is None or entry.family.traffic != "view"):
                read.add(source.get(name, name))
    values = [body.values[name] for name in read if name in body.values]
    return sum(float(value.constant.nbytes) for value in values if value.constant is not None)


def _known(sizes: Iterable[Dim]) -> float:
    total = 0.0
    for size in sizes:
        if size is not None and not isinstance(size, int):
            raise CannotTell("a shape is not known before run time")
        total += size or 0
    return total


def _count(node: Node, inputs: Types, outputs: Types) -> int | None:
    counted = flops(node, inputs, outputs)
    return counted if isinstance(counted, int) else None


def _squares_by_two(node: Node, constant_of: ConstantOf) -> frozenset[str]:
    if node.op != "Pow" or len(node.inputs) < 2:
        return frozenset()
    data = constant_of(node.inputs[1])
    two = data is not None and data.elements == 1 and data.is_small and float(data.array().reshape(-1)[0]) == 2
    return frozenset((node.name,)) if two else frozenset()
