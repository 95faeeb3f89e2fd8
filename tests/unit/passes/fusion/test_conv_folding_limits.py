"""What is folded into the weights of a convolution stays within bounds: of the fold limits, and of the element type."""

from __future__ import annotations

import pytest

from gexplorer.passes.base import Limits
from gexplorer.passes.fusion.rules.conv_batchnorm import ConvBatchnorm
from gexplorer.passes.fusion.rules.conv_bias import ConvBias
from gexplorer.passes.fusion.rules.conv_scale import ConvScale
from tests.passes import run

HEAD = """
input %x : {t}[1,2,4,4]
constant %w = {t}[2,2,1,1] {{60000.0, 2.0, 3.0, 4.0}}
constant %b = {t}[2] {{60000.0, 2.0}}
constant %one = {t}[2] {{1.0, 1.0}}
constant %zero = {t}[2] {{0.0, 0.0}}
constant %big = {t}[2,1,1] {{60000.0, 1.0}}
%c = Conv(%x, %w, %b) #c
"""
BEHIND = {
    ConvBias: "%y = Add(%c, %big) #y\noutput %y",
    ConvScale: "%y = Mul(%c, %big) #y\noutput %y",
    ConvBatchnorm: "%y = BatchNormalization(%c, %b, %zero, %zero, %one) {epsilon = 0.0} #y\noutput %y",
}


def only_miss(rule, dtype, limits=None):
    step = run(rule, HEAD.format(t=dtype) + BEHIND[rule], limits=limits)
    assert step.rewrites == ()
    (reject,) = step.rejects
    return reject.code, reject.blocker, step.reason(reject), step.hint(reject)


@pytest.mark.parametrize("rule", BEHIND, ids=lambda rule: rule.name)
def test_new_weights_that_pass_the_largest_float16_are_refused(rule):
    sentence = "the new weights of c are too large for float16"
    assert only_miss(rule, "float16") == ("overflow", "c", sentence, "compute c in a wider type")


@pytest.mark.parametrize("rule", BEHIND, ids=lambda rule: rule.name)
@pytest.mark.parametrize("limits", [Limits(fold_read_bytes=3), Limits(fold_growth_bytes=3)], ids=["read", "growth"])
def test_more_than_the_limits_is_not_read_or_added(rule, limits):
    code, blocker, sentence, hint = only_miss(rule, "float32", limits)
    assert (code, blocker, hint) == ("too_large", "c", "raise fold_read_bytes and fold_growth_bytes")
    assert sentence.startswith("computing new weights for c would read or add ")
    assert sentence.endswith(" bytes, more than the limit of 3")
