"""The stages of a fused kernel, read off its body: products, what rides on them, attention, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gexplorer.cost.attention_work import OPERATORS, attention_of_body, attention_of_operator, attention_parts
from gexplorer.cost.instructions import is_row_wise, shaped, vector_of
from gexplorer.cost.kernel_work import Stage
from gexplorer.cost.products import product_stages
from gexplorer.cost.work import Attention, Gemm, Vector
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType
from gexplorer.ops.row import Unit
from gexplorer.ops.table import entry_of
from gexplorer.ops.traits import is_view
from gexplorer.ops.work import nbytes, types_of

# What a split cube core does while it stores (fixpipe) or starts with (bias table). Source: facts of the AIC-C-220
# core, as ``kernels/gemm_kernel.py`` uses them: a bias row, relu, one factor, a conversion. A BatchNormalization is a
# factor and an addend by channel, which are in weights and bias before the kernel runs.
_ON_THE_WAY = frozenset(
    ("Add", "Mul", "Div", "Relu", "Cast", "QuantizeLinear", "DequantizeLinear", "BatchNormalization")
)
# Kernels whose two operands are of 8 bits, whatever their bodies say in floats.
_EIGHT_BITS = frozenset(("QuantBatchMatmulV3", "QuantConv2D"))


@dataclass(slots=True)
class _Level:
    """What waits for so many products: products side by side, and vector work between them and the next ones."""

    products: list[tuple[str, Stage]] = field(default_factory=list["tuple[str, Stage]"])
    behind: list[Node] = field(default_factory=list[Node])
    before_next: list[Node] = field(default_factory=list[Node])


def fused_stages(node: Node, body: Graph) -> tuple[tuple[Stage, ...], tuple[float, ...]]:
    """The stages of a kernel, and what each but the last hands on inside.

    Products of one left operand side by side (Q, K and V; gate and up) are one product with all their columns.
    Transposes and views in front of a product cost nothing: the cube unit reads either way round.

    Raises:
        CannotTell: a shape in the body is not known.
    """
    levels = _levels(node, body)
    stages: list[Stage] = []
    between: list[float] = []
    waiting: list[Node] = levels[0].before_next
    for depth, level in enumerate(levels[1:], 1):
        products = _merged(level.products)
        if waiting:
            before = _vector(body, waiting, writes=_handed(products[0].main))
            if isinstance(products[0].main, Gemm):
                products = [replace(products[0], before=before), *products[1:]]
            else:
                products = [Stage(before, name=waiting[-1].op), *products]
        if level.behind:
            behind = _vector(body, level.behind, reads_product=True)
            last = products[-1]
            if isinstance(last.main, Gemm):
                products = [
                    *products[:-1],
                    replace(last, behind=behind, on_the_way=_on_the_way(body, level, last.main)),
                ]
            else:
                products = [*products, Stage(behind, name=level.behind[-1].op)]
        waiting = level.before_next
        if stages:
            between.append(next(_handed(s.main) for s in products if isinstance(s.main, Gemm | Attention)))
        between += [0.0] * (len(products) - 1)
        stages += products
        if depth == len(levels) - 1 and waiting:
            stages.append(Stage(_vector(body, waiting), name=waiting[-1].op))
            between.append(_made(products[-1].main))
    if len(levels) == 1:
        stages.append(Stage(_vector(body, waiting), name=node.op))
    return tuple(stages), tuple(between)


def _levels(kernel: Node, body: Graph) -> list[_Level]:
    """The body's nodes by how many products they wait for."""
    attentions = [parts for n in body.order if n.op == "Softmax" and (parts := attention_parts(body, n)) is not None]
    inside = {name for *_, names in attentions for name in names}
    ends = {weighted.name: (scores, weighted, names) for scores, weighted, names in attentions}
    folded = _operand_nodes(kernel, body, inside)
    levels = [_Level()]
    depth: dict[str, int] = {}
    rows: set[str] = set()  # values that wait for a whole row
    for node in body.order:
        at = max((depth.get(name, 0) for name in node.inputs), default=0)
        tainted = any(name in rows for name in node.inputs)
        if node.name in inside and node.name not in ends:
            depth |= dict.fromkeys(node.outputs, at)
            continue
        stages = _cube(kernel, body, node, ends)
        if stages:
            at += 1
            if at == len(levels):
                levels.append(_Level())
            left = _origin(body, node.inputs[0]) if node.name not in ends else node.name
            levels[at].products += [(left, stage) for stage in stages]
        elif not is_view(node) and node.body is None and node.name not in folded and _computes(node):
            tainted = tainted or is_row_wise(node)
            (levels[at].before_next if tainted or at == 0 else levels[at].behind).append(node)
        depth |= dict.fromkeys(node.outputs, at)
        if tainted and not stages:
            rows |= {*node.outputs}
    return levels


def _cube(kernel: Node, body: Graph, node: Node, ends: dict[str, tuple[Node, Node, set[str]]]) -> tuple[Stage, ...]:
    if node.name in ends:
        return (Stage(attention_of_body(body, kernel, ends[node.name]), name="attention"),)
    inputs, outputs = types_of(body, node)
    if node.op in OPERATORS:
        return (Stage(attention_of_operator(node, inputs, outputs), name=node.op),)
    entry = entry_of(node)
    if entry is None or entry.family.unit is not Unit.CUBE:
        return ()
    stages = product_stages(node, inputs, outputs)
    if kernel.op in _EIGHT_BITS:
        stages = tuple(
            replace(s, main=replace(s.main, dtype=DType.INT8)) if isinstance(s.main, Gemm) else s for s in stages
        )
    return stages


