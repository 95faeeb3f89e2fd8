"""Every tile program of a whole model, run on the values that onnxruntime has at its place."""

from __future__ import annotations

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.count import count
from gexplorer.kernels.generated import run_all
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.stage import generate_kernels
from gexplorer.schedule.stage import kernel_names
from tests.kernel_sweep import values_of


@pytest.mark.parametrize(
    ("model", "soc", "without"),
    [
        ("qwen2.5-7b:small=true,layers=1", "Ascend910B3", set()),
        ("bert-base:small=true,layers=1", "Ascend910A", {"GatherND"}),
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
