"""Products of matrices and the numbers that they are scaled by."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node, program_key
from gexplorer.passes.fusion.attention import number_of
from gexplorer.passes.fusion.cube import same_type
from gexplorer.passes.fusion.matcher import Match, is_one_of
from gexplorer.passes.fusion.pattern import Op, Pattern, const, either, op
from gexplorer.passes.fusion.products import number, operands_of, plain, read_otherwise, without
from gexplorer.passes.fusion.rule import Reject, Rule, read
from gexplorer.trace.records import Message

_SCALED = ("x_node", "w_node")
_SCALING = ("Mul", "Div")


def _is_scale(data: Constant) -> bool:
    if data.elements != 1 or not data.is_small or not data.dtype.is_float:
        return False
    value = float(data.array().reshape(-1)[0])
    return value != 0 and isfinite(value)


def _scaled(value: str) -> Pattern:
    factor = const(f"{value}_factor", test=_is_scale, wanted="one constant number")
    settings = {"name": f"{value}_node", "shared": True}
    return either(op.Mul(value, factor, **settings), op.Div(value, factor, **settings))


_FACTOR = const("factor", wanted="a constant factor")
_ANY = op("MatMul|Gemm", either(_scaled("x"), "x"), either(_scaled("w"), "w"), name="product")


class MatMulScale(Rule):
    """A constant number that an operand or the product is scaled by goes into the MatMul or Gemm.

    before:  MatMul(Mul(x, 3), w); Div(MatMul(x, w), 4)
    after:   MatMul(x, w) {alpha = 3}; MatMul(x, w) {alpha = 0.25}

    The sum is scaled as it leaves the cube unit. A scaled operand that several products read goes into each; one that
    anything else reads is written anyway, so nothing would be saved. Runs behind ``flash_attention``, whose kernel
    takes the scale of the scores along.
    """

    name = "matmul_scale"
    order = 666
    kernel = "MatMul"
    saves = "One round trip of what is scaled through memory."
    near = 3
    telling = frozenset(("MatMul", "Gemm"))
    latest_first = True
    reads = ("x", "w")
    pattern = (
        op.Mul(_ANY, _FACTOR),
        op.Div(_ANY, _FACTOR),
        op("MatMul|Gemm", _scaled("x"), either(_scaled("w"), "w"), name="product"),
        op("MatMul|Gemm", "x", _scaled("w"), name="product"),
    )
    messages = Map(
        several=Message("{blocker} scales each column of {product} or each element by itself, the kernel all by one"),
        no_scale=Message("{blocker} is {value}, by which nothing can be scaled and scaled back"),
        widens=Message("{blocker} ({op}) makes another shape of what it scales"),
    )

    def _candidates(self, patterns: Sequence[Op], roots: Sequence[str], draft: Draft) -> list[Node]:
        """Products next to a Mul or Div, and these: most products of a model are next to none."""
        if self.every:
            return super()._candidates(patterns, roots, draft)
        near: dict[str, Node] = {}
        for product in read(draft, "MatMul", "Gemm"):
            makers = (draft.producer(name) for name in product.inputs[:2])
            if any(maker is not None and is_one_of(maker, _SCALING) for maker in makers):
                near[product.name] = product
            near |= {user.name: user for user in draft.users(product.outputs[0]) if is_one_of(user, _SCALING)}
        return sorted(filter(draft.is_read, near.values()), key=program_key)

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One finite number, which must not widen what it scales."""
        product = found.named["product"]
        if found.root is not product:
            data = draft.constant_of(found["factor"])
            if data is None or data.elements != 1:
                return Reject("several", found["factor"], product=product.name)
            if not _is_scale(data):
                return Reject("no_scale", found["factor"], value=number_of(draft, found["factor"]))
            if not same_type(draft, product.outputs[0], found.root.outputs[0]):
                return Reject("widens", found.root.name, op=found.root.op)
            return None
        refused = [_refused(found, name, draft) for name in _SCALED if name in found.named]
        return None if None in refused else refused[0]

    def extend(self, found: Match, draft: Draft) -> Match:
        """Leaves out a scaled operand that is written anyway."""
        names = [name for name in _SCALED if name in found.named and _refused(found, name, draft) is not None]
        return without(found, [found.named[name] for name in names]) if names else found

    def kernel_of(self, found: Match) -> str:
        """A Gemm stays one."""
        return found.named["product"].op

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The factor of the product (and that of a Gemm's third input), with what the product said of itself."""
        product = found.named["product"]
        known = operands_of(product)
        scale = 1.0
        for name in _SCALED:
            if name in found.named:
                scale *= _factor(found.named[name], found[name.replace("node", "factor")], draft)
        own = 1.0 if found.root is product else _factor(found.root, found["factor"], draft)
        known = known.set("alpha", number(known, "alpha") * scale * own)
        if any(product.inputs[2:]):
            known = known.set("beta", number(known, "beta") * own)
        return plain(known)


def _factor(node: Node, name: str, draft: Draft) -> float:
    """What a Mul or Div by a single number multiplies with."""
    value = number_of(draft, name)
    assert value is not None
    return value if node.op == "Mul" else 1 / value


def _refused(found: Match, name: str, draft: Draft) -> Reject | None:
    scaling = found.named[name]
    if not same_type(draft, found[name.removesuffix("_node")], scaling.outputs[0]):
        return Reject("widens", scaling.name, op=scaling.op)
    return read_otherwise(draft, scaling.outputs[0])
