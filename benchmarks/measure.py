"""Runs one tool on one model under limits, and says how it went."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.models import Prepared
from benchmarks.tools import TOOLS

ROOT = Path(__file__).parents[1]
# A quick run is done so many times, and the median counts.
REPEATS = 3
QUICK_SECONDS = 5


@dataclass(frozen=True)
class Limits:
    """What one run may use.

    Attributes:
        cpu_seconds: CPU time of the measured call.
        memory_bytes: memory that the process asks for (files that it maps do not count).
    """

    cpu_seconds: int = 120
    memory_bytes: int = 4 << 30


@dataclass(frozen=True)
class Run:
    """One tool on one model.

    Attributes:
        tool: name of the tool.
        model: name of the model.
        weights: what there was of the weights: ``in file``, ``none`` or ``sparse zeros``.
        nodes_before: nodes of the model.
        nodes_after: nodes of the result, None where it was not written or there is none.
        cpu_seconds: user and system time of the call, None where it failed.
        peak_rss_mb: the largest resident size of the process, imports included.
        failure: why there is no result, "" where there is one.
    """

    tool: str
    model: str
    weights: str
    nodes_before: int
    nodes_after: int | None
    cpu_seconds: float | None
    peak_rss_mb: float
    failure: str = ""


def measure(tool: str, model: Prepared, tiny: Prepared, limits: Limits) -> Run:
    """Measures one tool on one model; the median of several runs where a run is quick."""
    runs = [_run(tool, model, tiny, limits)]
    while len(runs) < REPEATS and runs[0].cpu_seconds is not None and runs[0].cpu_seconds < QUICK_SECONDS:
        runs.append(_run(tool, model, tiny, limits))
    return sorted(runs, key=lambda run: run.cpu_seconds or 0.0)[len(runs) // 2]


def _run(tool: str, model: Prepared, tiny: Prepared, limits: Limits) -> Run:
    sparse = TOOLS[tool].needs_data and model.weight_bytes > 0
    weights = "sparse zeros" if sparse else "none" if model.weight_bytes else "in file"
    path = model.sparse if sparse else model.path
    command = [sys.executable, "-m", "benchmarks.worker", tool, path, tiny.path]
    command += [str(limits.cpu_seconds), str(limits.memory_bytes)]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read().decode(errors="replace")
    found = json.loads(said) if process.returncode == 0 else {"cpu_seconds": None, "nodes_after": None}
    # The kernel counts resident sizes in KiB, on macOS in bytes.
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1 << 10)
    failure = _reason(process.returncode, complained, peak, limits) if process.returncode else ""
    return Run(tool, model.name, weights, model.nodes, **found, peak_rss_mb=peak >> 20, failure=failure)


def _reason(code: int, complained: str, peak_bytes: int, limits: Limits) -> str:
    """Why a process ended without a result."""
    if code == -signal.SIGXCPU:
        return f"more than {limits.cpu_seconds} s CPU"
    memory = f"{limits.memory_bytes / (1 << 30):g} GB of memory"
    if any(sign in complained for sign in ("MemoryError", "bad_alloc", "Cannot allocate memory")):
        return f"more than {memory}"
    if code < 0:  # not everyone who is refused memory says so
        near = f", close to {memory}" if peak_bytes > 0.9 * limits.memory_bytes else ""
        return f"crashed ({signal.Signals(-code).name}{near})"
    last = [line.strip() for line in complained.splitlines() if line.strip()][-1:]
    return last[0][:140] if last else f"exit status {code}"
