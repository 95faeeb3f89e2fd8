"""Modes, and the stream that each gives to a kernel."""

from __future__ import annotations

import pytest

from gexplorer.errors import OptionError
from gexplorer.ops.row import Unit
from gexplorer.schedule.modes import Mode, parse_mode
from gexplorer.schedule.streams import assign
from tests.schedules import edges_of

CUBE, VECTOR, MTE, AICPU, HOST, NONE = Unit.CUBE, Unit.VECTOR, Unit.MTE, Unit.AICPU, Unit.HOST, Unit.NONE


def streams(pairs, cores, mode, times=None):
    assigned = assign(edges_of(pairs, cores), times or [1] * len(cores), parse_mode(mode))
    return assigned.stream.tolist(), assigned.order.tolist()


def chain(count):
    return [(i, i + 1) for i in range(count - 1)]


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("single", Mode("single")),
        ("dependency", Mode("dependency")),
        ("cube_vector", Mode("cube_vector")),
        ("cv", Mode("cube_vector")),
        ("streams:1", Mode("streams", 1)),
        ("LoadBalance:64", Mode("streams", 64)),
    ],
)
def test_modes_by_our_names_and_by_ges(text, mode):
    assert parse_mode(text) == mode
    assert parse_mode(str(mode)) == mode


@pytest.mark.parametrize(
    "text", ["", "many", "streams", "streams:", "streams:0", "streams:65", "streams:-1", "streams:x"]
)
def test_other_modes_are_one_clear_line(text):
    with pytest.raises(OptionError, match=r"^streams: ") as caught:
        parse_mode(text)
    assert "\n" not in str(caught.value)


def test_single_keeps_the_execution_order():
    assert streams([(0, 2)], [CUBE, VECTOR, AICPU], "single") == ([0, 0, 0], [0, 1, 2])


def test_cube_and_vector_have_a_stream_each_and_the_rest_goes_along():
    cores = [VECTOR, CUBE, MTE, AICPU, CUBE, HOST]
    assert streams([(1, 3), (4, 5), (2, 4)], cores, "cube_vector")[0] == [0, 1, 0, 1, 1, 1]


def test_what_is_not_there_takes_no_number():
    assert streams(chain(3), [VECTOR, VECTOR, MTE], "cube_vector")[0] == [0, 0, 0]


def test_a_model_for_the_ai_core_alone_gets_one_stream():
    assert streams([(0, 1), (0, 2), (3, 4)], [CUBE, VECTOR, CUBE, VECTOR, MTE], "dependency")[0] == [0] * 5


def test_an_attached_engine_rides_along_and_its_followers_come_back():
    assert streams(chain(5), [CUBE, VECTOR, AICPU, AICPU, CUBE], "dependency")[0] == [0] * 5


def test_an_attached_engine_gets_a_stream_where_the_ai_core_goes_on_without_it():
    """k0 feeds the AI CPU and, besides, what comes behind it: that one has the older claim."""
    stream, _ = streams([(0, 1), (1, 2), (0, 2)], [CUBE, AICPU, CUBE], "dependency")
    assert stream == [0, 1, 0]


def test_what_runs_on_the_host_is_part_of_what_it_follows():
    assert streams([(0, 1), (1, 2), (0, 2)], [CUBE, HOST, CUBE], "dependency")[0] == [0, 0, 0]
    assert streams([(1, 2)], [HOST, AICPU, HOST], "dependency")[0] == [0, 1, 1]


def test_parts_that_begin_without_a_predecessor_open_streams():
    assert streams([], [CUBE, AICPU, VECTOR], "dependency")[0] == [0, 1, 0]


def test_list_scheduling_takes_the_longest_way_first():
    """k0 and k1 are ready; k1 has the long way to go, so that it goes first, and k0 has time."""
    stream, order = streams([(1, 2), (2, 3)], [CUBE] * 4, "streams:1", [5, 1, 9, 9])
    assert order == [1, 2, 3, 0]
    assert stream == [0] * 4


def test_list_scheduling_goes_on_where_its_predecessor_ran():
    stream, order = streams([(0, 2), (1, 3)], [CUBE] * 4, "streams:2", [3, 2, 3, 9])
    assert stream[0] == stream[2]
    assert stream[1] == stream[3]
    assert order == [1, 0, 3, 2]


def test_streams_that_nobody_needs_are_not_opened():
    stream, _ = streams(chain(6), [CUBE] * 6, "streams:64")
    assert stream == [0] * 6


def test_nothing_to_schedule():
    for mode in ("single", "dependency", "cube_vector", "streams:3"):
        assert streams([], [], mode) == ([], [])


def test_deterministic():
    pairs, cores = [(i, j) for j in range(30) for i in range(j) if (i * 7 + j) % 11 == 0], [CUBE] * 30
    assert streams(pairs, cores, "streams:4") == streams(list(reversed(pairs)), cores, "streams:4")
