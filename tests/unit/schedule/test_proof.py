"""The verifier is handed what the schedule does, and catches a schedule that leaves out what the plan asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.memory.stage import Wishes, plan_memory
from gexplorer.schedule.dependencies import dependencies_of
from gexplorer.schedule.events import number_events, waits_of
from gexplorer.schedule.modes import parse_mode
from gexplorer.schedule.proof import prove, scheduled_program
from gexplorer.schedule.stage import schedule
from gexplorer.schedule.streams import assign
from tests.memory_graphs import flat, simple
from tests.schedules import durations


def diamond():
    """n3 writes over what n1 reads; nothing but the plan orders them."""
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("MatMul", ["a", "a"], ["b"]),
        ("MatMul", ["x", "a"], ["c"]),
        ("MatMul", ["c", "c"], ["d"]),
        ("MatMul", ["b", "d"], ["y"]),
    ]
    graph = simple(nodes, inputs=["x"], outputs=["y"], types=dict.fromkeys("xabcdy", flat(4)))
    return plan_memory(graph, Wishes())


def on_streams(memory, edges, mode="streams:4", times=None):
    assigned = assign(edges, times or [1] * len(edges.kernels), parse_mode(mode))
    return assigned, number_events(waits_of(edges, assigned), assigned)


def test_a_schedule_without_its_reuse_edges_is_caught():
    memory = diamond()
    edges = dependencies_of(memory)
    times = [1, 9, 1, 1, 1]
    assert prove(memory, edges.kernels, *on_streams(memory, edges, times=times)) == ()
    findings = prove(memory, edges.kernels, *on_streams(memory, edges.data_only(), times=times))
    (race,) = [found for found in findings if found.code == "reuse_races"]
    assert race.hint == "let n3 wait for n1"
    assert set(findings.counts) == {"reuse_races"}


def test_a_missing_event_is_caught():
    memory = diamond()
    edges = dependencies_of(memory)
    assigned, syncs = on_streams(memory, edges)
    assert len(syncs) >= 2
    for number in range(len(syncs)):
        kept = np.arange(len(syncs)) != number
        fewer = replace(syncs, source=syncs.source[kept], target=syncs.target[kept], event=syncs.event[kept])
        assert prove(memory, edges.kernels, assigned, fewer) != ()


def test_one_stream_in_the_planned_order_is_what_the_memory_stage_proved():
    memory = diamond()
    found = schedule(memory, durations(memory), "single")
    assert found.findings is memory.findings
    program = scheduled_program(memory, found.kernels, found.assigned, found.syncs)
    np.testing.assert_array_equal(program.writer, memory.program.writer)
    assert program.operators == memory.program.operators


def test_an_unsound_plan_stays_unsound():
    compiled = gx.compile("bert-base:small=true", memory="article_literal")
    memory = compiled.memory
    assert memory.findings
    for mode in ("single", "cube_vector", "streams:4"):
        assert schedule(memory, durations(memory), mode).findings


@pytest.mark.parametrize("model", ["bert-base:small=true", "resnet50:small=true", "mixtral-8x7b:small=true"])
def test_real_graphs_lose_their_proof_without_reuse_edges(model):
    memory = gx.compile(model).memory
    edges = dependencies_of(memory)
    times = [1 + kernel * 7919 % 13 for kernel in range(len(edges.kernels))]
    assert prove(memory, edges.kernels, *on_streams(memory, edges, "streams:8", times)) == ()
    if edges.reuse_edges:
        assert prove(memory, edges.kernels, *on_streams(memory, edges.data_only(), "streams:8", times)) != ()
