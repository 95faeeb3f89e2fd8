"""A model as text for Graphviz: an operator a node, a tensor that one makes and another reads an edge."""

from __future__ import annotations

from pathlib import Path


def graph_text(path: Path) -> tuple[str, int]:
    """The text, and how many nodes are in it: those of the outermost graph, weights and Constant nodes apart."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    nodes = [node for node in graph.node if node.op_type != "Constant"]
    maker = {output: number for number, node in enumerate(nodes) for output in node.output if output}
    lines = [f'n{number} [label="{node.op_type}"];' for number, node in enumerate(nodes)]
    lines += [
        f"n{maker[name]} -> n{number};" for number, node in enumerate(nodes) for name in node.input if name in maker
    ]
    return "\n".join(["digraph {", "node [shape=box];", *lines, "}"]) + "\n", len(nodes)
