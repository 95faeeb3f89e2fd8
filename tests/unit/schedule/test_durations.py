"""Times of a schedule come from the cost of the graph; what has none is named."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from onnx import parser

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.errors import OptionError

MODEL = "bert-base:small=true"
FREE = '<ir_version: 10, opset_import: ["": 21]> g (float[n, 4] x) => (float[n, 4] y) { a = Exp(x) y = Softmax(a) }'


PARTLY = """<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 4] x, float[4, 4] w) => (float[n, 4] y, float[4, 4] z) { y = Softmax(x) z = MatMul(w, w) }"""


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["schedule", *arguments])


def test_one_stream_takes_what_the_kernels_cost():
    compiled = gx.compile(MODEL)
    assert not compiled.durations.unpriced
    assert compiled.schedule.makespan_us == pytest.approx(compiled.cost.latency_us, abs=1e-3)
    assert 0 < compiled.schedule.critical_path_us <= compiled.schedule.makespan_us
    assert compiled.schedule is compiled.schedule


def test_streams_are_an_option():
    compiled = gx.compile(MODEL)
    two = compiled.replace(streams="cv")
    assert (compiled.schedule.streams, two.schedule.streams) == (1, 2)
    assert two.memory is compiled.memory
    with pytest.raises(OptionError, match="streams: single, dependency"):
        compiled.replace(streams="three")
    with pytest.raises(OptionError, match="the name of a mode"):
        compiled.replace(streams=3)


def test_a_kernel_of_unknown_size_is_named_not_guessed():
    compiled = gx.compile(parser.parse_model(FREE))
    names = {node.name for node in compiled.graph.nodes.values()}
    assert set(compiled.durations.unpriced) == names
    assert all("not known" in reason for reason in compiled.durations.unpriced.values())
    assert compiled.summary()["schedule"]["unpriced"] == len(names)
    assert compiled.replace(shapes={"x": (2, 4)}).durations.unpriced == {}


def test_the_command(tmp_path):
    result = run(MODEL, "--streams", "cube_vector", "--trace", str(tmp_path / "trace.json"))
    assert result.exit_code == 0, result.stderr
    assert "makespan" in result.stdout
    assert "counted as 0" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    found = json.loads(run(MODEL, "--json", "-").stdout)
    assert found["schedule"]["streams"] == 1
    assert found["unpriced"] == {}


def test_the_command_says_what_it_cannot_price(tmp_path):
    (tmp_path / "free.onnx").write_bytes(parser.parse_model(FREE).SerializeToString())
    free = run(str(tmp_path / "free.onnx")).stdout
    assert "makespan      unknown  no kernel has a time" in free
    assert "--shape x:1,4" in free
    (tmp_path / "partly.onnx").write_bytes(parser.parse_model(PARTLY).SerializeToString())
    assert "counted as 0 µs; the times are lower bounds" in run(str(tmp_path / "partly.onnx")).stdout
    result = run(MODEL, "--streams", "none")
    assert result.exit_code == 1
    assert result.stderr.startswith("gexplorer: streams: ")
