"""A normalisation in the kernel of the linear layers that read it."""

import pytest

from gexplorer.passes.fusion.rules.norm_matmul import NormMatMul
from gexplorer.passes.fusion.rules.norm_qkv import NormQkv
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[n,2]
input %wn : float32[n,3]
constant %gamma = float32[2] {1.0, 2.0}
constant %beta = float32[2] {0.5, 1.0}
constant %w = float32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
"""
NORM = "%h = LayerNormalization(%x, %gamma, %beta) {axis = -1} #h\n"
LINEAR = "%y = MatMul(%h, %w) #y\noutput %y"
ADDED = """
input %r : float32[n,2]
%h, %s = AddLayerNorm<ge>(%x, %r, %gamma, %beta) #h
  body graph AddLayerNorm
    input %in0 : float32[n,2]
    input %in1 : float32[n,2]
    input %in2 : float32[2]
    input %in3 : float32[2]
    %v0 = Add(%in0, %in1) #n0
    %v1 = LayerNormalization(%v0, %in2, %in3) {axis = -1} #n1
    output %v1
    output %v0
output %s
"""
MISSES = {
    "turned": (
        NORM + "%y = MatMul<ge>(%h, %wn) {transpose_a = 1} #y\n  body graph MatMul\n    input %in0 : float32[n,2]\n"
        "    input %in1 : float32[n,3]\n    %v0 = Transpose(%in0) #n0\n    %v1 = MatMul(%v0, %in1) #n1\n"
        "    output %v1\n"
        "output %y",
        "y",
        "y reads its first operand transposed, so that no tile of it holds whole rows of the norm",
    ),
    "added": (
        ADDED + LINEAR,
        "h",
        "h (AddLayerNorm) has the normalisation, with the Add before it",
    ),
    "is_result": (
        "%h, %m = LayerNormalization(%x, %gamma, %beta) {axis = -1} #h\n" + LINEAR + "\noutput %m",
        "h",
        "m, which h (LayerNormalization) makes, is a result of the graph",
    ),
    "other_user": (
        NORM + LINEAR + "\n%z = Neg(%h) #z\noutput %z",
        "z",
        "h, which h makes, is also used by z (Neg)",
    ),
    "in_between": (
        NORM + "%i = Cast(%h) {to = 1} #i\n" + LINEAR.replace("%h", "%i"),
        "i",
        "i (Cast) stands between h (LayerNormalization) and y (MatMul)",
    ),
}
QKV = """
%q, %k, %v = QkvMatMul<ge>(%h, %w) {columns = [3, 3, 3]} #q
  body graph QkvMatMul
    input %in0 : float32[n,2]
    input %in1 : float32[2,3]
    %v0 = MatMul(%in0, %in1) #n0
    %v1 = Neg(%v0) #n1
    %v2 = Abs(%v0) #n2
    output %v0
    output %v1
    output %v2
output %q
output %k
output %v
"""


def test_one_linear_layer():
    nodes = '%y = NormMatMul<ge>(%x, %gamma, %beta, %w) {norm = "LayerNormalization"} #y\noutput %y'
    check_kernels(NormMatMul, HEAD + NORM + LINEAR, nodes)


def test_three_projections():
    nodes = (
        '%q, %k, %v = NormQkvMatMul<ge>(%x, %gamma, %beta, %w) {columns = [3, 3, 3], norm = "LayerNormalization"} #q\n'
        "output %q\noutput %k\noutput %v"
    )
    check_kernels(NormQkv, HEAD + NORM + QKV.strip(), nodes)


@pytest.mark.parametrize(("code", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, blocker, said):
    check_miss(NormMatMul, HEAD + model, code, blocker, said)


def test_every_layer_without_the_rule_for_add_and_norm():
    counts = {"rms_norm": 5, "matmul_bias": 6, "qkv": 2, "gate_up": 2, "norm_qkv": 2}
    counts |= {"swiglu": 2, "norm_matmul": 3}
    check_count("qwen2.5-7b:small=true", counts, numbers=True)


def test_the_rule_for_add_and_norm_comes_first():
    counts = {"rms_norm": 5, "matmul_bias": 6, "add_rms_norm": 4, "qkv": 2, "norm_qkv": 1, "norm_matmul": 0}
    check_count("qwen2.5-7b:small=true", counts, numbers=True)
