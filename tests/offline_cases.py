"""Runs the onnx package's test cases as offline models: compiled, saved, loaded, run in the planned pool."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gexplorer as gx
from gexplorer.execution.machine import Machine
from gexplorer.offline.session import Session
from tests.backend_suite import Case, _difference, _feeds


def offline_fault(case: Case, path: Path, evaluator: str) -> str:
    """What is wrong with a case as an offline model, "" for nothing.

    Wrong are other results than the case expects, and bits that differ from those of the same kernels with memory of
    their own.

    Args:
        case: one test of the onnx package.
        path: where the offline model is written.
        evaluator: what runs the kernels.
    """
    compiled = gx.compile(case.model)
    compiled.save(path)
    session = Session(path, poison=True, evaluator=evaluator)
    private = Machine(session.program, private=True, sessions=session._machine.sessions)
    for inputs, expected in case.data_sets:
        feeds = _feeds(case.model, inputs)
        try:
            pooled, apart = session.run(feeds), private.run(feeds).outputs
        except gx.GexplorerError as error:
            return str(error)
        if [bits(value) for value in pooled.values()] != [bits(value) for value in apart.values()]:
            return "the pool gives other bits than memory apart"
        if len(pooled) != len(expected):
            return f"{len(pooled)} outputs, {len(expected)} expected"
        for actual, wanted in zip(pooled.values(), expected, strict=True):
            found = _difference(actual, wanted, case.rtol, case.atol)
            if found:
                return found
    return ""


def bits(value: object) -> object:
    """A result as something that is equal only where all bits are."""
    if isinstance(value, list):
        return [bits(item) for item in value]
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes())
    return value
