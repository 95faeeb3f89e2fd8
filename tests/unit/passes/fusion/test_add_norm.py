"""Residual additions and the norm behind them: the sum is the kernel's second output where it is used again."""

import pytest

from gexplorer.passes.fusion.rules.add_layer_norm import AddLayerNorm
from gexplorer.passes.fusion.rules.add_rms_norm import AddRmsNorm
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[2,n,4]
input %r : float32[2,n,4]
constant %gamma = float32[4] {1.0, 2.0, 3.0, 4.0}
constant %beta = float32[4] {4.0, 3.0, 2.0, 1.0}
constant %ids = int64[2,3] {0, 1, 2, 2, 1, 0}
constant %table = float32[3,4] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}
%a = Add(%x, %r) #a
"""
NORM = "%y = LayerNormalization(%a, %gamma, %beta) #y\n"
KERNEL = "AddLayerNorm<ge>(%x, %r, %gamma, %beta) #y"


def test_a_sum_that_is_used_by_the_norm_alone():
    check_kernels(AddLayerNorm, HEAD + NORM + "output %y", f"%y = {KERNEL}\noutput %y")


def test_a_sum_that_is_used_again_is_the_second_output():
    check_kernels(
        AddLayerNorm,
        HEAD + "%n = Neg(%a) #n\n" + NORM + "%b = Add(%a, %y) #b\noutput %b\noutput %n",
        f"%y, %a = {KERNEL}\n%n = Neg(%a) #n\n%b = Add(%a, %y) #b\noutput %b\noutput %n",
    )


def test_a_sum_that_is_a_result():
    check_kernels(AddLayerNorm, HEAD + NORM + "output %a\noutput %y", f"%y, %a = {KERNEL}\noutput %a\noutput %y")


def test_a_sum_that_a_branch_uses():
    inner = "%z = If(%c) #z\n  else_branch = graph e\n    %f = Neg(%a) #f\n    output %f\n"
    inner += "  then_branch = graph t\n    %g = Abs(%a) #g\n    output %g\n"
    step = run(AddLayerNorm, "input %c : bool[]" + HEAD + NORM + inner + "output %z\noutput %y")
    assert step.after.nodes["y"].outputs == ("y", "a")


def test_a_scale_that_is_computed_from_something_else():
    model = HEAD.replace("constant %gamma = float32[4] {1.0, 2.0, 3.0, 4.0}", "input %g : float32[4]")
    model += "%gamma = Exp(%g) #g\n" + NORM + "%b = Add(%a, %y) #b\noutput %b"
    after = f"%gamma = Exp(%g) #g\n%y, %a = {KERNEL}\n%b = Add(%a, %y) #b\noutput %b"
    check_kernels(AddLayerNorm, model, after)


def test_rms_norms_of_onnx():
    norm = "%y = RMSNormalization(%a, %gamma) #y\noutput %y\noutput %a"
    check_kernels(AddRmsNorm, HEAD + norm, "%y, %a = AddRmsNorm<ge>(%x, %r, %gamma) #y\noutput %y\noutput %a", opset=23)


SQUARE = "constant %square = float32[4,4] {" + ", ".join(["1.0"] * 16) + "}\n"
LOOKED_UP = "%u = Gather(%table, %ids) #u\n%v = Gather(%table, %ids) #v\n%a = Add(%u, %v) #a\n"
MISSES = {
    "widened": (
        HEAD.replace("r : float32[2,n,4]", "r : float32[4]") + NORM + "output %y",
        ("r", "r is float32[4] and is widened to float32[2,n,4], so it is no residual connection"),
    ),
    "embedding": (
        HEAD.replace("%a = Add(%x, %r) #a\n", LOOKED_UP) + NORM + "output %y",
        ("a", "a adds what was looked up in tables of embeddings, so it is no residual connection"),
    ),
    "axes": (
        HEAD.replace("n,4", "4,4") + SQUARE + "%y = LayerNormalization(%a, %square) {axis = 1} #y\noutput %y",
        ("y", "y normalises from axis 1 on, and AddLayerNorm the last one only"),
    ),
    "comes_back": (
        HEAD.replace("constant %gamma", "constant %one")
        + "%m = ReduceMax(%a) {axes = [0, 1, 2], keepdims = 0} #m\n%gamma = Add(%m, %one) #g\n" + NORM + "output %y",
        ("gamma", "a, which a makes, is used outside too, and gamma may come of it: it would wait for itself"),
    ),
    "in_between": (
        HEAD + "%i = Identity(%a) #i\n" + NORM.replace("%a", "%i") + "output %y",
        ("i", "i (Identity) stands between a (Add) and y (LayerNormalization)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(AddLayerNorm, model, code, *said)


def test_the_first_residual_of_a_decoder_is_an_embedding_and_fuses():
    model = HEAD.replace("%a = Add(%x, %r) #a\n", "%u = Gather(%table, %ids) #u\n%a = Add(%u, %w) #a\n")
    after = "%u = Gather(%table, %ids) #u\n" + f"%y = {KERNEL}\noutput %y".replace("%x, %r", "%u, %w")
    check_kernels(AddLayerNorm, "input %w : float32[2,3,4]" + model + NORM + "output %y", after)


def test_rms_norms_of_onnxruntime():
    norm = "%y = SimplifiedLayerNormalization<com.microsoft>(%a, %gamma) #y\noutput %y\noutput %a"
    after = "%y, %a = AddRmsNorm<ge>(%x, %r, %gamma) #y\noutput %y\noutput %a"
    check_kernels(AddRmsNorm, HEAD + norm, after, opset="17, com.microsoft=1")


LAYERS = [
    ("bert-base:small=true", {"add_layer_norm": 4}, True, {}),
    ("bert-base", {"add_layer_norm": 24}, False, {}),
    ("corpus/exports/bert.onnx", {"add_layer_norm": 24}, True, {}),
    ("llama2-7b:small=true", {"rms_norm": 5, "add_rms_norm": 4}, True, {}),
    ("mixtral-8x7b:small=true", {"rms_norm": 5, "add_rms_norm": 4}, True, {}),
    ("qwen2.5-7b:small=true,mode=decode", {"rms_norm": 5, "add_rms_norm": 4}, True, {}),
    ("qwen2.5-7b", {"rms_norm": 57, "add_rms_norm": 56}, False, {}),
    ("corpus/exports/qwen8.onnx", {"rms_norm": 17, "add_rms_norm": 16}, True, {"shapes": {"input_ids": (1, "s")}}),
    # Its export took the batch for 1 inside and left it open outside: half of the additions widen.
    ("corpus/exports/qwen8.onnx", {"rms_norm": 17, "add_rms_norm": 8}, True, {}),
    ("data/ort_fusion/fusion/skip_layer_norm_format3.onnx", {"layer_norm": 1, "add_layer_norm": 1}, True, {}),
    ("data/ort_fusion/fusion/skip_layer_norm_format1_with_cast.onnx", {"layer_norm": 1, "add_layer_norm": 1}, True, {}),
    (
        "data/ort_fusion/fusion/skip_layer_norm_format2_graph_output.onnx",
        {"layer_norm": 1, "add_layer_norm": 1},
        True,
        {},
    ),
    # onnxruntime leaves this one alone, as the sum is used again; here it is the second output.
    ("data/ort_fusion/fusion/skip_layer_norm_format3_no_fusion.onnx", {"layer_norm": 1, "add_layer_norm": 1}, True, {}),
]


@pytest.mark.parametrize(("model", "counts", "numbers", "options"), LAYERS)
def test_every_one_of_a_model(model, counts, numbers, options):
    check_count(model, counts, numbers=numbers, **options)
