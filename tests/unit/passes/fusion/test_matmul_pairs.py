"""What becomes of one MatMul behind another, of a transposed weight, and of the activations between."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gexplorer as gx
from gexplorer.passes.fusion.rules.consecutive_matmul import ConsecutiveMatMul
from gexplorer.passes.fusion.rules.ffn import Ffn
from gexplorer.passes.fusion.rules.linear_silu import LinearSilu
from gexplorer.passes.fusion.rules.matmul_transpose import MatMulTranspose
from gexplorer.passes.fusion.rules.mega_kernel import MegaKernel
from gexplorer.passes.manager import all_passes
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,2]
constant %a = float32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %b = float32[3,2] {2.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %bias = float32[3] {2.0, 2.0, 3.0}
"""


class TestConsecutive:
    def test_small_weights(self):
        said = (
            "p and y stay two kernels, though 16 rows of what is between and both weights fit L1 (240 of"
            " 524288 bytes): no"
            " kernel multiplies twice"
        )
        model = HEAD + "%p = MatMul(%x, %a) #p\n%y = MatMul(%p, %b) #y\noutput %y"
        check_miss(ConsecutiveMatMul, model, "fits", "p", said)
        (reject,) = run(ConsecutiveMatMul, model).rejects
        assert run(ConsecutiveMatMul, model).hint(reject) == (
            "multiply a by b beforehand: nothing stands between the two products"
        )

    def test_large_weights(self):
        weight = numpy_helper.from_array(np.zeros((512, 512), np.float16), "a")
        other = numpy_helper.from_array(np.zeros((512, 512), np.float16), "b")
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], "p"), helper.make_node("MatMul", ["p", "b"], ["y"], "y")]
        x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT16, ["n", 512]) for name in "xy")
        model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight, other]))
        step = gx.compile(model, fusion={"consecutive_matmul": True}).steps["consecutive_matmul"]
        assert [(r.code, step.reason(r)) for r in step.rejects] == [
            (
                "does_not_fit",
                "p and y stay two kernels: 16 rows of what is between (16384 bytes), a (524288 bytes) and b"
                " (524288 bytes)"
                " are 1064960 bytes, 540672 more than the 524288 of L1",
            )
        ]

    def test_unknown_width(self):
        model = HEAD.replace("float32[n,2]", "float32[*]") + "%p = MatMul(%x, %a) #p\n%y = MatMul(%p, %b) #y\noutput %y"
        said = "p and y stay two kernels: the size of p is not known"
        check_miss(ConsecutiveMatMul, model, "unknown", "p", said)

    @pytest.mark.parametrize("between", ["%q = Relu(%p) #q", "%q = Transpose(%p) {perm = [1, 0]} #q"])
    def test_what_has_something_between_is_no_pair(self, between):
        model = HEAD.replace("[n,2]", "[3,2]") + f"%p = MatMul(%x, %a) #p\n{between}\n%y = MatMul(%q, %b) #y\noutput %y"
        assert run(ConsecutiveMatMul, model).rejects == ()


class TestTranspose:
    def test_weight(self):
        model = (
            "input %x : float32[n,2]\ninput %w : float32[3,2]\n%t = Transpose(%w) {0} #t\n"
            "%y = MatMul(%x, %t) #y\noutput %y"
        )
        nodes = "%y = MatMul<ge>(%x, %w) {transpose_b = 1} #y\noutput %y"
        for perm in ("{perm = [1, 0]}", ""):
            check_kernels(MatMulTranspose, model.replace("{0}", perm), nodes)

    def test_batch(self):
        model = "input %x : float32[2,n,2]\ninput %w : float32[2,3,2]\n%t = Transpose(%w) {perm = [0, 2, 1]} #t\n"
        nodes = "%y = MatMul<ge>(%x, %w) {transpose_b = 1} #y\noutput %y"
        check_kernels(MatMulTranspose, model + "%y = MatMul(%x, %t) #y\noutput %y", nodes)

    def test_all_axes_reversed(self):
        model = (
            "input %x : float32[2,n,3]\ninput %w : float32[2,3,2]\n%t = Transpose(%w) #t\n"
            "%y = MatMul(%x, %t) #y\noutput %y"
        )
        said = "t reverses all axes of w, not just the last two"
        check_miss(MatMulTranspose, model, "permutation", "t", said)

    def test_heads_are_no_weight(self):
        model = (
            "input %x : float32[1,2,n,3]\ninput %w : float32[1,n,2,3]\n%t = Transpose(%w) {perm = [0, 2, 3, 1]} #t\n"
        )
        assert run(MatMulTranspose, model + "%y = MatMul(%x, %t) #y\noutput %y").rejects == ()

    def test_weights_that_are_not_there(self):
        check_count("qwen2.5-7b:layers=1", {"matmul_transpose": 8})


