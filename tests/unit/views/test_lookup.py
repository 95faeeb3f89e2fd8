"""Names of nodes that are none."""

from __future__ import annotations

import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.views.lookup import require_matches

MODEL = """
<ir_version: 10, opset_import: ["": 18]>
g (float[4, 8] x, float[8, 8] w) => (float[4, 8] y) { [product] a = MatMul(x, w) [sharp] b = Relu(a) [last] y = Exp(b) }
"""


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(parser.parse_model(MODEL))


def test_a_match_is_switched_off_at_a_node_only(compiled):
    assert compiled.replace(fusion={"matmul_activation:sharp": False}).plan.matches_off
    with pytest.raises(OptionError, match=r"^matmul_activation:shar is switched off, but there is no node 'shar'; did"):
        compiled.replace(fusion={"matmul_activation:shar": False})
    with pytest.raises(OptionError, match="did you mean sharp"):
        compiled.replace(fusion={"matmul_activation:sharpp": False})


def test_what_was_accepted_before_stays(compiled):
    off = {"a_rule": frozenset({"gone"})}
    require_matches(off, compiled.steps, (), off)
    with pytest.raises(OptionError, match="a_rule:gone"):
        require_matches(off, compiled.steps)


def test_a_node_of_the_compilation_before_is_one(compiled):
    off = {"a_rule": frozenset({"sharp"})}
    require_matches(off, (), compiled.steps)
    with pytest.raises(OptionError, match="a_rule:sharp"):
        require_matches(off, ())
