"""Random inputs that a model can take: right types, sizes for symbolic dimensions, indices inside their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node, Value
from gexplorer.ir.symbols import Dim, Symbol, base_atoms
from gexplorer.ir.types import TensorType

if TYPE_CHECKING:
    import numpy as np

# Size of a dimension that the model leaves open.
OPEN_DIM = 2
# Sizes of batch dimensions and of all others, to be tried until the model takes them: some models want a batch of one,
# many want an image or a stretch of sound that is not too small.
_TRIES = ((2, 8), (1, 8), (2, 64), (1, 64), (1, 512), (2, 2), (1, 1))
# Operators that hand an index on unchanged.
_PASS_ON = frozenset(("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"))


def random_inputs(graph: Graph, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    """One array for every input that has no default.

    Floats are normally distributed, booleans are fair, integers lie in the smallest table that they index (0 or 1
    where they index none). What may be a mask, zeros and ones along at least two axes, lets every row see its first
    element: a softmax over nothing is no number, and would hide all that comes after it.

    Args:
        graph: the model.
        seed: of the generator; equal seeds give equal inputs.
        sizes: sizes of symbolic dimensions; ``OPEN_DIM`` for others.

    Raises:
        ModelError: an input is no tensor of numbers, or its rank is not known.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for name in graph.inputs:
        if name in graph.defaults:
            continue
        value = graph.values[name]
        type_ = _input_type(value)
        shape = [_size(dim, sizes or {}) for dim in type_.shape or ()]
        if type_.dtype == DType.BOOL:
            arrays[name] = _seeing(np.asarray(generator.random(shape) < 0.5))
        elif type_.dtype.is_integer:
            rows = index_rows(graph, name)
            array = np.asarray(generator.integers(0, rows or 2, shape))
            arrays[name] = (array if rows else _seeing(array)).astype(type_.dtype.numpy())
        elif type_.dtype in (DType.COMPLEX64, DType.COMPLEX128):
            parts = generator.standard_normal((2, *shape))
            arrays[name] = (parts[0] + 1j * parts[1]).astype(type_.dtype.numpy())
        else:
            arrays[name] = np.asarray(generator.standard_normal(shape)).astype(type_.dtype.numpy())
    return arrays


def _seeing(array: np.ndarray) -> np.ndarray:
    """The same with a one at the start of every row."""
    if array.ndim >= 2 and array.shape[-1] > 1:
        array[..., 0] = 1
    return array


def free_dims(graph: Graph) -> tuple[str, ...]:
    """Names of the dimensions of inputs that the model leaves open."""
    dims = [dim for type_ in map(graph.tensor, graph.inputs) if type_ is not None for dim in type_.shape or ()]
    return tuple(dict.fromkeys(atom for dim in dims for atom in sorted(base_atoms(dim))))


def batch_dims(graph: Graph) -> tuple[str, ...]:
    """Those of them that an input has as its first of several."""
    shapes = [type_.shape for type_ in map(graph.tensor, graph.inputs) if type_ is not None]
    first = {atom for shape in shapes if shape and len(shape) > 1 for atom in base_atoms(shape[0])}
    return tuple([name for name in free_dims(graph) if name in first])


def size_tries(graph: Graph) -> list[dict[str, int]]:
    """Sizes of the free dimensions to try until the model takes them; one without any where none is free."""
    free, batch = free_dims(graph), batch_dims(graph)
    if not free:
        return [{}]
    return [{name: first if name in batch else other for name in free} for first, other in _TRIES]


def index_rows(graph: Graph, name: str) -> int | None:
    """Rows of the smallest table that a value indexes; None where it indexes none of known size."""
    smallest: int | None = None
    waiting, seen = [name], {name}
    while waiting:
        value = waiting.pop()
        for user in graph.users_of(value):
            rows = _rows(graph, user, value)
            if rows is not None:
                smallest = rows if smallest is None else min(smallest, rows)
            if user.op in _PASS_ON and not user.domain and user.outputs[0] not in seen:
                seen.add(user.outputs[0])
                waiting.append(user.outputs[0])
    return smallest


def _rows(graph: Graph, user: Node, index: str) -> int | None:
    """How many different indices an operator takes there; None where the value is no index of it."""
    if (user.domain, user.op) == ("com.microsoft", "EmbedLayerNormalization"):
        place = user.inputs.index(index)
        return _size_along(graph, user.inputs[place + 2 if place == 0 else place + 3], 0) if place < 2 else None
    if user.domain or len(user.inputs) < 2 or user.inputs[1] != index:
        return None
    if user.op in ("Gather", "GatherElements", "ScatterElements", "Scatter"):
        return _size_along(graph, user.inputs[0], user.integer("axis", 0))
    if user.op in ("GatherND", "ScatterND"):
        return _size_of_tuples(graph, user)
    return None


def _size_of_tuples(graph: Graph, user: Node) -> int | None:
    """The smallest of the axes that a tuple of indices goes along; None where one of them has no size yet."""
    table, index = graph.tensor(user.inputs[0]), graph.tensor(user.inputs[1])
    if table is None or table.shape is None or index is None or not index.shape:
        return None
    first, length = user.integer("batch_dims", 0), index.shape[-1]
    axes = table.shape[first : first + length if isinstance(length, int) else None]
    sizes = [size for size in axes if isinstance(size, int)]
    return min(sizes, default=0) or None if len(sizes) == len(axes) else None


def _size_along(graph: Graph, table: str, axis: int) -> int | None:
    type_ = graph.tensor(table)
    if type_ is None or not type_.shape or not -len(type_.shape) <= axis < len(type_.shape):
        return None
    size = type_.shape[axis]
    return size if isinstance(size, int) and size > 0 else None


def _input_type(value: Value) -> TensorType:
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.dtype in (DType.STRING, DType.UNDEFINED):
        raise ModelError(f"input {value.name}: random {type_} cannot be made; give the inputs")
    if type_.shape is None:
        raise ModelError(f"input {value.name}: its rank is not known; give its shape")
    return type_


def _size(dim: Dim, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Symbol):
        bound = dim.substitute({atom: sizes.get(atom, OPEN_DIM) for atom in dim.atoms})
        if isinstance(bound, int):
            return bound
    return OPEN_DIM
