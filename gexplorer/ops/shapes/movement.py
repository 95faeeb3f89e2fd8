"""Operators that give a tensor another shape and keep its elements: Reshape, Transpose, Expand and kin."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gexplorer.ir.symbols import Dim, Shape, exact_div, floor_div, product
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.arithmetic import add, is_natural, multiply
from gexplorer.ops.shapes.broadcast import ShapeMismatchError, broadcast_shape
from gexplorer.ops.shapes.fact import UNKNOWN, Content, Fact, carries_content, tensor
from gexplorer.ops.shapes.grid import flat, grid, spread
from gexplorer.ops.shapes.registry import Call, shape_of


def moved(call: Call, shape: Shape | None) -> tuple[Fact, ...]:
    """The first input in another shape, with the same elements in the same order."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    content = call.fact(0).content
    if content is not None and carries_content(type_.dtype, shape) != len(content):
        content = None
    return (tensor(type_.dtype, shape, content),)


@shape_of("Reshape")
def reshape(call: Call) -> tuple[Fact, ...]:
    """The shape that the second input (before opset 5 an attribute) holds; -1 is what remains, 0 copies."""
    given, target = call.listed("shape", 1, 5)
    if not given or target is None:
        return moved(call, None)
    source = call.shape(0)
    shape = reshaped(call, source, target, copy_zero=not call.node.integer("allowzero", 0))
    return moved(call, shape)


def reshaped(call: Call, source: Shape | None, target: Content, *, copy_zero: bool) -> Shape:
    """The result's shape; raises VerifyError where no shape can be, or the numbers of elements certainly differ."""
    if sum(isinstance(dim, int) and dim < 0 for dim in target) > 1:
        raise call.error(f"{list(target)} leaves more than one dimension open")
    dims: list[Dim] = []
    open_axes: list[int] = []
    copied: set[int] = set()
    for axis, dim in enumerate(target):
        if dim is None or (isinstance(dim, int) and dim < 0):
            open_axes.append(axis)
            dims.append(None)
        elif copy_zero and isinstance(dim, int) and dim == 0:
            if source is not None and axis >= len(source):
                raise call.error(f"0 at axis {axis} copies a dimension that the input does not have")
            dims.append(source[axis] if source is not None else None)
            copied.add(axis)
        else:
            dims.append(dim)
    if source is None:
        return tuple(dims)
    if open_axes:
        if len(open_axes) == 1:
            rest = [dim for axis, dim in enumerate(dims) if axis not in copied and axis != open_axes[0]]
            left = [dim for axis, dim in enumerate(source) if axis not in copied]
            dims[open_axes[0]] = _remaining(call, left, rest)
        return tuple(dims)
    before, after = _count(source), _count(dims)
    if before is not None and after is not None and before != after:
        raise call.error(f"{before} elements cannot be reshaped to {after}")
    return tuple(dims)


def _count(dims: Sequence[Dim]) -> int | None:
    """The number of elements, where no unknown or symbolic dimension has a say in it."""
    numbers = [dim for dim in dims if isinstance(dim, int)]
    return prod(numbers) if len(numbers) == len(dims) or 0 in numbers else None


def _remaining(call: Call, left: list[Dim], others: list[Dim]) -> Dim:
    """One product of dimensions over another, equal ones cancelled first."""
    right: list[Dim] = []
    for dim in others:
        if dim is not None and dim in left:
            left.remove(dim)
        else:
            right.append(dim)
    total, rest = product(left), product(right)
    if total is None or rest is None or rest == 0:
        return None
    if isinstance(total, int) and isinstance(rest, int) and total % rest:
        raise call.error(f"{total} elements cannot be divided by {rest}")
    exact = exact_div(total, rest)
    return exact if exact is not None else floor_div(total, rest)


@shape_of("Flatten")
def flatten(call: Call) -> tuple[Fact, ...]:
    """A matrix: the dimensions before the axis, and those from it on."""
    source = call.shape(0)
    if source is None:
        return moved(call, (None, None))
    axis = call.node.integer("axis", 1)
    if not -len(source) <= axis <= len(source):
        raise call.error(f"axis {axis} does not exist in a tensor of rank {len(source)}")
    if axis < 0:
        axis += len(source)
    return moved(call, (product(source[:axis]), product(source[axis:])))


@shape_of("Transpose")
def transpose(call: Call) -> tuple[Fact, ...]:
    """The dimensions in another order, reversed unless told."""
    source = call.shape(0)
    order = call.node.integers("perm")
    if source is None:
        return moved(call, None if order is None else (None,) * len(order))
    if order is None:
        order = tuple(reversed(range(len(source))))
    if sorted(order) != list(range(len(source))):
        raise call.error(f"perm {list(order)} does not order the axes of a tensor of rank {len(source)}")
    shape = tuple(source[axis] for axis in order)
    content = call.fact(0).content
    if content is None or len(order) < 2:
        return moved(call, shape)
    type_ = call.tensor(0)
    turned = flat(grid(content, source).transpose(order))
    return (UNKNOWN if type_ is None else tensor(type_.dtype, shape, turned),)


