from __future__ import annotations

from gexplorer.cost.work import Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.text import to_text
from tests.unit.kernels.test_gemm import RELU

PRODUCT = """\
kernel MatMulBias on teaching: 4 cores, cube and vector cores apart
  gm   left       float16[1, 40, 90]       7200 bytes  input
  gm   right      float16[1, 50, 90]       9000 bytes  input
  gm   bias       float32[1, 1, 50]        200 bytes   input
  gm   out        float16[1, 40, 50]       4000 bytes  output
  l1   left_l1    float16[16, 32]     x 2  2048 bytes
  l1   right_l1   float16[32, 32]     x 2  4096 bytes
  l1   bias_l1    float32[1, 32]           128 bytes
  l0a  left_l0a   float16[16, 32]     x 2  2048 bytes
  l0b  right_l0b  float16[32, 32]     x 2  4096 bytes
  l0c  sums       float32[16, 32]     x 2  4096 bytes
  bt   bias_bt    float32[1, 32]           128 bytes
each block of (b below 1 by 1, m below 40 by 16, n below 50 by 32), 6 dealt to cores in turn:
  move   mte2     gm->l1: bias_l1[1, dn] = bias[1, 1, n :+ dn]
  move   mte1     l1->bt: bias_bt[1, dn] = bias_l1[1, dn]
  for k below 90 by 32
    move   mte2     gm->l1: left_l1[dm, dk] = left[b, m :+ dm, k :+ dk]
    move   mte2     gm->l1: right_l1[dn, dk] = right[b, n :+ dn, k :+ dk]
    move   mte1     l1->l0a: left_l0a[dm, dk] = left_l1[dm, dk]
    move   mte1     l1->l0b: right_l0b[dk, dn] = right_l1[dn, dk]  [transposed]
    mmad   cube     sums[dm, dn] = left_l0a[dm, dk] @ right_l0b[dk, dn] + (k > 0 ? itself : bias_bt[1, dn])
  move   fixpipe  l0c->gm: out[b, m :+ dm, n :+ dn] = sums[dm, dn]  [relu]
"""


def program():
    kernel = GemmKernel(Gemm(40, 50, 90), right_transposed=True, bias=DType.FLOAT32, epilogue=RELU)
    return gemm_program(kernel, GemmTile(16, 32, 32), load_chip("teaching"), "MatMulBias")


def test_a_program_can_be_read():
    assert to_text(program(), flags=False) == PRODUCT


def test_flags_stand_between_the_moves():
    lines = [line.strip() for line in to_text(program()).splitlines()]
    at = lines.index("move   mte2     gm->l1: left_l1[dm, dk] = left[b, m :+ dm, k :+ dk]")
    assert lines[at - 2 : at] == ["swap left_l1", "wait mte1 -> mte2: left_l1"]
    assert lines[at + 1] == "set mte2 -> mte1: left_l1"
    assert lines[lines.index("start:") + 1] == "set mte1 -> mte2: left_l1[0]"
