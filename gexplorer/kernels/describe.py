"""Reads off a node what its kernel computes: the work behind a fused body, or behind one ONNX operator."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.described import Described
from gexplorer.kernels.described_gemm import products_of
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.part import Part, by_output, part_of
from gexplorer.kernels.registry import all_generators
from gexplorer.kernels.staged import staged


def describe(graph: Graph, node: Node) -> tuple[Described, ...] | Refusal:
    """What the kernel of a node computes, or why there is no tile program for it.

    Most nodes are one kernel. Products side by side, which share inputs and views of them only, are one after the
    other in the same launch; so are the parts of a kernel that no single program can do (``staged``), which hand on
    values through memory.

    Args:
        graph: the graph that the node is in, with types.
        node: an ONNX operator or a fused node.
    """
    part = part_of(graph, node)
    inside = (name for one in part.nodes for name in (*one.inputs, *one.outputs) if name)
    for name in dict.fromkeys((*part.names, *inside)):
        shape = part.shape(name)
        if shape is None:
            return Refusal(node.op, f"the shape of {part.outside.get(name, name)} is not known")
        if 0 in shape:
            return Refusal(node.op, f"{part.outside.get(name, name)} has no elements")
    apart = by_output(part) if len(part.outputs) > 1 else ()
    several = len(products_of(part)) > 1
    first = _all((apart if several else ()) or (part,))
    for pieces in (staged(part), apart):
        if isinstance(first, Refusal) and pieces:
            found = _all(pieces)
            # Of several products the reason is what stands between them, not that there are several.
            first = first if isinstance(found, Refusal) and not several else found
    return first


def _all(parts: Sequence[Part]) -> tuple[Described, ...] | Refusal:
    found: list[Described] = []
    for part in parts:
        described = _describe(part)
        if isinstance(described, Described):
            found.append(described)
            continue
        apart = _all(by_output(part)) if len(part.outputs) > 1 else ()
        if isinstance(apart, Refusal) or not apart:
            return described
        found += apart
    return tuple(found)


def _describe(part: Part) -> Described | Refusal:
    """The first description that a generator gives; else the first refusal, by the kind of kernel that it is."""
    refusal: Refusal | None = None
    for generator in all_generators():
        described = generator.describe(part)
        if isinstance(described, Described):
            return described
        refusal = refusal or described
    return refusal or Refusal(part.op, "no generator takes it")
