"""Every tile program of a whole model, run on the values that onnxruntime has at its place."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import gexplorer as gx
from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.count import count
from gexplorer.kernels.generated import run_all
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.stage import generate_kernels
from gexplorer.schedule.stage import kernel_names


def values_of(graph):
    """Random inputs, constants, and every value between kernels, by onnxruntime."""
    import onnxruntime as ort

    model, random = graph.to_onnx(), np.random.default_rng(0)
    results = {output.name for output in model.graph.output}
    made = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in results)
    given = {}
    for name in graph.inputs:
        tensor = graph.tensor(name)
        drawn = random.integers(0, 2, tensor.shape) if tensor.dtype.is_integer else random.normal(size=tensor.shape)
        given[name] = drawn.astype(tensor.dtype.numpy())
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    constants = {value.name: value.constant.array() for value in graph.constants}
    return given | constants | dict(zip(names, session.run(names, given), strict=True))


@pytest.mark.parametrize(
    ("model", "soc", "without"),
    [
        ("qwen2.5-7b:small=true,layers=1", "Ascend910B3", set()),
        ("bert-base:small=true,layers=1", "Ascend910A", {"Gather", "GatherElements", "GatherND", "Cast"}),
        ("resnet50:small=true", "Ascend910B3", {"MaxPool"}),
    ],
)
def test_every_kernel_gives_what_onnxruntime_gives(model, soc, without):
    compiled, chip = gx.compile(model, soc=soc, memory="fast"), load_chip(soc)
    values = values_of(compiled.graph)
    kernels = generate_kernels(compiled.graph, chip, names=kernel_names(compiled.memory))
    assert {kernel.op for kernel in kernels.lacking} == without
    for kernel in kernels.distinct:
        node = kernel.nodes[-1]
        programs = kernels.programs_of(node)
        made = run_all(programs, values)
        for program in programs:
            assert count(program.program).bytes_by_path == program.bytes_by_path, node
            assert program is not programs[0] or hazards(program.program) == ()
        for name in compiled.graph.nodes[node].outputs if programs else ():
            wanted = values[name].astype(np.float64)
            scale = np.abs(wanted).max()
            close = (2e-3 if values[name].dtype == np.float16 else 1e-4) * scale
            np.testing.assert_allclose(made[name].reshape(wanted.shape), wanted, rtol=0, atol=close, err_msg=node)
