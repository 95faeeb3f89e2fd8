"""GroupNorm as exporters write it for opsets without one."""

import pytest

from gexplorer.passes.fusion.rules.group_norm import GroupNorm
from tests.fused import check_kernels, check_miss

HEAD = """
input %x : float32[n,4,3,3]
constant %split = int64[3] {0, 2, -1}
constant %back = int64[4] {0, 4, 3, 3}
constant %ones = float32[2] {1.0, 1.0}
constant %zeros = float32[2] {0.0, 0.0}
constant %gamma = float32[4,1,1] {1.0, 2.0, 3.0, 4.0}
constant %beta = float32[4,1,1] {4.0, 3.0, 2.0, 1.0}
"""
NORMAL = """
%r = Reshape(%x, %split) #r
%i = InstanceNormalization(%r, %ones, %zeros) {epsilon = 0.5} #i
%j = Reshape(%i, %back) #j
"""
WHOLE = HEAD + NORMAL + "%s = Mul(%j, %gamma) #s\n%y = Add(%s, %beta) #y\noutput %y"


def test_with_scale_and_bias():
    check_kernels(
        GroupNorm, WHOLE, "%y = GroupNorm<ge>(%x, %gamma, %beta, %ones, %zeros) {num_groups = 2} #y\noutput %y"
    )


def test_with_a_scale_for_the_batch_axis_too():
    model = WHOLE.replace("float32[4,1,1]", "float32[1,4,1,1]")
    check_kernels(
        GroupNorm, model, "%y = GroupNorm<ge>(%x, %gamma, %beta, %ones, %zeros) {num_groups = 2} #y\noutput %y"
    )


def test_without():
    check_kernels(
        GroupNorm, HEAD + NORMAL + "output %j", "%j = GroupNorm<ge>(%x, %ones, %zeros) {num_groups = 2} #j\noutput %j"
    )


def test_shape_that_is_computed():
    model = WHOLE.replace("%j = Reshape(%i, %back)", "%h = Shape(%x) #h\n%j = Reshape(%i, %h)")
    after = "%h = Shape(%x) #h\n%y = GroupNorm<ge>(%x, %gamma, %beta, %ones, %zeros, %h) {num_groups = 2} #y\noutput %y"
    check_kernels(GroupNorm, model, after)


def test_a_scale_of_other_elements_stays_outside():
    model = WHOLE.replace("%gamma = float32[4,1,1] {1.0, 2.0, 3.0, 4.0}", "%gamma = float32[3] {1.0, 2.0, 3.0}")
    after = "%j = GroupNorm<ge>(%x, %ones, %zeros) {num_groups = 2} #j\n"
    after += "%s = Mul(%j, %gamma) #s\n%y = Add(%s, %beta) #y\noutput %y"
    step = check_kernels(GroupNorm, model, after)
    said = "gamma is float32[3], not one number for each of the 4 channels"
    assert [(r.code, r.blocker, step.reason(r)) for r in step.rejects] == [("channels", "gamma", said)]


MISSES = {
    "groups": (
        WHOLE.replace("{0, 2, -1}", "{1, 2, -1}"),
        ("r", "r makes float32[1,2,18*n] of float32[n,4,3,3], which is not its channels in equal groups"),
    ),
    "groups across channels": (
        WHOLE.replace("{0, 2, -1}", "{0, 3, -1}").replace("[2] {1.0, 1.0}", "[3] {1.0, 1.0, 1.0}")
        .replace("[2] {0.0, 0.0}", "[3] {0.0, 0.0, 0.0}"),
        ("r", "r makes float32[n,3,12] of float32[n,4,3,3], which is not its channels in equal groups"),
    ),
    "joined": (
        HEAD.replace("int64[4] {0, 4, 3, 3}", "int64[3] {0, 4, 9}") + NORMAL + "output %j",
        ("j", "j makes float32[n,4,9], not the shape that it had before, float32[n,4,3,3]"),
    ),
    "constant_value": (
        WHOLE.replace("{1.0, 1.0}", "{1.0, 2.0}"),
        ("ones", "the constant ones that i (InstanceNormalization) reads is not ones: the scale comes behind"),
    ),
    "other_user": (WHOLE + "\n%k = Neg(%i) #k\noutput %k", ("k", "i, which i makes, is also used by k (Neg)")),
    "is_result": (WHOLE + "\noutput %i", ("i", "i, which i (InstanceNormalization) makes, is a result of the graph")),
}  # fmt: skip


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(GroupNorm, model, code, *said)
