"""Symbolic shape inference: what a graph's inputs and constants say of every value."""

from gexplorer.ops.shapes import families
from gexplorer.ops.shapes.binding import bind_inputs
from gexplorer.ops.shapes.fact import UNKNOWN, Fact
from gexplorer.ops.shapes.inference import Facts, has_shape_rule, infer_graph, infer_node
from gexplorer.ops.shapes.registry import SHAPE_FUNCTIONS, Call, shape_of
from gexplorer.ops.shapes.typing import with_types

__all__ = [
    "SHAPE_FUNCTIONS",
    "UNKNOWN",
    "Call",
    "Fact",
    "Facts",
    "bind_inputs",
    "families",
    "has_shape_rule",
    "infer_graph",
    "infer_node",
    "shape_of",
    "with_types",
]
