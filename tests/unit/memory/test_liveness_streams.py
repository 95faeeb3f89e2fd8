"""On several streams a tensor's memory is free only when the others are proven to be done."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gexplorer.memory.liveness import live
from gexplorer.memory.policy import Policy
from tests.memory_programs import TIGHT, between, homes, over, program, spans


def test_without_a_sync_nothing_is_proven():
    tensors = {"a": between(8, 0, 1), "b": between(8, 2, 3), "c": between(8, 4, 5)}
    apart = program(6, tensors, streams=[0, 0, 1, 1, 0, 0])
    found = live(apart, TIGHT)
    assert spans(found)["a"] == (0, 3), "the other stream may run before it is over"
    assert found.problem()[0].bound_bytes == 16
    synced = program(6, tensors, streams=[0, 0, 1, 1, 0, 0], syncs=[(1, 2), (3, 4)])
    assert spans(live(synced, TIGHT)) == {"a": (0, 1), "b": (2, 3), "c": (4, 5)}
    assert live(synced, TIGHT).problem()[0].bound_bytes == 8


def test_an_earlier_read_on_another_stream_may_be_the_last_to_end():
    tensors = {"a": between(8, 0, 1, 3), "b": between(8, 4, 5)}
    streams, syncs = [0, 1, 1, 0, 0, 0], [(0, 1)]
    assert spans(live(program(6, tensors, streams=streams, syncs=syncs), TIGHT))["a"] == (0, 5)
    assert spans(live(program(6, tensors, streams=streams, syncs=[*syncs, (1, 4)]), TIGHT))["a"] == (0, 3)
    assert spans(live(program(6, tensors, streams=streams, syncs=[*syncs, (1, 5)]), TIGHT))["a"] == (0, 4)


def test_what_nobody_reads_is_held_until_it_is_proven_to_be_written():
    tensors = {"a": between(8, 0), "b": between(8, 2)}
    assert spans(live(program(4, tensors, streams=[0, 0, 1, 1]), TIGHT))["a"] == (0, 3)
    assert spans(live(program(4, tensors, streams=[0, 0, 1, 1], syncs=[(0, 3)]), TIGHT))["a"] == (0, 2)


def test_no_operator_writes_over_what_another_stream_reads():
    tensors = {"a": between(8, 0, 1, 2), "b": between(8, 2, 3)}
    rows = [over("b", "a", 2)]
    assert homes(live(program(4, tensors, rows), TIGHT))["b"] == ("a", 0)
    for streams in ([0, 1, 0, 0], [0, 0, 1, 1]):
        assert homes(live(program(4, tensors, rows, streams=streams), TIGHT))["b"] == ("b", 0)
    assert homes(live(program(4, tensors, rows, streams=[0, 0, 0, 1]), TIGHT))["b"] == ("a", 0)


def test_without_reuse_across_streams_one_stream_reuses_and_the_others_keep():
    tensors = {
        "a": between(8, 0, 1),
        "b": between(4, 1, 2),
        "c": between(8, 3, 4),
        "d": between(4, 5, 6),
        "e": between(8, 3, 5),
    }
    streams = [0, 1, 1, 0, 0, 1, 1]
    policy = Policy(1, 0, across_streams=False)
    found = live(program(7, tensors, streams=streams, syncs=[(0, 1), (3, 5)]), policy)
    whole = (0, 6)
    assert spans(found) == {"a": (0, 4), "b": whole, "c": (3, 4), "d": whole, "e": (3, 5)}
    synced = live(program(7, tensors, streams=streams, syncs=[(0, 1), (1, 3), (3, 5)]), policy)
    assert spans(synced)["a"] == (0, 1), "the other stream's read is proven to be over"


@st.composite
def streamed(draw):
    points = draw(st.integers(1, 14))
    streams = draw(st.lists(st.integers(0, 2), min_size=points, max_size=points))
    pairs = [(a, b) for a in range(points) for b in range(a + 1, points) if streams[a] != streams[b]]
    syncs = draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []
    tensors = {}
    for i in range(draw(st.integers(1, 6))):
        writer = draw(st.integers(0, points - 1))
        readers = draw(st.lists(st.integers(0, points - 1), max_size=3))
        tensors[f"t{i}"] = between(8, writer, *sorted({r for r in readers if r > writer}))
        # A program that reads what may not have been written yet would be wrong by itself.
        syncs += [(writer, r) for r in readers if r > writer and streams[r] != streams[writer]]
    return points, streams, syncs, tensors


@given(streamed(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_intervals_that_do_not_meet_are_proven_to_follow(case, across):
    points, streams, syncs, tensors = case
    after = np.zeros((points, points), dtype=bool)
    for a in range(points):
        for b in range(a + 1, points):
            after[a, b] = streams[a] == streams[b] or (a, b) in syncs
    for middle in range(points):
        after |= after[:, middle : middle + 1] & after[middle : middle + 1, :]
    columns = program(points, tensors, streams=streams, syncs=syncs)
    found = live(columns, Policy(1, 0, across_streams=across))
    names = list(tensors)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if found.last[i] < found.first[j]:
                before = [tensors[a][2], *tensors[a][3]]
                behind = [tensors[b][2], *tensors[b][3]]
                assert all(after[p, q] for p in before for q in behind), (a, b)
                if not across:
                    assert streams[tensors[a][2]] == streams[tensors[b][2]]


@given(streamed())
@settings(max_examples=100, deadline=None)
def test_no_interval_is_longer_than_it_must_be(case):
    """At its last point a buffer is accessed, or that point is not proven to come after an access."""
    points, streams, syncs, tensors = case
    after = np.zeros((points, points), dtype=bool)
    for a in range(points):
        for b in range(a + 1, points):
            after[a, b] = streams[a] == streams[b] or (a, b) in syncs
    for middle in range(points):
        after |= after[:, middle : middle + 1] & after[middle : middle + 1, :]
    found = live(program(points, tensors, streams=streams, syncs=syncs), TIGHT)
    for i, (_, _, writer, readers) in enumerate(tensors.values()):
        accesses = [writer, *readers]
        last = int(found.last[i])
        assert last in accesses or not all(after[a, last] for a in accesses)
