from __future__ import annotations

import numpy as np
import pytest

from gexplorer.cost.work import Attention, Gemm
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.attention_kernel import AttentionKernel, Mask
from gexplorer.kernels.count import count
from gexplorer.kernels.describe import describe
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.generate import generate, program_of
from gexplorer.kernels.generated import run_all
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.tiling import Searches
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.rules.elementwise_chain import ElementwiseChain
from gexplorer.passes.fusion.rules.flash_attention import FlashAttention
from gexplorer.passes.fusion.rules.matmul_activation import MatMulActivation
from gexplorer.passes.fusion.rules.matmul_bias import MatMulBias
from gexplorer.passes.fusion.rules.matmul_residual import MatMulResidual
from gexplorer.passes.fusion.rules.softmax import Softmax
from gexplorer.validation.run import run as run_reference
from tests.passes import graph_of
from tests.passes import run as run_pass

RULES = {
    "matmul_bias": MatMulBias,
    "matmul_activation": MatMulActivation,
    "matmul_residual": MatMulResidual,
    "elementwise_chain": ElementwiseChain,
    "softmax": Softmax,
    "flash_attention": FlashAttention,
}
TOLERANCE = {"float32": 1e-5, "float16": 2e-3}


def values_of(graph, seed=0, evaluator="reference"):
    """Random inputs, and every value that an evaluator makes of them."""
    random = np.random.default_rng(seed)
    given = {
        name: (
            random.normal(size=graph.tensor(name).shape) * (40 if graph.tensor(name).dtype.is_integer else 1)
        ).astype(graph.tensor(name).dtype.numpy())
        for name in graph.inputs
    }
    results = run_reference(graph, given, evaluator)
    constants = {v.name: v.constant.array() for v in graph.constants}
    return given | constants | dict(zip(graph.outputs, results, strict=True))


def check_node(graph, chip, evaluator="reference"):
    """The one node of a graph becomes a program that gives what the evaluator gives."""
    (node,) = graph.order
    found = generate(graph, node, Searches(load_chip(chip)))
    assert not isinstance(found, Refusal), found
    values = values_of(graph, evaluator=evaluator)
    made = run_all(found, values)
    for part in found:
        assert hazards(part.program) == ()
        assert count(part.program).bytes_by_path == part.bytes_by_path
    for name in filter(None, node.outputs):
        wanted, close = values[name], TOLERANCE.get(values[name].dtype.name, 0)
        got = made[name].reshape(wanted.shape).astype(np.float64)
        np.testing.assert_allclose(got, wanted.astype(np.float64), rtol=close, atol=close)
    return found


def refusal_of(text, **options):
    graph = graph_of(text, **options)
    found = generate(graph, graph.order[-1], Searches(load_chip("teaching")))
    assert isinstance(found, Refusal)
    return str(found)


def text_of(line):
    """``x : float32[4]; y : float32[4]; Add(%x, %y)`` in full."""
    *inputs, operator = line.split("; ")
    return "\n".join([*(f"input %{text}" for text in inputs), f"%out = {operator} #out", "output %out"])