class TestSilu:
    @pytest.mark.parametrize("linear", ["MatMul(%x, %a)", "Gemm(%x, %a, %bias)"])
    def test_linear_layer(self, linear):
        op = linear.partition("(")[0]
        inputs = linear.partition("(")[2]
        nodes = f'%y = FusedLinearSiLU<ge>({inputs} {{cube = "{op}", epilogue = ["Sigmoid", "Mul"]}} #y\noutput %y'
        check_kernels(
            LinearSilu, HEAD + f"%p = {linear} #p\n%s = Sigmoid(%p) #s\n%y = Mul(%p, %s) #y\noutput %y", nodes
        )

    def test_a_gate_is_none(self):
        model = (
            HEAD + "%p = MatMul(%x, %a) #p\n%q = MatMul(%x, %a) #q\n%s = Sigmoid(%q) #s\n%y = Mul(%p, %s) #y\noutput %y"
        )
        said = "y multiplies a product with the sigmoid of another product: a gate, not a SiLU"
        check_miss(LinearSilu, model, "other_gate", "y", said)

    def test_behind_the_activation_s_own_rule(self):
        """The gates are left: SwiGLU is off here."""
        check_count("llama2-7b:small=true", {"swish": 2, "linear_silu": 2}, numbers=True)


class TestFfn:
    def test_two_layers(self):
        model = HEAD + "%p = Gemm(%x, %a, %bias) #p\n%r = Relu(%p) #r\n%y = MatMul(%r, %b) #y\noutput %y"
        check_kernels(Ffn, model, "%y = FFN<ge>(%x, %a, %bias, %b) #y\noutput %y")

    def test_a_weight_that_is_computed(self):
        model = (
            HEAD
            + "input %w : float32[3,2]\n%p = MatMul(%x, %a) #p\n%r = Relu(%p) #r\n%y = MatMul(%r, %w) #y\noutput %y"
        )
        said = "y (MatMul) reads w, which is computed at run time; a constant weight is needed"
        check_miss(Ffn, model, "not_constant", "w", said)

    def test_an_activation_that_something_else_reads(self):
        model = HEAD + "%p = MatMul(%x, %a) #p\n%r = Relu(%p) #r\n%y = MatMul(%r, %b) #y\noutput %y\noutput %r"
        check_miss(Ffn, model, "is_result", "r", "r, which r (Relu) makes, is a result of the graph")

    @pytest.mark.parametrize(
        ("model", "counts"),
        [
            ("bert-base:small=true", {"matmul_bias": 12, "ffn": 2}),
            ("llama2-7b:small=true", {"swiglu": 2, "gate_up": 2, "ffn": 2}),
            ("llama2-7b:small=true", {"swiglu": 2, "ffn": 2}),
        ],
    )
    def test_every_layer_of_a_model(self, model, counts):
        check_count(model, counts, numbers=True)


LAYER = [
    "rms_norm",
    "matmul_bias",
    "rotary_embedding",
    "swiglu",
    "flash_attention",
    "add_rms_norm",
    "qkv",
    "gate_up",
    "norm_qkv",
    "rotary_pair",
]


def test_over_fusing_kernels_are_off():
    assert {p.name for p in all_passes() if p.name in ("ffn", "mega_kernel") and p.default} == set()


def test_a_whole_layer_is_one_kernel_where_that_is_asked_for():
    counts = dict(zip(LAYER, (5, 0, 4, 2, 2, 4, 2, 2, 1, 2), strict=True))
    check_count("llama2-7b:small=true", {**counts, "mega_kernel": 2}, numbers=True)


def test_a_whole_layer_without_any_other_rule():
    check_count("bert-base:small=true", {"flash_attention": 2, "mega_kernel": 2}, numbers=True)


@pytest.mark.parametrize(
    ("code", "spec", "said"),
    [
        ("no_norm", "simple-attention:small=true", "there is no normalisation before {0} where its layer could begin"),
        (
            "routed",
            "mixtral-8x7b:small=true",
            "{0} (TopK) behind {1} routes tokens by their content: how much follows is not known",
        ),
    ],
)
def test_why_no_whole_layer(code, spec, said):
    names = [*LAYER, "mega_kernel"]
    step = gx.compile(spec, fusion={"ALL": False, **dict.fromkeys(names, True)}).steps["mega_kernel"]
    assert step.rewrites == ()
    reject = step.rejects[0]
    assert (reject.code, step.reason(reject)) == (code, said.format(reject.blocker, reject.node))


def test_an_attention_that_ends_the_network():
    model = """
    input %x : float32[1,n,4]
    constant %g = float32[4] {1.0, 2.0, 3.0, 4.0}
    %h = LayerNormalization(%x, %g) {axis = -1} #h
    %y = FlashAttentionScore<ge>(%h, %h, %h) #y
      body graph FlashAttentionScore
        input %in0 : float32[1,n,4]
        input %in1 : float32[1,n,4]
        input %in2 : float32[1,n,4]
        %v0 = Add(%in0, %in1) #n0
        %v1 = Add(%v0, %in2) #n1
        output %v1
    output %y
    """
    said = "there is no feed-forward block behind y with which its layer could end"
    check_miss(MegaKernel, model, "no_end", "y", said)
