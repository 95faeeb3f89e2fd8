"""A Gemm that has its bias already has no room for another, and says so."""

from __future__ import annotations

from gexplorer.passes.fusion.rules.matmul_bias import MatMulBias
from tests.fused import check_miss

MODEL = """
input %x : float32[2,3]
constant %w = float32[3,2] 24 bytes ...
constant %b = float32[2] {1.0, 2.0}
%p = Gemm(%x, %w, %b) #p
%y = Add(%p, %b) #y
output %y
"""


def test_a_second_bias_has_no_room():
    check_miss(MatMulBias, MODEL, "inputs", "p", "p (Gemm) has 3 inputs, for which the kernel has no room")
