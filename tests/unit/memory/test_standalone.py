"""Plans for buffers that come from no model."""

import pytest

from gexplorer.errors import OptionError
from gexplorer.memory.modes import MODES
from gexplorer.memory.plan import Plan
from gexplorer.memory.planners.registry import all_planners
from gexplorer.memory.problem import make_problem
from gexplorer.memory.standalone import compare_planners, plan_problem
from gexplorer.memory.verify import verify_placement

# a and b are the same place in time one after the other; c lies over both.
PROBLEM = make_problem([0, 4, 2], [4, 8, 6], [100, 100, 20], ("a", "b", "c"))


@pytest.mark.parametrize("mode", [*MODES, "greedy_by_size", "none"])
def test_every_mode_gives_a_sound_plan(mode):
    plan = plan_problem(PROBLEM, mode)
    assert plan.is_sound
    assert not verify_placement(PROBLEM, plan.placement.offsets, plan.pool_bytes)
    assert 120 <= plan.pool_bytes <= 220


def test_safe_wants_a_point_between_two_in_one_place():
    assert plan_problem(PROBLEM, "exact").pool_bytes == 120
    assert plan_problem(PROBLEM, "safe").pool_bytes == 220
    assert PROBLEM.upper.tolist() == [4, 8, 6]


def test_what_cannot_be_done_is_an_option_at_fault():
    with pytest.raises(OptionError, match="no mode or planner 'exakt'; did you mean exact"):
        plan_problem(PROBLEM, "exakt")
    pinned = make_problem([0, 1], [2, 3], [8, 8], pinned=[0, 4])
    with pytest.raises(OptionError, match=r"^memory: "):
        plan_problem(pinned, "balanced")


def test_all_planners_are_compared_in_their_order():
    rows = compare_planners(PROBLEM)
    names = [row.planner if isinstance(row, Plan) else row[0] for row in rows]
    assert names == [planner.name for planner in all_planners()]
    sound = {row.planner: row.is_sound for row in rows if isinstance(row, Plan)}
    assert all(is_sound for name, is_sound in sound.items() if name != "article_literal")


def test_some_planners_are_compared_by_either_name():
    rows = compare_planners(PROBLEM, ("skyline", "HybridMemAssigner"))
    assert [row.planner for row in rows if isinstance(row, Plan)] == ["skyline", "ge_blocks"]


def test_a_planner_that_declines_stands_among_the_others():
    pinned = make_problem([0, 1], [2, 3], [8, 8], pinned=[0, 64])
    rows = compare_planners(pinned, ("best_fit", "greedy_by_size"))
    assert rows[0] == ("best_fit", "best_fit cannot pin offsets or keep pairs apart")
    assert isinstance(rows[1], Plan)
    assert rows[1].placement.offsets.tolist() == [0, 64]
