"""Reads a model from wherever it is."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError, OptionError
from gexplorer.frontends.onnx import SourceModel, read
from gexplorer.frontends.torch import from_torch, is_torch_model

if TYPE_CHECKING:
    from pathlib import Path

    import onnx
    import onnx_ir

    ModelLike = str | Path | onnx.ModelProto | onnx_ir.Model


def load(model: ModelLike) -> SourceModel:
    """Reads a model.

    Args:
        model: path of an ONNX file, a name of the zoo (where no such file is), or a model in memory; of torch where it
            knows its inputs.

    Raises:
        ModelError: the model cannot be read, or there is none of that name.
        OptionError: the zoo's model has no such option.
    """
    if isinstance(model, str) and not os.path.lexists(model):
        from gexplorer.frontends import zoo

        if model.partition(":")[0].strip() not in zoo.names():
            raise ModelError(f"{model}: no such file, and no model of the zoo (gexplorer zoo lists those)")
        try:
            name, options = zoo.parse_spec(model)
            return replace(read(zoo.build(name, **options)), name=model)
        except ValueError as error:
            raise OptionError(str(error)) from None
    if is_torch_model(model):
        return read(from_torch(model))
    return read(model)
