"""The validation stage: what passes, what fails, what is left out and why."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import numpy as np
import onnx
import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.errors import ModelError, OptionError
from gexplorer.passes import manager
from gexplorer.trace.records import STAGES
from gexplorer.validation import validate
from gexplorer.validation.checker import all_checkers
from gexplorer.validation.steps import validation_steps
from tests import wrong_rules


def compile_(model, **options):
    """Compiled, and not validated yet."""
    return gx.compile(model, validate="off", **options)


NAMES = ["graph", "memory", "streams", "dry_run", "kernel_drift", "pool_execution"]
SMALL = "bert-base:small=true"


def checked(compiled, **options):
    return validate(compiled.steps, compiled.memory, compiled.schedule, **options)


def compiled_text(text: str, **options):
    options = {"fusion": {"ALL": False}, **options}
    return compile_(parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\n' + dedent(text)), **options)


@pytest.fixture(scope="module")
def bert():
    return compile_(SMALL)


@pytest.fixture
def inject(monkeypatch):
    monkeypatch.setattr(manager, "_registered", {})
    return manager.register


def codes(check) -> list[str]:
    return [note.code for note in check.notes]


def test_every_file_is_a_check():
    from importlib.resources import files

    folder = files("gexplorer.validation.checks")
    modules = {f.name.removesuffix(".py") for f in folder.iterdir() if f.name.endswith(".py")} - {"__init__"}
    assert modules == set(NAMES)
    assert [checker.name for checker in all_checkers()] == NAMES
    assert all(checker.summary().endswith(".") for checker in all_checkers())


def test_a_sound_compilation_passes(bert):
    found = checked(bert)
    assert (found.status, found.reason) == ("passed", "")
    assert [(check.name, check.status) for check in found.checks] == [
        (name, "skipped" if name == "kernel_drift" else "passed") for name in NAMES
    ]
    assert found.max_abs_error is not None
    assert found.max_abs_error < 1e-6
    assert {error.output for error in found.errors} == set(bert.graph.output_names)


def test_the_dry_run_of_a_small_bert_adds_less_than_three_seconds(bert):
    from time import process_time

    start = process_time()
    assert checked(bert)["dry_run"].status == "passed"
    assert process_time() - start < 3


def test_full_runs_more_and_names_kernels(bert):
    found = checked(bert, level="full")
    assert found.status == "passed"
    assert {error.seed for error in found.errors} == {0, 1, 2}
    assert found["kernel_drift"].status == "passed"
    assert "22 kernels give what the original gives there" in found["kernel_drift"].detail


@pytest.mark.parametrize("nodes", ["", "y = Identity(x)"])
def test_a_graph_that_is_left_without_a_kernel_has_none_to_compare(nodes):
    output = "y" if nodes else "x"
    model = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 20]> g (float[2] x) => (float[2] {output}) {{ {nodes} }}'
    )
    found = gx.compile(model, validate="full").validation
    assert found.status == "passed"
    assert (found["kernel_drift"].status, found["kernel_drift"].detail) == (
        "skipped",
        "no kernel is left whose result could be compared",
    )


def test_free_dimensions_take_several_sizes():
    compiled = compile_("bert-base:small=true,layers=1,seq=s,batch=b")
    assert {tuple(error.sizes.items()) for error in checked(compiled).errors} == {(("b", 2), ("s", 8))}
    found = checked(compiled, level="full")
    assert found.status == "passed"
    assert {dict(error.sizes)["b"] for error in found.errors} == {1, 2, 3}


def test_off_checks_nothing(bert):
    found = checked(bert, level="off")
    assert (found.status, found.checks, found.max_abs_error) == ("skipped", (), None)
    assert "--validate off" in found.reason


def test_an_unknown_level_is_refused(bert):
    with pytest.raises(OptionError, match="quick, full, off"):
        checked(bert, level="some")


@pytest.mark.parametrize("level", ["quick", "full"])
def test_without_weights_numbers_are_left_out_and_never_passed(level):
    compiled = compile_("qwen2.5-7b:layers=1")
    absent = sum(value.constant.nbytes for value in compiled.graph.constants if not value.constant.available)
    found = checked(compiled, level=level)
    assert found.status == "skipped"
    assert found.reason.startswith(f"{absent / 2**30:.3g} GiB of weights absent")
    assert found.max_abs_error is None
    assert {check.name: check.status for check in found.checks} == {
        **dict.fromkeys(("graph", "memory", "streams"), "passed"),
        **dict.fromkeys(("dry_run", "pool_execution"), "skipped"),
        "kernel_drift": "skipped",
    }


def test_what_takes_too_long_is_left_out_and_said(bert):
    found = checked(bert, budget_seconds=1e-4)
    assert found.status == "skipped"
    assert "over the budget of 0.0 s; --validate full runs it" in found.reason
    assert found["memory"].status == "passed"


def test_a_graph_that_takes_too_long_to_load_is_not_counted_out(bert, monkeypatch):
    from gexplorer.validation import effort

    monkeypatch.setattr(effort, "NODE_SECONDS", 10.0)
    monkeypatch.setattr(effort, "_work_of", lambda *_: pytest.fail("operations of symbolic sizes take long to count"))
    found = checked(bert)
    assert "at least" in found["dry_run"].detail
    assert "at least" in found["pool_execution"].detail


def test_weights_that_are_absent_are_no_matter_of_the_effort():
    found = gx.compile("bert-base:layers=1", validate="quick").validation
    assert [found[name].notes[0].code for name in NAMES[3:]] == ["weights_absent"] * 3


def test_what_is_left_of_the_budget_counts():
    from gexplorer.validation.comparing import LeftOutError, require_time
    from gexplorer.validation.effort import Budget

    budget = Budget(5.0)
    require_time(4.9, budget)
    budget.started -= 4
    with pytest.raises(LeftOutError, match=r"only 1.0 s of the budget of 5.0 s left") as caught:
        require_time(3, budget)
    assert caught.value.note.code == "budget_spent"
    with pytest.raises(LeftOutError, match=r"about 40 s, over the budget of 5.0 s; --validate full runs it"):
        require_time(40, budget)


def test_the_estimate_grows_with_the_work():
    from gexplorer.validation.effort import run_seconds

    small, large = (compile_(f"bert-base:layers={layers},seq=s").graph for layers in (1, 4))
    assert run_seconds(small, {"s": 8}) < run_seconds(large, {"s": 8}) < run_seconds(large, {"s": 512})
    assert run_seconds(large, {"s": 512}) < run_seconds(large, {"s": 512}, 3)


@pytest.mark.parametrize(
    ("rule", "kernel"),
    [(wrong_rules.WrongConstant, "Mul"), (wrong_rules.DroppedBias, "Softmax"), (wrong_rules.WrongAxis, "Softmax")],
)
def test_a_wrong_rule_fails_the_dry_run_and_the_step_is_named(inject, rule, kernel):
    inject(rule)
    compiled = compiled_text(
        """
        g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z)
        <float c = {0.5}, float[4] b = {1, 2, 3, 4}>
        {
            m = Mul(x, c)
            a = Add(m, b)
            y = Softmax(a)
            z = Neg(x)
        }
        """
    )
    found = checked(compiled, level="full")
    assert found.status == "failed"
    assert found.reason.startswith("dry_run: output y: relative error")
    assert codes(found["dry_run"])[-1] == "first_step"
    assert f"first wrong after step {rule.name}" in found["dry_run"].detail
    assert {error.output for error in found.errors if error.fault} == {"y"}
    wrong = [error for error in found.errors if error.fault]
    assert all(error.relative > 1e-5 and error.cosine > 0 for error in wrong)
    assert found["kernel_drift"].status == "failed"
    assert f"({kernel}): its result" in found["kernel_drift"].detail
    assert found["memory"].status == found["pool_execution"].status == "passed"  # they did what they were told


def test_the_first_kernel_that_drifts_is_named(inject):
    inject(wrong_rules.WrongOnce)
    lines = "\n".join(f"r{i} = Relu(h{i})\n h{i + 1} = Sub(r{i}, c)" for i in range(8))
    compiled = compiled_text(f"g (float[8] h0) => (float[8] h8) <float c = {{0.001}}> {{ {lines} }}")
    found = checked(compiled, level="full")
    assert found["kernel_drift"].status == "failed"
    assert (
        "the first kernel that drifts is Relu_10 (Max): its result r5 has relative error"
        in found["kernel_drift"].detail
    )


def test_a_value_that_is_another_inside_is_no_fault(inject):
    """A pass may give an old name to a new value, if every result stays."""

    class Negated(wrong_rules.WrongConstant):
        """Moves a sign.

        before:  a = Neg(x); y = Neg(a)
        after:   a = Identity(x); y = Identity(a), under the old names
        """

        name = "negated"

        def run(self, draft, log, context):
            for node in draft.candidates("Neg"):
                with log.rewrite(node, "wrong"):
                    draft.put_node(replace(node, op="Abs"))

    inject(Negated)
    compiled = compiled_text("g (float[4] x) => (float[4] y) { p = Abs(x)\n a = Neg(p)\n y = Neg(a) }")
    found = checked(compiled, level="full")
    assert found.status == "passed"
    assert codes(found["kernel_drift"]) == ["inner_value_differs"]
    assert "every output agrees" in found["kernel_drift"].detail


def test_a_compiled_graph_that_does_not_run_has_failed(inject):
    inject(wrong_rules.Invalid)
    found = checked(compiled_text("g (float[4] x) => (float[4] y) { y = Neg(x) }"))
    assert found.status == "failed"
    assert codes(found["dry_run"]) == ["compiled_does_not_run", "first_step"]
    assert found["dry_run"].notes[1].node == "invalid"


def test_what_onnxruntime_has_not_is_run_by_the_reference():
    """onnxruntime 1.32 has no bfloat16 Tanh."""
    compiled = compiled_text("g (bfloat16[4] x) => (bfloat16[4] y) { y = Tanh(x) }")
    found = checked(compiled)
    assert found["dry_run"].status == "passed"
    assert codes(found["dry_run"]) == ["equal", "fallback"]
    assert "onnx's reference evaluator ran it, because onnxruntime cannot run the model" in found["dry_run"].detail


def test_what_nothing_runs_is_left_out():
    text = "g (float[4] x) => (float[4] y) { y = own.Strange(x) }"
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21, "own": 1]>\n' + text)
    found = checked(compile_(model))
    assert found.status == "skipped"
    assert codes(found["dry_run"]) == ["does_not_run"]
    assert codes(found["pool_execution"]) == ["pool_cannot_run"]


def test_random_numbers_cannot_be_compared():
    found = checked(compiled_text("g (float[40] x) => (float[40] y) { y = RandomNormalLike(x) }"))
    assert found.status == "skipped"
    assert codes(found["dry_run"]) == ["draws_random_numbers"]
    assert codes(found["pool_execution"]) == ["not_steady"]


def test_results_without_a_finite_number_prove_nothing():
    found = checked(
        compiled_text("g (float[4] x) => (float[4] y) <float inf = {-1}> { a = Abs(x)\n b = Mul(a, inf)\n y = Log(b) }")
    )
    assert found["dry_run"].status == "skipped"
    assert codes(found["dry_run"]) == ["no_finite_number"]


def test_what_rounding_alone_explains_is_neither_passed_nor_failed(inject):
    """The difference of nearly equal numbers has no correct digit: a sum in another order gives another one."""

    class Reordered(wrong_rules.WrongConstant):
        """Divides instead of multiplying with the reciprocal.

        before:  s = Mul(x, c)
        after:   s = Div(x, 1 / c)
        """

        name = "reordered"

        def run(self, draft, log, context):
            for node in draft.candidates("Mul"):
                with log.rewrite(node, "wrong"):
                    name = draft.add_constant(np.asarray(1 / draft.constant_of("c").array(), np.float32), "inverse")
                    draft.put_node(replace(node, op="Div", inputs=(node.inputs[0], name)))

    inject(Reordered)
    text = """
        g (float[65536] x) => (float[65536] y) <float c = {0.3}, float large = {1000}> {
            s = Mul(x, c)
            up = Add(s, large)
            y = Sub(up, large)
        }
        """
    found = checked(compiled_text(text), level="full")
    assert found.status == "skipped"
    assert set(codes(found["dry_run"])) == {"ill_conditioned"}
    assert "the original itself moves by" in found.reason
    assert found["kernel_drift"].status == "skipped"
    # More than rounding explains is a fault all the same.
    inject(wrong_rules.DroppedBias)
    assert checked(compiled_text(text)).status == "failed"


def test_inputs_that_cannot_be_made_are_said():
    found = checked(compiled_text("g (string[4] x) => (string[4] y) { y = Identity(x) }"))
    assert found.status == "skipped"
    assert codes(found["dry_run"]) == ["no_inputs"]


def test_a_file_that_says_something_else_than_what_was_read_is_found(tmp_path):
    """The original is the file, not our reading of it."""
    text = "g (float[4] x) => (float[4] y) <float c = {0.5}> { y = Mul(x, c) }"
    compiled = compiled_text(text)
    other = parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\n' + text.replace("0.5", "0.6"))
    onnx.save(other, tmp_path / "other.onnx")
    for original in (other, tmp_path / "other.onnx"):
        assert checked(compiled).status == "passed"
        found = checked(compiled, original=original)
        assert found.status == "failed"
        assert found["dry_run"].status == "failed"


def test_a_file_with_weights_beside_it(tmp_path):
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    text = "g (float[4, 8] x) => (float[4, 8] y) { y = MatMul(x, w) }"
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\n' + text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    compiled = compile_(path)
    found = checked(compiled, original=path)
    assert found.status == "passed"
    assert "the model file against the compiled graph in onnxruntime" in found["dry_run"].detail
    (tmp_path / "w.bin").unlink()
    assert checked(compile_(path), original=path).reason.startswith("256 B of weights absent (w is the first)")


def test_a_file_that_is_gone_leaves_what_was_read(tmp_path, bert):
    found = checked(bert, original=tmp_path / "gone.onnx")
    assert found.status == "passed"
    assert "the model as read" in found["dry_run"].detail
    assert "gone.onnx: cannot be read again" in found["dry_run"].detail


def test_an_invalid_graph_fails_the_first_check(bert):
    graph = bert.graph
    broken = replace(graph, outputs=("nothing", *graph.outputs[1:]))
    found = checked_memory(bert, replace(bert.memory, graph=broken))
    assert found["graph"].status == "failed"
    assert found["graph"].notes[0].node == "nothing"
    renamed = replace(graph, output_names=("other", *graph.output_names[1:]))
    assert codes(checked_memory(bert, replace(bert.memory, graph=renamed))["graph"]) == ["results_renamed"]


def checked_memory(compiled, memory):
    """Only the first check reads the graph so."""
    from gexplorer.validation.checks.graph import GraphCheck
    from gexplorer.validation.effort import Budget
    from gexplorer.validation.subject import Subject

    return {"graph": GraphCheck().run(Subject(compiled.steps, memory), Budget(1))}


def test_several_streams_run_in_several_orders():
    compiled = compile_("bert-base:small=true,layers=1", streams="streams:3")
    assert compiled.schedule.streams == 2  # more are of no use
    found = checked(compiled)
    assert found.status == "passed"
    # As planned, with either poison, as it has booleans; as launched, and with either stream ahead.
    assert "5 runs: bit-equal to private buffers" in found["pool_execution"].detail
    assert "on 2 streams with" in found["streams"].detail


def test_events_that_are_missing_are_found_by_proof_and_by_running():
    compiled = compile_("bert-base:small=true,layers=1", streams="streams:3")
    schedule = compiled.schedule
    none = np.zeros(0, np.int64)
    loose = replace(schedule, syncs=replace(schedule.syncs, source=none, target=none, event=none))
    found = validate(compiled.steps, compiled.memory, loose)
    assert found["streams"].status == "failed"
    assert found["pool_execution"].status == "failed"
    assert found.status == "failed"


def test_without_a_schedule_that_check_is_left_out(bert):
    found = validate(bert.steps, bert.memory)
    assert found.status == "passed"
    assert found["streams"].status == "skipped"


def test_the_steps_of_the_trace(bert):
    found = checked(compile_(SMALL, memory="article_literal"))
    steps = validation_steps(found, bert.graph, 50)
    assert [step.index for step in steps] == list(range(50, 56))
    assert {step.stage for step in steps} == {"validation"} <= set(STAGES)
    assert not any(step.changed for step in steps)
    by_name = {step.name: step for step in steps}
    assert list(by_name) == [f"check_{name}" for name in NAMES]
    assert by_name["check_dry_run"].rejects == ()
    assert "Passed: 2 outputs, 1 run" in by_name["check_dry_run"].summary
    for step in (by_name["check_memory"], by_name["check_pool_execution"], by_name["check_kernel_drift"]):
        assert step.rejects
        for reject in step.rejects:
            assert "{" not in step.reason(reject) + (step.hint(reject) or "")
    pool = by_name["check_pool_execution"]
    assert "GE_MEM_PLANNING_MODE=safe" in " ".join(filter(None, map(pool.hint, pool.rejects)))


def test_dynamic_shapes_are_said_in_the_article_s_words():
    text = """
        g (float[4] x) => (float[4] y) {
            i = NonZero(x)
            s = ReduceSum<keepdims = 0>(i)
            f = Cast<to = 1>(s)
            y = Mul(x, f)
        }
        """
    found = checked(compiled_text(text))
    assert found.status == "passed"
    assert found["pool_execution"].detail.endswith(
        "Input shape is not supported: dynamic shape detected: 1 tensor outside the pool "
        "(i: its shape depends on data: NonZero NonZero_0)"
    )


def test_a_model_that_does_not_take_a_size_is_told_so():
    text = "g (float[n, 2] x) => (float[a, b] y) <int64[2] shape = {-1, 4}> { y = Reshape(x, shape) }"
    found = checked(compiled_text(text), level="full")
    assert found.status == "passed"
    assert "not with n=1" in found["dry_run"].detail


def test_no_numbers_from_a_model_without_inputs_or_outputs_are_needed():
    found = checked(compiled_text("g () => (float[2] y) { y = Constant<value_floats = [1.0, 2.0]>() }"))
    assert found.status == "passed"


def test_a_model_error_is_no_traceback(bert, monkeypatch):
    from gexplorer.validation import original

    def refuse(*_):
        raise ModelError("nothing works")

    monkeypatch.setattr(original, "prepare", refuse)
    assert checked(bert)["dry_run"].detail == "the original does not run: nothing works"
