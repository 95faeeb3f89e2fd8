"""What holds for every schedule of every graph."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gexplorer.memory.museum.plans import PlacedTensors
from gexplorer.schedule.dependencies import dependencies_of
from gexplorer.schedule.events import number_events, waits_of
from gexplorer.schedule.list_schedule import longest_path
from gexplorer.schedule.modes import parse_mode
from gexplorer.schedule.proof import prove, scheduled_program
from gexplorer.schedule.stage import schedule
from gexplorer.schedule.streams import assign
from gexplorer.schedule.timeline import PS_PER_US, timeline_of
from tests.schedules import MODES, durations, edges_of, longest, planned, random_edges, reachable, synchronised

some = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
each_mode = pytest.mark.parametrize("mode", MODES)
seeds = st.integers(0, 10_000)


def drawn(seed: int):
    rng = random.Random(seed)
    edges = random_edges(rng, rng.randint(1, 28))
    return edges, [rng.choice((0, 1, 1, 2, 5, 9)) * PS_PER_US for _ in range(len(edges.kernels))]


def timed(seed: int, mode: str):
    edges, times = drawn(seed)
    assigned = assign(edges, times, parse_mode(mode))
    return edges, times, assigned, timeline_of(edges, assigned, times)


@each_mode
@given(seed=seeds)
@some
def test_makespan_is_between_the_critical_path_and_the_sum(mode, seed):
    edges, times, assigned, timeline = timed(seed, mode)
    path = longest_path(edges, times)
    assert sum(times[kernel] for kernel in path) == longest(edges, times)
    assert all(edges.edge(*pair) is not None for pair in pairwise(path))
    low, high = longest(edges, times) / PS_PER_US, sum(times) / PS_PER_US
    assert max(times) / PS_PER_US <= low <= timeline.makespan_us <= high
    if assigned.streams == 1:
        assert timeline.makespan_us == high


@each_mode
@given(seed=seeds)
@some
def test_no_kernel_starts_too_early_and_a_stream_runs_one_at_a_time(mode, seed):
    edges, _, assigned, timeline = timed(seed, mode)
    assert (timeline.start_us[edges.after] >= timeline.end_us[edges.before]).all()
    position = np.argsort(assigned.order)
    assert (position[edges.before] < position[edges.after]).all()
    for stream in range(assigned.streams):
        members = [k for k in assigned.order.tolist() if assigned.stream[k] == stream]
        assert members
        assert all(timeline.end_us[a] <= timeline.start_us[b] for a, b in pairwise(members))


@each_mode
@given(seed=seeds)
@some
def test_every_kernel_starts_when_what_it_waits_for_ends(mode, seed):
    edges, _, assigned, timeline = timed(seed, mode)
    for kernel, blocker in enumerate(timeline.waits_for.tolist()):
        if blocker < 0:
            assert timeline.start_us[kernel] == 0
        else:
            assert timeline.start_us[kernel] == timeline.end_us[blocker]
            assert edges.edge(blocker, kernel) is not None or assigned.stream[blocker] == assigned.stream[kernel]


@each_mode
@given(seed=seeds)
@some
def test_slack_is_what_a_kernel_can_be_late_without_harm(mode, seed):
    edges, times, assigned, timeline = timed(seed, mode)
    rng = random.Random(seed)
    kernel = rng.randrange(len(times))
    spare = round(timeline.slack_us[kernel] * PS_PER_US)
    for late, harmless in ((spare, True), (spare + 1, False)):
        slower = [time + late * (k == kernel) for k, time in enumerate(times)]
        assert (timeline_of(edges, assigned, slower).makespan_us == timeline.makespan_us) is harmless
    assert timeline.slack_us.min() == 0


@given(seed=seeds, streams=st.integers(1, 6))
@some
def test_list_schedules_keep_grahams_bound(seed, streams):
    """The best possible is no shorter than the critical path, nor than the sum shared out evenly."""
    edges, times, _, timeline = timed(seed, f"streams:{streams}")
    best = max(longest(edges, times), sum(times) / streams)
    assert timeline.makespan_us * PS_PER_US <= (2 - 1 / streams) * best * (1 + 1e-12)


@given(seed=seeds)
@some
def test_list_schedules_never_idle_while_something_is_ready(seed):
    edges, times, _, timeline = timed(seed, "streams:3")
    ready = np.zeros(len(times))
    np.maximum.at(ready, edges.after, timeline.end_us[edges.before])
    for kernel in range(len(times)):
        for moment in {ready[kernel], *timeline.end_us.tolist()}:
            if ready[kernel] <= moment < timeline.start_us[kernel]:
                running = (timeline.start_us <= moment) & (timeline.end_us > moment)
                assert running.sum() == 3


@each_mode
@given(seed=seeds)
@some
def test_events_order_every_dependency_and_none_could_be_left_out(mode, seed):
    edges, times = drawn(seed)
    assigned, syncs = synchronised(edges, times, mode)
    pairs = list(zip(syncs.source.tolist(), syncs.target.tolist(), strict=True))
    reach = reachable(assigned, pairs)
    assert reach[edges.before, edges.after].all()
    for number, pair in enumerate(pairs):
        assert not reachable(assigned, pairs[:number] + pairs[number + 1 :])[pair]


@each_mode
@given(seed=seeds)
@some
def test_clocks_say_what_is_done(mode, seed):
    edges, times = drawn(seed)
    assigned, syncs = synchronised(edges, times, mode)
    waits = waits_of(edges, assigned)
    reach = reachable(assigned, waits.pairs)
    for kernel in range(len(times) if len(syncs) else 0):
        for stream in range(assigned.streams):
            before = [waits.place[k] for k in np.flatnonzero(reach[:, kernel] & (assigned.stream == stream)).tolist()]
            assert waits.done[kernel, stream] == max(before, default=-1)


@each_mode
@given(seed=seeds)
@some
def test_an_event_serves_again_only_when_it_was_received(mode, seed):
    edges, times = drawn(seed)
    assigned, syncs = synchronised(edges, times, mode)
    pairs = list(zip(syncs.source.tolist(), syncs.target.tolist(), strict=True))
    reach = reachable(assigned, pairs)
    assert sorted(set(syncs.event.tolist())) == list(range(syncs.events))
    for event in range(syncs.events):
        uses = [pair for pair, number in zip(pairs, syncs.event.tolist(), strict=True) if number == event]
        assert all(before[1] == after[0] or reach[before[1], after[0]] for before, after in pairwise(uses))


@each_mode
@given(seed=st.integers(0, 400))
@settings(some, max_examples=25)
def test_schedules_of_planned_graphs_never_race(mode, seed):
    memory = planned(seed)
    assert memory.is_sound
    found = schedule(memory, durations(memory, seed), mode)
    assert found.findings == ()
    live = found.live_bytes
    assert (np.diff(live.time_us) > 0).all()
    assert live.size_bytes[-1:].sum() == 0 <= live.size_bytes.min(initial=0)
    assert live.peak_bytes <= memory.pool_bytes


@given(seed=st.integers(0, 400))
@settings(some, max_examples=40)
def test_reuse_edges_are_what_is_needed_for_that(seed):
    """Any order that keeps the edges is sound; and where order without them is not, the verifier says so."""
    memory = planned(seed)
    assert memory.is_sound
    edges = dependencies_of(memory)
    rng = random.Random(seed)
    times = [rng.randint(0, 9) for _ in range(len(edges.kernels))]
    for kept in (edges, edges.data_only()):
        assigned = assign(kept, times, parse_mode("streams:16"))
        syncs = number_events(waits_of(kept, assigned), assigned)
        pairs = zip(syncs.source.tolist(), syncs.target.tolist(), strict=True)
        ordered = reachable(assigned, pairs)[edges.before, edges.after]
        findings = prove(memory, edges.kernels, assigned, syncs)
        if assigned.streams > 1:
            assert bool(findings) is not bool(ordered.all()), findings.counts


@given(seed=st.integers(0, 400))
@settings(some, max_examples=25)
def test_implied_edges_are_implied(seed):
    """With all hand-overs of bytes, and with those that were kept, the same must come before the same."""
    from gexplorer.schedule.hand_overs import hand_overs

    memory = planned(seed)
    edges = dependencies_of(memory)
    count = len(edges.kernels)
    alone = edges_of((), list(edges.kernels.cores))
    assigned = assign(alone, [1] * count, parse_mode("streams:64")) if count <= 64 else None
    if assigned is None or assigned.streams < count:
        return
    reach = reachable(assigned, zip(edges.before.tolist(), edges.after.tolist(), strict=True))
    old, new, _ = hand_overs(memory, edges.kernels)
    assert reach[old, new].all()
    assert (old < new).all()
    assert (edges.before < edges.after).all()


@given(seed=st.integers(0, 400))
@settings(some, max_examples=25)
def test_a_scheduled_program_is_the_same_program_in_another_order(seed):
    memory = planned(seed)
    assert memory.is_sound
    found = schedule(memory, durations(memory, seed), "streams:4")
    program = scheduled_program(memory, found.kernels, found.assigned, found.syncs)
    assert sorted(program.operators) == sorted(memory.program.operators)
    kernels, old = found.kernels, memory.program
    for tensor in range(len(old.tensors)):
        writers = [("" if p.writer[tensor] < 0 else p.operators[p.writer[tensor]]) for p in (old, program)]
        assert writers[0] == writers[1]
        launched = [point for point in old.readers(tensor).tolist() if kernels.at_point[point] >= 0]
        assert sorted(old.operators[p] for p in launched) == sorted(
            program.operators[p] for p in program.readers(tensor)
        )
    live = memory.liveness
    columns = (live.buffer, live.offset_bytes, memory.addresses, live.size_bytes)
    assert PlacedTensors(program, *columns).verify() == ()


def test_one_stream_keeps_alive_what_the_bound_says():
    """Where everything is launched: what a loop needs in later turns counts to its end."""
    loops = []
    for seed in range(401):
        memory = planned(seed, "none")
        found = schedule(memory, dict.fromkeys(durations(memory), 1.0), "single")
        assert memory.is_sound
        if (found.kernels.at_point >= 0).all():
            assert found.live_bytes.peak_bytes == memory.bounds.bound_bytes
            loops.append(len(memory.program.loops) > 0)
    assert any(loops)
    assert not all(loops)
