"""What every test of a fusion rule does: kernels that come of a small model, and how often it fires on a whole one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import gexplorer as gx
from gexplorer.passes.base import Pass
from gexplorer.trace.records import Step
from gexplorer.validation.equality import compare_steps
from tests.passes import lines_of, run

SHARED = Path(__file__).parents[2] / "shared"


def check_kernels(rule: type[Pass], before: str, after: str, *, opset: int | str = 17) -> Step:
    """The rule makes of a small model these nodes (bodies and constants left out), and the numbers stay."""
    step = run(rule, before, opset=opset)
    assert step.rewrites, [step.reason(reject) for reject in step.rejects]
    nodes = [line for line in lines_of(step.after).splitlines() if line.startswith(("%", "output"))]
    assert "\n".join(nodes) == dedent(after).strip("\n")
    return step


def check_miss(
    rule: type[Pass], before: str, code: str, blocker: str | None, sentence: str, *, opset: int | str = 17
) -> None:
    """The rule leaves a small model alone and says why."""
    step = run(rule, before, opset=opset)
    assert step.rewrites == ()
    assert [(r.code, r.blocker, step.reason(r)) for r in step.rejects] == [(code, blocker, sentence)]


def check_count(model: str, counts: dict[str, int], *, numbers: bool = False, **options: object) -> None:
    """Rules that are on, and no others, fire so often on a whole model; its numbers stay where it is small enough.

    The path of a model is meant in the folder of shared files beside the repository; without it the test is skipped.
    """
    if model.endswith(".onnx"):
        if not (SHARED / model).exists():
            pytest.skip("the shared models are not beside this checkout")
        model = str(SHARED / model)
    done = gx.compile(model, fusion={"ALL": False, **dict.fromkeys(counts, True)}, **options)
    assert {step.name: len(step.rewrites) for step in done.steps if step.name in counts} == counts
    if numbers:
        assert [found.fault for found in compare_steps(done.steps, sizes={"b": 1, "s": 7}) if found.fault] == []
