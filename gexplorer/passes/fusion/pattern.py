"""Patterns as data: what a rule looks for, written from the last operator up.

``op.Relu(op.Add(op.MatMul("x", "w"), const("b")))`` is a Relu of an Add of a MatMul and a constant. A string stands for
any value and gives it a name; the same name twice must be the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        ops: operators that fit; fused kernels are named like operators.
        inputs: patterns of its inputs; further inputs of the node are free unless ``exact``.
        name: what the match calls the node, "" for nothing.
        attributes: by name, the value that it must have, or a test that it must pass; absent ones are None.
        output: which output of the node.
        absorbed: whether the node becomes part of the kernel; context that stays outside is not.
        exact: whether the node must have just these inputs.
    """

    ops: tuple[str, ...]
    inputs: tuple[Pattern, ...] = ()
    name: str = ""
    attributes: Mapping[str, Anything] = field(default_factory=lambda: Map[str, Anything]())
    output: int = 0
    absorbed: bool = True
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Through:
    """Any number of unary operators (their first input leads on), then a pattern.

    Attributes:
        ops: operators that may stand there.
        inner: what comes behind them.
        most: how many at most.
    """

    ops: tuple[str, ...]
    inner: Pattern
    most: int = 8


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


def through(ops: str, inner: Pattern | str, most: int = 8) -> Through:
    """Any number of the unary ``ops`` (``"Reshape|Transpose"``), then ``inner``."""
    return Through(tuple(ops.split("|")), pattern(inner), most)


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
    ) -> Op:
        names = tuple(ops.split("|"))
        return Op(names, tuple(map(pattern, inputs)), name, Map(attributes or {}), output, absorbed, exact)

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
