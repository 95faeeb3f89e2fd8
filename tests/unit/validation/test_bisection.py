"""Bisect finds wrong rules that are injected, and the smallest model that shows each."""

from __future__ import annotations

import importlib.util
import json
from textwrap import dedent

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from onnx import parser

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.commands.bisect import bisect as bisect_command
from gexplorer.errors import ModelError
from gexplorer.ir.to_onnx import to_onnx
from gexplorer.passes import manager
from gexplorer.validation import bisect
from gexplorer.validation.bisection import first_bad
from tests import wrong_rules


def compile_(model, **options):
    """Compiled, and not validated yet."""
    return gx.compile(model, validate="off", **options)


OFF = {"ALL": False}


@pytest.fixture
def inject(monkeypatch):
    monkeypatch.setattr(manager, "_registered", {})
    return manager.register


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\n' + dedent(text))


def chain(layers: int, *, width: int = 8) -> onnx.ModelProto:
    """Layers of MatMul, Add, Relu, Mul, each with weights of its own."""
    generator = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for i in range(layers):
        for name, array in (
            (f"w{i}", generator.standard_normal((width, width)) / width**0.5),
            (f"b{i}", generator.standard_normal(width)),
            (f"s{i}", generator.uniform(0.5, 1.5, width)),
        ):
            constants.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
        nodes += [
            onnx.helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"matmul{i}"),
            onnx.helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"add{i}"),
            onnx.helper.make_node("Relu", [f"a{i}"], [f"r{i}"], name=f"relu{i}"),
            onnx.helper.make_node("Mul", [f"r{i}", f"s{i}"], [f"y{i}"], name=f"mul{i}"),
        ]
        last = f"y{i}"
    shape = [4, width]
    graph = onnx.helper.make_graph(
        nodes,
        "chain",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, shape)],
        constants,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


