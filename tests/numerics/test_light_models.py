"""Whole architectures that ship with the onnx package, with its own input and expected output."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from gexplorer.compiler import compile
from gexplorer.validation.run import run
from tests.backend_suite import light_models

# The package's own tolerance for these models.
RTOL, ATOL = 1e-3, 1e-7
NODES_AFTER = {  # nodes left by the general passes; a change here is a change of what they do
    "light_bvlc_alexnet": 29,
    "light_densenet121": 670,
    "light_inception_v1": 149,
    "light_inception_v2": 381,
    "light_resnet50": 184,
    "light_shufflenet": 204,
    "light_squeezenet": 66,
    "light_vgg19": 51,
    "light_zfnet512": 28,
}


@pytest.mark.parametrize("path", light_models(), ids=lambda path: path.stem)
def test_light_model(path):
    compiled = compile(path)
    assert len(compiled.graph) == NODES_AFTER[path.stem]
    (name,) = compiled.graph.inputs
    shape = compiled.graph.tensor(name).shape
    count = int(np.prod(shape))
    ramp = (np.arange(count).reshape(shape) / count).astype(np.float32)
    expected = onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    (actual,) = run(compiled.graph, {name: ramp})
    np.testing.assert_allclose(actual, numpy_helper.to_array(expected), RTOL, ATOL)


def test_all_nine_are_there():
    assert len(light_models()) == len(NODES_AFTER)
