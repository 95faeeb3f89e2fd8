"""Operators that pick or write elements by position: Slice, Gather, Concat, Split, Scatter and kin."""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape, Symbol, floor_div, maximum, minimum, simplify
from gexplorer.ops.shapes.arithmetic import add, is_natural, subtract
from gexplorer.ops.shapes.elementwise import same_dtypes
from gexplorer.ops.shapes.fact import UNKNOWN, Content, Fact, carries_content, tensor
from gexplorer.ops.shapes.grid import flat, grid
from gexplorer.ops.shapes.registry import Call, shape_of

# Ends at or beyond this mean "to the end": exporters write INT32_MAX or INT64_MAX.
FAR = (1 << 31) - 1


@shape_of("Slice")
def slice_(call: Call) -> tuple[Fact, ...]:
    """Ranges of some axes; starts and ends are clamped, negative ones count from the end."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None:
        return (Fact(type_),)
    rank = len(type_.shape)
    _, starts = call.listed("starts", 1, 10)
    _, ends = call.listed("ends", 2, 10)
    axes_given, axes = call.listed("axes", 3, 10)
    steps_given, steps = call.listed("steps", 4, 10) if call.version >= 10 else (False, None)
    count = next((len(found) for found in (starts, ends, axes, steps) if found is not None), None)
    if not axes_given and count is not None:
        axes = tuple(range(count))
    if not steps_given and count is not None:
        steps = (1,) * count
    if axes is None or None in axes or count is None:
        return (Fact(type_.with_shape((None,) * rank)),)
    unknown: Content = (None,) * count
    starts, ends, steps = starts or unknown, ends or unknown, steps or unknown
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise call.error("starts, ends, axes and steps differ in length")
    shape = list(type_.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        assert isinstance(axis, int)
        at = call.axis(axis, rank)
        if step == 0:
            raise call.error("a step is 0")
        shape[at] = range_length(shape[at], start, end, step)
    content = call.fact(0).content
    if content is not None:
        content = _sliced(content, type_.shape, axes, starts, ends, steps)
    return (tensor(type_.dtype, tuple(shape), content),)


def range_length(dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """Number of elements of ``[start:end:step]`` on an axis; None where it depends on unknown numbers."""
    if not isinstance(step, int):
        return None
    if step < 0:
        # "To the end" backwards: numpy takes nothing, onnxruntime all that is before the start.
        return None if isinstance(end, int) and end >= FAR else _backward_length(dim, start, end, step)
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return len(_positions(dim, start, end, step))
    first, last = _counted(start, dim), _counted(end, dim)
    if first is None or last is None:
        # A start or end that is unknown may still leave nothing to take.
        return 0 if dim == 0 else None
    stop = dim if isinstance(end, int) and end >= FAR else minimum(last, dim)
    if stop is None:
        return None
    # A start before the first element is clamped: then the length is that of the elements before the stop.
    length = stop - first if is_natural(first) else minimum(stop - first, stop)
    if step > 1:
        length = floor_div(add(length, step - 1), step)
    return simplify(maximum(length, 0))


def _counted(position: Dim, dim: Dim) -> Dim:
    """A position counted from the front, not clamped; None where its sign is not known."""
    if isinstance(position, int):
        return position if position >= 0 else add(dim, position) if position > -FAR else 0
    if is_natural(position):
        return position
    return add(dim, position) if isinstance(position, Symbol) and is_natural(-position - 1) else None


def _backward_length(dim: Dim, start: Dim, end: Dim, step: int) -> Dim:
    if isinstance(start, int) and isinstance(end, int):
        if isinstance(dim, int):
            return len(_positions(dim, start, end, step))
        if (start == -1 or start >= FAR) and end <= -FAR:  # the whole axis, backwards
            return floor_div(add(dim, -step - 1), -step)
    return None


def _positions(dim: int, start: int, end: int, step: int) -> range:
    """The positions that ONNX's Slice takes; Python's own clamping differs for negative steps."""
    start = start + dim if start < 0 else start
    end = end + dim if end < 0 else end
    if step > 0:
        return range(min(max(start, 0), dim), min(max(end, 0), dim), step)
    return range(min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step)


def _sliced(
    content: Content, shape: Shape, axes: Content, starts: Content, ends: Content, steps: Content
) -> Content | None:
    array = grid(content, shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if not (isinstance(axis, int) and isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        size = array.shape[axis]
        if range_length(size, start, end, step) is None:
            return None
        array = array.take(_positions(size, start, end, step), axis)
    return flat(array)


@shape_of("Gather")
def gather(call: Call) -> tuple[Fact, ...]:
    """The axis is replaced by the shape of the indices."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    source, indices = type_.shape, call.shape(1)
    if source is None or indices is None:
        return (Fact(type_.with_shape(None)),)
    if not source:
        raise call.error("a scalar has no axis to gather from")
    axis = call.axis(call.node.integer("axis", 0), len(source))
    shape = source[:axis] + indices + source[axis + 1 :]
    content, picked = call.fact(0).content, call.fact(1).content
    if content is not None:
        content = _picked(call, content, source, axis, picked)
    return (tensor(type_.dtype, shape, content),)


