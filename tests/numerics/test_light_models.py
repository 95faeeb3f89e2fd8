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
NODES_AFTER = {  # nodes left by the general passes alone; a change here is a change of what they do
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


NODES_FUSED = {  # nodes left by everything
    "light_bvlc_alexnet": 22,
    "light_densenet121": 310,
    "light_inception_v1": 92,
    "light_inception_v2": 117,
    "light_resnet50": 82,
    "light_shufflenet": 125,
    "light_squeezenet": 40,
    "light_vgg19": 33,
    "light_zfnet512": 21,
}


@pytest.mark.parametrize("path", light_models(), ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("preset", "nodes"), [("unconfigured", NODES_AFTER), ("ge", NODES_FUSED)], ids=["plain", "fused"]
)
def test_light_model(path, preset, nodes):
    compiled = compile(path, preset=preset)
    assert len(compiled.graph) == nodes[path.stem]
    (name,) = compiled.graph.inputs
    shape = compiled.graph.tensor(name).shape
    count = int(np.prod(shape))
    ramp = (np.arange(count).reshape(shape) / count).astype(np.float32)
    expected = onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    (actual,) = run(compiled.graph, {name: ramp})
    np.testing.assert_allclose(actual, numpy_helper.to_array(expected), RTOL, ATOL)


def test_all_nine_are_there():
    assert len(light_models()) == len(NODES_AFTER)