SINGLE = [
    "x : float32[30,40]; w : float32[40,50]; MatMul(%x, %w)",
    "x : float32[2,3,30,40]; w : float32[40,50]; MatMul(%x, %w)",
    "x : float16[2,3,30,40]; w : float16[2,3,40,50]; MatMul(%x, %w)",
    "x : float32[30,40]; w : float32[3,40,50]; MatMul(%x, %w)",
    "x : float32[40,30]; w : float32[50,40]; b : float32[50]; Gemm(%x, %w, %b) {transA = 1, transB = 1}",
    "x : float32[30,40]; w : float32[40,50]; b : float32[30,1]; Gemm(%x, %w, %b)",
    "x : float32[30,40]; w : float32[40,50]; Gemm(%x, %w)",
    "x : float32[30,40]; y : float32[2,1,40]; Add(%x, %y)",
    "x : float32[2,30,40]; y : float32[2,30,1]; z : float32[1]; Sum(%x, %y, %z)",
    "x : float16[7,11,13]; Sigmoid(%x)",
    "x : float32[7,300]; Softmax(%x)",
    "x : float32[2,7,300]; ReduceMean(%x) {axes = [-1]}",
    "x : float32[2,7,300]; ReduceMax(%x) {axes = [2], keepdims = 0}",
    "x : float32[2,7,5,8]; ReduceMean(%x) {axes = [-1, -2]}",
    "x : float32[2,7,5,8]; ReduceMax(%x) {axes = [2, 3], keepdims = 0}",
    "x : float16[5,64]; s : float16[64]; b : float16[64]; LayerNormalization(%x, %s, %b)",
]


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
def test_integers_are_summed_exactly_and_scaled_on_the_way_out(chip):
    text = """
input %x : int8[30,70]
input %w : int8[70,50]
input %s : float32[50]
constant %z = int8[] {0}
%p = MatMulInteger(%x, %w, %z, %z) #p
%c = Cast(%p) {to = 1} #c
%y = Mul(%c, %s) #y
output %y
"""
    (found,) = check_node(grouped(text, "Quantised"), chip)
    assert found.described.kernel.work == Gemm(30, 50, 70, DType.INT8, DType.FLOAT32)
    (alone,) = check_node(graph_of(text_of("x : int8[2,30,70]; w : int8[2,70,50]; MatMulInteger(%x, %w)")), chip)
    assert alone.described.kernel.out_dtype == DType.INT32


@pytest.mark.parametrize("chip", ["teaching", "Ascend910A"])
@pytest.mark.parametrize("line", SINGLE)
def test_single_operators(line, chip):
    check_node(graph_of(text_of(line)), chip)


FLATTENED = {  # axes that they go along; before opset 13 all from theirs on, which by default is the second
    "x : float32[2,3,4]; Softmax(%x)": (12, 9),
    "x : float32[2,3,4,5]; LogSoftmax(%x) {axis = 2}": (20, 12),
    "x : float32[3,8]; LogSoftmax(%x)": (8, 12),
    "x : float32[3,8,2]; Softmax(%x) {axis = -1}": (2, 12),
    "x : float32[2,3,4]; LogSoftmax(%x)": (4, 13),
}


@pytest.mark.parametrize("line", FLATTENED)
def test_a_softmax_goes_along_the_axes_of_its_opset(line):
    width, opset = FLATTENED[line]
    graph = graph_of(text_of(line), opset=opset)
    (found,) = check_node(graph, "teaching", "onnxruntime")  # the reference takes each for the newest opset's
    assert found.described.kernel.shape[-1] == width


