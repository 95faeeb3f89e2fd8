"""Patterns as data: what a rule looks for, written from the last operator up.

``op.Relu(op.Add(op.MatMul("x", "w"), const("b")))`` is a Relu of an Add of a MatMul and a constant. A string stands for
any value and gives it a name; the same name twice must be the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any as Anything

from immutables import Map

from gexplorer.ir.constant import Constant

# Operators whose first two operands may be swapped.
COMMUTATIVE = frozenset(("Add", "Mul", "Max", "Min", "And", "Or", "Xor", "Equal", "Sum"))


@dataclass(frozen=True, slots=True)
class Value:
    """Any value."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A constant.

    Attributes:
        name: what the match calls it, "" for nothing.
        number: it must be one element (or all equal) and this number, to within float32 rounding; None for any.
        test: it must pass this; said in words by ``wanted``.
        wanted: what the constant must be, as a person says it.
    """

    name: str = ""
    number: float | None = None
    test: Callable[[Constant], bool] | None = None
    wanted: str = "a constant"


@dataclass(frozen=True, slots=True)
class Op:
    """The output of a node.

    Attributes:
        ops: operators that fit; fused kernels are named like operators, those of other domains are written
            ``com.microsoft::Gelu``.
        inputs: patterns of its inputs; further inputs of the node are free unless ``exact``.
        name: what the match calls the node, "" for nothing.
        attributes: by name, the value that it must have, or a test that it must pass; absent ones are None.
        output: which output of the node.
        absorbed: whether the node becomes part of the kernel; context that stays outside is not.
        exact: whether the node must have just these inputs.
        shared: whether it may have users outside of the kernel; the kernel then takes a copy. For what is cheap to
            compute anew, such as DequantizeLinear.
        exposed: whether its outputs may be used outside of the kernel; they become outputs of the kernel then.
    """

    ops: tuple[str, ...]
    inputs: tuple[Pattern, ...] = ()
    name: str = ""
    attributes: Mapping[str, Anything] = field(default_factory=lambda: Map[str, Anything]())
    output: int = 0
    absorbed: bool = True
    exact: bool = False
    shared: bool = False
    exposed: bool = False


@dataclass(frozen=True, slots=True)
class Through:
    """Any number of unary operators (their first input leads on), then a pattern.

    Attributes:
        ops: operators that may stand there.
        inner: what comes behind them.
        most: how many at most.
        any_input: whether any of their inputs may lead on: then they need not be unary.
    """

    ops: tuple[str, ...]
    inner: Pattern
    most: int = 8
    any_input: bool = False


@dataclass(frozen=True, slots=True)
class Either:
    """The first of several patterns that fits."""

    choices: tuple[Pattern, ...]


Pattern = Value | Const | Op | Through | Either


def pattern(item: Pattern | str | float) -> Pattern:
    """A pattern from shorthand: a string is any value of that name, a number a constant equal to it."""
    if isinstance(item, str):
        return Value(item)
    if isinstance(item, int | float):
        return Const(number=float(item))
    return item


def const(
    name: str = "",
    *,
    number: float | None = None,
    test: Callable[[Constant], bool] | None = None,
    wanted: str = "a constant",
) -> Const:
    """A constant, see ``Const``."""
    return Const(name, number, test, wanted)


def optional(ops: str, inner: Pattern | str, *others: Pattern | str | float) -> Either:
    """``ops`` applied to ``inner`` (and others), or ``inner`` alone."""
    names = tuple(ops.split("|"))
    return Either((Op(names, (pattern(inner), *map(pattern, others))), pattern(inner)))


def either(*choices: Pattern | str | float) -> Either:
    """The first of several patterns that fits."""
    return Either(tuple(map(pattern, choices)))


def through(ops: str, inner: Pattern | str, most: int = 8, *, any_input: bool = False) -> Through:
    """Any number of the unary ``ops`` (``"Reshape|Transpose"``), then ``inner``."""
    return Through(tuple(ops.split("|")), pattern(inner), most, any_input)


class _Operators:
    """``op.MatMul("x", "w")``, ``op("Relu|Clip", "x", name="act")``."""

    def __call__(
        self,
        ops: str,
        *inputs: Pattern | str | float,
        name: str = "",
        attributes: Mapping[str, Anything] | None = None,
        output: int = 0,
        absorbed: bool = True,
        exact: bool = False,
        shared: bool = False,
        exposed: bool = False,
    ) -> Op:
        names, parts = tuple(ops.split("|")), tuple(map(pattern, inputs))
        return Op(names, parts, name, Map(attributes or {}), output, absorbed, exact, shared, exposed)

    def __getattr__(self, ops: str) -> Callable[..., Op]:
        if ops.startswith("_"):
            raise AttributeError(ops)

        def make(*inputs: Pattern | str | float, **settings: Anything) -> Op:
            return self(ops, *inputs, **settings)

        return make


op = _Operators()


def pattern_text(item: Pattern) -> str:
    """A pattern as a person reads it: ``Relu(Add(MatMul(x, w), b))``."""
    match item:
        case Value():
            return item.name
        case Const():
            return item.name or (f"{item.number:g}" if item.number is not None else "constant")
        case Op():
            inner = ", ".join(pattern_text(i) for i in item.inputs)
            return f"{'|'.join(item.ops)}({inner})"
        case Through():
            return f"[{'|'.join(item.ops)}]*({pattern_text(item.inner)})"
        case Either():
            return " or ".join(dict.fromkeys(pattern_text(choice) for choice in item.choices))


def extent(patterns: Iterable[Pattern]) -> tuple[frozenset[str], int]:
    """Every operator that patterns name, without domains, and how many operators deep they are at most."""
    ops: set[str] = set()
    depths: dict[int, int] = {}  # by identity: patterns share their parts

    def visit(item: Pattern) -> int:
        if id(item) in depths:
            return depths[id(item)]
        inner: tuple[Pattern, ...] = ()
        own = 0
        if isinstance(item, Op):
            inner, own = item.inputs, 1
        elif isinstance(item, Through):
            inner, own = (item.inner,), item.most
        elif isinstance(item, Either):
            inner = item.choices
        if isinstance(item, Op | Through):
            ops.update(name.rpartition("::")[2] for name in item.ops)
        depths[id(item)] = own + max(map(visit, inner), default=0)
        return depths[id(item)]

    deepest = max(map(visit, patterns))
    return frozenset(ops), deepest
