"""A kernel, and which value of the graph each of its buffers holds."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.kernels.attention_kernel import AttentionKernel
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.vector_kernel import VectorKernel

Kernel = GemmKernel | VectorKernel | AttentionKernel


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel of a node.

    Attributes:
        kernel: what is computed.
        inputs: name of an input buffer and of the value that it holds: as many elements, in the same order.
        outputs: the same of the output buffers.
    """

    kernel: Kernel
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
