import subprocess
import sys
import time

import numpy as np
import pytest

from gexplorer.memory.findings import MESSAGES
from gexplorer.memory.problem import Problem, make_problem
from gexplorer.memory.verify import verify_placement

INT64_MAX = (1 << 63) - 1


def three(**more):
    """a and b alive together, c after both."""
    return make_problem([0, 1, 4], [4, 4, 6], [100, 50, 150], ["a", "b", "c"], **more)


def codes(problem, offsets, pool, **more):
    return dict(verify_placement(problem, offsets, pool, **more).counts)


def raw(lower, upper, size, **more):
    """A problem that nobody has checked."""
    return Problem(*(np.array(column, np.int64) for column in (lower, upper, size)), **more)


def test_a_sound_plan_has_no_findings():
    found = verify_placement(three(), [0, 100, 0], 150)
    assert found == ()
    assert found.total == 0


def test_no_buffers_no_findings():
    assert verify_placement(make_problem([], [], []), [], 0) == ()


def test_an_overlap_names_the_pair_the_points_and_the_bytes():
    (finding,) = verify_placement(three(), [0, 80, 0], 150)
    assert (finding.code, finding.rows, finding.window, finding.span) == ("overlap", (0, 1), (1, 3), (80, 100))
    assert finding.sentence == "a and b share 20 bytes from byte 80, and both are alive at points 1 to 3"


def test_touching_in_time_or_space_is_no_overlap():
    assert codes(make_problem([0, 3], [3, 5], [8, 8]), [0, 0], 8) == {}
    assert codes(make_problem([0, 0], [3, 3], [8, 8]), [0, 8], 16) == {}


def test_inside_the_pool_without_an_overlap_but_too_long():
    assert codes(three(), [0, 100, 1], 150) == {"outside_pool": 1}


def test_a_pool_below_what_is_alive_is_said_so_even_by_offsets_that_fit():
    found = verify_placement(three(), [0, 0, 0], 149)
    assert found.counts == {"outside_pool": 1, "pool_below_bound": 1, "overlap": 1}
    (finding,) = [f for f in found if f.code == "pool_below_bound"]
    assert "cannot hold the 150 bytes that are alive at point 1" in finding.sentence


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([0, 512, 1024], {}),
        ([0, 512, 1000], {"misaligned": 1}),
        ([-512, 512, 0], {"negative_offset": 1}),
        ([-511, 512, 0], {"negative_offset": 1, "misaligned": 1}),
    ],
)
def test_alignment_and_sign(offsets, expected):
    assert codes(three(alignment_bytes=512), offsets, 1536) == expected


def test_an_end_that_wraps_around_64_bits_is_outside_and_not_before_the_pool():
    problem = raw([0, 0], [2, 2], [1 << 62, 1 << 62])
    assert codes(problem, [3 << 61, 0], INT64_MAX) == {"address_overflow": 1}


def test_sums_beyond_64_bits_stay_exact():
    problem = raw([0] * 5, [2] * 5, [1 << 61] * 5)
    (finding,) = [f for f in verify_placement(problem, [0] * 5, INT64_MAX) if f.code == "pool_below_bound"]
    assert finding.parameters["bound_bytes"] == 5 << 61 > INT64_MAX


def test_a_size_that_wrapped_is_negative():
    size = np.int64(64 * 2048 * 4096 * 4).astype(np.int32)
    found = verify_placement(raw([0], [1], [size], names=["logits"]), [0], 0)
    assert found.counts == {"negative_size": 1}
    assert found[0].sentence == f"logits has a size of {-(1 << 31)} bytes"


def test_an_empty_lifetime():
    assert codes(raw([3, 0], [3, 9], [8, 8]), [0, 0], 8) == {"empty_lifetime": 1}


def test_a_buffer_of_no_bytes_overlaps_nothing():
    assert codes(make_problem([0, 0], [5, 5], [0, 64]), [32, 0], 64) == {}


