"""Whatever happens to a model's bytes or messages: a compilation that answers as before, or one line of refusal."""

import os
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import parser

import gexplorer
from tests.mutations import damaged_bytes, damaged_model
from tests.small_models import DATA, DATA_FILE, build
from tests.trial import Trials

TRAPS = Path(__file__).parents[2].parent / "shared" / "corpus" / "traps"
MODELS = build() | {path.stem: onnx.load(path) for path in sorted(TRAPS.glob("*.onnx"))}
OWN = st.sampled_from(sorted(build()))
ANY = st.one_of(OWN, st.sampled_from(sorted(MODELS)))

# The same examples every time, unless more are asked for: GEXPLORER_EXAMPLES=10000 pytest tests/laws
EXAMPLES = int(os.environ.get("GEXPLORER_EXAMPLES", "0"))
patient = settings(
    max_examples=EXAMPLES or 1000,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

HUGE = """
<ir_version: 10, opset_import: ["": 21]>
huge (float[1] x) => (float[a] y) <int64[2] shape = {1048576, 1048576}, int64 million = {1000000}, int64 zero = {0},
    int64 one = {1}, int64 tera = {1000000000000}, float f = {1}, float ten = {1e10}, float[2] on_off = {0, 1},
    float[1, 1] cell = {1}, int64[4] pads = {0, 0, 1048576, 1048576}, string s = {"a"}, int64[1] ids = {0}>
{ BODY }
"""


@pytest.fixture(scope="module")
def trials():
    with Trials() as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    (tmp_path / DATA_FILE).write_bytes(DATA)
    return tmp_path


def outcome_of(trials, folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return trials.run(path)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_models_themselves_compile_and_answer_the_same(name, trials, folder):
    outcome = outcome_of(trials, folder, MODELS[name])
    assert not outcome.fault
    assert not outcome.refused
    assert outcome.compared


@pytest.mark.parametrize("name", sorted(build()))
def test_the_order_of_the_nodes_in_the_file_does_not_matter(name, trials, folder):
    model = build()[name]
    model.graph.node.reverse()
    positions = [node.position for node in gexplorer.compile(model).steps["read"].after.order]
    assert positions == sorted(positions)
    outcome = outcome_of(trials, folder, model)
    assert not outcome.fault
    assert not outcome.refused


@given(data=st.data())
@patient
def test_damaged_bytes(data, trials, folder):
    model = MODELS[data.draw(ANY)]
    assert not outcome_of(trials, folder, damaged_bytes(data.draw, model.SerializeToString())).fault


@given(data=st.data())
@patient
def test_damaged_messages(data, trials, folder):
    model = MODELS[data.draw(ANY)]
    assert not outcome_of(trials, folder, damaged_model(data.draw, model)).fault


@pytest.mark.parametrize(
    "body",
    [
        "y = ConstantOfShape(shape)",
        "y = Expand(f, shape)",
        "y = Expand(s, shape)",
        "y = Tile(cell, shape)",
        "y = Pad(cell, pads)",
        "y = Range(zero, tera, one)",
        "y = Range(zero_f, ten, f) zero_f = Constant<value_float = 0.0>()",
        "y = OneHot(ids, tera, on_off)",
        "big = ConstantOfShape(shape) y = EyeLike(big)",
        "big = ConstantOfShape(shape) y = MatMul(big, big)",
        "big = Range(zero, million, one) twice = Add(big, big) y = Cast<to = 1>(twice)",
        "big = Expand(f, shape) total = ReduceSum(big) y = Add(x, total)",
        "y = Resize(cell, , , shape)",
        "big = ConstantOfShape(shape) where = NonZero(big) y = Transpose(where)",
    ],
)
def test_what_takes_terabytes_is_not_computed(body, trials, folder):
    outcome = outcome_of(trials, folder, parser.parse_model(HUGE.replace("BODY", body)))
    assert not outcome.fault  # such as a hang, or a death for want of memory
    assert not outcome.refused


@pytest.mark.parametrize(
    "body", ["y = ConstantOfShape(s)", "y = Expand(f, s)", "y = Tile(cell, s)", "y = Range(zero, big, f)"]
)
def test_a_fold_may_not_swell_the_model(body):
    constants = "int64[2] s = {4096, 4096}, float f = {1}, float[1, 1] cell = {1}, float zero = {0}, float big = {1e6}"
    head = '<ir_version: 10, opset_import: ["": 21]> swell () => (float[a] y)'
    graph = gexplorer.compile(parser.parse_model(f"{head} <{constants}> {{ {body} }}")).graph
    assert len(graph) == 1
    assert sum(value.constant.nbytes for value in graph.constants) < 100
