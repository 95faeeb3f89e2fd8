"""Attention as the cost model wants it, from one operator or from the pieces in the body of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from gexplorer.cost.instructions import shaped
from gexplorer.cost.kernel_work import CannotTell
from gexplorer.cost.work import Attention
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType, Type

Following = Callable[[Node], Iterable[Node]]
OPERATORS = frozenset(("Attention", "MultiHeadAttention", "GroupQueryAttention"))
# Operators between scores and weights that are one more pass over the scores each; the softmax has its own.
_PASSES = frozenset(("Add", "Sub", "Mul", "Div", "Where", "Max", "Tanh", "IsNaN"))


def attention_of_operator(node: Node, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> Attention:
    """ONNX's Attention, and onnxruntime's that take Q, K and V apart.

    Raises:
        CannotTell: a shape is not known; the projections are in the operator, or Q, K and V are packed.
    """
    if node.op == "Attention" and node.domain == "com.microsoft":
        raise CannotTell("the projections inside com.microsoft's Attention are not modelled")
    q, k, v = (_shape(type_) for type_ in (*inputs, None, None, None)[:3])
    tensor, _ = shaped(inputs[0])
    made = _shape(outputs[0])
    heads = _number(node, "q_num_heads", _number(node, "num_heads", 1))
    kv_heads = _number(node, "kv_num_heads", heads)
    if len(q) == 4 and len(k) == 4:
        batch, heads, queries, width = q
        kv_heads, keys, columns = k[1], k[2], v[3]
    elif len(q) == 3 and len(k) == 3:
        batch, queries, width = q[0], q[1], q[2] // heads
        keys, columns = k[1], made[-1] // heads
    else:
        raise CannotTell("Q, K and V lie in one tensor")
    past = inputs[4] if node.op == "Attention" and len(inputs) > 4 else None
    past = inputs[3] if node.op == "GroupQueryAttention" and len(inputs) > 3 else past
    if past is not None:
        keys += _shape(past)[2]
    causal = bool(_number(node, "is_causal", _number(node, "unidirectional", int(node.op == "GroupQueryAttention"))))
    mask = node.op == "Attention" and len(node.inputs) > 3 and bool(node.inputs[3])
    read = _mask_bytes(inputs[3], queries, keys) if mask else 0.0
    return _checked(
        Attention(batch * heads, queries, keys, width, columns, tensor.dtype, batch * kv_heads, causal, int(mask), read)
    )


def attention_parts(body: Graph, softmax: Node) -> tuple[Node, Node, set[str]] | None:
    """The product in front of a softmax, the one behind it, and the names of all nodes from the one to the other.

    None where the softmax is not an attention's.
    """
    scores = next(_walk(softmax, lambda n: _above(body, n)), None)
    weighted = next(_walk(softmax, lambda n: _below(body, n)), None)
    if scores is None or weighted is None:
        return None
    after, before = _reach(scores, lambda n: _below(body, n)), _reach(weighted, lambda n: _above(body, n))
    return scores, weighted, (after & before) | {scores.name, weighted.name}


def attention_of_body(body: Graph, node: Node, parts: tuple[Node, Node, set[str]]) -> Attention:
    """Attention in pieces; ``node`` is the kernel, whose attributes say what the pieces do not.

    Raises:
        CannotTell: a shape is not known.
    """
    scores, weighted, inside = parts
    made, q, v = (_shape(body.values[name].type) for name in (scores.outputs[0], scores.inputs[0], weighted.inputs[1]))
    tensor, _ = shaped(body.values[scores.inputs[0]].type)
    heads = prod(made[:-2])
    queries, keys = made[-2:]
    said, kv = _number(node, "heads", 0), _number(node, "kv_heads", 0)
    kv_heads = heads * kv // said if said and kv and heads * kv % said == 0 else heads
    passes = sum(
        other.op in _PASSES and _elements(body.values[other.outputs[0]].type) >= heads * queries * keys
        for other in body.order
        if other.name in inside and other not in (scores, weighted)
    )
    causal = bool(_number(node, "causal", 0))
    read = 0.0 if causal else _masks_of(body, inside, queries, keys)
    return _checked(Attention(heads, queries, keys, q[-1], v[-1], tensor.dtype, kv_heads, causal, passes, read))


def _masks_of(body: Graph, inside: set[str], queries: int, keys: int) -> float:
    """Bytes that the operators between the two products read from outside for every score."""
    found: dict[str, float] = {}
    for other in body.order:
        if other.name in inside and other.op in _PASSES:
            for name in other.inputs:
                value = body.values.get(name)
                if value is not None and value.producer not in inside:
                    found[name] = _mask_bytes(value.type, queries, keys)
    return sum(found.values())


def _mask_bytes(type_: Type | None, queries: int, keys: int) -> float:
    """Bytes of an element where a tensor has one for every score; one row for all queries is next to nothing."""
    if not isinstance(type_, TensorType) or type_.shape is None or type_.shape[-2:] != (queries, keys) or queries == 1:
        return 0.0
    return type_.dtype.bits / 8


def _checked(work: Attention) -> Attention:
    if min(work.heads, work.queries, work.keys, work.width) < 1:
        raise CannotTell("a dimension is 0")
    return work


def _shape(type_: Type | None) -> tuple[int, ...]:
    tensor, _ = shaped(type_)
    return tuple(dim for dim in tensor.shape or () if isinstance(dim, int))


def _elements(type_: Type | None) -> int:
    return (type_.elements or 0) if isinstance(type_, TensorType) else 0


def _number(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name, default)
    return value if isinstance(value, int) else default


def _above(body: Graph, node: Node) -> Iterable[Node]:
    return [made for name in node.inputs if (made := body.producer(name)) is not None]


def _below(body: Graph, node: Node) -> Iterable[Node]:
    return [user for output in node.outputs if output for user in body.users_of(output)]


def _walk(start: Node, following: Following) -> Iterator[Node]:
    """Products that are reached first, nothing behind them looked at."""
    waiting, seen = [start], {start.name}
    for node in waiting:
        for other in following(node):
            if other.name in seen:
                continue
            seen.add(other.name)
            if other.op == "MatMul":
                yield other
            else:
                waiting.append(other)


def _reach(start: Node, following: Following) -> set[str]:
    """Names of all nodes that are reached."""
    waiting, seen = [start], set[str]()
    for node in waiting:
        for other in following(node):
            if other.name not in seen:
                seen.add(other.name)
                waiting.append(other)
    return seen
