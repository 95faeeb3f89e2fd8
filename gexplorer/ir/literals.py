"""Types and constants in the text form, printed and read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.ir.constant import Constant, constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.elements import elements_of, words_of
from gexplorer.ir.symbols import Dim, parse_dim
from gexplorer.ir.tokens import Cursor, quoted, quoted_bytes
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type

if TYPE_CHECKING:
    import numpy as np

# Constants with more elements are printed without them.
PRINTED_ELEMENTS = 32
_MOST_NESTED = 64
_WORD = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, eq=False)
class NotPrinted:
    """The source of a constant whose elements the text left out."""

    available: bool = False

    @property
    def key(self) -> object:
        """Itself: nothing is known to be equal to it."""
        return self

    def array(self) -> np.ndarray:
        """Always raises ModelError."""
        raise ModelError("the text form left these elements out")


def type_text(type_: Type) -> str:
    """A type as printed, such as ``float16[batch,"s + 1",?]:FRACTAL_NZ``."""
    match type_:
        case TensorType():
            dims = "*" if type_.shape is None else ",".join([_dim_text(dim) for dim in type_.shape])
            suffix = "" if type_.format == "ND" else f":{_word_text(type_.format)}"
            return f"{type_.dtype.label}[{dims}]{suffix}"
        case SequenceType():
            return f"seq({type_text(type_.element)})"
        case OptionalType():
            return f"optional({type_text(type_.element)})"
        case OpaqueType():
            return f"opaque({type_.proto.hex()})"


def read_type(cursor: Cursor, depth: int = 0) -> Type:
    """The type at the cursor."""
    if depth > _MOST_NESTED:
        raise cursor.error("the type is nested too deeply")
    if cursor.following == "(":
        kind = cursor.take()
        if kind == "opaque":
            return OpaqueType(cursor.hexadecimal())
        if kind not in ("seq", "optional"):
            raise cursor.error(f"there is no type {kind!a}")
        cursor.expect("(")
        element = read_type(cursor, depth + 1)
        cursor.expect(")")
        return SequenceType(element) if kind == "seq" else OptionalType(element)
    dtype = _read_dtype(cursor)
    cursor.expect("[")
    if cursor.accept("*"):
        cursor.expect("]")
        return TensorType(dtype, None, _read_format(cursor))
    dims: list[Dim] = []
    while not cursor.accept("]"):
        if dims:
            cursor.expect(",")
        dims.append(None if cursor.accept("?") else parse_dim(cursor.name()))
    return TensorType(dtype, tuple(dims), _read_format(cursor))


def constant_text(data: Constant) -> str:
    """A constant: a small one with its elements, any other with its size and ``...``; those are not read."""
    head = f"{data.dtype.label}[{','.join(map(str, data.shape))}]"
    if not data.available or data.elements > PRINTED_ELEMENTS:
        return f"{head} {data.nbytes} bytes ..."
    if data.dtype == DType.STRING:
        texts = data.array().reshape(-1)
        words = [quoted_bytes(t) if isinstance(t, bytes) else quoted(str(t)) for t in texts]
    else:
        words = words_of(data.dtype, data.array())
    return f"{head} {{{', '.join(words)}}}"


def read_constant(cursor: Cursor) -> Constant:
    """The constant at the cursor."""
    dtype = _read_dtype(cursor)
    cursor.expect("[")
    dims: list[int] = []
    while not cursor.accept("]"):
        if dims:
            cursor.expect(",")
        dims.append(cursor.integer())
    if min(dims, default=0) < 0:
        raise cursor.error("a constant has a negative dimension")
    shape = tuple(dims)
    if cursor.token != "{":
        stated = cursor.integer()
        cursor.expect("bytes")
        cursor.expect("...")
        if stated != dtype.nbytes(prod(shape)):
            raise cursor.error(f"the constant takes {dtype.nbytes(prod(shape))} bytes, not {stated}")
        return Constant(dtype, shape, NotPrinted())
    words = _read_words(cursor, dtype)
    if len(words) != prod(shape):
        raise cursor.error(f"the constant has {prod(shape)} elements, but {len(words)} are given")
    try:
        return constant(_array(dtype, words).reshape(shape), dtype)
    except (ValueError, OverflowError) as error:
        raise cursor.error(str(error)) from None


def _read_words(cursor: Cursor, dtype: DType) -> list[str | bytes]:
    cursor.expect("{")
    words: list[str | bytes] = []
    while not cursor.accept("}"):
        if words:
            cursor.expect(",")
        words.append(cursor.string() if dtype == DType.STRING else cursor.take())
    return words


def _array(dtype: DType, words: list[str | bytes]) -> np.ndarray:
    import numpy as np

    if dtype != DType.STRING:
        return elements_of(dtype, [str(word) for word in words])
    array = np.empty(len(words), object)
    array[:] = words
    return array


def _read_dtype(cursor: Cursor) -> DType:
    label = cursor.name()
    try:
        return DType.parse(label)
    except KeyError:
        raise cursor.error(f"there is no element type {label!a}") from None


def _read_format(cursor: Cursor) -> str:
    if cursor.token == ":":
        cursor.take()
        return cursor.name()
    return cursor.take()[1:] if cursor.token.startswith(":") else "ND"


def _dim_text(dim: Dim) -> str:
    return "?" if dim is None else _word_text(str(dim))


def _word_text(text: str) -> str:
    return text if _WORD.fullmatch(text) else quoted(text)