FUSED = {
    "matmul_bias": """
input %x : float16[2,30,40]
input %w : float16[40,50]
input %b : float16[50]
%p = MatMul(%x, %w) #p
%y = Add(%p, %b) #y
output %y
""",
    "matmul_activation": """
input %x : float32[30,40]
input %w : float32[40,50]
%p = MatMul(%x, %w) #p
%s = Sigmoid(%p) #s
%y = Mul(%s, %p) #y
output %y
""",
    "matmul_residual": """
input %x : float32[2,30,40]
input %w : float32[40,50]
input %r : float32[2,30,50]
%p = MatMul(%x, %w) #p
%y = Add(%r, %p) #y
output %y
""",
    "elementwise_chain": """
input %x : float32[6,50]
input %r : float32[6,50]
constant %c = float32[] {0.5}
%a = Mul(%x, %c) #a
%b = Tanh(%a) #b
%c1 = Add(%b, %r) #c1
%y = Exp(%c1) #y
output %y
""",
    "softmax": """
input %x : float32[6,50]
%m = ReduceMax(%x) {axes = [-1]} #m
%d = Sub(%x, %m) #d
%e = Exp(%d) #e
%s = ReduceSum(%e) {axes = [-1]} #s
%y = Div(%e, %s) #y
output %y
""",
    "flash_attention": """
input %q : float32[2,3,20,16]
input %k : float32[2,3,30,16]
input %v : float32[2,3,30,16]
input %mask : float32[1,1,20,30]
constant %c = float32[] {0.25}
%kt = Transpose(%k) {perm = [0, 1, 3, 2]} #kt
%s = MatMul(%q, %kt) #s
%t = Mul(%s, %c) #t
%u = Add(%t, %mask) #u
%p = Softmax(%u) #p
%y = MatMul(%p, %v) #y
output %y
""",
    "flash_attention of heads that share keys": """
input %q : float32[2,20,96]
input %k : float32[2,30,32]
input %v : float32[2,30,32]
constant %c = float32[] {4.0}
constant %qs = int64[4] {2, 20, 6, 16}
constant %ks = int64[4] {2, 30, 2, 16}
constant %es = int64[5] {2, 2, 3, 30, 16}
constant %fs = int64[4] {2, 6, 30, 16}
constant %os = int64[3] {2, 20, 96}
constant %ax = int64[1] {2}
%q4 = Reshape(%q, %qs) #q4
%qt = Transpose(%q4) {perm = [0, 2, 1, 3]} #qt
%k4 = Reshape(%k, %ks) #k4
%kt = Transpose(%k4) {perm = [0, 2, 1, 3]} #kt
%k5 = Unsqueeze(%kt, %ax) #k5
%ke = Expand(%k5, %es) #ke
%kf = Reshape(%ke, %fs) #kf
%kT = Transpose(%kf) {perm = [0, 1, 3, 2]} #kT
%v4 = Reshape(%v, %ks) #v4
%vt = Transpose(%v4) {perm = [0, 2, 1, 3]} #vt
%v5 = Unsqueeze(%vt, %ax) #v5
%ve = Expand(%v5, %es) #ve
%vf = Reshape(%ve, %fs) #vf
%s = MatMul(%qt, %kT) #s
%t = Div(%s, %c) #t
%p = Softmax(%t) #p
%y = MatMul(%p, %vf) #y
%yt = Transpose(%y) {perm = [0, 2, 1, 3]} #yt
%yr = Reshape(%yt, %os) #yr
output %yr
""",
}


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
@pytest.mark.parametrize("rule", FUSED)
def test_fused_kernels(rule, chip):
    """What the rule makes of the operators gives what the reference evaluator gives for them."""
    step = run_pass(RULES[rule.split()[0]], FUSED[rule], opset=11 if rule == "softmax" else 17)
    found = check_node(step.after, chip)
    assert [part.program.name for part in found] == [step.after.order[-1].op]


def test_who_does_what_in_a_kernel():
    def kernel(line):
        graph = graph_of(text_of(line))
        return describe(graph, graph.order[-1])[0].kernel

    assert kernel(SINGLE[1]) == GemmKernel(Gemm(180, 50, 40, DType.FLOAT32, DType.FLOAT32))
    batched = kernel(SINGLE[3])
    assert (batched.work.batch, batched.left_shared, batched.right_shared) == (3, True, False)
    linear = kernel(SINGLE[4])
    assert (linear.left_transposed, linear.right_transposed, linear.bias) == (True, True, DType.FLOAT32)
    assert linear.epilogue is None


def test_a_bias_is_taken_out_of_an_epilogue_and_what_is_no_bias_is_not():
    biased, residual = (
        check_node(run_pass(RULES[name], FUSED[name]).after, "teaching")[0].described.kernel
        for name in ("matmul_bias", "matmul_residual")
    )
    assert (biased.bias, biased.epilogue, biased.operands) == (DType.FLOAT16, None, ())
    assert residual.bias is None
    assert [operand.shape for operand in residual.operands] == [(1, 60, 50)]


