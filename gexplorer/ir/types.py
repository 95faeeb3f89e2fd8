"""Types of values: tensors with symbolic shapes and a storage format, and ONNX's containers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gexplorer.ir.symbols import Dim, Shape, dim_text

if TYPE_CHECKING:
    from gexplorer.ir.dtypes import DType

# Storage formats by their GE names (ge::Format); ND is the plain row-major order.
FORMATS = ("ND", "NCHW", "NHWC", "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ")


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: element type, shape (None: unknown rank) and storage format."""

    dtype: DType
    shape: Shape | None = None
    format: str = "ND"

    @property
    def rank(self) -> int | None:
        """Number of dimensions, None where unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def elements(self) -> int | None:
        """Number of elements, None unless every dimension is an int."""
        if self.shape is None:
            return None
        product = 1
        for dim in self.shape:
            if not isinstance(dim, int):
                return None
            product *= dim
        return product

    @property
    def nbytes(self) -> int | None:
        """Bytes of the packed tensor, None where the shape or the element width is not known."""
        elements = self.elements
        if elements is None or not self.dtype.bits:
            return None
        return self.dtype.nbytes(elements)

    def with_shape(self, shape: tuple[Dim, ...] | None) -> TensorType:
        """The same type with another shape."""
        return replace(self, shape=shape)

    def __str__(self) -> str:
        dims = "*" if self.shape is None else ",".join(dim_text(d) for d in self.shape)
        suffix = "" if self.format == "ND" else f":{self.format}"
        return f"{self.dtype.label}[{dims}]{suffix}"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A sequence of values of one type."""

    element: Type

    def __str__(self) -> str:
        return f"seq({self.element})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value that may be absent."""

    element: Type

    def __str__(self) -> str:
        return f"optional({self.element})"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that passes through untouched (maps, sparse tensors): its serialised ``onnx.TypeProto``."""

    proto: bytes

    def __str__(self) -> str:
        return f"opaque({self.proto.hex()})"


Type = TensorType | SequenceType | OptionalType | OpaqueType