def _picked(call: Call, content: Content, source: Shape, axis: int, indices: Content | None) -> Content | None:
    count = source[axis]
    if indices is None or not isinstance(count, int):
        return None
    for index in indices:
        if isinstance(index, int) and not -count <= index < count:
            raise call.error(f"index {index} is outside of {count} elements")
    if len(source) == 1:
        return tuple(content[index] if isinstance(index, int) else None for index in indices)
    array = grid(content, source)
    if any(not isinstance(index, int) for index in indices):
        return None
    return flat(array.take(grid(indices, call.shape(1) or ()).astype(int), axis))


@shape_of("GatherND")
def gather_nd(call: Call) -> tuple[Fact, ...]:
    """Batch dimensions, then those of the indices but the last, then what an index tuple does not address."""
    type_, indices = call.tensor(0), call.shape(1)
    if type_ is None:
        return (UNKNOWN,)
    depth = indices[-1] if indices else None
    if type_.shape is None or not indices or not isinstance(depth, int):
        return (Fact(type_.with_shape(None)),)
    batch = call.node.integer("batch_dims", 0)
    if batch + depth > len(type_.shape):
        raise call.error(f"index tuples of {depth} are too long for a tensor of rank {len(type_.shape)}")
    return (Fact(type_.with_shape(indices[:-1] + type_.shape[batch + depth :])),)


@shape_of("GatherElements")
def gather_elements(call: Call) -> tuple[Fact, ...]:
    """The shape of the indices."""
    type_ = call.tensor(0)
    return (UNKNOWN if type_ is None else Fact(type_.with_shape(call.shape(1))),)


@shape_of("Scatter", "ScatterElements", "ScatterND", "TensorScatter")
def scatter(call: Call) -> tuple[Fact, ...]:
    """The type of the data that is written into."""
    type_ = call.tensor(0)
    return (UNKNOWN if type_ is None else Fact(type_),)


@shape_of("Concat")
def concat(call: Call) -> tuple[Fact, ...]:
    """The axis is the sum; all others are equal."""
    same_dtypes(call, range(len(call.inputs)))
    types = [call.tensor(index) for index in range(len(call.inputs))]
    dtype = next((type_.dtype for type_ in types if type_ is not None), None)
    if dtype is None:
        return (UNKNOWN,)
    shapes = [type_.shape for type_ in types if type_ is not None and type_.shape is not None]
    if not shapes:
        return (tensor(dtype, None),)
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        raise call.error("the inputs differ in rank")
    axis = call.axis(call.node.integer("axis", 1), rank)
    merged = shapes[0]
    for shape in shapes[1:]:
        merged = _same_but(call, merged, shape, axis)
    total: Dim = 0
    for shape in shapes:
        total = add(total, shape[axis])
    if len(shapes) < len(types):
        total = None
    shape = (*merged[:axis], total, *merged[axis + 1 :])
    return (tensor(dtype, shape, _joined(call, axis) if carries_content(dtype, shape) is not None else None),)


def _same_but(call: Call, a: Shape, b: Shape, free: int) -> Shape:
    """Two shapes that are equal but for one axis, with what either of them knows; numbers before symbols."""
    dims: list[Dim] = []
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if axis == free or x == y:
            dims.append(x)
        elif isinstance(x, int) and isinstance(y, int):
            raise call.error(f"dimensions {x} and {y} of axis {axis} differ")
        else:
            dims.append(x if isinstance(x, int) or y is None else y if isinstance(y, int) or x is None else x)
    return tuple(dims)


