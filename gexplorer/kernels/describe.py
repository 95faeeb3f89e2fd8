"""Reads off a node what its kernel computes: the work behind a fused body, or behind one ONNX operator."""

from __future__ import annotations

from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.described import Described
from gexplorer.kernels.described_attention import describe_attention
from gexplorer.kernels.described_gemm import PRODUCTS, describe_gemm
from gexplorer.kernels.described_vector import describe_vector
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.part import Part, by_output, part_of


def describe(graph: Graph, node: Node) -> tuple[Described, ...] | Refusal:
    """What the kernel of a node computes, or why there is no tile program for it.

    Most nodes are one kernel. Products side by side, which share inputs and views of them only, are one after the
    other in the same launch.

    Args:
        graph: the graph that the node is in, with types.
        node: an ONNX operator or a fused node.
    """
    part = part_of(graph, node)
    unknown = next((name for name in part.names if part.shape(name) is None), None)
    if unknown is not None:
        return Refusal(node.op, f"the shape of {part.outside[unknown]} is not known")
    found: list[Described] = []
    for piece in (by_output(part) if _products(part) > 1 else ()) or (part,):
        described = _describe(piece)
        if isinstance(described, Refusal):
            return described
        found.append(described)
    return tuple(found)


def _describe(part: Part) -> Described | Refusal:
    products = [inner for inner in part.nodes if inner.op in PRODUCTS and not inner.domain]
    if len(products) == 1:
        return describe_gemm(part, products[0])
    if len(products) == 2 and any(inner.op == "Softmax" for inner in part.nodes):
        return describe_attention(part)
    if products:
        return Refusal(part.op, f"{len(products)} products that feed each other or share an operator")
    return describe_vector(part)


def _products(part: Part) -> int:
    return sum(inner.op in PRODUCTS and not inner.domain for inner in part.nodes)
