"""A command that is suggested can be pasted into a shell: names of the model's are one word as they are."""

from __future__ import annotations

import subprocess

import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.cli import cli

# Names of dimensions, inputs and nodes that a shell would take apart, or obey.
NAMES = ("plain", "two words", "$HOME", "a;b", "it's", '"quoted"', "*", "a=b", "(x)", "`id`")


def model(name: str) -> onnx.ModelProto:
    """A product with a bias, free in one dimension; the name is that of the dimension, the input and both nodes."""

    def info(value: str, dims: list[object]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(value, TensorProto.FLOAT, dims)

    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [1.0] * 16)
    bias = helper.make_tensor("b", TensorProto.FLOAT, [4], [1.0] * 4)
    nodes = [
        helper.make_node("MatMul", [f"{name} in", "w"], ["p"], name=f"{name} product"),
        helper.make_node("Add", ["p", "b"], ["y"], name=f"{name} sum"),
    ]
    graph = helper.make_graph(nodes, "g", [info(f"{name} in", [name, 4])], [info("y", [name, 4])], [weight, bias])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def pasted(text: str) -> list[str]:
    """The words that a shell makes of it, in a folder of its own."""
    done = subprocess.run(["sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, timeout=60)
    assert not done.stderr
    return done.stdout.split("\0")[:-1]


@pytest.fixture(params=NAMES)
def name(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(model(request.param), "model.onnx")
    return request.param


def test_the_range_that_dynamic_suggests(name):
    """It suggests one flag; given to it as a shell would, it is obeyed."""
    asked = CliRunner().invoke(cli, ["dynamic", "model.onnx"])
    assert asked.exit_code == 1
    words = pasted(asked.stderr.rstrip("\n").partition(", or ")[2])
    assert words == ["--range", f"{name}=1..8"]
    obeyed = CliRunner().invoke(cli, ["dynamic", "model.onnx", *words, "--requests", "3"])
    assert obeyed.exit_code == 0, obeyed.stderr


@pytest.mark.parametrize("command", ["cost", "memory", "kernels", "schedule", "planners", "ablate"])
def test_the_shape_that_binds_what_is_free(command, tmp_path, monkeypatch):
    """Each command that leaves something out for its size says how the size is given."""
    monkeypatch.chdir(tmp_path)
    onnx.save(model("two words"), "model.onnx")
    lines = CliRunner().invoke(cli, [command, "model.onnx"]).stdout.splitlines()
    (advice,) = [line for line in lines if "as in --shape" in line]
    words = pasted(advice.rstrip().partition("as in ")[2])
    obeyed = CliRunner().invoke(cli, [command, "model.onnx", *words])
    assert obeyed.exit_code == 0, obeyed.stderr
    assert "as in --shape" not in obeyed.stdout


def test_the_switch_of_a_match(name):
    """A match that is switched off is switched on again by what `why` says."""
    match = f"matmul_bias:{name} sum"
    off = gx.compile(model(name), fusion={match: False}, validate="off")
    assert [node.op for node in off.graph] == ["MatMul", "Add"]
    (miss,) = [miss for miss in off.why("matmul_bias") if miss.code == "match_off"]
    words = pasted((miss.hint or "").partition(": ")[2])
    assert words == ["--on", match]
    asked = CliRunner().invoke(cli, ["compile", "model.onnx", *words, "--json", "-"])
    assert asked.exit_code == 0, asked.stderr
