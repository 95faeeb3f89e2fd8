import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gexplorer.memory.bounds import bounds_of, load_curve, max_live_load, pairs_alive_together
from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import Kind
from tests.memory_graphs import MemoryGraphs, flat, simple


def columns(buffers):
    return [np.array(column, dtype=np.int64) for column in zip(*buffers, strict=True)] or [np.zeros(0, np.int64)] * 3


@st.composite
def buffers(draw):
    """(first point, first point behind, bytes), far apart or close together."""
    spread = draw(st.sampled_from((5, 40, 10**9)))
    found = []
    for _ in range(draw(st.integers(0, 12))):
        lower = draw(st.integers(-spread, spread))
        found.append((lower, lower + draw(st.integers(1, spread)), draw(st.integers(0, 1 << 50))))
    return found


def brute_load(found, time):
    return sum(size for lower, upper, size in found if lower <= time < upper)


@given(buffers())
@settings(max_examples=300, deadline=None)
def test_the_bound_is_the_largest_sum_of_what_is_alive(found):
    assert max_live_load(*columns(found)) == max((brute_load(found, lower) for lower, _, _ in found), default=0)


@given(buffers())
@settings(max_examples=200, deadline=None)
def test_the_curve_is_the_load_at_every_time(found):
    times, load = load_curve(*columns(found))
    assert times.tolist() == sorted({t for lower, upper, _ in found for t in (lower, upper)})
    assert load.tolist() == [brute_load(found, time) for time in times.tolist()]
    assert not len(load) or load[-1] == 0


@given(buffers())
@settings(max_examples=200, deadline=None)
def test_pairs_are_counted_without_listing_them(found):
    expected = sum(a[0] < b[1] and b[0] < a[1] for i, a in enumerate(found) for b in found[:i])
    lower, upper, _ = columns(found)
    assert pairs_alive_together(lower, upper) == expected


def test_half_open_lifetimes_that_touch_do_not_meet():
    assert max_live_load(*columns([(0, 2, 5), (2, 4, 7)])) == 7
    assert pairs_alive_together(*columns([(0, 2, 5), (2, 4, 7)])[:2]) == 0


def test_sums_beyond_32_and_53_bits_are_exact():
    size = (1 << 60) + 1
    assert max_live_load(*columns([(0, 2, size), (1, 2, size)])) == 2 * size
    assert max_live_load(*columns([(0, 1 << 40, size), (1, 1 << 41, size)])) == 2 * size


def small():
    """Peak where n1 runs: a and b, 64 and 96 bytes."""
    types = {"x": flat(1), "a": flat(2), "b": flat(3), "c": flat(1), "y": flat(1)}
    nodes = [("Kernel", "x", "a"), ("Kernel", "a", "b"), ("Kernel", "b", "c"), ("Kernel", "c", "y")]
    return program_of(simple(nodes, inputs="x", outputs="y", types=types))


def test_the_peak_names_what_is_alive_and_who_made_it():
    bounds = bounds_of(live(small(), Policy.unaligned()))
    assert (bounds.bound_bytes, bounds.raw_bound_bytes, bounds.alignment_cost_bytes) == (160, 160, 0)
    assert (bounds.peak, bounds.operator, bounds.peaks.tolist()) == (1, "n1", [1])
    assert [(a.tensor, a.size_bytes, a.raw_bytes, a.operator, a.kind) for a in bounds.alive] == [
        ("b", 96, 96, "n1", Kind.INTERMEDIATE),
        ("a", 64, 64, "n0", Kind.INTERMEDIATE),
    ]
    assert bounds.load_bytes.tolist() == [64, 160, 128, 32]
    assert [a.tensor for a in bounds.alive_at(2)] == ["b", "c"]
    assert bounds.pairs == 2


def test_what_alignment_costs():
    bounds = bounds_of(live(small()))
    assert (bounds.bound_bytes, bounds.raw_bound_bytes, bounds.alignment_cost_bytes) == (1024, 160, 864)
    assert bounds.peaks.tolist() == [1, 2], "aligned, both take two blocks"
    assert bounds.alive[0].raw_bytes == 64


def test_what_shares_a_buffer_is_named_with_it():
    types = {n: flat(2) for n in "xabcy"}
    nodes = [("Kernel", "x", "a"), ("Relu", "a", "b"), ("Relu", "b", "c"), ("Kernel", "c", "y")]
    bounds = bounds_of(live(program_of(simple(nodes, inputs="x", outputs="y", types=types)), Policy.unaligned()))
    (alive,) = bounds.alive
    assert (alive.tensor, alive.others, alive.operator) == ("a", ("b", "c"), "n0")
    assert bounds.peaks.tolist() == [0, 1, 2, 3]


def test_closed_lifetimes_raise_the_bound():
    bounds = bounds_of(live(small(), Policy(1, 0, closed=True)))
    assert bounds.load_bytes.tolist() == [64, 160, 192, 128]
    assert sum(a.size_bytes for a in bounds.alive) == bounds.bound_bytes == 192


def test_an_empty_pool_has_no_peak():
    bounds = bounds_of(live(program_of(simple([], inputs="x", outputs="x", types={"x": flat(1)}))))
    assert (bounds.bound_bytes, bounds.raw_bound_bytes, bounds.operator, bounds.alive, bounds.pairs) == (
        0,
        0,
        "",
        (),
        0,
    )
    assert bounds.peaks.tolist() == []


@pytest.mark.parametrize("policy", [Policy.unaligned(), Policy(), Policy(in_place=False, closed=True)])
def test_random_programs_walked_point_by_point(policy):
    """Keeps the set of live buffers while it walks, as an allocator would, and notes the sum at each operator."""
    for seed in range(60):
        liveness = live(program_of(MemoryGraphs(seed).graph()), policy)
        bounds = bounds_of(liveness)
        begins: dict[int, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for buffer in range(len(liveness.owner)):
            if liveness.kind[buffer] >= Kind.INTERMEDIATE:
                begins.setdefault(int(liveness.first[buffer]), []).append(buffer)
                ends.setdefault(int(liveness.last[buffer]) + policy.closed, []).append(buffer)
        alive: set[int] = set()
        for point in range(len(liveness.program)):
            alive.update(begins.get(point, ()))
            assert bounds.load_bytes[point] == sum(int(liveness.size_bytes[b]) for b in alive)
            assert {a.buffer for a in bounds.alive_at(point)} == alive
            alive.difference_update(ends.get(point, ()))
        problem, _ = liveness.problem()
        assert bounds.bound_bytes == problem.bound_bytes == max(bounds.load_bytes.tolist(), default=0)
        assert sum(a.size_bytes for a in bounds.alive) == bounds.bound_bytes
        assert bounds.raw_bound_bytes <= bounds.bound_bytes <= problem.unplanned_bytes
