"""The schedule stage on the models of the zoo and on real ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.frontends import zoo
from gexplorer.memory.stage import Wishes, plan_memory
from gexplorer.ops.row import Unit
from gexplorer.schedule.chrome_trace import chrome_trace
from gexplorer.schedule.stage import kernel_names, schedule
from gexplorer.schedule.steps import schedule_steps
from gexplorer.views.schedule import schedule_detail
from gexplorer.views.summary import kernels as launched
from tests.memory_graphs import flat, simple
from tests.schedules import MODES, durations

CORPUS = sorted((Path(__file__).parents[3] / ".." / "shared" / "corpus").glob("*/*.onnx"))
SMALL = [f"{name}:small=true" for name in zoo.names()]


@cache
def memory_of(model):
    return gx.compile(model).memory


def check(memory):
    times = durations(memory, 1)
    single = schedule(memory, times, "single")
    assert single.streams == min(1, len(single.kernels))
    assert single.makespan_us == single.serial_us == sum(times.values())
    for mode in MODES:
        found = schedule(memory, times, mode)
        assert found.findings == (), mode
        edges, timeline = found.dependencies, found.timeline
        assert (timeline.start_us[edges.after] >= timeline.end_us[edges.before]).all()
        assert found.data_path_us <= found.critical_path_us <= found.makespan_us <= single.makespan_us
        assert found.live_bytes.peak_bytes <= memory.pool_bytes
    return single


@pytest.mark.parametrize("model", SMALL)
def test_every_mode_on_the_small_models_of_the_zoo(model):
    memory = memory_of(model)
    single = check(memory)
    assert set(kernel_names(memory)) <= set(launched(memory.graph))
    assert single.dependencies.reuse_edges <= len(single.dependencies)


@pytest.mark.skipif(not CORPUS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_mode_on_real_models(path):
    check(memory_of(path))


@pytest.mark.parametrize("model", ["bert-base:small=true", "resnet50:small=true"])
def test_one_stream_keeps_alive_what_the_bound_says(model):
    memory = memory_of(model)
    times = dict.fromkeys(kernel_names(memory), 1.0)
    assert schedule(memory, times, "single").live_bytes.peak_bytes == memory.bounds.bound_bytes


def test_two_core_types_run_side_by_side():
    memory = memory_of("resnet50:small=true")
    found = schedule(memory, dict.fromkeys(kernel_names(memory), 1.0), "cv")
    by_stream = {core: set() for core in Unit}
    for core, stream in zip(found.kernels.cores, found.assigned.stream.tolist(), strict=True):
        by_stream[core].add(stream)
    assert len(by_stream[Unit.CUBE]) == len(by_stream[Unit.VECTOR]) == 1
    assert by_stream[Unit.CUBE] != by_stream[Unit.VECTOR]
    assert all(load.shared_us == 0 for load in found.core_loads.values())


def test_steps_tell_what_was_done_and_leave_the_graph_alone():
    memory = memory_of("bert-base:small=true")
    found = schedule(memory, durations(memory), "streams:4")
    steps = schedule_steps(found, 7)
    assert [step.index for step in steps] == list(range(7, 13))
    assert [step.name for step in steps] == [
        "dependencies",
        "stream_assignment",
        "sync_insertion",
        "event_numbering",
        "timeline",
        "schedule_check",
    ]
    names = [step.ge_name for step in steps]
    assert names == [None, "AssignLogicalStreams", "InsertSyncNodes", "RefreshRealStream", None, None]
    assert {step.stage for step in steps} == {"schedule"}
    assert not any(step.changed or step.rejects for step in steps)
    assert sum(step.seconds for step in steps) == pytest.approx(sum(found.seconds.values()))


def test_what_the_verifier_finds_is_what_the_check_rejects():
    memory = gx.compile("bert-base:small=true", memory="article_literal").memory
    steps = schedule_steps(schedule(memory, durations(memory), "cv"), 0)
    assert steps[-1].rejects
    assert all(steps[-1].reason(reject) != reject.code for reject in steps[-1].rejects)


def test_a_kernel_without_a_time_is_one_clear_line():
    memory = memory_of("mlp:small=true")
    with pytest.raises(OptionError, match=r"^schedule: no duration for kernel"):
        schedule(memory, {})


def test_arrays_cannot_be_written_to():
    memory = memory_of("bert-base:small=true")
    found = schedule(memory, durations(memory), "streams:2")
    held = [found.dependencies, found.kernels, found.assigned, found.syncs, found.timeline, found.live_bytes]
    arrays = [value for part in held for value in vars(part).values() if isinstance(value, np.ndarray)]
    assert len(arrays) > 15
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_that_launches_nothing(mode):
    graph = simple([], inputs=["x"], outputs=["x"], types={"x": flat(4)})
    found = schedule(plan_memory(graph, Wishes()), {}, mode)
    assert (found.streams, found.makespan_us, found.critical_path_us, found.serial_us) == (0, 0, 0, 0)
    assert found.critical_path == ()
    assert found.findings == ()
    assert found.live_bytes.peak_bytes == 0
    assert len(schedule_steps(found, 0)) == 6
    assert schedule_detail(found)["kernels"] == []
    assert [event["ph"] for event in chrome_trace(found)["traceEvents"]] == ["M"]
