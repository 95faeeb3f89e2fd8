"""Random graphs, valid by construction: every step, every order of passes and the text form keep what they compute.

In the way of NNSmith: models that no exporter writes, compared with onnxruntime, its own optimisation off.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gexplorer.compiler import compile
from gexplorer.errors import ModelError
from gexplorer.ir.text import from_text, to_text
from gexplorer.ir.verify import verify
from gexplorer.ops.shapes import infer_graph
from gexplorer.ops.shapes.inference import known_contents
from gexplorer.passes.base import Context
from gexplorer.passes.manager import all_passes, run_passes
from gexplorer.validation.equality import compare_steps
from tests.random_models import SIZES, ModelMaker

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
picks = st.randoms(use_true_random=False)


def require_equal(steps) -> None:
    """Every step gives what the first one gave, within the types' tolerances."""
    try:
        found = compare_steps(steps, sizes=SIZES)
    except ModelError:
        assume(runs(steps[0]))  # an operator that no evaluator has for the drawn type and version
        raise
    assert [f"{c.step}: {c.output}: {c.fault}" for c in found if c.fault] == []


def runs(step) -> bool:
    try:
        compare_steps([step], sizes=SIZES)
    except ModelError:
        return False
    return True


@pytest.mark.parametrize("formats", [False, True], ids=["plain", "formats"])
@given(pick=picks)
@few
def test_every_step_of_a_compilation(formats, pick: random.Random):
    steps = compile(ModelMaker(pick).model(), fusion={"format_assignment": formats}).steps
    require_equal(steps)
    for step in steps:
        if step.stage == "passes" and step.changed:
            assert to_text(step.graph_after(len(step.rewrites))) == to_text(step.after)
            verify(step.graph_after(len(step.rewrites) // 2))
        for record in (*step.rewrites, *step.rejects):
            assert "{" not in step.reason(record)


@given(pick=picks)
@few
def test_passes_alone_and_in_any_order(pick: random.Random):
    parsed = compile(ModelMaker(pick).model(), fusion={p.name: False for p in all_passes()}).steps
    typed = parsed[1].after
    context = Context(contents=known_contents(infer_graph(typed)))
    order = pick.sample(all_passes(), pick.randint(1, 4))
    steps = run_passes(typed, order, context)
    require_equal([*parsed, *steps])
    for step, pass_class in zip(steps, order, strict=True):
        (again,) = run_passes(step.after, [pass_class], context)
        assert not again.rewrites, f"{pass_class.name} rewrites what it gave"


@given(pick=picks)
@few
def test_text_and_back(pick: random.Random):
    compiled = compile(ModelMaker(pick).model(), fusion={"format_assignment": True})
    for graph in (compiled.steps[0].after, compiled.graph):
        again = from_text(to_text(graph))
        verify(again)
        assert to_text(again) == to_text(graph)
