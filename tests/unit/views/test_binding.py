"""Free sizes and the flags that bind them, and what commands say where no kernel has a price."""

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import parser

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.render.document import document
from gexplorer.views.binding import cure, shape_argument, shape_flags
from gexplorer.views.difference import difference
from gexplorer.views.pack import unpack

OPEN = """
<ir_version: 10, opset_import: ["": 21]>
open_batch (float[N, 4] x, float[2, 4] fixed, float[N, M] other) => (float[N, 4] y, float[N, M] z)
<float[4, 4] w = {1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4}>
{ a = MatMul(x, w)  y = Relu(a)  z = Exp(other) }
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "open.onnx"
    onnx.save(parser.parse_model(OPEN), file)
    return str(file)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 80
    return " ".join(done.output.split())


def test_a_flag_for_every_open_input_and_no_other(path):
    graph = gx.compile(path).graph
    assert shape_flags(graph) == ("--shape x:1,4", "--shape other:1,1")
    assert cure(gx.compile(path, shapes={"x": (1, 4), "other": (1, 2)}).graph) == ""


def test_a_name_that_a_shell_would_split_is_quoted():
    model = parser.parse_model(OPEN.replace("other", "other_one"))
    model.graph.input[2].name = model.graph.node[2].input[0] = "other one"
    assert shape_flags(gx.compile(model).graph)[1] == "--shape 'other one:1,1'"


def test_the_argument_of_python_binds_what_is_open_and_keeps_what_was_bound(path):
    compiled = gx.compile(path)
    argument = shape_argument(compiled.graph)
    assert argument == "shapes={'x': (1, 4), 'other': (1, 1)}"
    assert unpack(document(compiled).parts["head"])["binding"] == argument
    bound = eval(f"gx.compile({path!r}, {argument})")
    assert not bound.cost.uncosted
    assert shape_argument(bound.graph) == ""
    half = gx.compile(path, shapes={"x": (7, 4)})
    head = unpack(document(half).parts["head"])
    assert head["binding"] == "shapes={'x': (7, 4), 'other': (7, 1)}"
    assert not eval(f"gx.compile({path!r}, {head['binding']})").cost.uncosted


def test_a_picture_is_large_enough_for_what_it_goes_through_and_one_name_has_one_size():
    text = """<ir_version: 10, opset_import: ["": 21]>
    pictures (float[N, 3, H, W] image, float[N, H] row, float[N] free) => (float[N, 3, H, W] y, float[N, H] z)
    { y = Relu(image)  z = Exp(row) }"""
    graph = gx.compile(parser.parse_model(text)).graph
    assert shape_flags(graph)[:2] == ("--shape image:1,3,224,224", "--shape row:1,224")


@pytest.mark.parametrize("command", ["schedule", "cost"])
def test_no_time_is_unknown_and_not_0(path, command):
    text = said(command, path)
    assert "no kernel has a" in text
    assert "--shape x:1,4 --shape other:1,1" in text
    assert " 0 s" not in text
    bound = said(command, path, "--shape", "x:1,4", "--shape", "other:1,1")
    assert "--shape" not in bound
    assert "µs" in bound


def test_a_difference_does_not_know_it_either(path):
    text = said("diff", path, path)
    assert "latency, modelled - -" in text
    assert "gexplorer cost MODEL says which" in text
    priced, unpriced = gx.compile(path, shapes={"x": (1, 4), "other": (1, 2)}).summary(), gx.compile(path).summary()
    figures = {figure.key: figure for figure in difference(priced, unpriced).figures}
    assert figures["cost.latency_us"].before > 0
    assert figures["cost.latency_us"].after is None
    assert figures["schedule.streams"].after == 1
    assert np.isfinite(figures["memory.pool_bytes"].after)


def test_compile_says_why_there_is_no_tile_program(path):
    assert "2 x the shape of a tensor is not known" in said("compile", path)  # of x, and of other


@pytest.mark.parametrize(("largest", "told"), [(8, False), (999_999_999, True)])
def test_sizes_that_no_chip_holds_are_named(path, largest, told):
    text = said("dynamic", path, "--range", f"N={largest}", "--range", "M=9", "--requests", "2")
    assert ("1 of 1 shape cannot run" in text) == told
    assert ("too much for one chip" in text) == told


def test_sizes_are_asked_for_only_where_they_are_what_is_missing(tmp_path):
    """Every size but a branch's operands': what the branch costs no size can tell."""
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[N, 4] x, bool c) => (float[N, 4] y) {
        y = If(c) <then_branch = t () => (float[N, 4] p) { p = Relu(x) },
                   else_branch = e () => (float[N, 4] q) { q = Tanh(x) }>
    }"""
    file = tmp_path / "branch.onnx"
    onnx.save(parser.parse_model(text), file)
    for command in ("cost", "schedule"):
        told = said(command, str(file))
        assert "how often the graphs inside it run is not known" in told
        assert "bind" not in told
    compiled = gx.compile(str(file))
    assert cure(compiled.graph) == "bind what is free, as in --shape x:1,4"
    assert cure(compiled.graph, ("the size of x is not known before run time",)) == cure(compiled.graph)
    assert cure(compiled.graph, ()) == ""