def _computes(node: Node) -> bool:
    entry = entry_of(node)
    return entry is None or entry.family.unit in (Unit.VECTOR, Unit.MTE)


def _operand_nodes(kernel: Node, body: Graph, inside: set[str]) -> set[str]:
    """Names of nodes that only say how operands of products lie, or are scaled before attention: part of the load."""
    free = ("Transpose", "Expand", "DequantizeLinear") if kernel.op in _EIGHT_BITS else ("Transpose", "Expand")
    found: set[str] = set()
    for node in reversed(body.order):
        if node.name in inside:
            continue
        users = [user for output in node.outputs if output for user in body.users_of(output)]
        operand = bool(users) and all(
            user.name in inside or user.name in found or _is_product(user) or user.body is not None for user in users
        )
        # What is left of an attention kernel lays out Q, K and V and scales Q: small beside the scores.
        small = kernel.op == "FlashAttentionScore" and entry_of(node) is not None and not _is_product(node)
        laid_out = node.op in free and (operand or not users or kernel.op == "MatMul")
        if small or laid_out or (is_view(node) and operand):
            found.add(node.name)
    return found


def _is_product(node: Node) -> bool:
    entry = entry_of(node)
    return entry is not None and entry.family.unit is Unit.CUBE


def _origin(body: Graph, name: str) -> str:
    """The value that an operand is, looked at through views and transposes."""
    node = body.producer(name)
    while node is not None and (is_view(node) or node.op == "Transpose"):
        name = node.inputs[0]
        node = body.producer(name)
    return name


def _merged(products: Sequence[tuple[str, Stage]]) -> list[Stage]:
    """Products of one left operand as one with all their columns; equal ones of several operands as a batch."""
    wide: dict[object, Stage] = {}
    for left, stage in products:
        work = stage.main
        if not isinstance(work, Gemm) or work.batch > 1 or stage.times > 1:
            wide[left, len(wide)] = stage
            continue
        key = (left, work.m, work.k, work.dtype, work.out_dtype)
        old = wide.get(key)
        if old is not None and isinstance(old.main, Gemm):
            work = replace(work, n=old.main.n + work.n)
        wide[key] = replace(stage, main=work)
    equal: dict[Stage, int] = {}
    for stage in wide.values():
        equal[stage] = equal.get(stage, 0) + 1
    return [
        replace(stage, main=replace(stage.main, batch=count)) if count > 1 and _plain(stage.main) else stage
        for stage, count in equal.items()
        for _ in range(1 if _plain(stage.main) else count)
    ]


def _plain(work: object) -> bool:
    return isinstance(work, Gemm) and work.batch == 1


def _vector(body: Graph, nodes: Sequence[Node], *, writes: float = 0.0, reads_product: bool = False) -> Vector:
    """The vector work of some nodes: what they read from outside of the kernel, what they hand on."""
    made = {output for node in nodes for output in node.outputs}
    read: dict[str, float] = {}
    for node in nodes:
        for name in node.inputs:
            value = body.values.get(_origin(body, name)) if name else None
            if value is None or value.name in made or value.constant is not None or value.producer:
                continue
            read[value.name] = float(shaped(value.type)[0].nbytes or 0)
    if not reads_product and not read:
        read[""] = max((float(shaped(types_of(body, n)[0][0])[0].nbytes or 0) for n in nodes[:1]), default=0.0)
    given = [(node, *types_of(body, node)) for node in nodes]
    results = 0.0
    for name in body.outputs:
        size = nbytes(body.values[name].type) if name in made else 0
        results += size if isinstance(size, int) else 0
    return vector_of(given, sum(read.values()), writes or results, _squares(body, nodes))


def _squares(body: Graph, nodes: Sequence[Node]) -> frozenset[str]:
    """Names of the nodes that raise to the power of 2, which is a product."""
    found: set[str] = set()
    for node in nodes:
        if node.op == "Pow" and len(node.inputs) > 1:
            value = body.values.get(node.inputs[1])
            data = value.constant if value is not None else None
            if data is not None and data.elements == 1 and data.is_small and float(data.array().reshape(-1)[0]) == 2:
                found.add(node.name)
    return frozenset(found)


def _on_the_way(body: Graph, level: _Level, work: Gemm) -> bool:
    """True where all that follows a product is done while it is stored: rows, factors, relu, casts."""
    for node in level.behind:
        if node.op not in _ON_THE_WAY:
            return False
        if node.op in ("Add", "Mul", "Div"):
            sizes = sorted(
                type_.elements or 0
                for name in node.inputs
                if (value := body.values.get(name)) is not None and isinstance(type_ := value.type, TensorType)
            )
            if len(sizes) < 2 or sizes[0] > work.n * work.batch:
                return False
    return sum(node.op == "Relu" for node in level.behind) <= 1


def _handed(work: object) -> float:
    """Bytes of the left operand, which the work before hands on."""
    if isinstance(work, Gemm):
        return work.batch * work.m * work.k * work.left_distinct * work.element_bytes
    return work.heads * work.queries * work.width * work.dtype.bits / 8 if isinstance(work, Attention) else 0.0


def _made(work: object) -> float:
    """Bytes of the result."""
    if isinstance(work, Gemm):
        return work.batch * work.m * work.n * work.out_bytes
    if isinstance(work, Attention):
        return work.heads * work.queries * work.columns * work.dtype.bits / 8
    return work.write_bytes if isinstance(work, Vector) else 0.0
