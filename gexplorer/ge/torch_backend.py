"""``torch.compile(model, backend="gexplorer")``: each graph that torch captures is compiled and run here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.errors import GexplorerError
from gexplorer.frontends.torch import from_torch, require_torch

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

# The graphs that were compiled since the last ``clear``, the newest last: to be explored.
compilations: list[Compilation] = []


def backend(module: Any, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """A backend for ``torch.compile``.

    A captured graph is exported, compiled, and run in its planned pool on the CPU. What torch cannot export, or has
    sizes that are not known when it is captured, runs as it is; the reason is given as a warning.

    Args:
        module: the graph that torch captured.
        inputs: example inputs.
        **options: options of ``gexplorer.compile``, from ``torch.compile(options=...)``.
    """
    import warnings

    import gexplorer as gx
    from gexplorer.execution.lower import lower
    from gexplorer.execution.machine import Machine

    torch = require_torch()
    if not all(isinstance(value, torch.Tensor) for value in inputs):
        warnings.warn("gexplorer: a graph with sizes that are not known yet runs as it is", stacklevel=2)
        return module.forward
    try:
        compiled = gx.compile(from_torch(module, tuple(inputs)), **options)
    except GexplorerError as error:
        warnings.warn(f"gexplorer: the graph runs as it is: {error}", stacklevel=2)
        return module.forward
    compilations.append(compiled)
    machine = Machine(lower(compiled.memory))
    names = list(compiled.graph.inputs)

    def run(*arguments: Any) -> tuple[Any, ...]:
        feeds = {name: a.detach().cpu().numpy() for name, a in zip(names, arguments, strict=True)}
        outputs = machine.run(feeds).outputs
        return tuple(torch.from_numpy(np.array(outputs[name])) for name in compiled.graph.output_names)

    return run


def clear() -> None:
    """Forgets the compilations."""
    compilations.clear()
