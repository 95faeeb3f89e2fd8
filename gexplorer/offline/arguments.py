"""Random inputs for a program, made from its own description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.arguments import described
from gexplorer.execution.sizes import bound, determined
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    from gexplorer.execution.program import Program

# Size of a dimension that is free.
OPEN_DIM = 2


def random_arguments(
    program: Program, index_rows: Mapping[str, int], seed: int, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """One array for every input without a default: normal floats, fair booleans, integers inside their tables.

    Args:
        program: what will run.
        index_rows: for an input that indexes tables, the rows of the smallest; others are 0 or 1.
        seed: of the generator; equal seeds give equal inputs.
        sizes: sizes of symbols; ``OPEN_DIM`` for others.

    Raises:
        ModelError: an input is no tensor of numbers, or its rank is not known; or there is no such symbol.
    """
    generator = np.random.default_rng(seed)
    tensors = [program.tensors[name] for name in program.inputs if name not in program.defaults]
    symbols = determined(dim for tensor in tensors for dim in tensor.shape or ())
    for name in sizes:
        if name not in symbols:
            raise ModelError(f"no free dimension {name!r}; there are: {', '.join(sorted(symbols)) or 'none'}")
    chosen = {symbol: sizes.get(symbol, OPEN_DIM) for symbol in symbols}
    arrays: dict[str, Any] = {}
    for tensor in tensors:
        known = tuple([OPEN_DIM if dim is None else dim for dim in tensor.shape or ()])
        shape = None if tensor.shape is None else bound(known, chosen)
        dtype = tensor.dtype
        if dtype in (None, DType.STRING, DType.UNDEFINED) or shape is None:
            raise ModelError(f"input {tensor.name}: random {described(tensor)} cannot be made; give the inputs")
        arrays[tensor.name] = _random(generator, dtype, shape, index_rows.get(tensor.name, 2))
    return arrays


def _random(generator: np.random.Generator, dtype: DType, shape: tuple[int, ...], rows: int) -> np.ndarray:
    if dtype is DType.BOOL:
        return np.asarray(generator.random(shape) < 0.5)
    if dtype.is_integer:
        return np.asarray(generator.integers(0, rows, shape)).astype(dtype.numpy())
    if dtype in (DType.COMPLEX64, DType.COMPLEX128):
        parts = generator.standard_normal((2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype.numpy())
    return np.asarray(generator.standard_normal(shape)).astype(dtype.numpy())
