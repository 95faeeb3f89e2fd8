"""What falls back, in branches too: every place that counts or lists it says the same."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import parser

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.kernels.stage import FALLEN
from gexplorer.ops.fallbacks import fallbacks, fallbacks_text
from gexplorer.render.document import document
from gexplorer.views.kernels import kernels_detail
from gexplorer.views.log import log_lines
from gexplorer.views.pack import unpack
from gexplorer.views.report import report_data

# In the branches: an operator that nobody knows, and one on a value from around that no AI Core computes with.
BRANCHES = """
<ir_version: 10, opset_import: ["": 18, "mine": 1]>
branches (float16[4, 8] x, bool c, double[8] d) => (float16[4, 8] y, double[8] e) {
    y = If(c) <
        then_branch = tb () => (float16[4, 8] to) { p = Relu(x)  [odd] to = mine.Strange(p) },
        else_branch = eb () => (float16[4, 8] eo) { [wide] n = IsNaN(d)  x2 = Neg(x)  eo = Where(n, x, x2) }
    >
    [plain] e = Sqrt(d)
}
"""


@pytest.fixture(scope="module")
def model():
    return parser.parse_model(BRANCHES)


@pytest.fixture(scope="module")
def compiled(model):
    return gx.compile(model, validate="off")


@pytest.fixture
def said(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    onnx.save(model, "branches.onnx")

    def say(command, *arguments):
        done = CliRunner().invoke(cli, [command, "branches.onnx", *arguments])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    return say


def test_nested_graphs_are_walked_with_the_types_around_them(compiled):
    found = fallbacks(compiled.graph)
    (holder,) = {name for one in found for name in one.within}
    assert compiled.graph.nodes[holder].op == "If"
    host = [one for one in found if one.on_host]
    assert [(one.node.op, one.place) for one in host] == [("Strange", f"odd in {holder}")]
    assert "E19010" in host[0].reason
    assert {one.node.name for one in found if not one.on_host and one.within} >= {"wide"}
    assert [one.place for one in found if not one.within] == ["plain"]
    assert holder not in {one.node.name for one in found}
    count = len(found)
    assert fallbacks_text(found) == f"{count} (host 1, AI CPU {count - 1}; {count - 1} in nested graphs)"


def test_what_one_kernel_holds_is_not_counted_and_nothing_is_said_of_nothing():
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18]> g (float16[4, 8] x) => (float16[4, 8] y) { a = Relu(x) y = Exp(a) }'
    )
    graph = gx.compile(model, validate="off").graph
    assert any(node.body is not None for node in graph.nodes.values())
    assert fallbacks(graph) == ()
    assert fallbacks_text(()) == "0 (host 0, AI CPU 0)"


def test_the_outermost_ones_are_the_kernels_that_fall_back(compiled):
    kernels = compiled.kernels
    fallen = {node for k in kernels.distinct if k.missing is not None and k.missing.code in FALLEN for node in k.nodes}
    assert fallen == {one.node.name for one in kernels.fallbacks if not one.within} == {"plain"}


def test_the_kernels_command_counts_and_places_them(compiled, said):
    text = said("kernels")
    count = len(compiled.kernels.fallbacks)
    assert f"falls back: {count} (host 1, AI CPU {count - 1}; {count - 1} in nested graphs)" in text
    assert "1 x Strange on the host (odd in " in text
    assert "1 need none" in text  # the If; the Sqrt falls back
    listed, missing = text.split("without a tile program:")
    assert "Arm cores" in listed
    assert "Arm cores" not in missing
    written = json.loads(said("kernels", "--json", "-"))
    assert written["falls_back"] == {"host": 1, "aicpu": count - 1, "nested": count - 1}
    assert sum(len(row["nodes"]) for row in written["fallbacks"]) == count


def test_the_log_the_summary_the_report_and_compile_agree(compiled, said):
    (line,) = [line for line in log_lines(compiled.steps) if line.message.startswith("UnsupportedOp")]
    (holder,) = {name for one in compiled.kernels.fallbacks for name in one.within}
    assert line.message.startswith(f"UnsupportedOp: node odd (mine::Strange) in {holder} runs on the host: ")
    assert compiled.summary()["kernels"]["falls_back"]["host"] == 1
    assert kernels_detail(compiled.kernels)["fallbacks"][0]["within"] == (holder,)
    assert report_data(compiled, with_memory=False).fallbacks == (f"odd in {holder}",)
    assert "falls back: " in said("compile", "--validate", "off")


def test_the_cell_of_the_tour_counts_both(compiled):
    path = Path(__file__).parents[3] / "notebooks" / "01_tour.ipynb"
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    (cell,) = [cell for cell in cells if "fall back:" in cell]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(cell, {"c": compiled})
    count = len(compiled.kernels.fallbacks)
    assert f"{count} operators fall back: 1 to the host, {count - 1} to the AI CPU" in told.getvalue()
    assert "Strange x 1 in " in told.getvalue()


def test_one_cause_is_told_once_and_no_shape_is_asked_for_where_all_are_given(compiled, said):
    whole = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18, "mine": 1]> g (float[4] x) => (float[n] y) { a = mine.Strange(x)'
        + "".join(f" a{k} = Relu({f'a{k - 1}' if k else 'a'}) b{k} = Softmax(a{k})" for k in range(6))
        + " y = Sum(a5, b0, b1, b2, b3, b4, b5) }"
    )
    onnx.save(whole, "branches.onnx")
    text = said("kernels")
    assert text.count("is not known") <= 2  # the reason, and its cause
    assert "no shape rule is known for Strange" in text
    assert "depends on data" not in text
    assert "bind" not in text
    assert unpack(document(compiled).parts["head"])["binding"] == ""
    assert "bind" not in said("cost") + said("memory") + said("schedule")
