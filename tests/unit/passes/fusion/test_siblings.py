"""Kernels side by side become one: the projections of an attention, those of a gated unit, two rotary embeddings."""

import pytest

from gexplorer.passes.fusion.rules.gate_up import GateUp
from gexplorer.passes.fusion.rules.qkv import Qkv
from gexplorer.passes.fusion.rules.rotary_pair import RotaryPair
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,2]
input %r : float32[2,3]
constant %a = float32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %b = float32[2,3] {2.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %c = float32[2,4] {3.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}
constant %bias = float32[4] {3.0, 2.0, 3.0, 4.0}
"""
THREE = "%q = MatMul(%x, %a) #q\n%k = MatMul(%x, %b) #k\n%v = Gemm(%x, %c, %bias) #v\noutput %q\noutput %k\noutput %v"
TWO = "%g = MatMul(%x, %a) #g\n%u = MatMul(%x, %b) #u\n%s = Sigmoid(%g) #s\n%y = Mul(%s, %u) #y\noutput %y"
MISSES = {
    "not_constant": (
        Qkv,
        THREE.replace("%b)", "%r)"),
        "r",
        "k (MatMul) reads r, which is computed at run time; a constant weight is needed",
    ),
    "count": (
        Qkv,
        THREE + "\n%z = MatMul(%x, %a) #z\noutput %z",
        "x",
        "4 kernels read x (q, k, v, z), 3 are wanted",
    ),
    "apart": (
        GateUp,
        TWO.partition("%s")[0] + "output %g\noutput %u",
        "u",
        "what g and u make does not meet soon: they are no branches of a gated unit",
    ),
}


def test_three_of_one_input():
    nodes = (
        "%q, %k, %v = QkvMatMul<ge>(%x, %a, %b, %c, %bias) {columns = [3, 3, 4]} #q\noutput %q\noutput %k\noutput %v"
    )
    check_kernels(Qkv, HEAD + THREE, nodes)


def test_two_of_one_input():
    nodes = (
        "%g, %u = GateUpMatMul<ge>(%x, %a, %b) {columns = [3, 3]} #g\n%s = Sigmoid(%g) #s\n"
        "%y = Mul(%s, %u) #y\noutput %y"
    )
    check_kernels(GateUp, HEAD + TWO, nodes)


@pytest.mark.parametrize(("code", "rule", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, rule, model, blocker, said):
    check_miss(rule, HEAD + model, code, blocker, said)


def test_a_reader_that_does_not_fit_stays_where_it_is():
    model = TWO.replace("%g = ", "%q = MatMul(%x, %r) #q\n%g = ") + "\noutput %q"
    nodes = (
        "%q = MatMul(%x, %r) #q\n%g, %u = GateUpMatMul<ge>(%x, %a, %b) {columns = [3, 3]} #g\n%s = Sigmoid(%g) #s\n"
        "%y = Mul(%s, %u) #y\noutput %y\noutput %q"
    )
    check_kernels(GateUp, HEAD + model, nodes)


def test_two_are_no_attempt_at_three():
    assert run(Qkv, HEAD + TWO).rejects == ()


def test_one_that_reads_the_value_as_its_weight_is_none():
    model = (
        "input %x : float32[2,2]\ninput %y : float32[2,2]\n%p = MatMul(%x, %y) #p\n%q = MatMul(%y, %x) #q\n"
        "output %p\noutput %q"
    )
    assert run(GateUp, model).rejects == ()


PAIR = """
input %x : float32[1,2,3,4]
input %z : float32[1,2,3,4]
input %cos : float32[3,4]
input %sin : float32[3,4]
%a, %b = Fork<ge>({0}) #fork
  body graph Fork
    input %in0 : float32[1,2,3,4]
    %v0 = Neg(%in0) #n0
    %v1 = Abs(%in0) #n1
    output %v0
    output %v1
%q = RotaryPositionEmbedding<ge>(%a, %cos, %sin) #q
  body graph R
    input %in0 : float32[1,2,3,4]
    input %in1 : float32[3,4]
    input %in2 : float32[3,4]
    %v0 = Mul(%in0, %in1) #n0
    %v1 = Mul(%v0, %in2) #n1
    output %v1
%k = RotaryPositionEmbedding<ge>({1}, %cos, %sin) #k
  body graph R
    input %in0 : float32[1,2,3,4]
    input %in1 : float32[3,4]
    input %in2 : float32[3,4]
    %v0 = Mul(%in0, %in1) #n0
    %v1 = Mul(%v0, %in2) #n1
    output %v1
output %q
output %k
"""


def test_two_rotary_embeddings_of_one_kernel():
    nodes = "%a, %b = Fork<ge>(%x) #fork\n%q, %k = ApplyRotaryPosEmb<ge>(%a, %b, %cos, %sin) #q\noutput %q\noutput %k"
    check_kernels(RotaryPair, PAIR.format("%x", "%b"), nodes)


def test_views_between_do_not_hide_the_kernel():
    model = PAIR.format("%x", "%w").replace("%q = Rot", "%w = Reshape(%b, %shape) #w\n%q = Rot")
    model = "constant %shape = int64[4] {1, 2, 3, 4}" + model
    nodes = "%a, %b = Fork<ge>(%x) #fork\n%w = Reshape(%b, %shape) #w\n"
    nodes += "%q, %k = ApplyRotaryPosEmb<ge>(%a, %w, %cos, %sin) #q\noutput %q\noutput %k"
    check_kernels(RotaryPair, model, nodes)


@pytest.mark.parametrize("second", ["%z", "%q"])
def test_rotary_embeddings_of_other_kernels_stay_apart(second):
    step = run(RotaryPair, PAIR.format("%x", second))
    assert (step.rewrites, step.rejects) == ((), ())


class Waiting(GateUp):
    """Siblings whose second operand may be computed."""

    name = "waiting"
    pattern = RotaryPair.pattern.__class__(("MatMul",), (*GateUp.pattern.inputs[:1], RotaryPair.pattern.inputs[1]))


def test_a_sibling_that_waits_for_another_is_left_alone():
    model = HEAD + "%g = MatMul(%x, %a) #g\n%t = Relu(%g) #t\n%w = Transpose(%t) #w\n%u = MatMul(%x, %m) #u\n"
    model += "%y = Add(%g, %u) #y\noutput %y"
    model = model.replace("float32[n,2]", "float32[2,2]").replace("%m)", "%t)")
    said = "u may be computed from what g makes: merged, they would wait for themselves"
    check_miss(Waiting, model.replace("%w = Transpose(%t) #w\n", ""), "waits", "u", said)


def test_siblings_whose_operands_come_from_one_place_may_merge():
    """What both are computed from, however long a way, is not looked at."""
    model = "input %x : float32[2,2]\n%r0 = Relu(%x) #r0\n"
    model += "".join(f"%r{i} = Relu(%r{i - 1}) #r{i}\n" for i in range(1, 600))
    model += "%r = Relu(%r599) #r\n%s = Neg(%r) #s\n%t = Abs(%r) #t\n%g = MatMul(%x, %s) #g\n"
    model += "%u = MatMul(%x, %t) #u\n%y = Add(%g, %u) #y\noutput %y"
    assert len(run(Waiting, model).rewrites) == 1


@pytest.mark.parametrize(
    ("model", "layers"),
    [("llama2-7b:small=true", 2), ("qwen2.5-7b:small=true", 2), ("corpus/exports/qwen8.onnx", 8)],
)
def test_every_layer_of_a_model(model, layers):
    counts = {"rotary_embedding": 2 * layers, "swiglu": layers, "matmul_bias": 0 if "llama" in model else 3 * layers}
    counts |= {"qkv": layers, "gate_up": layers, "rotary_pair": layers}
    check_count(model, counts, numbers=True)


def test_every_layer_of_bert():
    check_count("bert-base:small=true", {"matmul_bias": 12, "qkv": 2}, numbers=True)


def test_work_for_another_engine_is_left_alone():
    said = "q (MatMul) runs on the AI CPU, not on the AI Core like the rest"
    model = THREE.replace("Gemm(%x, %c, %bias)", "MatMul(%x, %c)")
    step = run(Qkv, (HEAD + model).replace("float32", "float64"))
    assert [(reject.code, reject.blocker) for reject in step.rejects] == [("engine", "q")]
    assert step.reason(step.rejects[0]).startswith(said)
