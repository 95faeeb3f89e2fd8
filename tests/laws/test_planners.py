"""What holds for every planner on every problem."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.registry import all_planners
from gexplorer.memory.problem import Problem, make_problem
from tests.placements import faults

# omnimalloc is an extra; its search is limited by time, so it is held to these laws without one.
PLANNERS = [p for p in all_planners() if p.is_safe and (p.name != "omnimalloc" or find_spec("omnimalloc"))]
EFFORT = Effort(300)
BLOCK = 512

few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
each_planner = pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: planner.name)


@st.composite
def problems(draw: st.DrawFn, alignment: int = 1, distinct: bool = False) -> Problem:
    n = draw(st.integers(0, 24))
    length = draw(st.sampled_from((3, 12, 60)))
    lower = draw(st.lists(st.integers(-length, length), min_size=n, max_size=n))
    lives = draw(st.lists(st.integers(1, length), min_size=n, max_size=n))
    size = draw(st.lists(st.integers(1 if distinct else 0, 12), min_size=n, max_size=n))
    sizes = [BLOCK * (s * 32 + i if distinct else s) for i, s in enumerate(size)]
    uppers = [a + b for a, b in zip(lower, lives, strict=True)]
    return make_problem(lower, uppers, sizes, alignment_bytes=alignment)


def place(planner: type[Planner], problem: Problem) -> Placement:
    return planner().place(problem, Effort() if planner.name == "omnimalloc" else EFFORT)


@each_planner
@given(problem=problems())
@few
def test_plans_are_sound_and_between_the_bound_and_no_reuse(planner, problem):
    found = place(planner, problem)
    assert faults(problem, found) == []
    assert problem.bound_bytes <= found.pool_bytes <= problem.unplanned_bytes
    assert found.pool_bytes == max(found.offsets + problem.size_bytes, default=0)
    assert not found.offsets.flags.writeable
    assert found.offsets.dtype == np.int64


@each_planner
@given(problem=problems(), alignment=st.sampled_from((1, 32, 512, 3000)))
@few
def test_offsets_are_aligned(planner, problem, alignment):
    aligned = make_problem(problem.lower, problem.upper, problem.size_bytes // 7, alignment_bytes=alignment)
    assert faults(aligned, place(planner, aligned)) == []


@each_planner
@given(problem=problems())
@few
def test_the_same_problem_gives_the_same_plan(planner, problem):
    again = make_problem(problem.lower, problem.upper, problem.size_bytes)
    first, second = place(planner, problem), place(planner, again)
    assert first.offsets.tolist() == second.offsets.tolist()
    assert (first.note, first.search_nodes) == (second.note, second.search_nodes)


@each_planner
@given(problem=problems(), factor=st.sampled_from((2, 3, 1000)))
@few
def test_scaling_sizes_scales_the_plan(planner, problem, factor):
    scaled = make_problem(problem.lower, problem.upper, problem.size_bytes * factor)
    assert place(planner, scaled).offsets.tolist() == (place(planner, problem).offsets * factor).tolist()


# omnimalloc's own orders look at how many points a life has; ours see only what changes from one point to the next.
@pytest.mark.parametrize("planner", [p for p in PLANNERS if p.name != "omnimalloc"], ids=lambda planner: planner.name)
@given(problem=problems(), steps=st.lists(st.integers(1, 1_000_000), min_size=241, max_size=241))
@few
def test_stretching_time_changes_nothing(planner, problem, steps):
    clock = np.cumsum(steps)  # any clock that runs forward
    stretched = make_problem(clock[problem.lower + 60], clock[problem.upper + 60], problem.size_bytes)
    assert place(planner, stretched).offsets.tolist() == place(planner, problem).offsets.tolist()


@given(problem=problems())
@few
def test_reversed_time_has_the_same_bound(problem):
    back = make_problem(-problem.upper, -problem.lower, problem.size_bytes)
    assert back.bound_bytes == problem.bound_bytes
    for planner in PLANNERS:
        assert place(planner, back).pool_bytes >= problem.bound_bytes


@pytest.mark.parametrize("planner", [p for p in PLANNERS if issubclass(p, Greedy)], ids=lambda planner: planner.name)
@given(problem=problems(distinct=True), pick=st.randoms(use_true_random=False))
@few
def test_greedy_orders_do_not_depend_on_numbering_where_nothing_ties(planner, problem, pick):
    order = np.array(pick.sample(range(len(problem)), len(problem)), dtype=np.int64)
    mixed = make_problem(problem.lower[order], problem.upper[order], problem.size_bytes[order])
    whole = (min(problem.lower, default=0), max(problem.upper, default=0))
    lasting = sum(life == whole for life in zip(problem.lower, problem.upper, strict=True))
    assume(lasting < 2)  # those lie at the bottom in the order given
    assert place(planner, mixed).offsets.tolist() == place(planner, problem).offsets[order].tolist()


@pytest.mark.parametrize("planner", [p for p in PLANNERS if p.handles_constraints], ids=lambda planner: planner.name)
@given(problem=problems(), data=st.data())
@few
def test_pins_and_pairs_kept_apart_are_honoured(planner, problem, data):
    n = len(problem)
    pins = data.draw(st.lists(st.sampled_from((-1, -1, -1, 0, 512, 4096)), min_size=n, max_size=n))
    ends = st.integers(0, max(0, n - 1))
    apart = data.draw(st.lists(st.tuples(ends, ends).filter(lambda p: p[0] != p[1]), max_size=8 if n > 1 else 0))
    wanted = make_problem(problem.lower, problem.upper, problem.size_bytes, pinned=pins, apart=apart)
    pinned = np.flatnonzero(np.array(pins) >= 0)
    alone = make_problem(
        problem.lower[pinned], problem.upper[pinned], problem.size_bytes[pinned], pinned=np.array(pins)[pinned]
    )
    kept = [(int(a), int(b)) for a, b in apart if pins[a] >= 0 and pins[b] >= 0]
    number = {int(old): new for new, old in enumerate(pinned)}
    if kept:
        renamed = [(number[a], number[b]) for a, b in kept]
        alone = make_problem(alone.lower, alone.upper, alone.size_bytes, pinned=alone.pinned, apart=renamed)
    impossible = faults(alone, Placement(np.array(pins, dtype=np.int64)[pinned], 1 << 40)) != []
    if impossible:
        with pytest.raises(Declined, match="pinned onto each other"):
            place(planner, wanted)
    else:
        assert faults(wanted, place(planner, wanted)) == []


@given(problem=problems().filter(len))
@few
def test_those_that_cannot_pin_say_so(problem):
    wanted = make_problem(problem.lower, problem.upper, problem.size_bytes, pinned=[0] + [-1] * (len(problem) - 1))
    for planner in PLANNERS:
        if not planner.handles_constraints:
            with pytest.raises(Declined):
                place(planner, wanted)


@st.composite
def cut_rectangles(draw: st.DrawFn) -> tuple[Problem, int]:
    """A rectangle of time and bytes, cut through again and again: the pieces fill it, so its height is the optimum."""
    height = draw(st.integers(4, 64)) * 16
    whole = [(0, 64, height)]
    for _ in range(draw(st.integers(0, 14))):
        low, high, size = whole.pop(draw(st.integers(0, len(whole) - 1)))
        if draw(st.booleans()) and high - low > 1:
            at = draw(st.integers(low + 1, high - 1))
            whole += [(low, at, size), (at, high, size)]
        elif size > 1:
            at = draw(st.integers(1, size - 1))
            whole += [(low, high, at), (low, high, size - at)]
        else:
            whole.append((low, high, size))
    pieces = draw(st.permutations(whole))
    return make_problem(*zip(*pieces, strict=True)), height


@given(case=cut_rectangles())
@few
def test_cut_rectangles(case):
    problem, height = case
    assert problem.bound_bytes == height
    for planner in PLANNERS:
        found = place(planner, problem)
        assert faults(problem, found) == []
        assert found.pool_bytes >= height
