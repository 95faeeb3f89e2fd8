from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.cost.work import Gemm
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.affine import Affine, least
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.interpreter import run, steps
from gexplorer.kernels.program import Loop, Mmad, Move, Span
from tests.kernels import gemm_inputs, gemm_reference

KERNEL = GemmKernel(Gemm(40, 40, 40))


@pytest.fixture
def chip():
    return load_chip("teaching")


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ((256, 16, 64), "l0a overflows: 65536 bytes (left_l0a 2 x 32768), teaching has 32768"),
        ((16, 512, 64), "l0b overflows: 131072 bytes (right_l0b 2 x 65536), teaching has 32768"),
        ((256, 128, 16), "l0c overflows: 131072 bytes (sums 1 x 131072), teaching has 65536"),
    ],
)
def test_overflow_names_buffer_need_and_capacity(chip, cut, words):
    program = gemm_program(KERNEL, GemmTile(*cut), chip)
    with pytest.raises(OptionError) as caught:
        run(program, chip, gemm_inputs(KERNEL))
    assert str(caught.value) == f"MatMul: {words}"


def test_inputs_must_be_there_and_of_the_right_kind(chip):
    program, inputs = gemm_program(KERNEL, GemmTile(16, 16, 16), chip), gemm_inputs(KERNEL)
    with pytest.raises(OptionError, match="MatMul: no array for input right"):
        run(program, chip, {"left": inputs["left"]})
    with pytest.raises(OptionError, match=r"input left is float32\[1, 40, 40\], not float16\[1, 40, 40\]"):
        run(program, chip, inputs | {"left": inputs["left"].astype(np.float32)})
    with pytest.raises(OptionError, match="made for teaching, not for Ascend910A"):
        run(program, load_chip("Ascend910A"), inputs)


def test_a_tile_that_reads_what_nobody_has_moved_spoils_the_result(chip):
    program = gemm_program(KERNEL, GemmTile(32, 32, 32), chip)
    assert np.isfinite(run(program, chip, gemm_inputs(KERNEL)).outputs["out"]).all()
    whole = Span(Affine(), least(32))

    def careless(body):
        """Takes the whole tile of K, though the last one has 8 of its 32 columns."""
        for i in body:
            if isinstance(i, Loop):
                yield replace(i, body=tuple(careless(i.body)))
            elif isinstance(i, Mmad):
                left, right = (i.left.spans[0], whole), (whole, i.right.spans[1])
                yield replace(i, left=replace(i.left, spans=left), right=replace(i.right, spans=right))
            else:
                yield i

    spoiled = run(replace(program, body=tuple(careless(program.body))), chip, gemm_inputs(KERNEL))
    assert np.isnan(spoiled.outputs["out"]).all()


def test_reading_beyond_a_buffer_is_an_error(chip):
    program = gemm_program(KERNEL, GemmTile(16, 16, 16), chip)
    inputs = gemm_inputs(KERNEL)

    def longer(body):
        for i in body:
            if isinstance(i, Loop):
                yield replace(i, extent=least(64), body=tuple(longer(i.body)))
            elif isinstance(i, Move) and i.source.buffer == "left":
                spans = (*i.source.spans[:2], replace(i.source.spans[2], length=least(16)))
                yield replace(i, source=replace(i.source, spans=spans))
            else:
                yield i

    with pytest.raises(IndexError, match="left has 40 elements, not 32 to 48"):
        run(replace(program, body=tuple(longer(program.body))), chip, inputs)


def test_steps_show_buffers_as_they_fill(chip):
    program, inputs = gemm_program(KERNEL, GemmTile(32, 32, 16), chip), gemm_inputs(KERNEL)
    seen = 0
    for step in steps(program, chip, inputs):
        if isinstance(step.instruction, Move) and step.instruction.source.buffer == "left":
            m, k = step.bindings["m"], step.bindings["k"]
            part = inputs["left"][0, m : m + 32, k : k + 16]
            np.testing.assert_array_equal(step.buffers["left_l1"][: part.shape[0], : part.shape[1]], part)
            seen += 1
        with pytest.raises(ValueError, match="read-only"):
            step.buffers["left"][...] = 0
    assert seen == 4 * 3  # blocks, tiles of K


def test_tile_by_tile_the_sums_grow(chip):
    program, inputs = gemm_program(KERNEL, GemmTile(48, 48, 16), chip), gemm_inputs(KERNEL)
    left, right = inputs["left"][0].astype(np.float32), inputs["right"][0].astype(np.float32)
    done = [
        (step.bindings["k"], step.counts.bytes_by_path["gm->l1"], step.buffers["sums"][:40, :40].copy())
        for step in steps(program, chip, inputs, tiles=True)
        if "k" in step.bindings
    ]
    assert [(k, moved) for k, moved, _ in done] == [(0, 2560), (16, 5120), (32, 6400)]
    for k, _, sums in done:
        np.testing.assert_allclose(sums, left[:, : k + 16] @ right[: k + 16], rtol=1e-5, atol=1e-5)


def test_outputs_cannot_be_written(chip):
    found = run(gemm_program(KERNEL, GemmTile(16, 16, 16), chip), chip, gemm_inputs(KERNEL))
    with pytest.raises(ValueError, match="read-only"):
        found.outputs["out"][...] = 0
    np.testing.assert_allclose(found.outputs["out"], gemm_reference(KERNEL, gemm_inputs(KERNEL)), 2e-3, 2e-3)