def results_of(graph) -> dict[str, np.ndarray]:
    """What a model gives that runs without inputs."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        to_onnx(graph).SerializeToString(), quiet, providers=["CPUExecutionProvider"]
    )
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, {}), strict=True))


def check_culprit(found, nodes: tuple[int, int]) -> None:
    """The smallest model has so many nodes on each side, runs by itself, and shows the error."""
    assert found.culprit is not None
    assert found.culprit.nodes == nodes
    results = results_of(found.culprit.graph())
    name = found.culprit.result
    before, after = results[f"{name}/before"], results[f"{name}/after"]
    off = np.abs(before.astype(np.float64) - after).max() / np.abs(before).max()
    assert off == pytest.approx(found.culprit.deviation.relative)
    assert off > 1e-5


@pytest.mark.parametrize(
    ("rule", "node", "nodes"),
    [
        (wrong_rules.WrongConstant, "mul0", (1, 1)),
        (wrong_rules.DroppedBias, "add0", (2, 1)),
        (wrong_rules.WrongOnce, "relu5", (1, 1)),
    ],
)
def test_a_wrong_rule_is_found_at_its_place(inject, rule, node, nodes):
    inject(rule)
    compiled = compile_(chain(8), fusion=OFF)
    found = bisect(compiled.steps)
    assert found.step is compiled.steps[rule.name]
    assert found.rewrite is not None
    assert found.rewrite.node == node
    assert found.number == [r.node for r in found.step.rewrites].index(node)
    assert found.output == "y7"
    assert found.before.fault == ""
    assert found.after.fault
    check_culprit(found, nodes)
    assert f"rewrite {found.number + 1} of 8 at {node}: {node} was made wrong" in found.sentence
    assert found.runs <= 12  # halving, not trying all


def test_a_fusion_rule_that_is_wrong_at_one_place(inject):
    inject(wrong_rules.WrongKernel)
    compiled = compile_(chain(5), fusion={**OFF, "wrong_kernel": True})
    found = bisect(compiled.steps)
    assert found.step is compiled.steps["wrong_kernel"]
    assert found.rewrite is not None
    assert (found.rewrite.node, len(found.step.rewrites)) == ("add2", 5)
    check_culprit(found, (2, 1))  # MatMul and Add, and the kernel that stands for both


def test_a_wrong_axis_among_right_rules(inject):
    inject(wrong_rules.WrongAxis)
    compiled = compile_("bert-base:small=true")
    found = bisect(compiled.steps)
    assert found.step is not None
    assert (found.step.name, found.number) == ("wrong_axis", 0)
    check_culprit(found, (1, 1))


def test_a_matrix_turned_the_wrong_way_round(inject):
    inject(wrong_rules.WrongTurn)
    found = bisect(
        compile_(
            model("t (float[4, 4] x) => (float[4, 4] y) { a = Abs(x)\n y = Transpose<perm=[1, 0]>(a) }"), fusion=OFF
        ).steps
    )
    assert found.rewrite is not None
    check_culprit(found, (1, 1))


def test_an_error_that_only_shows_further_down(inject):
    """A shift of a thousandth is nothing beside 10,000, and all there is once that has been taken away again."""
    text = """
        down (float[4] x) => (float[4] y)
        <float[4] large = {10000, 10000, 10000, 10000}, float shift = {0.01}, float one = {1}>
        {
            n = Neg(x)
            big = Add(n, large)
            moved = Mul(big, one)
            same = Identity(moved)
            again = Identity(same)
            small = Sub(again, large)
            y = Abs(small)
        }
        """

    class Shift(wrong_rules.WrongConstant):
        """Multiplies by a hair more than it should.

        before:  moved = Mul(big, 1)
        after:   moved = Mul(big, 1.000001)
        """

        name = "shift"

        def run(self, draft, log, context):
            for node in draft.candidates("Mul"):
                with log.rewrite(node, "wrong"):
                    name = draft.add_constant(np.array(1.000001, np.float32), "hair")
                    draft.update(node, inputs=(node.inputs[0], name))

    inject(Shift)
    found = bisect(compile_(model(text), fusion=OFF).steps)
    assert found.step is not None
    assert found.step.name == "shift"
    # The product alone is within the tolerance; with the difference behind it, it is not. Abs shows it too, and goes.
    check_culprit(found, (4, 4))
    assert found.culprit.result == "small"


def test_a_rule_that_is_wrong_in_a_branch(inject):
    text = """
        branch (float[4] x, bool c) => (float[4] y) {
            a = Abs(x)
            y = If(c) <
                then_branch = yes () => (float[4] p) { half = Constant<value_float = 0.5>()
                    p = Mul(a, half) },
                else_branch = no () => (float[4] q) { two = Constant<value_float = 2.0>()
                    q = Mul(a, two) }
            >
        }
        """
    inject(wrong_rules.WrongConstant)
    found = bisect(compile_(model(text), fusion=OFF).steps, inputs={"c": np.array(True)})
    assert found.rewrite is not None
    assert [place.attribute for place in found.rewrite.path] == ["then_branch"]
    check_culprit(found, (1, 1))


def test_what_a_pass_does_besides_its_log_is_told_as_such(inject):
    inject(wrong_rules.Unlogged)
    compiled = compile_(model("n (float[4] x) => (float[4] y) { y = Neg(x) }"), fusion=OFF)
    found = bisect(compiled.steps)
    assert found.step is compiled.steps["unlogged"]
    assert found.number is None
    check_culprit(found, (1, 1))


def test_a_graph_that_no_longer_runs_is_wrong(inject):
    inject(wrong_rules.Invalid)
    compiled = compile_(model("n (float[4] x) => (float[4] y) { y = Neg(x) }"), fusion=OFF)
    found = bisect(compiled.steps)
    assert found.step is compiled.steps["invalid"]
    assert "does not run" in found.sentence
    assert found.culprit is None


def test_nothing_wrong_is_said_so():
    found = bisect(compile_("resnet50:small=true").steps)
    assert found.is_clean
    assert found.culprit is None
    assert "nothing is wrong" in found.sentence
    assert 0 < found.after.relative < 1e-5


def test_the_tolerance_decides():
    """A correct model is 'wrong' by a tolerance below its rounding, and then the rewrite that rounds is named."""
    compiled = compile_("resnet50:small=true")
    found = bisect(compiled.steps, tolerance=1e-9)
    assert found.step is not None
    assert found.step.name == "conv_batchnorm"
    assert bisect(compiled.steps, tolerance=1e-3).is_clean


def test_weights_must_be_there():
    with pytest.raises(ModelError, match=r"^weights not available: .* and \d+ more$"):
        bisect(compile_("bert-base").steps)


@pytest.mark.parametrize("wrong", range(1, 9))
def test_halving_ends_where_good_turns_bad(wrong):
    asked = []
    assert first_bad(8, lambda place: asked.append(place) or place >= wrong) == wrong
    assert len(asked) <= 3
    assert {0, 8}.isdisjoint(asked)


def test_the_command_with_a_rule_from_a_file(inject, tmp_path, monkeypatch):
    """A rule in a file that is no part of the package; the command names it and writes a model that runs."""
    rule = tmp_path / "my_rule.py"
    rule.write_text(
        dedent('''
        """A rule that drops a bias."""
        import gexplorer
        from tests.wrong_rules import DroppedBias

        class Mine(DroppedBias):
            """Drops an Add of a constant."""

            name = "mine"

        gexplorer.register(Mine)
        ''')
    )
    spec = importlib.util.spec_from_file_location("my_rule", rule)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    onnx.save(chain(3), tmp_path / "chain.onnx")
    small = tmp_path / "small.onnx"
    command = cli.commands.get("bisect", bisect_command)
    result = CliRunner().invoke(
        command, [str(tmp_path / "chain.onnx"), "--off", "ALL", "-o", str(small), "--json", "-"]
    )
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert data["status"] == "found"
    assert (data["step"]["name"], data["rewrite"]["node"]) == ("mine", "add0")
    assert (data["model"]["nodes_before"], data["model"]["nodes_after"]) == (2, 1)
    onnx.checker.check_model(onnx.load(small))
    session = onnxruntime.InferenceSession(small, providers=["CPUExecutionProvider"])
    assert [o.name.rpartition("/")[2] for o in session.get_outputs()] == ["before", "after"]
    before, after = session.run(None, {})
    assert np.abs(before - after).max() == pytest.approx(data["model"]["absolute"])
    told = CliRunner().invoke(command, [str(tmp_path / "chain.onnx"), "--off", "ALL"]).output
    assert "mine, rewrite 1 of 3 at add0: add0 was made wrong" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80