def test_a_pin_that_was_not_kept():
    found = verify_placement(three(pinned=[-1, -1, 0]), [0, 100, 4], 154)
    assert found.counts == {"pin_moved": 1}
    assert found[0].sentence == "c is pinned to byte 0, but begins at byte 4"


def test_a_pair_kept_apart_shares_no_byte_though_never_alive_together():
    problem = three(apart=[[0, 2]])
    (finding,) = verify_placement(problem, [0, 100, 50], 200)
    assert (finding.code, finding.rows, finding.window, finding.span) == ("apart_shared", (0, 2), None, (50, 100))
    assert codes(problem, [0, 100, 150], 300) == {}
    assert codes(three(apart=[[0, 2], [1, 1]]), [0, 100, 150], 300) == {}  # nothing can be kept apart from itself


@pytest.mark.parametrize(
    ("offsets", "code"),
    [
        ([0, 100], "wrong_length"),
        ([[0, 100, 0]], "wrong_length"),
        ([0.0, 100.0, 0.0], "wrong_dtype"),
        ([0, 1 << 70, 0], "wrong_dtype"),
    ],
)
def test_offsets_that_cannot_be_read(offsets, code):
    assert codes(three(), offsets, 150) == {code: 1}


def test_unsigned_offsets_beyond_int64_do_not_come_round():
    assert codes(three(), np.array([0, 100, (1 << 64) - 8], np.uint64), 150) == {"address_overflow": 1}


def test_the_limit_lists_some_of_every_code_and_counts_all():
    n = 50
    problem = make_problem([0] * n, [9] * n, [512] * n, alignment_bytes=512)
    found = verify_placement(problem, [100] * n, 512, limit=7)
    assert found.counts == {"outside_pool": n, "misaligned": n, "pool_below_bound": 1, "overlap": n * (n - 1) // 2}
    assert [f.code for f in found] == ["outside_pool"] * 2 + ["misaligned"] * 2 + ["pool_below_bound"] + ["overlap"] * 2
    assert verify_placement(problem, [100] * n, 512, limit=0).total == found.total


def test_every_sentence_can_be_said():
    problem = raw(
        [0, 0, 5, 0],
        [9, 9, 5, 9],
        [64, 64, 64, -1],
        alignment_bytes=3,
        pinned=np.array([1, -1, -1, -1]),
        apart=np.array([[0, 1]]),
    )
    for offsets, pool in (([-2, 0, INT64_MAX, 0], 3), ([0] * 3, 3), ([0.5] * 4, 3)):
        for finding in verify_placement(problem, offsets, pool):
            assert "{" not in finding.sentence + (finding.hint or "")
            assert finding.code in MESSAGES


def test_a_plan_of_300_buffers_takes_milliseconds_and_no_compiler():
    code = (
        "import sys, time; import numpy as np\n"
        "from gexplorer.memory.problem import make_problem\n"
        "from gexplorer.memory.verify import verify_placement\n"
        "at = np.arange(300); problem = make_problem(at, at + 2, at % 7 * 100 + 100)\n"
        "begin = time.process_time(); found = verify_placement(problem, at % 2 * 700, 1400)\n"
        "print(time.process_time() - begin); assert found == (); assert 'numba' not in sys.modules"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 0.02  # measured: 0.001


@pytest.mark.parametrize("slots", [20, 30_000])
def test_100_000_buffers(slots):
    n = 100_000
    row = np.arange(n)
    size = 512 * (1 + row % slots % 97)
    start = np.concatenate(([0], np.cumsum(512 * (1 + np.arange(slots) % 97))))
    problem = make_problem(row // slots, row // slots + 1, size, alignment_bytes=512)
    offsets = start[row % slots]
    verify_placement(problem, offsets, int(start[-1]))  # compiled now
    begin = time.process_time()
    assert verify_placement(problem, offsets, int(start[-1])) == ()
    assert time.process_time() - begin < 0.4  # measured: 0.04
    moved = offsets.copy()
    moved[54_321] += 512
    found = verify_placement(problem, moved, int(start[-1]))
    assert 54_321 in found[0].rows
    assert set(found.counts) == {"overlap"}
