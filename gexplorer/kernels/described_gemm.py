"""A node around one matrix product: transposes before it, a bias and elementwise operators behind it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gexplorer.cost.work import Gemm
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.formula import Formula, Refusal, formula_of
from gexplorer.kernels.gemm_kernel import GemmKernel, Operand, bias_taken, with_bias
from gexplorer.kernels.part import FLOATS, Part, swaps_last_two

PRODUCTS = frozenset(("MatMul", "Gemm", "MatMulInteger"))


@dataclass(frozen=True, slots=True)
class _Matrix:
    """One side of a product: the value, and whether it lies transposed; ``shape`` is that of what is multiplied."""

    name: str
    transposed: bool
    shape: tuple[int, ...]


def products_of(part: Part) -> list[Node]:
    """The operators of a part that are matrix products."""
    return [node for node in part.nodes if node.op in PRODUCTS and not node.domain]


def describe_gemm(part: Part, product: Node) -> Described | Refusal:
    """The kernel of a part with one product."""
    sides = tuple(_side(part, product, index) for index in (0, 1))
    left, right = sides
    if isinstance(left, Refusal):
        return left
    if isinstance(right, Refusal):
        return right
    work = _work(part, product, left, right)
    if isinstance(work, Refusal):
        return work
    if len(part.outputs) != 1:
        return Refusal(part.op, "gives out more than one result of a product")
    before = {product.name} | {
        node.name for node in part.nodes if any(s.name in node.inputs for s in (left, right)) and node.op == "Transpose"
    }
    behind = tuple(node for node in part.nodes if node.name not in before)
    others = tuple(name for name in part.inputs if any(name in node.inputs for node in behind))
    formula: Formula | None = None
    if behind:
        found = formula_of(part.graph, (product.outputs[0], *others), behind, part.outputs)
        if isinstance(found, Refusal):
            return found
        formula = found
    whole = part.known(product.outputs[0])
    operands: list[Operand] = []
    bindings = [("left", part.outside[left.name]), ("right", part.outside[right.name])]
    added = product.inputs[2] if len(product.inputs) > 2 and product.op == "Gemm" else ""
    if added and added not in part.inputs:
        return Refusal(product.op, "its bias is a number of the body")
    if added:
        others = (added, *others)
        formula = with_bias(formula)
    for index, name in enumerate(others):
        operand = _operand(part, f"x{index}", name, whole, work)
        if isinstance(operand, Refusal):
            return operand
        operands.append(operand)
    bias, formula, kept = bias_taken(formula, tuple(operands))
    for index, name in enumerate(others):
        buffer = "bias" if bias is not None and operands[index] not in kept else f"x{index}"
        bindings.append((buffer, part.outside[name]))
    kernel = GemmKernel(
        work,
        left_transposed=left.transposed,
        right_transposed=right.transposed,
        left_shared=work.batch > 1 and prod(left.shape[:-2]) == 1,
        right_shared=work.batch > 1 and prod(right.shape[:-2]) == 1,
        bias=bias,
        epilogue=formula,
        operands=kept,
    )
    row = next((name for index, name in enumerate(others) if bias is not None and operands[index] not in kept), "")
    roles: tuple[tuple[str, Role], ...] = tuple((node.name, _role(node, product, before, row)) for node in part.nodes)
    return Described(kernel, tuple(bindings), (("out", part.outside[part.outputs[0]]),), roles)


def _role(node: Node, product: Node, before: set[str], bias: str) -> Role:
    if node is product:
        return "product"
    if node.name in before:
        return "turned"
    return "table" if bias and bias in node.inputs else "behind"


def _side(part: Part, product: Node, index: int) -> _Matrix | Refusal:
    name = product.inputs[index]
    shape = part.shape(name)
    if shape is None or len(shape) < 2:
        return Refusal(product.op, "one side is a vector or of unknown shape")
    turned = product.op == "Gemm" and bool(product.integer("transB" if index else "transA", 0))
    shape = (shape[1], shape[0]) if turned else shape
    maker = part.producer(name)
    if maker is not None and swaps_last_two(maker, len(shape)) and len(part.users(name)) == 1:
        name, turned, maker = maker.inputs[0], not turned, part.producer(maker.inputs[0])
    if maker is not None:
        return Refusal(part.op, f"{maker.op} before the product: only a transpose can ride on the way in")
    if name not in part.inputs:
        return Refusal(part.op, "one side of the product is a constant of the body")
    return _Matrix(name, turned, shape)


def _work(part: Part, product: Node, left: _Matrix, right: _Matrix) -> Gemm | Refusal:
    if any(product.attributes.get(name, 1.0) != 1.0 for name in ("alpha", "beta")):
        return Refusal(product.op, "alpha or beta is not 1")
    dtypes = {part.tensor(side.name).dtype for side in (left, right)}
    if product.op == "MatMulInteger" and any(name and part.number(name) != 0 for name in product.inputs[2:]):
        return Refusal(product.op, "its zero points are not 0")
    if len(dtypes) > 1 or not dtypes <= ({DType.INT8} if product.op == "MatMulInteger" else FLOATS):
        return Refusal(product.op, f"its matrices are {' and '.join(sorted(dtype.label for dtype in dtypes))}")
    out = part.tensor(part.outputs[0]).dtype
    (*above, m, k), (*beside, _, n) = left.shape, right.shape
    batches = prod(above), prod(beside)
    batch = max(batches)
    if min(batches) != 1 and above != beside:
        return Refusal(product.op, f"batches {above} and {beside} are repeated against each other")
    if batches[1] == 1 and not left.transposed:
        m, batch = m * batches[0], 1  # all rows of the batch meet one right matrix
    (dtype,) = dtypes
    return Gemm(m, n, k, dtype, out, batch)


def _operand(part: Part, buffer: str, name: str, whole: tuple[int, ...], work: Gemm) -> Operand | Refusal:
    """An input of the epilogue as [batch or 1, m or 1, n or 1]."""
    shape, dtype = part.known(name), part.tensor(name).dtype
    if dtype not in FLOATS and dtype != DType.BOOL:
        return Refusal(part.op, f"{part.outside[name]} is {dtype.label}; epilogues are computed in float32")
    if len(shape) > len(whole):
        return Refusal(part.op, f"{part.outside[name]} has more axes than the product")
    shape = (1,) * (len(whole) - len(shape)) + shape
    rows = len(whole) - 2 if work.batch > 1 or prod(whole[:-2]) == 1 else 0
    merged: list[int] = []
    for first, last in ((0, rows), (rows, len(whole) - 1), (len(whole) - 1, len(whole))):
        own, all_ = shape[first:last], whole[first:last]
        if own != all_ and prod(own) != 1:
            return Refusal(part.op, f"{part.outside[name]} is repeated along some of the product's rows")
        merged.append(prod(own))
    return Operand(buffer, (merged[0], merged[1], merged[2]), dtype)
