"""What a caller gives: right names, shapes and element types, and what the shapes say of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.program import Program, Tensor
from gexplorer.execution.sizes import solve
from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Symbol, dim_text


def checked(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs as the program wants them, defaults filled in.

    Numbers and lists become arrays of the element type where none of their value is lost; arrays are taken as they
    are.

    Raises:
        ModelError: a name is not an input's, one is missing, or a shape or an element type is another; the message
            says what is wanted and what was given.
    """
    for name in inputs:
        if name not in program.inputs:
            near = get_close_matches(name, program.inputs, 1)
            hint = f"did you mean {near[0]}?" if near else f"the inputs are: {', '.join(program.inputs) or 'none'}"
            raise ModelError(f"no input {name!r}; {hint}")
    given: dict[str, Any] = {}
    for name in program.inputs:
        tensor = program.tensors[name]
        if name in inputs:
            given[name] = _checked(tensor, inputs[name])
        elif name in program.defaults:
            given[name] = program.defaults[name].array()
        else:
            raise ModelError(f"input {name} is missing: {described(tensor)} is wanted")
    return given


def sizes_of(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """What each symbol of the inputs' shapes stands for.

    Raises:
        ModelError: two dimensions contradict each other.
    """
    dims: list[tuple[Dim, int]] = []
    for name, value in given.items():
        shape = program.tensors[name].shape
        if shape is not None and isinstance(value, np.ndarray):
            dims += zip(shape, value.shape, strict=True)
    sizes = solve(dims)
    if sizes is not None and all(_holds(dim, value, sizes) for dim, value in dims):
        return sizes
    texts = [
        f"{name} is {list(value.shape)}, {described(program.tensors[name])} is wanted"
        for name, value in given.items()
        if program.tensors[name].is_symbolic and isinstance(value, np.ndarray)
    ]
    raise ModelError(f"the inputs' shapes contradict each other: {'; '.join(texts)}")


def described(tensor: Tensor) -> str:
    """Element type and shape, such as ``float32[b,3,224,224]``."""
    if tensor.dtype is None:
        return "a sequence or an optional value"
    dims = "*" if tensor.shape is None else ",".join(map(dim_text, tensor.shape))
    return f"{tensor.dtype.label}[{dims}]"


def _holds(dim: Dim, value: int, sizes: Mapping[str, int]) -> bool:
    now = dim.substitute(sizes) if isinstance(dim, Symbol) else dim
    return now is None or isinstance(now, Symbol) or now == value


def _checked(tensor: Tensor, value: Any) -> Any:
    if tensor.dtype is None:
        return value
    array = _array(tensor, tensor.dtype, value)
    wanted = tensor.shape
    fits = wanted is None or (
        len(wanted) == array.ndim
        and all(not isinstance(dim, int) or dim == size for dim, size in zip(wanted, array.shape, strict=True))
    )
    if not fits:
        raise ModelError(f"input {tensor.name}: {described(tensor)} is wanted, not shape {list(array.shape)}")
    return array


def _array(tensor: Tensor, dtype: DType, value: Any) -> np.ndarray:
    wanted = dtype.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if dtype is DType.STRING and array.dtype.kind in "OUST":
            return array.astype(object)
    else:
        array = _converted(tensor, value, wanted)
    if array.dtype != wanted:
        raise ModelError(f"input {tensor.name}: {described(tensor)} is wanted, not elements of type {array.dtype}")
    return array


def _converted(tensor: Tensor, value: float | Sequence[object], wanted: np.dtype) -> np.ndarray:
    try:
        plain = np.asarray(value)
        array = plain.astype(wanted)
    except (ValueError, TypeError, OverflowError):
        raise ModelError(f"input {tensor.name}: {described(tensor)} is wanted, not a {type(value).__name__}") from None
    exact = plain.dtype.kind == "f" and wanted.kind not in "iub"
    if not exact and plain.dtype.kind in "iufb" and not np.array_equal(array, plain):
        raise ModelError(f"input {tensor.name}: {described(tensor)} is wanted, and the values given do not fit it")
    return array
