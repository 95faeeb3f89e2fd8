"""Kernels of the vector unit that take tensors apart and put them together."""

from __future__ import annotations

import pytest

from gexplorer.ir.dtypes import DType
from tests.passes import graph_of
from tests.unit.kernels.test_generate import check_node, grouped, refusal_of, text_of

CHIPS = ["teaching", "Ascend910B3", "Ascend910A"]
SINGLE = [
    "x : float32[3,4,5]; Transpose(%x) {perm = [2, 0, 1]}",
    "x : float16[30,50]; Transpose(%x)",
    "x : float32[3,40,5]; constant %s = int64[1] {8}; constant %e = int64[1] {-8}; constant %a = int64[1] {1}; "
    "Slice(%x, %s, %e, %a)",
    "x : float32[3,4,5]; y : float32[3,8,5]; Concat(%x, %y) {axis = 1}",
    "x : float32[6,1,5]; constant %s = int64[3] {6, 7, 5}; Expand(%x, %s)",
]
ROTARY = """
input %x : float16[2,7,48]
input %k : float16[2,7,16]
input %c : float16[1,1,7,8]
input %s : float16[1,1,7,8]
constant %shape = int64[4] {2, 7, -1, 8}
constant %zero = int64[1] {0}
constant %half = int64[1] {4}
constant %end = int64[1] {9223372036854775807}
constant %last = int64[1] {3}
%x4 = Reshape(%x, %shape) #x4
%xt = Transpose(%x4) {perm = [0, 2, 1, 3]} #xt
%xc = Mul(%xt, %c) #xc
%lo = Slice(%xt, %zero, %half, %last) #lo
%hi = Slice(%xt, %half, %end, %last) #hi
%nh = Neg(%hi) #nh
%rot = Concat(%nh, %lo) {axis = -1} #rot
%xs = Mul(%rot, %s) #xs
%q = Add(%xc, %xs) #q
%k4 = Reshape(%k, %shape) #k4
%kt = Transpose(%k4) {perm = [0, 2, 1, 3]} #kt
%kc = Mul(%kt, %c) #kc
%klo = Slice(%kt, %zero, %half, %last) #klo
%khi = Slice(%kt, %half, %end, %last) #khi
%knh = Neg(%khi) #knh
%krot = Concat(%knh, %klo) {axis = -1} #krot
%ks = Mul(%krot, %s) #ks
%kr = Add(%kc, %ks) #kr
output %q
output %kr
"""


def line(text):
    *parts, operator = text.split("; ")
    inputs = [part if part.startswith("constant") else f"input %{part}" for part in parts]
    return "\n".join([*inputs, f"%out = {operator} #out", "output %out"])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("text", SINGLE)
def test_moves(text, chip):
    (found,) = check_node(graph_of(line(text)), chip)
    assert dict(found.units) == {"out": "mte2"}


@pytest.mark.parametrize("chip", CHIPS)
def test_a_rotary_embedding_reads_each_half_once(chip):
    """Both heads' tensors, cut in halves: four products of halves, a difference and a sum, for two results."""
    found = check_node(grouped(ROTARY, "ApplyRotaryPosEmb"), chip)
    assert [len(part.described.kernel.inputs) for part in found] == [6, 6]
    queries = found[0]
    assert queries.described.inputs == (("x0", "x"), ("x1", "c"), ("x2", "s"))
    assert queries.bytes_by_path["ub->gm"] == DType.FLOAT16.nbytes(2 * 7 * 48)
    units = dict(queries.units)
    assert [units[name] for name in ("n0", "n1", "n2", "n3")] == ["none", "none", "vector", "none"]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_result_that_is_laid_out_anew(chip):
    text = """
input %x : float32[2,3,4,8]
input %b : float32[8]
constant %shape = int64[3] {2, 4, 24}
%a = Add(%x, %b) #a
%t = Transpose(%a) {perm = [0, 2, 1, 3]} #t
%y = Reshape(%t, %shape) #y
output %y
"""
    check_node(grouped(text, "Laid"), chip)


def test_a_gate_that_is_one_half_of_a_tensor():
    text = """
input %x : float32[5,24]
constant %parts = int64[2] {12, 12}
%g, %u = Split(%x, %parts) {axis = -1} #split
%s = Sigmoid(%g) #s
%y = Mul(%s, %u) #y
output %y
"""
    (found,) = check_node(grouped(text, "Gate"), "teaching")
    assert sum(found.bytes_by_path.values()) == 4 * 5 * (24 + 12)


REFUSED = {
    "x : float32[6,9]; constant %s = int64[2] {0, 0}; constant %e = int64[2] {3, 3}; Slice(%x, %s, %e)": "Slice",
    "x : float32[6,90]; y : float32[6,1]; Concat(%x, %y) {axis = 1}": "Concat",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_program_says_why(text):
    assert refusal_of(line(text)).startswith(f"{REFUSED[text]}: ")


def test_the_kernel_of_a_chain_stays_one_of_whole_tensors():
    (found,) = check_node(graph_of(text_of("x : float32[6,9]; y : float32[6,9]; Add(%x, %y)")), "teaching")
    assert found.described.kernel.merged.shape == (54,)
