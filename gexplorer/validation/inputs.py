"""Random inputs that a model can take: right types, sizes for symbolic dimensions, indices inside their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Value
from gexplorer.ir.symbols import Dim, Symbol
from gexplorer.ir.types import TensorType

if TYPE_CHECKING:
    import numpy as np

# Size of a dimension that the model leaves open.
OPEN_DIM = 2
# Operators that hand an index on unchanged.
_PASS_ON = frozenset(("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"))


def random_inputs(graph: Graph, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    """One array for every input that has no default.

    Floats are normally distributed, booleans are fair, integers lie in the smallest table that they index (0 or 1
    where they index none).

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
            arrays[name] = np.asarray(generator.random(shape) < 0.5)
        elif type_.dtype.is_integer:
            rows = index_rows(graph, name)
            arrays[name] = np.asarray(generator.integers(0, rows or 2, shape)).astype(type_.dtype.numpy())
        elif type_.dtype in (DType.COMPLEX64, DType.COMPLEX128):
            parts = generator.standard_normal((2, *shape))
            arrays[name] = (parts[0] + 1j * parts[1]).astype(type_.dtype.numpy())
        else:
            arrays[name] = np.asarray(generator.standard_normal(shape)).astype(type_.dtype.numpy())
    return arrays


def index_rows(graph: Graph, name: str) -> int | None:
    """Rows of the smallest table that a value indexes through Gather; None where it indexes none of known size."""
    smallest: int | None = None
    waiting, seen = [name], {name}
    while waiting:
        value = waiting.pop()
        for user in graph.users_of(value):
            if user.op == "Gather" and not user.domain and len(user.inputs) > 1 and user.inputs[1] == value:
                table = graph.tensor(user.inputs[0])
                axis = user.integer("axis", 0)
                if table is not None and table.shape:
                    rows = table.shape[axis]
                    if isinstance(rows, int) and rows > 0:
                        smallest = rows if smallest is None else min(smallest, rows)
            elif user.op in _PASS_ON and not user.domain and user.outputs[0] not in seen:
                seen.add(user.outputs[0])
                waiting.append(user.outputs[0])
    return smallest


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
