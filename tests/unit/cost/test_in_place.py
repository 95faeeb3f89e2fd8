"""What the memory plan spares costs nothing, and what it copies does."""

from __future__ import annotations

import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.cost.graph import cost_of
from gexplorer.hardware.catalogue import load_chip

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
SIDE = 4 * 256 * 256  # bytes of one tensor
CONCAT = f"""{HEAD} g (float[256, 256] x, float[256, 256] w) => (float[512, 256] y) {{
    a = MatMul(x, w)
    b = MatMul(w, x)
    c = Concat<axis = 0>(a, b)
    y = Softmax<axis = 0>(c)
}}"""
SPLIT = f"""{HEAD} g (float[512, 256] x, float[256, 256] w) => (float[512, 256] y, float[256, 256] z) {{
    t = Softmax<axis = 0>(x)
    a, b = Split<axis = 0, num_outputs = 2>(t)
    y = MatMul(t, w)
    z = MatMul(a, b)
}}"""
RESULT = f"""{HEAD} g (float[256, 256] x, float[256, 256] w) => (float[512, 256] c) {{
    a = MatMul(x, w)
    b = MatMul(w, x)
    c = Concat<axis = 0>(a, b)
}}"""
COPY = f"""{HEAD} g (float[256, 256] x) => (float[65536] y) <int64[1] s = {{65536}}> {{ y = Reshape(x, s) }}"""


def compiled(text: str):
    return gx.compile(parser.parse_model(text), fusion={"ALL": False}, validate="off")


def priced(found):
    return [row.op for row in found.cost.rows]


@pytest.mark.parametrize(("text", "op"), [(CONCAT, "Concat"), (SPLIT, "Split")])
def test_a_node_in_place_costs_nothing(text: str, op: str):
    found = compiled(text)
    (spared,) = found.cost.spared
    assert found.graph.nodes[spared].op == op
    assert op not in priced(found)
    assert [row.node for row in found.cost.rows] == list(found.schedule.kernels.names)
    assert found.cost.latency_us == pytest.approx(found.schedule.serial_us, abs=1e-3)
    unplanned = cost_of(found.graph, load_chip(found.options.soc))
    assert op in [row.op for row in unplanned.rows]
    assert unplanned.latency_us > found.cost.latency_us


@pytest.mark.parametrize(
    ("text", "outside"), [(CONCAT, 2 * SIDE + 2 * SIDE), (SPLIT, 2 * SIDE + SIDE + 2 * SIDE + SIDE)]
)
def test_what_lies_in_one_place_is_found_in_l2_under_every_name(text: str, outside: int):
    found = compiled(text)
    assert found.cost.compulsory_bytes == outside  # inputs once, results once
    assert found.cost.hbm_bytes == pytest.approx(outside)


def test_the_parts_of_a_result_are_written():
    found = compiled(RESULT)
    assert priced(found) == ["MatMul", "MatMul"]
    assert found.cost.compulsory_bytes == found.cost.hbm_bytes == 2 * SIDE + 2 * SIDE


def test_a_view_from_input_to_result_is_copied():
    found = compiled(COPY)
    assert priced(found) == ["Reshape"]
    assert found.cost.hbm_bytes == 2 * SIDE
    assert found.cost.latency_us == pytest.approx(found.schedule.serial_us, abs=1e-3)
    assert not found.durations.unpriced
