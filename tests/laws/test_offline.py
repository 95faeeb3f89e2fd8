"""Offline models whatever happens to them: random graphs, mutated files, savers killed at any moment.

GEXPLORER_MUTANTS=2000 and GEXPLORER_KILLS=200 are what was run when this was built; fewer run by default.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import gexplorer as gx
from gexplorer.execution.machine import Machine
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.run import prepare
from tests.offline_cases import bits
from tests.offline_mutants import kinds
from tests.random_models import SIZES, ModelMaker

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).parents[2]
MUTANTS = int(os.environ.get("GEXPLORER_MUTANTS", "300"))
KILLS = int(os.environ.get("GEXPLORER_KILLS", "20"))


@given(pick=st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_graphs_compute_offline_what_they_compute(tmp_path_factory, pick: random.Random):
    compiled = gx.compile(ModelMaker(pick).model())
    inputs = random_inputs(compiled.steps[1].after, 0, SIZES)
    try:
        whole = prepare(compiled.graph)(inputs)
    except gx.ModelError:
        assume(False)  # an operator that onnxruntime does not have for the drawn type and version
    path = tmp_path_factory.mktemp("om") / "random.om"
    compiled.save(path)
    session = gx.load_om(path, poison=True)
    results = session.run(inputs)
    private = Machine(session.program, private=True).run(inputs).outputs
    assert bits(list(results.values())) == bits(list(private.values()))
    for expected, actual in zip(whole, results.values(), strict=True):
        assert expected.shape == actual.shape
        assert expected.dtype == actual.dtype
        if expected.dtype.kind == "f" and expected.size:
            np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=2e-3 * np.nanmax(np.abs(expected), initial=1))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each mutant, in a process with bounds of time and memory."""
    folder = tmp_path_factory.mktemp("mutants")
    compiled = gx.compile("bert-base:small=true,layers=1,dtype=float32")
    compiled.save(folder / "whole.om")
    np.savez(folder / "in.npz", **random_inputs(compiled.steps[1].after, 0))
    command = [sys.executable, "-m", "tests.offline_mutants", str(folder), str(folder / "in.npz"), "0", str(MUTANTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"seed"')]


def test_every_mutant_gets_one_line_or_is_harmless(outcomes):
    assert len(outcomes) == MUTANTS
    assert [o for o in outcomes if "crash" in o] == []
    told = [o["error"] for o in outcomes if "error" in o]
    assert all(error.count("\n") == 0 and len(error) < 1100 and "Traceback" not in error for error in told)
    assert len(told) > MUTANTS // 2
    assert {o["kind"] for o in outcomes} == set(kinds())


def test_no_changed_byte_is_overlooked(outcomes):
    """Digests that do not fit are always told; only who makes all of them fit can say something else."""
    assert [o for o in outcomes if o["kind"] != "resealed" and not o["same"] and "error" not in o] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to kill on this system")
def test_killed_savers_leave_whole_files(tmp_path):
    command = [sys.executable, "-m", "tests.offline_kills", str(tmp_path), str(KILLS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    in_the_middle, left = map(int, done.stdout.split())
    assert in_the_middle > KILLS // 10
    assert left == 1
