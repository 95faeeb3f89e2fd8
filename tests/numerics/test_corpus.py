"""Real models and traps: after every single step the model still gives the same shapes, dtypes and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gexplorer.compiler import compile
from gexplorer.validation.equality import compare_steps

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "corpus"
MODELS = sorted(CORPUS.glob("*/*.onnx"))
SEEDS = (0, 1, 2)

# Sizes of symbolic dimensions where the smallest ones do not fit the model.
SIZES = {
    "bert": {"b": 2, "s": 7},
    "qwen8": {"b": 1, "s": 7},  # the export itself is wrong for b > 1: it indexes a [1, s] tensor by batch
    "qwen28": {"b": 1, "s": 5},
    "speechmos__aecmos_models_Run_1663829550_Stage_0": {"batch_size": 1, "frames": 64},
    "speechmos__plcmos_models_plcmos_v2": {"batch_size": 1, "frames": 64},
    "speechmos__dnsmos_models_sig_bak_ovr": {"N": 1},
    "silero-vad__silero_vad_16k_op15": {"batch": 1, "sequence": 512},
    "silero-vad__silero_vad_half": {"batch": 1, "sequence": 512},
    "silero-vad__silero_vad_op18_ifless": {"batch": 1, "sequence": 512},
}
INPUTS = {
    "silero-vad__silero_vad_16k_op15": {"sr": np.array(16000)},
    "silero-vad__silero_vad_op18_ifless": {"sr": np.array(16000)},
}


@pytest.mark.skipif(not MODELS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("formats", [False, True], ids=["plain", "formats"])
def test_every_step_agrees(path, formats):
    compiled = compile(path, fusion={"format_assignment": formats})
    found = compare_steps(compiled.steps, SEEDS, sizes=SIZES.get(path.stem), inputs=INPUTS.get(path.stem))
    assert [f"{c.step}: {c.output} (seed {c.seed}): {c.fault}" for c in found if c.fault] == []
    changed = {step.index for step in compiled.steps if step.changed}
    assert {c.index for c in found} == changed


@pytest.mark.skipif(not MODELS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("preset", ["unconfigured", "ge"])
def test_running_the_passes_again_changes_nothing(path, preset):
    from gexplorer.passes.base import Context
    from gexplorer.passes.manager import run_passes

    found = compile(path, preset=preset)
    again = run_passes(found.graph, found.plan.passes, Context())
    # folded batch normalisations leave a few equal constants
    allowed = {"constant_merging"} if preset == "ge" else set()
    assert {step.name: len(step.rewrites) for step in again if step.changed and step.name not in allowed} == {}
