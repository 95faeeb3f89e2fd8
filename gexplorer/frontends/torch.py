"""PyTorch modules -> ONNX, by torch's own exporters: nothing of torch is interpreted here.

Modules, FX graph modules and exported programs go through ``torch.export``; ScriptModules (``torch.jit.trace``,
``torch.jit.script``) through the exporter for TorchScript, the only one that takes them.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError, OptionError

if TYPE_CHECKING:
    import onnx

MISSING = "PyTorch is not installed: pip install 'gexplorer[torch]'"
Shape = Sequence[int]


def require_torch() -> Any:
    """The module ``torch``. Raises OptionError where it is not installed, and says what to install."""
    try:
        import torch
    except ImportError:
        raise OptionError(MISSING) from None
    return torch


def is_torch_model(model: object) -> bool:
    """True for a module of any kind or an exported program; torch is not imported to find out."""
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__}
    return bool(kinds & {"torch.nn.modules.module.Module", "torch.export.exported_program.ExportedProgram"})


def from_torch(
    model: Any,
    inputs: Sequence[Any] | None = None,
    *,
    names: Sequence[str] = (),
    dynamic: Mapping[str, Any] | Sequence[Any] | None = None,
) -> onnx.ModelProto:
    """A torch model as ONNX.

    Args:
        model: an ``nn.Module``, ``fx.GraphModule``, ScriptModule or ``ExportedProgram``.
        inputs: example arguments; tensors or shapes of float32 tensors. An exported program brings its own, and a
            traced module knows the shapes that it was traced with.
        names: of the inputs; as the model calls them where left out.
        dynamic: dimensions that stay free, as ``torch.onnx.export`` takes ``dynamic_shapes`` (for a ScriptModule:
            ``dynamic_axes``, which needs ``names``).

    Raises:
        OptionError: torch is not installed, or inputs are missing.
        ModelError: torch cannot export it; its own reason is in the message.
    """
    torch = require_torch()
    if not is_torch_model(model):
        raise OptionError(f"a torch module or exported program is wanted, not {type(model).__name__}")
    is_exported = not isinstance(model, torch.nn.Module)
    arguments = () if is_exported else _arguments(torch, model, inputs)
    with _quiet():
        try:
            if isinstance(model, torch.jit.ScriptModule):
                return _from_script(torch, model, arguments, names, dynamic)
            program = torch.onnx.export(
                model, arguments, dynamo=True, verbose=False, input_names=list(names) or None, dynamic_shapes=dynamic
            )
        except Exception as error:
            raise ModelError(f"torch cannot export {_name(model)}: {_cause(error)}") from error
        return program.model_proto


def example_shapes(model: Any) -> list[tuple[int, ...]]:
    """Shapes that a ScriptModule was traced with; empty where it does not say (a scripted module)."""
    shapes: list[tuple[int, ...]] = []
    for value in list(model.graph.inputs())[1:]:  # the first is the module itself
        sizes = getattr(value.type(), "sizes", lambda: None)()
        if sizes is None:
            return []
        shapes.append(tuple(sizes))
    return shapes


def _arguments(torch: Any, model: Any, inputs: Sequence[Any] | None) -> tuple[Any, ...]:
    if inputs is None and isinstance(model, torch.jit.ScriptModule):
        inputs = example_shapes(model) or None
    if inputs is None:
        raise OptionError(f"{_name(model)}: example inputs are wanted, tensors or shapes")
    return tuple(torch.zeros(x) if _is_shape(x) else x for x in inputs)


def _is_shape(value: object) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(size, int) for size in value)


def _from_script(
    torch: Any, model: Any, arguments: tuple[Any, ...], names: Sequence[str], dynamic: Any
) -> onnx.ModelProto:
    import onnx

    file = io.BytesIO()
    torch.onnx.export(model, arguments, file, dynamo=False, input_names=list(names) or None, dynamic_axes=dynamic)
    return onnx.load_from_string(file.getvalue())


def _name(model: Any) -> str:
    return str(getattr(model, "original_name", type(model).__name__))


def _cause(error: BaseException) -> str:
    """The first line of the innermost cause: torch wraps it in pages of advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _quiet() -> Generator[None]:
    """The exporters' talk about themselves is kept away; errors come as errors."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
