from __future__ import annotations

from dataclasses import replace

import pytest

from gexplorer.cost.work import Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, Operand
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Loop,
    Move,
    Program,
    SetFlag,
    Slice,
    VectorOp,
    WaitFlag,
    whole,
)
from tests.unit.kernels.test_gemm import gate

KERNEL = GemmKernel(
    Gemm(130, 50, 90),
    bias=DType.FLOAT16,
    epilogue=gate(),
    operands=(
        Operand("residual", (1, 130, 50), DType.FLOAT16),
        Operand("row", (1, 1, 50), DType.FLOAT32),
        Operand("column", (1, 130, 1), DType.FLOAT16),
    ),
)


def without(body, gone):
    kept = [replace(i, body=without(i.body, gone)) if isinstance(i, Loop) else i for i in body if i is not gone]
    return tuple(kept)


@pytest.mark.parametrize("chip", ["teaching", "Ascend910A"])
@pytest.mark.parametrize("double", [True, False])
def test_every_flag_is_needed(chip, double):
    """Four blocks a core or more: every buffer is used again, so no flag may be missing."""
    program = gemm_program(KERNEL, GemmTile(16, 16, 32, double=double), replace(load_chip(chip), cube_cores=4))
    assert hazards(program) == ()
    flags = [i for i in program.instructions() if isinstance(i, SetFlag | WaitFlag)]
    assert len(flags) > 30
    for flag in flags:
        cut = {part: without(getattr(program, part), flag) for part in ("start", "body", "finish")}
        found = hazards(replace(program, **cut))
        assert flag.buffer in {hazard.buffer for hazard in found}, flag


def test_a_race_says_where():
    program = gemm_program(GemmKernel(Gemm(16, 16, 64)), GemmTile(16, 16, 16), load_chip("teaching"))
    flagless = [i for i in program.instructions() if isinstance(i, SetFlag | WaitFlag)]
    for flag in flagless:
        program = replace(
            program, **{part: without(getattr(program, part), flag) for part in ("start", "body", "finish")}
        )
    found = hazards(program)
    assert {h.what for h in found} == {"race"}
    assert "mmad   cube     sums[dm, dn] = left_l0a[dm, dk] @ right_l0b[dk, dn] + (k > 0 ? itself : 0)" in {
        h.instruction for h in found
    }


def test_two_pipes_that_write_one_copy_race_though_nobody_reads_it():
    part = Slice("tile", whole(8))
    buffers = (Buffer("x", "gm", (8,), DType.FLOAT32, role="input"), Buffer("tile", "ub", (8,), DType.FLOAT32))
    body = (Move(Slice("x", whole(8)), part), VectorOp("copy", part, (0.0,)))
    program = Program("Two", "teaching", True, 1, buffers, (Axis("i", 1, 1),), (), body, ())
    assert [(h.buffer, h.what) for h in hazards(program)] == [("tile", "race")]


def test_flags_that_do_not_pair_are_told():
    up, down = SetFlag("mte2", "vector", "tile"), WaitFlag("mte2", "vector", "tile")
    buffers = (Buffer("tile", "ub", (8,), DType.FLOAT32),)

    def found(*body):
        return [h.what for h in hazards(Program("P", "teaching", True, 1, buffers, (Axis("i", 1, 1),), (), body, ()))]

    assert found(up, down) == []
    assert found(down) == ["never_set"]
    assert found(up) == ["left_up"]
    assert found(up, up, down) == ["set_twice"]
