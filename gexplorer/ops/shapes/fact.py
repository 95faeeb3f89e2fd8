"""What is known of a value: its type, and the elements of small integer tensors that may carry a shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape, Symbol, lower_bound
from gexplorer.ir.types import OptionalType, SequenceType, TensorType, Type

if TYPE_CHECKING:
    from gexplorer.ir.constant import Constant

Content = tuple[Dim, ...]

# Longer tensors do not describe shapes.
CONTENT_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a value.

    Attributes:
        type: its type, None where nothing is known.
        content: the elements, in row-major order, of an integer tensor (or of a boolean one, as 0 and 1) with
            at most 64 elements; an element is an integer, a symbol or None. None where no element is known.
    """

    type: Type | None
    content: Content | None = None


UNKNOWN = Fact(None)


def tensor(dtype: DType, shape: Shape | None, content: Content | None = None) -> Fact:
    """The fact of a tensor; a content without any known element is dropped."""
    if content is not None and all(element is None for element in content):
        content = None
    return Fact(TensorType(dtype, shape), content)


def carries_content(dtype: DType, shape: Shape | None) -> int | None:
    """Number of elements where a tensor of this type may have a content, else None."""
    if shape is None or not (dtype.is_integer or dtype == DType.BOOL):
        return None
    count = 1
    for dim in shape:
        if not isinstance(dim, int):
            return None
        count *= dim
    return count if count <= CONTENT_LIMIT else None


def fit(value: Dim, dtype: DType) -> Dim:
    """An element as a tensor of this type holds it; None where it would wrap around."""
    if value is None or dtype == DType.BOOL:
        return value
    signed = not dtype.label.startswith("u")
    if isinstance(value, Symbol):
        if signed:
            return value
        least = lower_bound(value)
        return value if least is not None and least >= 0 else None
    high = 1 << (dtype.bits - 1 if signed else dtype.bits)
    return value if (-high if signed else 0) <= value < high else None


def constant_fact(constant: Constant) -> Fact:
    """The fact of a constant; reads the elements only of small integer ones."""
    type_ = TensorType(constant.dtype, constant.shape)
    if carries_content(constant.dtype, constant.shape) is None or not constant.is_small:
        return Fact(type_)
    return Fact(type_, tuple(int(element) for element in constant.array().reshape(-1).tolist()))


def join(a: Fact, b: Fact) -> Fact:
    """What holds of a value that is one or the other."""
    if a == b:
        return a
    type_ = join_types(a.type, b.type)
    content = None
    if type_ is not None and a.content is not None and b.content is not None:
        same = tuple(x if x == y else None for x, y in zip(a.content, b.content, strict=False))
        tensor_ = type_ if isinstance(type_, TensorType) else None
        if tensor_ is not None and carries_content(tensor_.dtype, tensor_.shape) == len(same):
            content = same if any(element is not None for element in same) else None
    return Fact(type_, content)


def join_types(a: Type | None, b: Type | None) -> Type | None:
    """The narrowest type that covers both; None where there is none."""
    if a is None or b is None or a == b:
        return a if a == b else None
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.dtype != b.dtype or a.format != b.format:
            return None
        return a.with_shape(join_shapes(a.shape, b.shape))
    for kind in (SequenceType, OptionalType):
        if isinstance(a, kind) and isinstance(b, kind):
            element = join_types(a.element, b.element)
            return kind(element) if element is not None else None
    return None


def join_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    """The dimensions that two shapes share; None where their ranks differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
