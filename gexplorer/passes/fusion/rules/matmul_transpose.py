"""Products of matrices that read a transposed operand as it lies in memory."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints, Node
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import Op, Pattern, either, op
from gexplorer.passes.fusion.products import number, operands_of, plain, read_otherwise, without
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_TURNED = ("x_node", "w_node")


def _swaps_last(perm: object) -> bool:
    return perm is None or (isinstance(perm, Ints) and perm == (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2))


def _turned(value: str) -> Op:
    return op.Transpose(value, name=f"{value}_node", attributes={"perm": _swaps_last}, shared=True)


def _product(ops: str, x: Pattern | str, w: Pattern | str) -> Op:
    return op(ops, x, w, name="product")


class MatMulTranspose(Rule):
    """MatMul or Gemm of transposed operands becomes one that transposes while it loads.

    before:  MatMul(x, Transpose(w)); Transpose(Gemm(a, b))
    after:   MatMul(x, w) {transpose_b = 1}; Gemm(b, a) {transpose_a = 1, transpose_b = 1}

    Exporters write the weight of a linear layer so. Folding does away with the Transpose of small weights; large ones,
    and those whose bytes are not there, are left to this rule. A transposed tensor that several products read goes into
    each; one that anything else reads is written anyway, so nothing would be saved. It runs before all that look for a
    MatMul.
    """

    name = "matmul_transpose"
    order = 604
    kernel = "MatMul"
    saves = "One round trip of the transposed operand through memory."
    near = 3
    reads = ("x", "w")
    telling = frozenset(("Transpose",))
    latest_first = True
    pattern = (
        op.Transpose(
            _product("Gemm", either(_turned("x"), "x"), either(_turned("w"), "w")),
            attributes={"perm": _swaps_last},
        ),
        _product("MatMul|Gemm", _turned("x"), either(_turned("w"), "w")),
        _product("MatMul|Gemm", "x", _turned("w")),
    )
    messages = Map(
        permutation=Message("{blocker} reverses all axes of {value}, not just the last two"),
        dtype=Message("{blocker} makes {type}, and the kernel multiplies floating-point numbers"),
        bias=Message("{product} adds {blocker}, which would have to be transposed like the product"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One of the operands, or the product, must be the transpose of a matrix that nobody else needs."""
        product = found.named["product"]
        type_ = tensor_of(draft, product.outputs[0])
        if type_ is None or not type_.dtype.is_float:
            return Reject("dtype", product.name, type=type_ or "of unknown type")
        if found.root is not product:
            return Reject("bias", product.inputs[2], product=product.name) if any(product.inputs[2:]) else None
        refused = [_refused(node, draft) for name, node in found.named.items() if name in _TURNED]
        return None if None in refused else refused[0]

    def extend(self, found: Match, draft: Draft) -> Match:
        """Leaves out what is written anyway, and reads the operands of a transposed product the other way round."""
        left = [node for name, node in found.named.items() if name in _TURNED and _refused(node, draft) is not None]
        found = without(found, left) if left else found
        if found.root is found.named["product"]:
            return found
        return replace(found, values={**found.values, "x": found["w"], "w": found["x"]})

    def kernel_of(self, found: Match) -> str:
        """A Gemm stays one."""
        return found.named["product"].op

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Which operands are transposed, with what the product said of itself."""
        product = found.named["product"]
        known = operands_of(product)
        turned = [bool(number(known, side)) for side in ("transpose_a", "transpose_b")]
        turned = [own != (name in found.named) for own, name in zip(turned, _TURNED, strict=True)]
        if found.root is not product:  # the transpose of A·B is that of B times that of A
            turned = [not own for own in reversed(turned)]
        return plain(known.set("transpose_a", int(turned[0])).set("transpose_b", int(turned[1])))


def _refused(transpose: Node, draft: Draft) -> Reject | None:
    """Without a permutation, a Transpose reverses the axes: that swaps the last two of a matrix alone."""
    type_ = tensor_of(draft, transpose.inputs[0])
    if transpose.attribute("perm") is None and (type_ is None or type_.rank != 2):
        return Reject("permutation", transpose.name, value=transpose.inputs[0])
    return read_otherwise(draft, transpose.outputs[0])
