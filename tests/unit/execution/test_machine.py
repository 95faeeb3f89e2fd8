"""Programs run: views, control flow, strings, sequences, odd element types; and what cannot run says why."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

import gexplorer as gx
from gexplorer.execution.machine import Machine
from gexplorer.execution.program import Kernel, Place
from gexplorer.execution.sessions import Sessions

pytest.importorskip("onnxruntime")
HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'


def compiled(text, **options):
    return gx.compile(parser.parse_model(HEAD + text), preset="unconfigured", **options)


def both(made, inputs):
    """The results in the pool, which must be those with memory apart bit by bit."""
    pooled = Machine(made, poison=True).run(inputs).outputs
    apart = Machine(made, private=True).run(inputs).outputs
    for name, value in pooled.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            assert value.tobytes() == apart[name].tobytes(), name
    return pooled


def test_a_view_is_spared_and_a_result_that_is_a_view_of_an_input_is_a_copy():
    made = compiled(
        """
        views (float[2, 6] x) => (float[12] flat, float[3, 4] y)
        <int64[1] one = {12}, int64[2] two = {3, 4}>
        {
            flat = Reshape(x, one)
            r = Sqrt(x)
            v = Reshape(r, two)
            y = Neg(v)
        }
        """
    ).program
    spared = {instruction.outputs[0]: instruction.is_spared for instruction in made.instructions}
    assert spared == {"flat": False, "r": False, "v": True, "y": False}
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    found = both(made, {"x": x})
    np.testing.assert_array_equal(found["flat"], x.reshape(-1))
    np.testing.assert_array_equal(found["y"], -np.sqrt(x).reshape(3, 4))
    found["flat"][:] = 7
    assert x[0, 0] == 0  # the result is the caller's own


def test_a_spared_concat_and_split_run_only_with_memory_apart():
    made = compiled(
        """
        parts (float[1, 64] x) => (float[1, 64] y)
        {
            a = Sqrt(x)
            b = Exp(x)
            whole = Concat<axis = 1>(a, b)
            e = Neg(whole)
            p, q = Split<axis = 1, num_outputs = 2>(e)
            s = MatMul(p, t)
            y = Add(s, q)
        }
        """.replace("(float[1, 64] x) => (float[1, 64] y)", "(float[1, 64] x, float[64, 64] t) => (float[1, 64] y)")
    ).program
    spared = {instruction.op for instruction in made.instructions if instruction.is_spared}
    assert spared == {"Concat", "Split"}
    both(made, {"x": np.ones((1, 64), np.float32), "t": np.eye(64, dtype=np.float32)})


def test_an_input_and_a_constant_that_are_results():
    made = compiled("through (float[3] x) => (float[3] x, float[3] k) <float[3] k = {1, 2, 3}> { y = Relu(x) }").program
    found = both(made, {"x": np.float32([4, 5, 6])})
    assert found["x"].tolist() == [4, 5, 6]
    assert found["k"].tolist() == [1, 2, 3]


def test_control_flow_is_one_kernel_with_what_it_captures():
    made = compiled(
        """
        control (float[4] x, bool c, float[4] w) => (float[4] y, float[3, 4] z)
        <int64 trips = {3}>
        {
            m = Mul(x, w)
            t = If(c) <
                then_branch = yes () => (float[4] a) { a = Add(m, w) },
                else_branch = no () => (float[4] b) { b = Sub(m, w) }
            >
            go = Constant<value = bool {1}>()
            y, z = Loop(trips, go, t) <
                body = turn (int64 i, bool on, float[4] v) => (bool on_out, float[4] v_out, float[4] seen) {
                    on_out = Identity(on)
                    v_out = Add(v, m)
                    seen = Identity(v_out)
                }
            >
        }
        """
    ).program
    x, w = np.float32([1, 2, 3, 4]), np.float32([2, 2, 2, 2])
    for c, sign in ((True, 1), (False, -1)):
        found = both(made, {"x": x, "c": np.array(c), "w": w})
        np.testing.assert_array_equal(found["y"], x * w + sign * w + 3 * x * w)
        assert found["z"].shape == (3, 4)
    spans = {i.op: i.last_point - i.first_point + 1 for i in made.instructions}
    assert spans["If"] == 4
    assert spans["Loop"] > 2


# In both, what control flow writes where it ends lies where something was that ended within it.
ENDS_WITHIN = {
    "If": """
        branching (bool c, float[4,4] x) => (float[4,4] z)
        {
            r = MatMul(x, x)
            y = If (c) <
                then_branch = t () => (float[4,4] a) { p = MatMul(r, r)  q = Neg(p)  a = MatMul(q, q) },
                else_branch = e () => (float[4,4] b) { u = Neg(r)  b = MatMul(u, u) }
            >
            z = MatMul(y, y)
        }
        """,
    "Loop": """
        looping (float[4,4] x) => (float[4,4] z)
        <int64 n = {2}>
        {
            y = Loop (n, , x) <body = b (int64 i, bool on, float[4,4] s) => (bool still, float[4,4] s3)
                { still = Identity(on)  s1 = MatMul(s, x)  s2 = Neg(s1)  s3 = MatMul(s2, s2) }
            >
            z = MatMul(y, y)
        }
        """,
}


@pytest.mark.parametrize("op", ENDS_WITHIN)
def test_what_ends_within_control_flow_may_be_where_its_results_go(op):
    found = compiled(ENDS_WITHIN[op], memory="safe", validate="full")
    memory, program = found.memory, found.memory.program
    lives = {life.name: life for life in memory.liveness.table()}
    end = max(point for point, name in enumerate(program.operators) if name.startswith(op))
    place = memory.addresses[lives["y"].buffer]
    ended = [life for life in lives.values() if life.kind.name == "INTERMEDIATE" and life.last_read < end]
    assert any(memory.addresses[life.buffer] == place for life in ended)
    for chosen in (True, False):
        x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
        both(found.program, {"x": x, **({"c": np.array(chosen)} if op == "If" else {})})
    assert found.validation.status == "passed"


def test_what_the_plan_says_ends_within_control_flow_is_poisoned_there():
    text = ENDS_WITHIN["If"].replace("z = MatMul(y, y)", "z = Add(y, r)")
    program = compiled(text, memory="safe", validate="off").program
    last = program.buffers.last.copy()
    last[program.tensors["r"].buffer] = 2  # it is read behind the If, at the last point
    wrong = replace(program, buffers=replace(program.buffers, last=last))
    feed = {"c": np.array(True), "x": np.ones((4, 4), np.float32)}
    right, poisoned = (Machine(made, poison=True).run(feed).outputs["z"] for made in (program, wrong))
    assert not np.isnan(right).any()
    assert np.isnan(poisoned).all()


STEPS = """
    steps (float[4,4] x) => (float[4,4] z)
    {
        r = MatMul(x, x)
        y = MatMul(r, r)
        z = Add(y, r)
    }
    """


@pytest.mark.parametrize("wrong", ["a life that ends too early", "a result over what is read"])
def test_poison_shows_a_plan_that_is_wrong(wrong):
    program = compiled(STEPS, memory="safe", validate="off").program
    r, y = (program.tensors[name].buffer for name in "ry")
    last, offset = program.buffers.last.copy(), program.buffers.offset_bytes.copy()
    if wrong == "a life that ends too early":
        last[r] = 0  # it is read at points 1 and 2
    else:
        offset[y] = offset[r]
    spoilt = replace(program, buffers=replace(program.buffers, last=last, offset_bytes=offset))
    feed = {"x": np.ones((4, 4), np.float32)}
    right, poisoned = (Machine(made, poison=True).run(feed).outputs["z"] for made in (program, spoilt))
    assert not np.isnan(right).any()
    assert np.isnan(poisoned).all()


def test_strings_and_sequences_are_outside():
    made = compiled(
        """
        texts (string[n] t, float[4] x) => (string[n] u, seq(float[2]) s)
        {
            u = StringNormalizer<case_change_action = "UPPER", is_case_sensitive = 1>(t)
            s = SplitToSequence<axis = 0>(x, two)
        }
        """.replace("=> (string[n] u, seq(float[2]) s)", "=> (string[n] u, seq(float[2]) s) <int64 two = {2}>")
    ).program
    assert {made.tensors[name].place for name in ("t", "u", "s")} == {Place.OUTSIDE}
    found = Machine(made, poison=True).run({"t": np.array(["a", "b"], object), "x": np.ones(4, np.float32)}).outputs
    assert found["u"].tolist() == ["A", "B"]
    assert [part.shape for part in found["s"]] == [(2,), (2,)]


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.INT4, ml_dtypes.int4),
        (TensorProto.UINT4, ml_dtypes.uint4),
    ],
)
def test_element_types_that_numpy_has_not(element, dtype):
    """Transposed twice: packed or not, the bytes go into the pool and come back."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["u"], perm=[0, 1]),
        helper.make_node("Transpose", ["t"], ["y"], perm=[1, 0]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "odd", [info("x", element, [3, 5])], [info("y", element, [3, 5]), info("u", element, [5, 3])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    made = gx.compile(model, fusion={"ALL": False}).program
    x = np.arange(15).reshape(3, 5).astype(dtype)
    found = both(made, {"x": x})
    assert found["y"].dtype == x.dtype
    np.testing.assert_array_equal(found["y"].astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(found["u"].astype(np.float32), x.T.astype(np.float32))


def test_equal_operators_share_a_kernel_and_a_session():
    made = gx.compile("qwen2.5-7b:small=true,layers=3,dtype=float32").program
    matmuls = [i for i in made.instructions if i.op == "MatMul"]
    assert len(matmuls) > 3
    assert len({i.kernel for i in matmuls}) < len(matmuls)
    assert len({kernel.model for kernel in made.kernels}) == len(made.kernels)


def test_kernels_of_other_attributes_or_types_are_not_shared():
    made = compiled(
        """
        several (float[4, 4] x, int32[4, 4] i)
            => (float[4, 4] a, float[4, 4] b, int32[4, 4] c, float[4, 4] d, float[4, 4] e)
        {
            a = Transpose<perm = [1, 0]>(x)
            b = Softmax<axis = 0>(x)
            d = Softmax<axis = 1>(x)
            c = Add(i, i)
            e = Add(x, x)
        }
        """
    ).program
    assert len(made.kernels) == 5


def test_weights_that_are_not_there_are_named():
    made = gx.compile("bert-base:layers=1").program
    assert made.missing
    inputs = {"input_ids": np.zeros((1, 128), np.int64), "attention_mask": np.ones((1, 128), np.int64)}
    with pytest.raises(gx.ModelError, match=f"weights not available: .* and {len(made.missing) - 1} more; .*weights"):
        Machine(made).run(inputs)


def test_a_kernel_that_fails_is_named():
    made = compiled("pick (float[3] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }").program
    with pytest.raises(gx.ModelError, match=r"^Gather\S*: Gather cannot run: .*out of data bounds"):
        Machine(made).run({"x": np.ones(3, np.float32), "i": np.array([0, 9])})


def test_a_result_of_another_shape_than_planned_is_an_error():
    made = compiled("pick (float[3] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }").program
    planned = {**made.tensors, "y": replace(made.tensors["y"], shape=(1,))}
    with pytest.raises(gx.ModelError, match=r"y is planned as \[1\], but has \[2\]"):
        Machine(replace(made, tensors=planned)).run({"x": np.ones(3, np.float32), "i": np.array([0, 1])})


def test_kernels_that_speak_of_other_files_are_refused(tmp_path):
    """A kernel's model comes with the program; it opens nothing."""
    made = compiled("one (float[3] x) => (float[3] y) { y = Neg(x) }").program
    model = onnx.ModelProto.FromString(made.kernels[0].model)
    model.graph.node[0].op_type = "Add"
    model.graph.node[0].input.append("w")
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=str(tmp_path / "secret"))
    (tmp_path / "secret").write_bytes(bytes(12))
    kernel = replace(made.kernels[0], model=model.SerializeToString())
    with pytest.raises(gx.ModelError, match="weights not available"):
        Machine(replace(made, kernels=(kernel,))).run({"x": np.ones(3, np.float32)})


def test_what_onnxruntime_has_not_runs_in_the_reference():
    """float64 Celu: onnxruntime has it for float32 only."""
    made = compiled(
        "odd (double[3] x) => (double[3] y) { s = BitwiseNot(i)\n y = Sin(x) }".replace("s = BitwiseNot(i)\n ", "")
    ).program
    sessions = Sessions(made.kernels, "reference")
    found = Machine(made, sessions=sessions).run({"x": np.array([0.0, 1.0, 2.0])}).outputs["y"]
    np.testing.assert_allclose(found, np.sin([0.0, 1.0, 2.0]))
    assert sessions.by_reference == {0}


def test_watch_sees_every_instruction():
    made = gx.compile("mlp:small=true").program
    seen = []
    machine = Machine(made, poison=True)
    inputs = {name: np.zeros(made.tensors[name].shape, np.float32) for name in made.inputs}
    run = machine.run(inputs, watch=lambda i, out: seen.append((i.name, *out)))
    assert seen == [(i.name, *i.outputs) for i in made.instructions]
    assert len(run.instruction_seconds) == len(made.instructions)
    assert (run.instruction_seconds >= 0).all()
    assert run.seconds >= run.instruction_seconds.sum()


def test_plans_without_alignment_run_too():
    compilation = gx.compile("bert-base:small=true,layers=1,dtype=float32", memory_alignment="none")
    from gexplorer.validation.inputs import random_inputs

    both(compilation.program, random_inputs(compilation.graph, 0))


def test_a_rounding_stays_where_onnxruntime_puts_casts_of_its_own():
    text = "k (float[n] i0) => (float[n] o0) { h = Cast<to = 10>(i0)\n a = Sin(h)\n o0 = Cast<to = 1>(a) }"
    kernel = Kernel("Casts", "", "", parser.parse_model(HEAD + text).SerializeToString())
    x = np.float32([1 + 2**-12, 0.3, 0.7])
    rounded = np.sin(x.astype(np.float16).astype(np.float32)).astype(np.float16).astype(np.float32)
    assert Sessions((kernel,)).run(0, [x])[0].tolist() == rounded.tolist()
