"""Whatever happens to a model's bytes or messages: a compilation that answers as before, or one line of refusal."""

from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mutations import damaged_bytes, damaged_model
from tests.small_models import DATA, DATA_FILE, build
from tests.trial import Trials

TRAPS = Path(__file__).parents[2].parent / "shared" / "corpus" / "traps"
MODELS = build() | {path.stem: onnx.load(path) for path in sorted(TRAPS.glob("*.onnx"))}
OWN = st.sampled_from(sorted(build()))
ANY = st.one_of(OWN, st.sampled_from(sorted(MODELS)))

patient = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


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
