"""The vector unit's instructions by name, and what each computes, in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from gexplorer.ir.dtypes import DType

Array = np.ndarray[Any, np.dtype[Any]]


def _reduced(ufunc: np.ufunc) -> Callable[[Array], Array]:
    return lambda x: ufunc.reduce(x, axis=-1, keepdims=True)


def _select(chosen: Array, x: Array, y: Array) -> Array:
    return np.where(chosen != 0, x, y)


def _same(x: Array) -> Array:
    return x


def _rounded(dtype: DType) -> Callable[[Array], Array]:
    """To an element type, and back to float32."""
    return lambda x: np.asarray(x).astype(dtype.numpy()).astype(np.float32)


_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_ERF(np.asarray(x, np.float64)), np.float64)


# By name: function and number of inputs. Comparisons give 1 and 0.
ELEMENTWISE: Mapping[str, tuple[Callable[..., Array], int]] = MappingProxyType(
    {
        "copy": (_same, 1),
        "to_float16": (_rounded(DType.FLOAT16), 1),
        "to_bfloat16": (_rounded(DType.BFLOAT16), 1),
        "truncate": (np.trunc, 1),
        "abs": (np.abs, 1),
        "neg": (np.negative, 1),
        "exp": (np.exp, 1),
        "log": (np.log, 1),
        "sqrt": (np.sqrt, 1),
        "erf": (_erf, 1),
        "tanh": (np.tanh, 1),
        "sin": (np.sin, 1),
        "cos": (np.cos, 1),
        "floor": (np.floor, 1),
        "ceil": (np.ceil, 1),
        "round": (np.rint, 1),
        "sign": (np.sign, 1),
        "add": (np.add, 2),
        "sub": (np.subtract, 2),
        "mul": (np.multiply, 2),
        "div": (np.divide, 2),
        "max": (np.maximum, 2),
        "min": (np.minimum, 2),
        "pow": (np.power, 2),
        "equal": (np.equal, 2),
        "not_equal": (np.not_equal, 2),
        "less": (np.less, 2),
        "less_equal": (np.less_equal, 2),
        "greater": (np.greater, 2),
        "greater_equal": (np.greater_equal, 2),
        "select": (_select, 3),
    }
)
REDUCTIONS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {"reduce_max": _reduced(np.maximum), "reduce_min": _reduced(np.minimum), "reduce_sum": _reduced(np.add)}
)
# Numbers of the elements along an axis, counted from 0.
INDICES: Mapping[str, int] = MappingProxyType({"index_rows": -2, "index_columns": -1})


def index(op: str, shape: tuple[int, ...]) -> Array:
    """What an instruction of ``INDICES`` writes, in a shape that repeats to the given one."""
    axis = INDICES[op]
    return np.arange(shape[axis]).reshape(-1, *[1] * (-1 - axis))


def compute(op: str, inputs: tuple[Array | float, ...]) -> Array:
    """What an instruction makes of its inputs; KeyError for an unknown name."""
    with np.errstate(all="ignore"):
        if op in REDUCTIONS:
            return REDUCTIONS[op](np.asarray(inputs[0]))
        return ELEMENTWISE[op][0](*inputs)