@shape_of("Squeeze")
def squeeze(call: Call) -> tuple[Fact, ...]:
    """Without the given dimensions, which must be 1; without all that are 1 where none are given."""
    source = call.shape(0)
    given, axes = call.listed("axes", 1, 13)
    if source is None or (given and (axes is None or None in axes)):
        if source is None or axes is None:
            return moved(call, None)
        return moved(call, (None,) * (len(source) - len(axes)))
    if not given:
        if any(not isinstance(dim, int) for dim in source):
            return moved(call, None)
        return moved(call, tuple(dim for dim in source if dim != 1))
    if not axes and 1 in source:  # the specification keeps all dimensions, onnxruntime none of 1
        return moved(call, None)
    gone = axes_of(call, axes, len(source))
    for axis in gone:
        dim = source[axis]
        if isinstance(dim, int) and dim != 1:
            raise call.error(f"dimension {dim} of axis {axis} is not 1")
    return moved(call, tuple(dim for axis, dim in enumerate(source) if axis not in gone))


@shape_of("Unsqueeze")
def unsqueeze(call: Call) -> tuple[Fact, ...]:
    """With dimensions of 1 put in at axes of the result."""
    source = call.shape(0)
    _, axes = call.listed("axes", 1, 13)
    if source is None or axes is None:
        return moved(call, None)
    rank = len(source) + len(axes)
    if None in axes:
        return moved(call, (None,) * rank)
    new = axes_of(call, axes, rank)
    if len(new) != len(axes):
        raise call.error(f"axes {list(axes)} name one axis twice")
    rest = iter(source)
    return moved(call, tuple(1 if axis in new else next(rest) for axis in range(rank)))


def axes_of(call: Call, axes: Content | None, rank: int) -> frozenset[int]:
    """Axes counted from the front; raises VerifyError where one does not exist."""
    return frozenset(call.axis(axis, rank) for axis in axes or () if isinstance(axis, int))


@shape_of("Expand")
def expand(call: Call) -> tuple[Fact, ...]:
    """Broadcast with the shape that the second input holds."""
    type_, target = call.tensor(0), call.content(1)
    if type_ is None:
        return (UNKNOWN,)
    if target is None:
        return (Fact(type_.with_shape(None)),)
    wanted = tuple(dim if is_natural(dim) else None for dim in target)
    try:
        shape = broadcast_shape(type_.shape, wanted)
    except ShapeMismatchError as error:
        raise call.error(str(error)) from None
    return (_repeated(call, type_, shape),)


def _repeated(call: Call, type_: TensorType, shape: Shape | None) -> Fact:
    """A tensor broadcast to a larger shape, its elements too while they are few."""
    content = call.fact(0).content
    if content is not None and carries_content(type_.dtype, shape) is not None:
        return tensor(type_.dtype, shape, spread(content, type_.shape, shape))
    return Fact(type_.with_shape(shape))


@shape_of("Tile")
def tile(call: Call) -> tuple[Fact, ...]:
    """Each dimension times its repeats (opset 6 on; before, one axis and one number of tiles)."""
    type_, repeats = call.tensor(0), call.content(1)
    if type_ is None:
        return (UNKNOWN,)
    if call.version < 6:
        return (Fact(type_.with_shape(None if type_.shape is None else (None,) * len(type_.shape))),)
    if type_.shape is None:
        return (Fact(type_.with_shape(None if repeats is None else (None,) * len(repeats))),)
    if repeats is None:
        repeats = (None,) * len(type_.shape)
    if len(repeats) != len(type_.shape):
        raise call.error(f"{len(repeats)} repeats for a tensor of rank {len(type_.shape)}")
    shape = tuple(multiply(dim, times) for dim, times in zip(type_.shape, repeats, strict=True))
    content = call.fact(0).content
    if content is not None and (len(content) == 1 or shape == type_.shape):
        return (_repeated(call, type_, shape),)
    return (Fact(type_.with_shape(shape)),)


@shape_of("Pad")
def pad(call: Call) -> tuple[Fact, ...]:
    """Each dimension plus what is put before and after it; negative pads cut."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None:
        return (Fact(type_),)
    rank = len(type_.shape)
    _, pads = call.listed("pads", 1, 11)
    axes: Content | None = tuple(range(rank))
    if call.version >= 18 and call.has(3):
        axes = call.content(3)
    if pads is None or axes is None or None in axes:
        return (Fact(type_.with_shape((None,) * rank)),)
    if len(pads) != 2 * len(axes):
        raise call.error(f"{len(pads)} pads for {len(axes)} axes")
    shape = list(type_.shape)
    for place, axis in enumerate(axes):
        assert isinstance(axis, int)
        at = call.axis(axis, rank)
        shape[at] = add(shape[at], add(pads[place], pads[place + len(axes)]))
        if isinstance(size := shape[at], int) and size < 0:
            raise call.error(f"the pads leave {size} elements on axis {at}")
    return (Fact(type_.with_shape(tuple(shape))),)


@shape_of("DepthToSpace", "SpaceToDepth")
def depth_space(call: Call) -> tuple[Fact, ...]:
    """Blocks move between the channels and the two image dimensions."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None or len(type_.shape) != 4:
        return (Fact(type_.with_shape((None,) * 4)) if type_ is not None else UNKNOWN,)
    block = call.node.integer("blocksize", 0)
    if block <= 0:
        raise call.error(f"blocksize {block} is not positive")
    batch, channels, height, width = type_.shape
    if call.node.op == "DepthToSpace":
        shape = (batch, floor_div(channels, block * block), multiply(height, block), multiply(width, block))
    else:
        shape = (batch, multiply(channels, block * block), floor_div(height, block), floor_div(width, block))
    return (Fact(type_.with_shape(shape)),)