def _joined(call: Call, axis: int) -> Content | None:
    parts: list[Content] = []
    shapes: list[Shape] = []
    for index in range(len(call.inputs)):
        part, shape = call.content(index), call.shape(index)
        if part is None or shape is None:
            return None
        parts.append(part)
        shapes.append(shape)
    if len(shapes[0]) == 1:
        return tuple(element for part in parts for element in part)
    import numpy as np

    return flat(np.concatenate([grid(part, shape) for part, shape in zip(parts, shapes, strict=True)], axis))


@shape_of("Split")
def split(call: Call) -> tuple[Fact, ...]:
    """Parts of given sizes, or equal ones, the last one smaller where they do not go up (opset 18)."""
    type_ = call.tensor(0)
    count = len(call.node.outputs)
    if type_ is None or type_.shape is None:
        return (Fact(type_),) * count
    axis = call.axis(call.node.integer("axis", 0), len(type_.shape))
    total = type_.shape[axis]
    given, sizes = call.listed("split", 1, 13)
    if not given:
        sizes = _equal_parts(total, count)
    if sizes is None:
        sizes = (None,) * count
    if len(sizes) != count:
        raise call.error(f"{len(sizes)} sizes for {count} outputs")
    known = sum(size for size in sizes if isinstance(size, int))
    if isinstance(total, int) and None not in sizes and all(isinstance(s, int) for s in sizes) and known != total:
        raise call.error(f"the sizes add up to {known}, the dimension is {total}")
    facts: list[Fact] = []
    content = call.fact(0).content
    start: Dim = 0
    for size in sizes:
        end = add(start, size)
        part = None
        if content and len(type_.shape) == 1 and isinstance(start, int) and isinstance(end, int):
            part = content[start:end]
        facts.append(tensor(type_.dtype, (*type_.shape[:axis], size, *type_.shape[axis + 1 :]), part))
        start = end
    return tuple(facts)


def _equal_parts(total: Dim, count: int) -> Content | None:
    if count == 1:
        return (total,)
    if isinstance(total, int):
        size = -(-total // count)
        return tuple(max(0, min(size, total - place * size)) for place in range(count))
    quotient = floor_div(total, count)
    # Only where the parts are equal in every run; ceil(n / count) pieces leave a smaller last one.
    whole = quotient is not None and subtract(total, quotient * count) == 0
    return (quotient,) * count if whole else None


@shape_of("TopK")
def top_k(call: Call) -> tuple[Fact, ...]:
    """The axis holds the k largest (or smallest) elements, and their positions as int64."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None:
        return (Fact(type_), tensor(DType.INT64, None))
    axis = call.axis(call.node.integer("axis", -1), len(type_.shape))
    if call.version < 10:
        k: Dim = call.node.integer("k", -1)
    else:
        content = call.content(1)
        k = content[0] if content else None
    shape = (*type_.shape[:axis], k if is_natural(k) else None, *type_.shape[axis + 1 :])
    return (Fact(type_.with_shape(shape)), tensor(DType.INT64, shape))


@shape_of("OneHot")
def one_hot(call: Call) -> tuple[Fact, ...]:
    """A new axis of the given depth."""
    dtype, indices, depth = call.dtype(2), call.shape(0), call.content(1)
    if dtype is None:
        return (UNKNOWN,)
    if indices is None:
        return (tensor(dtype, None),)
    axis = call.axis(call.node.integer("axis", -1), len(indices) + 1)
    size = depth[0] if depth else None
    return (tensor(dtype, (*indices[:axis], size if is_natural(size) else None, *indices[axis:])),)


@shape_of("Compress")
def compress(call: Call) -> tuple[Fact, ...]:
    """As many elements of the axis as the condition holds: known only when run."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    axis = call.node.attribute("axis")
    if not isinstance(axis, int):
        return (Fact(type_.with_shape((None,))),)
    if type_.shape is None:
        return (Fact(type_),)
    at = call.axis(axis, len(type_.shape))
    return (Fact(type_.with_shape((*type_.shape[:at], None, *type_.shape[at + 1 :]))),)
