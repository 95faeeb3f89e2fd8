"""BatchNormalization behind a Conv: into its weights where they can be read, else into the epilogue."""

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.ir.constant import constant
from gexplorer.ir.graph import Value
from gexplorer.ir.types import TensorType
from gexplorer.passes.base import Limits
from gexplorer.passes.fusion.rules.conv_batchnorm import ConvBatchnorm
from gexplorer.passes.fusion.rules.conv_batchnorm_epilogue import ConvBatchnormEpilogue
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import graph_of, lines_of, run

HEAD = """
input %x : float32[1,2,4,4]
constant %w = float32[2,2,1,1] {1.0, 2.0, 3.0, 4.0}
constant %v = float32[2,1,1,1] {1.0, 2.0}
constant %far = float32[2,2,1,1] 16 bytes ...
constant %b = float32[2] {1.0, 2.0}
constant %gamma = float32[2] {1.0, 2.0}
constant %beta = float32[2] {0.5, 0.25}
constant %mean = float32[2] {1.0, -1.0}
constant %var = float32[2] {4.0, 0.25}
"""
NORM = "%y = BatchNormalization(%c, %gamma, %beta, %mean, %var) {epsilon = 0.0} #y\n"
END = NORM + "output %y"
CONV = "%c = Conv(%x, %w) #c\n"
MISSES = {
    "unavailable": (
        CONV.replace("%w", "%far") + END,
        ("far", "far is not available, so nothing can be computed into the weights of c"),
    ),
    "not_constant": (
        "%w2 = Neg(%w) #w2\n" + CONV.replace("%w", "%w2") + END,
        ("w2", "c (Conv) reads w2, which is computed at run time; a constant is needed"),
    ),
    "training": (
        CONV + END.replace("epsilon = 0.0", "epsilon = 0.0, training_mode = 1").replace("%y =", "%y, %m, %n ="),
        ("y", "y takes mean and variance of the batch itself"),
    ),
    "other_user": (
        CONV + NORM + "%r = Relu(%c) #r\noutput %y\noutput %r",
        ("r", "c, which c makes, is also used by r (Relu)"),
    ),
    "is_result": (CONV + END + "\noutput %c", ("c", "c, which c (Conv) makes, is a result of the graph")),
    "in_between": (
        CONV + "%d = Identity(%c) #d\n" + END.replace("%c", "%d"),
        ("d", "d (Identity) stands between c (Conv) and y (BatchNormalization)"),
    ),
}


def test_weights_and_bias_are_computed_anew():
    step = check_kernels(ConvBatchnorm, HEAD + CONV + END, "%y = Conv(%x, %w@0, %c/bias@1) #c\noutput %y")
    constants = [line for line in lines_of(step.after).splitlines() if "@" in line and line.startswith("constant")]
    assert constants == [
        "constant %c/bias@1 = float32[2] {0.0, 4.25}",
        "constant %w@0 = float32[2,2,1,1] {0.5, 1.0, 12.0, 16.0}",
    ]
    assert " %w =" not in lines_of(step.after)  # nothing uses the old weights


def test_an_own_bias_is_scaled_too():
    check_kernels(ConvBatchnorm, HEAD + "%c = Conv(%x, %w, %b) #c\n" + END, "%y = Conv(%x, %w@0, %b@1) #c\noutput %y")


def test_a_depthwise_conv():
    check_kernels(
        ConvBatchnorm,
        HEAD + "%c = Conv(%x, %v) {group = 2} #c\n" + END,
        "%y = Conv(%x, %v@0, %c/bias@1) {group = 2} #c\noutput %y",
    )


@pytest.mark.parametrize("group", [1, 2])
def test_a_transposed_conv_has_its_channels_on_the_second_axis(group):
    model = HEAD.replace("[2,2,1,1] {1", "[2,1,1,2] {1") if group == 2 else HEAD
    check_kernels(
        ConvBatchnorm,
        model + f"%c = ConvTranspose(%x, %w) {{group = {group}}} #c\n" + END,
        f"%y = ConvTranspose(%x, %w@0, %c/bias@1) {{group = {group}}} #c\noutput %y",
    )


def test_weights_that_another_conv_uses_stay_too():
    check_kernels(
        ConvBatchnorm,
        HEAD + CONV + "%e = Conv(%x, %w) #e\n" + END + "\noutput %e",
        "%y = Conv(%x, %w@0, %c/bias@1) #c\n%e = Conv(%x, %w) #e\noutput %y\noutput %e",
    )


@pytest.mark.parametrize("limits", [Limits(fold_read_bytes=47), Limits(fold_growth_bytes=15)])
def test_limits(limits):
    step = run(ConvBatchnorm, HEAD + CONV + END, limits=limits)
    size, limit = (48, 47) if limits.fold_read_bytes == 47 else (16, 15)
    assert [step.reason(reject) for reject in step.rejects] == [
        f"computing new weights for c would read or add {size:,} bytes, more than the limit of {limit:,}"
    ]
    assert step.hint(step.rejects[0]) == "raise fold_read_bytes and fold_growth_bytes"


def test_weights_that_overflow_stay_as_they_are():
    half = (
        (HEAD + CONV + END)
        .replace("16 bytes", "8 bytes")
        .replace("float32", "float16")
        .replace("{4.0, 0.25}", "{4.0, 0.000001}")
    )
    half = half.replace("{1.0, 2.0, 3.0, 4.0}", "{1.0, 2.0, 300.0, 4.0}")
    check_miss(ConvBatchnorm, half, "overflow", "c", "the new weights of c are too large for float16")


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(ConvBatchnorm, HEAD + model, code, *said)


def test_in_the_epilogue_where_weights_are_missing():
    attributes = '{cube = "Conv", epilogue = ["BatchNormalization"]}'
    check_kernels(
        ConvBatchnormEpilogue,
        HEAD + CONV.replace("%w", "%far") + END,
        f"%y = ConvBatchNorm<ge>(%x, %far, %gamma, %beta, %mean, %var) {attributes} #y\noutput %y",
    )


def test_the_epilogue_is_for_inference_too():
    check_miss(ConvBatchnormEpilogue, HEAD + MISSES["training"][0], "training", *MISSES["training"][1])


def test_rounding_once_is_as_good_as_the_runtime():
    """Weights of many magnitudes: the folded graph is as near to float64 as the graph before."""
    rng = np.random.default_rng(0)
    graph = graph_of((HEAD + CONV + END).replace("[2,2,1,1] {1.0, 2.0, 3.0, 4.0}", "[2,2,3,3] 144 bytes ..."))
    data = constant((rng.standard_normal((2, 2, 3, 3)) * 10.0 ** rng.integers(-6, 6, (2, 2, 3, 3))).astype(np.float32))
    values = graph.values.set("w", Value("w", TensorType(data.dtype, data.shape), constant=data))
    step = run(ConvBatchnorm, replace(graph, values=values))  # compares the numbers
    assert len(step.rewrites) == 1


@pytest.mark.parametrize("trap", ["conv_bn_conv_reused", "conv_bn_mid_is_output"])
def test_traps(trap):
    check_count(f"corpus/traps/{trap}.onnx", {"conv_batchnorm": 0, "conv_batchnorm_epilogue": 0}, numbers=True)
