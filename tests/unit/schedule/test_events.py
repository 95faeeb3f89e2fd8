"""Events: which edges need one, and when a number serves again."""

from __future__ import annotations

import numpy as np

from gexplorer.ops.row import Unit
from gexplorer.schedule.events import number_events, waits_of
from gexplorer.schedule.streams import Assignment
from tests.schedules import edges_of


def synchronise(pairs, stream):
    assigned = Assignment(np.array(stream), np.arange(len(stream)))
    syncs = number_events(waits_of(edges_of(pairs, [Unit.CUBE] * len(stream)), assigned), assigned)
    found = zip(syncs.source.tolist(), syncs.target.tolist(), syncs.event.tolist(), strict=True)
    return list(found), syncs


def test_one_stream_needs_none():
    found, syncs = synchronise([(0, 1), (0, 2)], [0, 0, 0])
    assert found == []
    assert (syncs.events, syncs.crossing, len(syncs)) == (0, 0, 0)


def test_an_edge_between_streams_needs_one():
    found, syncs = synchronise([(0, 1)], [0, 1])
    assert found == [(0, 1, 0)]
    assert (syncs.events, syncs.crossing) == (1, 1)


def test_a_later_kernel_of_the_same_stream_knows_already():
    assert synchronise([(0, 1), (0, 2)], [0, 1, 1])[0] == [(0, 1, 0)]


def test_the_latest_of_a_stream_speaks_for_those_before_it():
    assert synchronise([(0, 2), (1, 2)], [0, 0, 1])[0] == [(1, 2, 0)]


def test_order_is_handed_on_over_a_third_stream():
    assert synchronise([(0, 1), (1, 2), (0, 2)], [0, 1, 2])[0] == [(0, 1, 0), (1, 2, 0)]


def test_a_number_serves_again_once_its_recv_is_known_to_be_over():
    pairs = [(0, 1), (1, 2), (2, 3)]
    assert [event for *_, event in synchronise(pairs, [0, 1, 0, 1])[0]] == [0, 0, 0]


def test_a_number_does_not_serve_again_while_its_recv_may_be_waiting():
    pairs = [(0, 2), (1, 3)]
    assert [event for *_, event in synchronise(pairs, [0, 0, 1, 1])[0]] == [0, 1]


def test_what_one_stream_knows_another_may_not():
    """Event 0 is over as k3 sees it; k4 on a stream of its own cannot know that."""
    pairs = [(0, 1), (1, 2), (3, 5), (4, 6)]
    found = {(s, t): event for s, t, event in synchronise(pairs, [0, 1, 0, 0, 2, 1, 0])[0]}
    assert found[3, 5] in (found[0, 1], found[1, 2])
    assert found[4, 6] not in (found[0, 1], found[1, 2], found[3, 5])
