"""onnxruntime's contributed operators, whose meaning its documentation gives; models that it has optimised hold them.

Source: the schemas that onnxruntime registers, and docs/ContribOperators.md of its repository.
"""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Ints
from gexplorer.ir.symbols import Dim, Shape, floor_div
from gexplorer.ops.shapes.arithmetic import add, multiply
from gexplorer.ops.shapes.convolution import conv
from gexplorer.ops.shapes.elementwise import same_type
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.linear import gemm, matmul_shape
from gexplorer.ops.shapes.registry import Call, shape_of

MICROSOFT = "com.microsoft"

for _function, _ops in (
    (same_type, ("RotaryEmbedding", "BiasSoftmax", "BiasAdd", "GroupNorm", "Inverse", "Trilu")),
    (gemm, ("FusedGemm",)),
    (conv, ("FusedConv",)),
):
    shape_of(*_ops, domain=MICROSOFT)(_function)


@shape_of("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(call: Call) -> tuple[Fact, ...]:
    """As MatMul, of operands whose first axis is moved behind the batch axes, and whose last two are swapped then."""
    dtype = call.dtype(0) or call.dtype(1)
    if dtype is None:
        return (UNKNOWN,)
    return (tensor(dtype, matmul_shape(call, _turned(call, 0, "A"), _turned(call, 1, "B"))),)


def _turned(call: Call, index: int, side: str) -> Shape | None:
    shape = call.shape(index)
    if shape is not None and len(shape) > 1:
        if call.node.integer(f"transBatch{side}", 0):
            shape = (*shape[1:-1], shape[0], shape[-1])
        if call.node.integer(f"trans{side}", 0):
            shape = (*shape[:-2], shape[-1], shape[-2])
    return shape


@shape_of("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(call: Call) -> tuple[Fact, ...]:
    """``[..., K]`` gives ``[..., N]``; N is an attribute, as the weights are packed."""
    dtype, shape = call.dtype(0), call.shape(0)
    if dtype is None:
        return (UNKNOWN,)
    columns = call.node.attribute("N")
    return (tensor(dtype, (*shape[:-1], columns if isinstance(columns, int) else None) if shape else None),)


@shape_of("MatMulIntegerToFloat", "DynamicQuantizeMatMul", domain=MICROSOFT)
def matmul_to_float(call: Call) -> tuple[Fact, ...]:
    """As MatMul, in the type of the scale of the second operand."""
    dtype = call.dtype(3 if call.node.op == "MatMulIntegerToFloat" else 2)
    return (UNKNOWN if dtype is None else tensor(dtype, matmul_shape(call, call.shape(0), call.shape(1))),)


@shape_of("DequantizeLinear", domain=MICROSOFT)
def dequantize(call: Call) -> tuple[Fact, ...]:
    """The data's shape in the scale's type."""
    dtype = call.dtype(1)
    return (UNKNOWN if dtype is None else tensor(dtype, call.shape(0)),)


@shape_of("QuantizeLinear", domain=MICROSOFT)
def quantize(call: Call) -> tuple[Fact, ...]:
    """The data's shape in the zero point's type, uint8 without one."""
    dtype = call.dtype(2) if call.has(2) else DType.UINT8
    return (UNKNOWN if dtype is None else tensor(dtype, call.shape(0)),)


@shape_of("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_normalization(call: Call) -> tuple[Fact, ...]:
    """The input's type; mean and deviation are for training; the sum that was normalised, of the input's type."""
    (made,) = same_type(call)
    return (made, UNKNOWN, UNKNOWN, made)[: len(call.node.outputs)]


@shape_of("EmbedLayerNormalization", domain=MICROSOFT)
def embed_normalization(call: Call) -> tuple[Fact, ...]:
    """``[batch, length, hidden]``, how many tokens of each row count, and the sum that was normalised."""
    ids, words, dtype = call.shape(0), call.shape(2), call.dtype(5)
    if dtype is None:
        return (UNKNOWN,) * len(call.node.outputs)
    hidden = words[-1] if words else None
    made = tensor(dtype, (*ids, hidden) if ids is not None else None)
    return (made, tensor(DType.INT32, ids[:1] if ids is not None else None), made)[: len(call.node.outputs)]


@shape_of("Attention", domain=MICROSOFT)
def attention(call: Call) -> tuple[Fact, ...]:
    """Input ``[batch, length, hidden]`` and its three projections side by side in one matrix.

    The result has the columns of the third; keys and values lie in one tensor ``[2, batch, heads, total, head size]``.
    """
    dtype, x, weights = call.dtype(0), call.shape(0), call.shape(1)
    if dtype is None or (x is not None and len(x) != 3):
        return (UNKNOWN,) * len(call.node.outputs)
    batch, length = x[:2] if x is not None else (None, None)
    sizes = call.node.attribute("qkv_hidden_sizes")
    columns = floor_div(weights[-1], 3) if weights else None
    if isinstance(sizes, Ints) and len(sizes) == 3:
        columns = sizes[2]
    heads = call.node.attribute("num_heads")
    past = call.shape(4)
    total: Dim = length
    if call.has(4):
        total = add(past[3], length) if past is not None and len(past) == 5 else None
        if call.node.integer("past_present_share_buffer", 0):
            total = past[3] if past is not None and len(past) == 5 else None
    count = heads if isinstance(heads, int) and heads > 0 else None
    present = (2, batch, count, total, floor_div(columns, count) if count else None)
    return (tensor(dtype, (batch, length, columns)), tensor(dtype, present))[: len(call.node.outputs)]


@shape_of("MultiHeadAttention", "GroupQueryAttention", domain=MICROSOFT)
def multi_head_attention(call: Call) -> tuple[Fact, ...]:
    """``[batch, length, heads * size of a value]``; caches and scores by rank alone.

    Queries, keys and values may be packed: all three as ``[batch, length, heads, 3, size]`` or, for grouped queries,
    side by side; keys and values as ``[batch, length, heads, 2, size]``.
    """
    dtype, query = call.dtype(0), call.shape(0)
    if dtype is None or query is None or len(query) < 3:
        return (UNKNOWN,) * len(call.node.outputs)
    cache = tensor(
        call.dtype(3) or dtype if call.node.op == "GroupQueryAttention" else dtype, (query[0],) + (None,) * 3
    )
    made = tensor(dtype, (*query[:2], _columns(call, query)))
    return (made, cache, cache, tensor(dtype, (query[0],) + (None,) * 3))[: len(call.node.outputs)]


def _columns(call: Call, query: Shape) -> Dim:
    """Columns of the result: heads of the queries times the size of a value."""
    heads = call.node.attribute("num_heads")
    if not isinstance(heads, int) or heads < 1:
        return None
    if call.node.op == "GroupQueryAttention":
        kept = call.node.integer("kv_num_heads", heads)
        return query[2] if call.has(1) else multiply(heads, floor_div(query[2], heads + 2 * kept))
    if len(query) == 5:
        return multiply(query[2], query[4])
    value = call.shape(2)
    if not call.has(2):
        return query[2]
    if value is None:
        return None
    return value[2] if len(value) == 3 else multiply(heads, value[-1])
