"""Plans for buffers that come from no model, such as those of a benchmark file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gexplorer.errors import OptionError
from gexplorer.memory.modes import MODES, Mode, find_mode
from gexplorer.memory.plan import Plan, solve
from gexplorer.memory.planners.base import Declined, Effort
from gexplorer.memory.planners.registry import all_planners, find_planner
from gexplorer.memory.problem import Problem


def plan_problem(problem: Problem, mode: str = "balanced") -> Plan:
    """Plans buffers as a mode, or one planner by its name, would; the plan is verified, sound or not.

    Of what ``safe`` cuts down, only touching lifetimes mean anything without a model: every buffer then lives one point
    longer.

    Raises:
        OptionError: there is no such mode or planner, or it cannot do this problem.
    """
    chosen = find_mode(mode)
    try:
        return solve(_as_wanted(problem, chosen), find_planner(chosen.planner), chosen.effort)
    except Declined as error:
        raise OptionError(f"memory: {error}") from None


def compare_planners(
    problem: Problem, names: Sequence[str] = (), effort: Effort | None = None
) -> list[Plan | tuple[str, str]]:
    """All planners (or some) on the same buffers: a plan each, or name and reason where one declined.

    Args:
        problem: the buffers.
        names: planners, by our name or GE's; all of them if left out.
        effort: how hard each may try; left out, as hard as the mode that uses it lets it: what only searches takes a
            while, the others do not.
    """
    rows: list[Plan | tuple[str, str]] = []
    for planner in [find_planner(name) for name in names] or all_planners():
        usual = max(find_mode(planner.name).effort, MODES["balanced"].effort, key=lambda one: one.search_nodes)
        try:
            rows.append(solve(problem, planner, effort or usual))
        except Declined as error:
            rows.append((planner.name, str(error)))
    return rows


def _as_wanted(problem: Problem, mode: Mode) -> Problem:
    if not mode.cautious:
        return problem
    upper = problem.upper + 1
    upper.flags.writeable = False
    return replace(problem, upper=upper)
