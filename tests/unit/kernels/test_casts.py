"""Casts in the middle of a kernel round, cut off, or compare; integers are compared and moved as they are."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.formula import Instruction
from gexplorer.kernels.stage import generate_kernels
from tests.passes import graph_of
from tests.unit.kernels.test_generate import check_node, grouped

TEACHING = load_chip("teaching")
LARGE = 2**24  # float32 does not tell 2^24 from 2^24 + 1


def run(text, values):
    (program,) = generate_kernels(graph_of(text), TEACHING).programs_of("y")
    return program.run(values).outputs["out0"]


def chain(to):
    body = f"input %x : float32[4]\n%a = Cast(%x) {{to = {to}}} #a\n%y = Cast(%a) {{to = 1}} #y\noutput %y"
    graph = grouped(body, "ElementwiseChain")
    (node,) = graph.order
    (program,) = generate_kernels(graph, TEACHING).programs_of(node.name)
    x = np.array([1 / 3, -2.75, 0.0, 1000.4], np.float32)
    return x, next(iter(program.run({"x": x}).outputs.values()))


def test_a_cast_to_float16_and_back_rounds():
    x, y = chain(10)
    np.testing.assert_array_equal(y, x.astype(np.float16).astype(np.float32))
    assert (x != y).any()


def test_a_cast_to_integers_and_back_cuts_off():
    x, y = chain(6)
    np.testing.assert_array_equal(y, np.trunc(x))


def test_a_cast_to_bool_and_back_is_one_or_zero():
    _, y = chain(9)
    np.testing.assert_array_equal(y, [1, 1, 0, 1])


@pytest.mark.parametrize("op", ["Equal", "Less", "LessOrEqual"])
def test_integers_are_compared_as_integers(op):
    x, y = np.array([LARGE, 5]), np.array([LARGE + 1, 5])
    found = run(f"input %x : int64[2]\ninput %z : int64[2]\n%y = {op}(%x, %z) #y\noutput %y", {"x": x, "z": y})
    np.testing.assert_array_equal(found, {"Equal": x == y, "Less": x < y, "LessOrEqual": x <= y}[op])


def test_integers_are_transposed_as_they_are():
    x = np.arange(LARGE, LARGE + 6).reshape(2, 3)
    (program,) = generate_kernels(
        graph_of("input %x : int64[2,3]\n%y = Transpose(%x) #y\noutput %y"), TEACHING
    ).programs_of("y")
    np.testing.assert_array_equal(next(iter(program.run({"x": x}).outputs.values())), x.T)


def test_an_instruction_on_value_0_is_not_one_on_the_number_0():
    assert Instruction("max", (0, 0)) != Instruction("max", (0, 0.0))
    assert Instruction("max", (0, 0.0)) == Instruction("max", (0, 0.0))


def test_a_repeated_axis_is_read_once():
    text = "input %x : float32[6,1]\nconstant %s = int64[2] {6, 9}\n%y = Expand(%x, %s) #y\noutput %y"
    (found,) = check_node(graph_of(text), "teaching")
    assert found.bytes_by_path["ub->gm"] == 6 * 9 * 4
