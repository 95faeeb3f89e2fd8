"""Evaluates one operator on arrays with the specification's own reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.ir.to_onnx import to_onnx

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


class EvaluationError(Exception):
    """The reference implementation has no such operator, or refuses these inputs."""


def evaluate(node: Node, inputs: Sequence[np.ndarray | None], opsets: Mapping[str, int]) -> list[np.ndarray]:
    """The outputs of a node that has no nested graph.

    Args:
        node: the operator and its attributes.
        inputs: one array per input, None for an absent one; strings as objects.
        opsets: version of each operator domain.

    Raises:
        EvaluationError: the operator cannot be evaluated. Native code is never involved, so nothing worse happens.
    """
    import numpy as np

    from gexplorer.ops.reference import reference_evaluator

    names = tuple(f"i{k}" if array is not None else "" for k, array in enumerate(inputs))
    outputs = tuple(f"o{k}" if name else "" for k, name in enumerate(node.outputs))
    single = make_graph(
        "single",
        inputs=[Value(name) for name in names if name],
        nodes=[replace(node, inputs=names, outputs=outputs)],
        values=[Value(name, producer=node.name) for name in outputs if name],
        outputs=tuple(name for name in outputs if name),
        opsets=opsets,
    )
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    try:
        with np.errstate(all="ignore"):
            results = reference_evaluator(to_onnx(single)).run(None, feeds)
    except Exception as error:
        raise EvaluationError(f"{type(error).__name__}: {error}") from None
    return [np.asarray(result) for result in results]
