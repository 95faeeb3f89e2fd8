"""Every operator that ONNX has a test for is costed, or it says why not; nothing is raised, nothing is negative."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.cost.graph import cost_of
from gexplorer.frontends.onnx import read
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ops.shapes import infer_graph, with_types
from tests.backend_suite import node_cases

# Reasons that are allowed, by how they begin.
REASONS = (
    "the size of ",
    "it runs on the chip's Arm cores",
    "how often the graphs inside",
    "how much ",
    "a shape is not known",
    "a dimension is 0",
    "only an Einsum",
    "Q, K and V lie in one tensor",
    "DeformConv is not modelled",
    "an operand has no dimension",
)


@pytest.fixture(scope="module")
def costs():
    chips = [load_chip("Ascend910B3"), load_chip("Ascend910A")]
    found = {}
    for name, case in node_cases().items():
        graph = read(case.model).graph
        typed = with_types(graph, infer_graph(graph))
        found[name] = [cost_of(typed, chip) for chip in chips]
    return found


def test_every_cost_is_a_number_and_every_reason_is_known(costs):
    wrong = []
    for name, both in costs.items():
        for cost in both:
            numbers = [cost.latency_us, cost.hbm_bytes, cost.l2_bytes, cost.l1_bytes, cost.ub_bytes, cost.flops]
            if not all(np.isfinite(number) and number >= 0 for number in numbers):
                wrong.append((name, numbers))
            if cost.compulsory_bytes > cost.hbm_bytes * (1 + 1e-9):
                wrong.append((name, cost.compulsory_bytes, cost.hbm_bytes))
            wrong += [(name, row.reason) for row in cost.uncosted if not row.reason.startswith(REASONS)]
    assert wrong == []


def test_most_operators_are_costed(costs):
    """1,435 of the 1,871 cases; most of the others take axes, sizes or scales as inputs, or run on the AI CPU."""
    whole = sum(not both[0].uncosted for both in costs.values())
    assert whole >= 1400
