"""What the normalisation rules have in common: names, pieces of patterns, and what their axes and scales must be."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.pattern import Either, Op, Pattern, const, either, op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message

# Operators that are a whole normalisation, as one reads them in a graph: kernels of ours and operators of the model.
LAYER_NORM = "LayerNorm|LayerNormalization|com.microsoft::LayerNormalization"
RMS_NORM = "RmsNorm|RMSNormalization|SimplifiedLayerNormalization|com.microsoft::SimplifiedLayerNormalization"

EPSILON = const("eps", test=lambda data: data.elements == 1, wanted="one constant number")
# Widening in front is done for each user anew; it costs less than reading the wide value from memory.
WIDENED = op.Cast("x", attributes={"to": int(DType.FLOAT32)}, shared=True)

# Embeddings of words, positions and segments, with casts and slices: more terms than these are something else.
_SUMMED = 16

NORM_MESSAGES = Map(
    axes=Message(
        "{blocker} ({op}) reduces other axes than the last ones, which {kernel} does not",
        "transpose, so that what is normalised comes last",
    ),
    row=Message("{blocker} is {type}, which does not fit the axes that {node} normalises: {wanted}"),
    shape=Message("{blocker} is {input} and the result {type}: a constant of {node} may widen it"),
    dtype=Message("{blocker} is {type}, and {kernel} reads floating-point numbers"),
)

SUM_MESSAGES = Map(
    widened=Message(
        "{blocker} is {type} and is widened to {sum}, so it is no residual connection",
        "give both terms one shape; where a dimension is symbolic, fix it",
    ),
    embedding=Message("{blocker} adds what was looked up in tables of embeddings, so it is no residual connection"),
    axes=Message("{blocker} normalises from axis {axis} on, and {kernel} the last one only"),
)


def squared(inner: Pattern) -> Either:
    """The square of a value."""
    return either(op.Pow(inner, 2), op.Mul(inner, inner))


def over_root(value: Pattern, variance: Pattern) -> tuple[Op, ...]:
    """A value divided by the square root of another, as operators write it: ``Div`` and ``Mul`` at the root."""
    root = either(op.Sqrt(variance), op.Pow(variance, 0.5))
    inverse = either(op.Reciprocal(root), op.Pow(variance, -0.5), op.Div(1, root))
    return op.Div(value, root), op.Mul(value, inverse)


def reduced_axes(draft: Draft, reduction: Node) -> tuple[int, ...] | None:
    """The axes that a reduction takes, counted from the front and in order; None if unknown or not kept."""
    x, *further = reduction.inputs
    axes = reduction.integers("axes")
    if axes is None and further and further[0]:
        data = draft.constant_of(further[0])
        if data is None or not data.is_small:
            return None
        axes = tuple(int(axis) for axis in data.array().reshape(-1))
    type_ = tensor_of(draft, x)
    if not reduction.attribute("keepdims", 1) or type_ is None or not type_.rank:
        return None
    if not axes:
        return None if reduction.attribute("noop_with_empty_axes", 0) else tuple(range(type_.rank))
    return tuple(sorted({axis % type_.rank for axis in axes}))


def last_axes(draft: Draft, reduction: Node) -> int | None:
    """How many axes a reduction takes, if they are the last ones and are kept; None if not, or unknown."""
    axes, type_ = reduced_axes(draft, reduction), tensor_of(draft, reduction.inputs[0])
    if axes is None or type_ is None or type_.rank is None:
        return None
    return len(axes) if axes == tuple(range(type_.rank - len(axes), type_.rank)) else None


def check_norm(found: Match, draft: Draft, kernel: str, rows: tuple[str, ...]) -> Reject | None:
    """What must hold for LayerNorm and RmsNorm alike.

    Args:
        found: a match with the values ``x`` and ``eps`` and the nodes ``mean`` and, where there is one, ``variance``.
        draft: the graph.
        kernel: operator of the kernel.
        rows: names of the scale and bias, where the match has them.
    """
    x, result = tensor_of(draft, found["x"]), tensor_of(draft, found.root.outputs[0])
    counts: dict[str, int | None] = {}
    for name in ("mean", "variance"):
        node = found.named.get(name)
        if node is not None:
            counts[name] = last_axes(draft, node)
            if counts[name] is None or len(set(counts.values())) > 1:
                return Reject("axes", node.name, op=node.op, kernel=kernel)
    count = counts["mean"]
    if x is None or not x.dtype.is_float or count is None:
        return Reject("dtype", found["x"], type=str(x), kernel=kernel)
    for name in rows:
        value = found.values.get(name)
        if value is not None and not is_row(tensor_of(draft, value), x, count):
            wanted = ",".join(map(str, (x.shape or ())[-count:]))
            return Reject(
                "row", value, node=found.root.name, type=str(tensor_of(draft, value)), wanted=f"[{wanted}] or fewer"
            )
    if result is None or not result.dtype.is_float:
        return Reject("dtype", found.root.name, type=str(result), kernel=kernel)
    if result.shape != x.shape:
        return Reject("shape", found["x"], node=found.root.name, type=str(result), input=str(x))
    return None


def is_row(type_: TensorType | None, x: TensorType, count: int) -> bool:
    """True when a scale or bias has elements along the last axes only, and does not widen what it scales."""
    if type_ is None or type_.shape is None or x.shape is None or len(type_.shape) > len(x.shape):
        return False
    own = (1,) * (len(x.shape) - len(type_.shape)) + type_.shape
    outer, inner = own[: len(own) - count], own[len(own) - count :]
    return all(dim == 1 for dim in outer) and all(
        dim == 1 or (dim is not None and dim == wanted)
        for dim, wanted in zip(inner, x.shape[len(own) - count :], strict=True)
    )


def describe_norm(found: Match, draft: Draft) -> Map[str, object]:
    """The first axis that is normalised, counted from the end, and the term that keeps from dividing by nothing."""
    data = draft.constant_of(found["eps"])
    known = Map[str, object](axis=-(last_axes(draft, found.named["mean"]) or 1))
    return known.set("epsilon", float(data.array().reshape(-1)[0])) if data is not None and data.is_small else known


def check_sum(found: Match, draft: Draft, kernel: str) -> Reject | None:
    """What must hold of the addition before a normalisation.

    Args:
        found: a match with the node ``add`` and its terms ``x`` and ``residual``.
        draft: the graph.
        kernel: operator of the kernel.
    """
    add = found.named["add"]
    total = tensor_of(draft, add.outputs[0])
    for name in ("x", "residual"):
        term = tensor_of(draft, found[name])
        if term is None or total is None or term.shape is None or term.shape != total.shape:
            return Reject("widened", found[name], type=str(term), sum=str(total))
    if all(_is_looked_up(draft, found[name]) for name in ("x", "residual")):
        return Reject("embedding", add.name)
    axis = found.root.attribute("axis", -1)
    if axis not in (-1, (total.rank or 0) - 1):
        return Reject("axes", found.root.name, axis=axis, kernel=kernel)
    return None


def _is_looked_up(draft: Draft, name: str) -> bool:
    """True for a constant, a look-up in a constant, and sums of such."""
    waiting, seen = [name], 0
    while waiting and seen < _SUMMED:
        seen += 1
        name = waiting.pop()
        node = draft.producer(name)
        if draft.constant_of(name) is not None:
            continue
        if node is not None and node.op in ("Gather", "Add", "Slice", "Expand", "Cast"):
            waiting += node.inputs if node.op == "Add" else node.inputs[:1]
        else:
            return False
    return not waiting
