"""All files of shape functions: importing this registers them."""

from gexplorer.ops.shapes import (
    attention,
    control,
    convolution,
    creation,
    elementwise,
    foreign,
    foreign_quantised,
    indexing,
    linear,
    movement,
    normalisation,
    reduction,
)

__all__ = [
    "attention",
    "control",
    "convolution",
    "creation",
    "elementwise",
    "foreign",
    "foreign_quantised",
    "indexing",
    "linear",
    "movement",
    "normalisation",
    "reduction",
]