def test_attention_is_read_off_its_body():
    graph = run_pass(FlashAttention, FUSED["flash_attention"]).after
    kernel = describe(graph, graph.order[-1])[0].kernel
    work = Attention(6, 20, 30, 16, 16, DType.FLOAT32, kv_heads=6)
    heads = ("h0", "h1", "rows", "columns")
    mask = Mask(("rows", "columns"))
    assert kernel == AttentionKernel(work, (2, 3), heads, heads, heads, heads, scale=0.25, mask=mask)


REFUSED = {
    "x : float32[1,3,8,8]; MaxPool(%x) {kernel_shape = [2, 2]}": "MaxPool: no vector instructions are known for it",
    "x : float32[n,40]; w : float32[40,50]; MatMul(%x, %w)": "MatMul: the shape of x is not known",
    "x : float32[40]; w : float32[40,50]; MatMul(%x, %w)": "MatMul: one side is a vector or of unknown shape",
    "x : int32[4,40]; w : int32[40,50]; MatMul(%x, %w)": "MatMul: its matrices are int32",
    "x : float32[2,1,4,8]; w : float32[1,3,8,4]; MatMul(%x, %w)": (
        "MatMul: batches [2, 1] and [1, 3] are repeated against each other"
    ),
    "x : float32[4,8]; w : float32[8,4]; Gemm(%x, %w) {alpha = 0.5}": "Gemm: alpha or beta is not 1",
    "x : int32[4]; Neg(%x)": "Neg: x is int32; formulas are computed in float32",
    "x : uint8[4,40]; w : int8[40,5]; MatMulInteger(%x, %w)": "MatMulInteger: its matrices are int8 and uint8",
    "x : int8[4,40]; w : int8[40,5]; z : int8[1]; MatMulInteger(%x, %w, %z)": (
        "MatMulInteger: its zero points are not 0"
    ),
    "x : float32[4,9]; Softmax(%x) {axis = 0}": "Softmax: goes along axes [0] of 2, rows lie along the last",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_program_says_why(line):
    assert refusal_of(text_of(line)) == REFUSED[line]


def test_a_tile_of_another_kind_is_an_error():
    graph = graph_of(text_of(SINGLE[0]))
    kernel = describe(graph, graph.order[0])[0].kernel
    with pytest.raises(OptionError, match=r"MatMul: \(16,\) is no tile of such a kernel"):
        program_of(kernel, (16,), load_chip("teaching"), "MatMul")


def test_rows_of_several_axes():
    """All tensors lie along all of these axes, or along none."""
    text = """
input %x : float32[2,7,5,8]
input %b : float32[SHAPE]
%m = ReduceMean(%x) {axes = [-1, -2]} #m
%d = Sub(%x, %m) #d
%y = Mul(%d, %b) #y
output %y
"""
    for shape in ("5,8", "2,1,5,8", "1", "7,1,1"):
        check_node(grouped(text.replace("SHAPE", shape), "Centred"), "teaching")
    for shape in ("8", "5,1"):
        graph = grouped(text.replace("SHAPE", shape), "Centred")
        refusal = describe(graph, graph.order[0])
        assert str(refusal) == "Centred: a tensor is repeated along some of the axes that are reduced"


@pytest.mark.parametrize("exponent", [2.0, 0.5, 3.0])
def test_powers_of_a_constant(exponent):
    head = f"input %x : float32[4,9]\nconstant %e = float32[] {{{exponent}}}\n"
    graph = run_pass(ElementwiseChain, head + "%a = Abs(%x) #a\n%y = Pow(%a, %e) #y\noutput %y").after
    check_node(graph, "teaching")


def grouped(text, op):
    """All nodes of a graph as one kernel."""
    draft = Draft(graph_of(text))
    nodes = [draft.node(node.name) for node in graph_of(text).order]
    group(draft, nodes, op, anchor=nodes[0])
    return draft.finish()


def test_products_side_by_side_are_one_program_each():
    text = """
input %x : float32[5,8]
input %a : float32[8,8]
input %b : float32[8,16]
input %d : float32[8]
%p = MatMul(%x, %a) #p
%q = Add(%p, %d) #q
%k = MatMul(%x, %b) #k
output %q
output %k
"""
    found = check_node(grouped(text, "Two"), "teaching")
    assert [part.described.outputs for part in found] == [(("out", "q"),), (("out", "k"),)]
    assert [(part.described.kernel.bias, part.described.kernel.work.n) for part in found] == [
        (DType.FLOAT32, 8),
        (None, 16),
    ]


def test_products_that_feed_each_other_hand_on_through_memory():
    text = "input %x : float32[4,8]\ninput %w : float32[8,8]\n%p = MatMul(%x, %w) #p\n%y = MatMul(%p, %w) #y\noutput %y"
    first, second = check_node(grouped(text, "Two"), "teaching")
    assert first.described.outputs[0][1] == second.described.inputs[0][1] == "Two/v0"
    first, second = check_node(grouped(text + "\noutput %p", "Two"), "teaching")
    assert first.described.outputs[0][1] == second.described.inputs[0][1] == "p"


def test_rows_are_normalised_before_they_are_multiplied():
    """What a product of one program takes along element by element is in it: a bias and relu, not what needs rows."""
    text = """
input %x : float32[5,40]
input %s : float32[40]
input %w : float32[40,24]
input %b : float32[24]
input %v : float32[24,8]
%n = LayerNormalization(%x, %s) #n
%p = MatMul(%n, %w) #p
%q = Add(%p, %b) #q
%r = Relu(%q) #r
%o = Softmax(%r) #o
%y = MatMul(%o, %v) #y
output %y
"""
    for chip in ("teaching", "Ascend910B3", "Ascend910A"):
        found = check_node(grouped(text, "Long"), chip)
        assert [part.kind for part in found] == ["vector", "product", "vector", "product"]
    assert found[1].described.kernel.bias == DType.FLOAT32
    assert [name for part in found for name, _ in part.units] == [f"n{i}" for i in range(6)]


def test_products_that_share_a_transpose_are_one_program_each():
    text = """
input %x : float32[8,5]
input %a : float32[8,8]
input %b : float32[8,16]
%t = Transpose(%x) {perm = [1, 0]} #t
%q = MatMul(%t, %a) #q
%k = MatMul(%t, %b) #k
output %q
output %k
"""
    assert len(check_node(grouped(text, "Two"), "teaching")) == 2


def test_products_of_one_activation_share_it():
    """It is computed once, not by each of their programs."""
    text = """
input %x : float32[5,8]
input %a : float32[8,8]
%t = Relu(%x) #t
%q = MatMul(%t, %a) #q
%k = MatMul(%t, %a) #k
output %q
output %k
"""
    assert [part.kind for part in check_node(grouped(text, "Two"), "teaching")] == ["vector", "product", "product"]


def test_an_operand_repeated_along_some_rows_is_refused():
    text = """
input %x : float32[2,30,40]
input %w : float32[40,50]
input %r : float32[2,1,50]
%p = MatMul(%x, %w) #p
%y = Add(%p, %r) #y
output %y
"""
    graph = grouped(text, "One")
    assert str(describe(graph, graph.order[0])) == "One: r is repeated along some of the product's rows"


def test_heads_that_share_keys_are_counted():
    graph = run_pass(FlashAttention, FUSED["flash_attention of heads that share keys"]).after
    (found,) = describe(graph, graph.order[-1])
    assert found.kernel.work == Attention(12, 20, 30, 16, 16, DType.FLOAT32, kv_heads=4)
    assert found.kernel.heads == (2, 2, 3)
    assert found.kernel.q == ("h0", "rows", "h1", "h2", "columns")
    assert found.kernel.k == found.kernel.v == ("h0", "rows", "h1", "columns")
