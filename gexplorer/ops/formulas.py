"""Operations of one operator in closed form: one function for each way of counting that the table names.

Every function takes the node, the types of its inputs and outputs (None where unknown or absent) and the
operations per element of the row, and returns an int, a symbolic expression, or None where a shape that it
needs is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gexplorer.ir.graph import Ints, Node
from gexplorer.ir.symbols import Dim, Symbol, exact_div, product
from gexplorer.ir.types import TensorType
from gexplorer.ops.row import Work

Tensors = Sequence[TensorType | None]
Formula = Callable[[Node, Tensors, Tensors, int], Dim]


def elements(type_: TensorType | None) -> Dim:
    """Number of elements, symbolic where the shape is; None where it is unknown."""
    return None if type_ is None or type_.shape is None else product(type_.shape)


def total(parts: Sequence[Dim]) -> Dim:
    """The sum, None as soon as one part is unknown."""
    result: int | Symbol = 0
    for part in parts:
        if part is None:
            return None
        result = result + part
    return result


def _none(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    return 0


def _unknown(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    return None


def _output(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    return product((per, elements(_at(outs, 0))))


def _input(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    return product((per, elements(_at(ins, 0))))


def _inputs(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """A chain over n operands: n - 1 operations an output element."""
    return product((per * (len(node.inputs) - 1), elements(_at(outs, 0))))


def _matmul(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """2 * M * N * K * batch; the output has M * N * batch elements."""
    left = _shape(ins, 0)
    if not left:
        return None
    contracted = list(left)[-2:][0 if node.integer("transA", 0) else -1]
    return product((2, elements(_at(outs, 0)), contracted))


def _conv(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """2 * output elements * (channels / group) * kernel; the weight is [M, channels / group, kernel...]."""
    weight = _shape(ins, 1)
    return None if weight is None else product((2, elements(_at(outs, 0)), *weight[1:]))


def _conv_transpose(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """2 * input elements * (output channels / group) * kernel; the weight is [C, M / group, kernel...]."""
    weight = _shape(ins, 1)
    return None if weight is None else product((2, elements(_at(ins, 0)), *weight[1:]))


def _einsum(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """One loop over all indices: a product for each operand after the first, an addition if any is summed.

    Of two operands, that is 2 * (product of all index sizes) for a contraction.
    """
    equation = node.attribute("equation", "")
    if not isinstance(equation, str):
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    sizes: dict[str, Dim] = {}
    for position, term in enumerate(left.split(",")):
        shape = _shape(ins, position)
        if shape is None:
            return None
        before, dots, after = term.partition("...")
        broadcast = len(shape) - len(before) - len(after)
        # Dimensions under the ellipsis are counted from the right, as they broadcast.
        names = [*before, *(f"...{broadcast - i}" for i in range(broadcast if dots else 0)), *after]
        for name, size in zip(names, shape, strict=False):
            if sizes.get(name, 1) == 1:
                sizes[name] = size
    letters = [name for name in sizes if len(name) == 1]
    kept = set(right) if arrow else {name for name in letters if left.count(name) == 1}
    summed = any(name not in kept for name in letters)
    return product((left.count(",") + summed, *sizes.values()))


def _attention(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """Two products (Q K^T and P V) and the softmax between them: heads * S * T * (2 * Dk + 2 * Dv + 6).

    S queries, T keys (past ones included). Six operations a score: the scale, and a softmax of five. A causal
    mask is not discounted, though a kernel may skip the half of the scores that it hides.
    """
    query, key, value, past = (_shape(ins, index) for index in (0, 1, 2, 4))
    if query is None or key is None or value is None:
        return None
    if len(query) == 4 and len(key) == 4:
        batch, heads, queries, width = query
        keys, value_width = key[2], value[3]
    elif len(query) == 3 and len(key) == 3:
        batch, queries, heads = query[0], query[1], node.integer("q_num_heads", 1)
        kv_heads = node.integer("kv_num_heads", 1)
        width, keys, value_width = exact_div(query[2], heads), key[1], exact_div(value[2], kv_heads)
    else:
        return None
    if node.op == "Attention" and len(node.inputs) > 4 and node.inputs[4]:
        keys = None if past is None else total((keys, past[2]))
    a_score = total((product((2, width)), product((2, value_width)), 6))
    return product((batch, heads, queries, keys, a_score))


def _recurrent(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """Steps * batch * (2 * (elements of W and R) + pointwise work), W and R of both directions.

    Pointwise an LSTM does 32 operations a hidden unit (three sigmoids of 4, two tanh of 6, three products and
    a sum, four sums of gates), a GRU 22 (two sigmoids, one tanh, three products, two sums, three sums of
    gates).
    """
    data, weight, recurrence = (_shape(ins, index) for index in (0, 1, 2))
    if data is None or weight is None or recurrence is None:
        return None
    pointwise = product((32 if node.op == "LSTM" else 22, recurrence[0], recurrence[2]))
    cell = total((product((2, *weight)), product((2, *recurrence)), pointwise))
    return product((data[0], data[1], cell))


def _pool(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """Output elements * kernel: a comparison or an addition for each element under the kernel."""
    kernel = node.attribute("kernel_shape")
    return product((per, elements(_at(outs, 0)), *kernel)) if isinstance(kernel, Ints) else None


def _interpolation(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """Interpolations an output element, over s spatial axes.

    Nearest: none. Linear: 2^s - 1 of 3 operations. Cubic: (4^s - 1) / 3 of 7.
    """
    shape = _shape(outs, 0)
    if shape is None:
        return None
    spatial = max(len(shape) - 2, 0)
    mode = str(node.attribute("mode", "linear" if node.op == "GridSample" else "nearest"))
    if mode == "nearest":
        return 0
    taps = 7 * (4**spatial - 1) // 3 if "cubic" in mode else 3 * (2**spatial - 1)
    return product((taps, *shape))


def _lrn(node: Node, ins: Tensors, outs: Tensors, per: int) -> Dim:
    """Output elements * (size + 7), for x / (bias + alpha / size * sum of squares) ^ beta.

    A square, ``size`` sums, a product and a sum, a power of three operations, a division.
    """
    return product((node.integer("size", 1) + 7, elements(_at(outs, 0))))


FORMULAS: Mapping[Work, Formula] = {
    "none": _none,
    "unknown": _unknown,
    "output": _output,
    "input": _input,
    "inputs": _inputs,
    "matmul": _matmul,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "einsum": _einsum,
    "attention": _attention,
    "recurrent": _recurrent,
    "pool": _pool,
    "interpolation": _interpolation,
    "lrn": _lrn,
}


def _at(types: Tensors, index: int) -> TensorType | None:
    return types[index] if index < len(types) else None


def _shape(types: Tensors, index: int) -> tuple[Dim, ...] | None:
    found = _at(types, index)
    return None if found is None else found.shape
