"""Which work the name of an operator means, as profilers and papers write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Literal

from gexplorer.cost import vector_work
from gexplorer.cost.points import Point
from gexplorer.cost.work import Attention, Gemm, Instructions, Move, Vector, Work
from gexplorer.errors import OptionError
from gexplorer.ir.dtypes import DType

Family = Literal["gemm", "conv", "flash_attention", "vector", "move"]
Shaped = Callable[[tuple[int, ...], DType], Vector | Move]  # the work of an operator whose first input has that shape

# Kernels that a framework ran: the host's dispatch is in the measured time, and the library's attention scales its
# scores in a pass of its own (a hand-written one scales Q).
_FRAMEWORK = re.compile(r"torch|eager|npu_fusion", re.IGNORECASE)


def ran_by_framework(op: str) -> bool:
    """True if a framework ran the kernel, operator by operator."""
    return _FRAMEWORK.search(op) is not None


def work_of(point: Point) -> tuple[Family, Work] | None:
    """Family and work of a point; None for an operator without a model. Raises OptionError for an unfit shape."""
    op = point.op.lower()
    conv = re.search(r"conv\w*?\s*([0-9]+)x([0-9]+)", op)
    if conv or re.search(r"gemm|matmul|linear", op):
        m, n, k = _sizes(point, 3, "M, N and K")
        distinct = 1 / (int(conv[1]) * int(conv[2])) if conv else 1.0
        out = point.out_dtype or (DType.FLOAT16 if point.dtype is DType.INT8 else None)
        work = Gemm(m, n, k, point.dtype, out, left_distinct=distinct, hf32=conv is not None)
        return ("conv" if conv else "gemm"), work
    if re.search(r"attn|attention", op):
        queries, keys, width = _sizes(point, 3, "queries, keys and width")
        extra = 1 if ran_by_framework(op) else 0
        return "flash_attention", Attention(1, queries, keys, width, dtype=point.dtype, extra_passes=extra)
    make = _vector_operator(point.op)
    if make is None:
        return None
    work = make(point.shape, point.dtype)
    return ("move" if isinstance(work, Move) else "vector"), work


def _sizes(point: Point, count: int, what: str) -> tuple[int, ...]:
    if len(point.shape) != count:
        raise OptionError(f"line {point.line}: {point.op}: {what} are wanted, not {len(point.shape)} sizes")
    return point.shape


def _vector_operator(op: str) -> Shaped | None:
    """The operator that a name means: ``RmsNorm``, ``aclnnSoftmaxV2``, ``elementwise add (in network)``."""
    words = re.findall(r"[a-z0-9]+", op.lower())
    for length in range(min(len(words), 3), 0, -1):
        for first in range(len(words) - length + 1):
            name = re.sub(r"v[0-9]$", "", "".join(words[first : first + length]).removeprefix("aclnn"))
            if name in _OPERATORS:
                return _OPERATORS[name]
    return None


def _rows(make: Callable[..., Vector], **flags: bool) -> Shaped:
    """An operator along the last axis."""
    return lambda shape, dtype: make(prod(shape[:-1]), shape[-1], dtype, **flags)


def _elements(inputs: int, **instructions: float) -> Shaped:
    """An operator on each element by itself."""
    done = Instructions(**instructions)
    return lambda shape, dtype: vector_work.elementwise(shape, dtype, inputs=inputs, instructions=done)


_sigmoid = _elements(1, simple=2, exp=1, divide=1)
_copy = _elements(1, simple=1)
_OPERATORS: Mapping[str, Shaped] = MappingProxyType(
    {
        "rmsnorm": _rows(vector_work.rms_norm),
        "addrmsnorm": _rows(vector_work.rms_norm, added=True),
        "layernorm": _rows(vector_work.layer_norm),
        "addlayernorm": _rows(vector_work.layer_norm, added=True),
        "softmax": _rows(vector_work.softmax),
        "swiglu": lambda shape, dtype: vector_work.swiglu(prod(shape[:-1]), max(shape[-1] // 2, 1), dtype),
        **dict.fromkeys(("reducesum", "reducemean", "reducemax", "sum", "mean"), _rows(vector_work.reduction)),
        "gelu": _elements(1, simple=6, exp=1, divide=1),
        **dict.fromkeys(("silu", "swish", "sigmoid"), _sigmoid),
        **dict.fromkeys(("relu", "cast", "copy", "identity", "tensormove"), _copy),
        "exp": _elements(1, exp=1),
        **dict.fromkeys(("rope", "rotarymul", "rotaryembedding", "applyrotaryposemb"), _elements(1, simple=4)),
        **dict.fromkeys(("div", "realdiv"), _elements(2, divide=1)),
        **dict.fromkeys(("add", "sub", "mul"), _elements(2, simple=1)),
        **dict.fromkeys(
            ("transpose", "transposed"), lambda shape, dtype: vector_work.transpose(shape, dtype, shape[-1])
        ),
        "gather": lambda shape, dtype: vector_work.gather(prod(shape[:-1]), shape[-1], dtype),
    }
)
