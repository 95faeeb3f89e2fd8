"""An operator that knows the same bytes by two names writes over them only where it may do so by both."""

import pytest
from onnx import parser

import gexplorer as gx

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
ADD = """
g (float[2, 4] i) => (float[1, 2, 4] y) <int64[3] s = {1, 2, 4}>
{ x = Relu(i) v = Reshape(x, s) z = Add(x, v) y = Exp(z) }
"""
LOOP = """
g (float[2, 4] i, int64 n, bool go) => (float[2, 4] y, float[1, 2, 4] w) <int64[3] s = {1, 2, 4}>
{
    x = Relu(i)
    v = Reshape(x, s)
    a, b = Loop (n, go, x, v) <body = body (int64 k, bool c, float[2, 4] p, float[1, 2, 4] q)
        => (bool d, float[2, 4] r, float[1, 2, 4] t) { d = Identity(c) r = Exp(p) t = Neg(q) }>
    y = Abs(a)
    w = Abs(b)
}
"""


def planned(text: str):
    return gx.compile(parser.parse_model(HEAD + text), preset="unconfigured").memory


@pytest.mark.parametrize("text", [ADD, LOOP], ids=["add", "loop"])
def test_the_plan_is_sound(text):
    memory = planned(text)
    assert [finding.sentence for finding in memory.findings] == []
    assert memory.is_sound


def test_one_name_alone_is_still_written_over():
    one = planned(ADD.replace("Add(x, v)", "Neg(v)"))
    two = planned(ADD)
    assert one.is_sound
    assert one.pool_bytes < two.pool_bytes


@pytest.mark.parametrize("seed", [82, 90, 212, 214])
def test_random_programs_that_once_were_not(seed):
    from tests.schedules import planned as of_seed

    assert of_seed(seed).is_sound
