"""Where a model's weights come from: named in a file that does not exist, or drawn from a seed."""

from __future__ import annotations

import math
import zlib
from typing import Literal, Protocol

import numpy as np
import onnx_ir as ir

Role = Literal["matrix", "embedding", "gain", "bias", "variance"]
"""What a weight does, which decides how it is drawn: a ``matrix`` with deviation 1/sqrt(fan_in), so that
activations keep their size from layer to layer; a ``gain`` around 1, a ``bias`` around 0, a ``variance``
positive."""


class WeightSource(Protocol):
    """Makes the tensor of one weight."""

    def tensor(self, name: str, shape: tuple[int, ...], dtype: ir.DataType, role: Role) -> ir.TensorProtocol:
        """The weight called ``name``."""
        ...


class AbsentWeights:
    """Weights that exist only as an entry in an external file: name, offset and length, no bytes.

    Args:
        location: the file that the entries name; offsets follow each other without gaps, in bytes.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._end_bytes = 0

    def tensor(self, name: str, shape: tuple[int, ...], dtype: ir.DataType, role: Role) -> ir.ExternalTensor:
        """The next entry of the file."""
        del role
        length_bytes = math.prod(shape) * dtype.bitwidth // 8
        offset_bytes = self._end_bytes
        self._end_bytes += length_bytes
        return ir.ExternalTensor(self._location, offset_bytes, length_bytes, dtype, shape=ir.Shape(shape), name=name)


class RandomWeights:
    """Weights drawn from a seed and their own name, so that a weight does not depend on its neighbours.

    Args:
        seed: not negative; the same seed gives the same weights.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def tensor(self, name: str, shape: tuple[int, ...], dtype: ir.DataType, role: Role) -> ir.TensorProtocol:
        """The weight, drawn in float32 and rounded to ``dtype``."""
        generator = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        drawn = generator.standard_normal(shape, dtype=np.float32)
        match role:
            case "matrix":  # (out, in) or (out, in, height, width)
                drawn /= math.sqrt(math.prod(shape[1:]))
            case "embedding":
                pass
            case "gain":
                drawn = 1 + 0.1 * drawn
            case "bias":
                drawn *= 0.1
            case "variance":
                drawn = 1 + 0.1 * np.abs(drawn)
        return ir.Tensor(drawn.astype(dtype.numpy()), dtype=dtype, name=name)


def weight_source(model: str, weights: str, seed: int) -> WeightSource:
    """The source that the options ``weights`` and ``seed`` of a model ask for."""
    return RandomWeights(seed) if weights == "random" else AbsentWeights(f"{model}.weights")
