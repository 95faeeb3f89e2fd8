"""A node around one convolution: a bias, a normalisation by channel and elementwise operators behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.conv_kernel import ConvKernel, Pair
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.formula import Formula, Refusal, Term, Writer, formula_of, number
from gexplorer.kernels.part import FLOATS, Part
from gexplorer.kernels.vector_kernel import Tensor

_BY_CHANNEL = "BatchNormalization"


def describe_conv(part: Part, conv: Node) -> Described | Refusal:
    """The kernel of a part with one convolution."""
    kernel = _kernel(part, conv)
    if isinstance(kernel, Refusal):
        return kernel
    if len(part.outputs) != 1:
        return Refusal(part.op, "gives out more than one result of a convolution")
    behind = tuple(node for node in part.nodes if node is not conv)
    others = tuple(name for name in part.inputs if any(name in node.inputs for node in behind))
    whole, made = part.known(conv.outputs[0]), part.known(part.outputs[0])
    if made != whole:
        return Refusal(part.op, f"its result has the shape {list(made)}, its convolution {list(whole)}")
    formula: Formula | None = None
    if behind:
        found = formula_of(
            part.graph, (conv.outputs[0], *others), behind, part.outputs, {_BY_CHANNEL: _batch_normalised}
        )
        if isinstance(found, Refusal):
            return found
        formula = found
    operands: list[Tensor] = []
    for index, name in enumerate(others):
        by_channel = any(node.op == _BY_CHANNEL and name in node.inputs[1:] for node in behind)
        operand = _operand(part, f"x{index}", name, whole, by_channel=by_channel)
        if isinstance(operand, Refusal):
            return operand
        operands.append(operand)
    bindings = [("x", part.outside[conv.inputs[0]]), ("w", part.outside[conv.inputs[1]])]
    bias = conv.inputs[2] if len(conv.inputs) > 2 else ""
    if bias:
        if bias not in part.inputs:
            return Refusal(conv.op, "its bias is a number of the body")
        if part.tensor(bias).dtype not in FLOATS:
            return Refusal(conv.op, f"its bias is {part.tensor(bias).dtype.label}")
        bindings.append(("bias", part.outside[bias]))
    bindings += [(f"x{index}", part.outside[name]) for index, name in enumerate(others)]
    described = replace(
        kernel,
        out_dtype=part.tensor(part.outputs[0]).dtype,
        bias=part.tensor(bias).dtype if bias else None,
        epilogue=formula,
        operands=tuple(operands),
    )
    roles: tuple[tuple[str, Role], ...] = tuple(
        (node.name, "product" if node is conv else "behind") for node in part.nodes
    )
    return Described(described, tuple(bindings), (("out", part.outside[part.outputs[0]]),), roles)


def _kernel(part: Part, conv: Node) -> ConvKernel | Refusal:
    """The bare convolution."""
    for name in conv.inputs[:2]:
        if name not in part.inputs or part.shape(name) is None:
            maker = part.producer(name)
            what = "a constant of the body" if maker is None else f"made by a {maker.op} of the kernel"
            return Refusal(part.op, f"maps or weights are {what}")
    (x, w), out = (part.known(name) for name in conv.inputs[:2]), part.known(conv.outputs[0])
    if len(x) not in (3, 4):
        return Refusal(conv.op, f"it goes along {len(x) - 2} axes; 1 and 2 are understood")
    dtypes = {part.tensor(name).dtype for name in conv.inputs[:2]}
    if len(dtypes) > 1 or not dtypes <= FLOATS:
        return Refusal(conv.op, f"its maps and weights are {' and '.join(sorted(d.label for d in dtypes))}")
    (dtype,) = dtypes
    groups = conv.integer("group", 1)
    spatial = len(x) - 2
    taps, stride, dilation = w[2:], conv.integers("strides"), conv.integers("dilations")
    stride, dilation = stride or (1,) * spatial, dilation or (1,) * spatial
    pads = _pads(conv, x[2:], out[2:], taps, stride, dilation)
    if 0 in (*x, *w, *out):
        return Refusal(conv.op, "a dimension is 0")
    return ConvKernel(
        batch=x[0],
        groups=groups,
        channels=x[1] // groups,
        filters=w[0] // groups,
        size=_pair(x[2:]),
        taps=_pair(taps),
        stride=_pair(stride),
        dilation=_pair(dilation),
        pads=_pair(pads, 0),
        places=_pair(out[2:]),
        dtype=dtype,
        out_dtype=dtype,
    )


def _pads(
    conv: Node,
    size: Sequence[int],
    places: Sequence[int],
    taps: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """Zeros before each axis; those behind follow from how many places there are."""
    auto = conv.attributes.get("auto_pad", "NOTSET")
    auto = auto.decode() if isinstance(auto, bytes) else auto
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        given = conv.integers("pads") if auto == "NOTSET" else None
        return (given or (0,) * (2 * len(size)))[: len(size)]
    steps = zip(size, places, taps, stride, dilation, strict=True)
    needed = [max(0, (count - 1) * step + (tap - 1) * far + 1 - length) for length, count, tap, step, far in steps]
    return tuple((total + (auto == "SAME_LOWER")) // 2 for total in needed)


def _pair(lengths: Sequence[int], missing: int = 1) -> Pair:
    """Rows and columns; a map of one axis is one row."""
    return (lengths[0], lengths[1]) if len(lengths) == 2 else (missing, lengths[0])


def _operand(part: Part, buffer: str, name: str, whole: tuple[int, ...], *, by_channel: bool) -> Tensor | Refusal:
    """An input of the epilogue as [images or 1, filters or 1, rows or 1, columns or 1]."""
    shape, dtype = part.known(name), part.tensor(name).dtype
    if dtype not in FLOATS and dtype != DType.BOOL:
        return Refusal(part.op, f"{part.outside[name]} is {dtype.label}; epilogues are computed in float32")
    shape = (1, *shape, *(1,) * (len(whole) - 2)) if by_channel else (1,) * (len(whole) - len(shape)) + shape
    if any(own not in (1, all_) for own, all_ in zip(shape, whole, strict=True)):
        return Refusal(part.op, f"{part.outside[name]} does not go along with the result")
    images, filters, *places = shape
    return Tensor(buffer, (images, filters, *_pair(places)), dtype)


def _batch_normalised(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
    """``(x - mean) / sqrt(variance + epsilon) * scale + shift``, all four by channel."""
    if node.integer("training_mode", 0):
        return Refusal(node.op, "it is training")
    data, scale, shift, mean, variance = x
    root = write("sqrt", write("add", variance, number(node, "epsilon", 1e-5)))
    return write("add", write("mul", write("div", write("sub", data, mean), root), scale), shift)
