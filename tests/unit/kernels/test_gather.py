from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.gather import gather_program
from gexplorer.kernels.gather_kernel import GatherKernel, GatherTile, gather_bytes, gather_tile
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import require_capacity, run
from gexplorer.kernels.program import WaitFlag
from gexplorer.kernels.stage import generate_kernels
from gexplorer.kernels.text import to_text
from tests.passes import graph_of

KERNEL = GatherKernel(3, 11, 20, 7, DType.FLOAT16, DType.INT64)
CHIPS = ["teaching", "Ascend910B3", "Ascend910A"]


def check_gather(kernel, cut, chip):
    program, random = gather_program(kernel, cut, chip), np.random.default_rng(0)
    data = random.normal(size=(kernel.before, kernel.extent, kernel.width)).astype(kernel.dtype.numpy())
    numbers = random.integers(-kernel.extent, kernel.extent, kernel.count).astype(kernel.index_dtype.numpy())
    found = run(program, chip, {"data": data, "indices": numbers})
    np.testing.assert_array_equal(found.outputs["out"], np.take(data, numbers, axis=1, mode="wrap"))
    assert found.counts.bytes_by_path == gather_bytes(kernel, cut)
    assert count(program) == found.counts
    assert hazards(program) == ()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("cut", [GatherTile(7, 20), GatherTile(2, 20), GatherTile(3, 9)])
def test_slices_arrive(cut, chip):
    check_gather(KERNEL, cut, load_chip(chip))


@pytest.mark.parametrize("width", [1, 48, 5000, 200_000])
def test_the_tile_fits_and_gives_every_core_something(width):
    chip = load_chip("Ascend910B3")
    kernel = replace(KERNEL, before=1, count=600, width=width)
    cut = gather_tile(kernel, chip)
    program = gather_program(kernel, cut, chip)
    require_capacity(program, chip)
    assert program.blocks >= chip.vector_cores
    with pytest.raises(OptionError, match="Gather: ub overflows: "):
        require_capacity(gather_program(kernel, replace(cut, count=600_000), chip), chip)


def test_the_scalar_unit_waits_for_the_numbers():
    """Without that wait a move could be sent by a number that is not there yet."""
    chip = load_chip("teaching")
    program = gather_program(KERNEL, GatherTile(2, 20), chip)
    assert "slices_ub[r, dw] = data[a, indices_ub[r], w :+ dw]" in to_text(program)
    wait = next(i for i in program.body if isinstance(i, WaitFlag) and i.target == "scalar")
    broken = replace(program, body=tuple(i for i in program.body if i is not wait))
    assert {(hazard.buffer, hazard.what) for hazard in hazards(broken)} >= {("indices_ub", "race")}


@pytest.mark.parametrize("chip", CHIPS)
def test_an_embedding(chip):
    graph = graph_of("input %w : float16[30,40]\ninput %i : int64[2,5]\n%y = Gather(%w, %i) #y\noutput %y")
    (program,) = generate_kernels(graph, load_chip(chip)).programs_of("y")
    random = np.random.default_rng(1)
    values = {"w": random.normal(size=(30, 40)).astype(np.float16), "i": random.integers(-30, 30, (2, 5))}
    got = program.run(values).outputs["out"].reshape(2, 5, 40)
    np.testing.assert_array_equal(got, values["w"][values["i"]])
    assert (program.text, program.units) == ("10 slices of 40 elements out of 30, float16", (("y", "mte2"),))
