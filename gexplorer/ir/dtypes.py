"""Element types: ONNX's numbering, with bit width, short label and CANN name."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class DType(IntEnum):
    """Element type of a tensor. Source of the numbers: ``onnx.TensorProto.DataType`` (onnx 1.23)."""

    UNDEFINED = 0
    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    @property
    def label(self) -> str:
        """Lower-case name as printed, such as ``float16``."""
        return _LABELS[self]

    @property
    def bits(self) -> int:
        """Width of one element in bits; 0 where it is not fixed (strings, undefined)."""
        return _BITS[self]

    @property
    def ge_name(self) -> str | None:
        """The name in GE's dumps, or None where the real GE has no such type."""
        return _GE_NAMES.get(self)

    @property
    def is_float(self) -> bool:
        """True for real floating-point types of any width."""
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers; booleans are not integers."""
        return self in _INTEGERS

    def numpy(self) -> np.dtype:
        """The numpy (or ml_dtypes) element type; strings are objects."""
        return _numpy_dtype(self)

    def nbytes(self, elements: int) -> int:
        """Bytes that ``elements`` packed elements take (sub-byte types are packed)."""
        return (self.bits * elements + 7) // 8

    @classmethod
    def parse(cls, label: str) -> DType:
        """The type of a printed label. Raises KeyError for an unknown one."""
        return _BY_LABEL[label]


_LABELS: dict[DType, str] = {t: t.name.lower() for t in DType}
_BY_LABEL: dict[str, DType] = {label: t for t, label in _LABELS.items()}
_BITS: dict[DType, int] = dict.fromkeys(DType, 8) | {
    DType.UNDEFINED: 0,
    DType.STRING: 0,
    **dict.fromkeys((DType.FLOAT16, DType.BFLOAT16, DType.INT16, DType.UINT16), 16),
    **dict.fromkeys((DType.FLOAT32, DType.INT32, DType.UINT32), 32),
    **dict.fromkeys((DType.FLOAT64, DType.INT64, DType.UINT64, DType.COMPLEX64), 64),
    DType.COMPLEX128: 128,
    **dict.fromkeys((DType.FLOAT6E2M3, DType.FLOAT6E3M2), 6),
    **dict.fromkeys((DType.UINT4, DType.INT4, DType.FLOAT4E2M1), 4),
    **dict.fromkeys((DType.UINT2, DType.INT2), 2),
}
_FLOATS = frozenset(t for t in DType if "FLOAT" in t.name)
_INTEGERS = frozenset(t for t in DType if "INT" in t.name)

# C++ names of ge::DataType, as dumps print them (facts: ge_ir.proto enumeration).
_GE_NAMES: dict[DType, str] = {
    DType.FLOAT32: "DT_FLOAT",
    DType.FLOAT16: "DT_FLOAT16",
    DType.BFLOAT16: "DT_BF16",
    DType.FLOAT64: "DT_DOUBLE",
    DType.FLOAT8E5M2: "DT_FLOAT8_E5M2",
    DType.FLOAT8E4M3FN: "DT_FLOAT8_E4M3FN",
    DType.FLOAT4E2M1: "DT_FLOAT4_E2M1",
    DType.BOOL: "DT_BOOL",
    DType.STRING: "DT_STRING",
    DType.COMPLEX64: "DT_COMPLEX64",
    DType.COMPLEX128: "DT_COMPLEX128",
} | {t: f"DT_{t.name}" for t in DType if "INT" in t.name}


@cache
def _numpy_dtype(dtype: DType) -> np.dtype:
    import numpy as np
    import onnx.helper

    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(int(dtype)))
