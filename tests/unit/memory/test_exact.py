"""The exact planner: public problems with known optima, plain problems, what it declines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gexplorer.memory.planners import exact, omnimalloc
from gexplorer.memory.planners.base import Declined, Effort
from gexplorer.memory.planners.registry import find_planner
from gexplorer.memory.problem import Problem, make_problem
from gexplorer.memory.search import tables
from tests.placements import DSA, MISSING, faults, public_problem

pytest.importorskip("numba")

HERE = Path(__file__).parents[2] / "data" / "dsa"
# What each takes at the place of writing, with room for an order that is a little less lucky.
BOUND_MET = "ABCEFGHIK"
NODES = 6_000_000


def own_problem(name: str) -> Problem:
    """A problem of tests/data/dsa."""
    rows = np.loadtxt(HERE / f"{name}.1048576.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3), dtype=np.int64)
    return make_problem(*rows.T)


def place(problem: Problem, nodes: int = NODES, name: str = "exact"):
    return find_planner(name)().place(problem, Effort(nodes))


@pytest.mark.parametrize(("name", "pool"), [("A", 1_048_576), ("C", 1_039_360)])
def test_the_optimum_is_found_and_proved(name, pool):
    problem = own_problem(name)
    found = place(problem)
    assert faults(problem, found) == []
    assert (found.pool_bytes, found.proved_bound_bytes, problem.bound_bytes) == (pool, pool, pool)


def test_below_the_capacity_that_it_was_published_with():
    problem = own_problem("D")
    found = place(problem, 2_000_000)
    assert faults(problem, found) == []
    assert problem.bound_bytes < found.pool_bytes < 1_048_576
    assert found.proved_bound_bytes == problem.bound_bytes


@pytest.mark.skipif(not DSA.exists(), reason=MISSING)
@pytest.mark.parametrize("name", BOUND_MET)
def test_public_optima(name):
    problem = public_problem(name)
    found = place(problem)
    assert faults(problem, found) == []
    assert found.pool_bytes == found.proved_bound_bytes == problem.bound_bytes


@pytest.mark.skipif(not DSA.exists(), reason=MISSING)
@pytest.mark.parametrize("name", ["resnet50", "G_1"])
def test_public_optima_of_real_models(name):
    problem = public_problem(name)
    found = place(problem, 2_000_000)
    assert faults(problem, found) == []
    assert found.pool_bytes == problem.bound_bytes


def test_the_same_every_time():
    one, two = (place(own_problem("D"), 100_000) for _ in range(2))
    assert (one.search_nodes, one.offsets.tolist()) == (two.search_nodes, two.offsets.tolist())


def test_buffers_that_live_throughout_and_those_of_no_bytes_take_part():
    inner = own_problem("C")
    low, high = inner.lower.min(), inner.upper.max()
    problem = make_problem(
        [*inner.lower, low, low, 3], [*inner.upper, high, high, 5], [*inner.size_bytes, 512, 1024, 0]
    )
    found = place(problem)
    assert faults(problem, found) == []
    assert found.pool_bytes == found.proved_bound_bytes == 1_039_360 + 512 + 1024


def test_without_effort_it_is_the_portfolio():
    problem = own_problem("A")
    assert place(problem, 0).offsets.tolist() == place(problem, 0, "portfolio").offsets.tolist()


def test_a_problem_too_large_for_the_search_gets_the_portfolio(monkeypatch):
    monkeypatch.setattr(tables, "MOST_BUFFERS", 100)
    problem = own_problem("A")
    found = place(problem, 1_000)
    assert faults(problem, found) == []
    assert "buffers are too many for the search" in found.note


@pytest.mark.parametrize("name", ["exact", "omnimalloc"])
def test_constraints_are_declined(name):
    problem = make_problem([0, 0], [2, 2], [512, 512], pinned=[512, -1])
    with pytest.raises(Declined, match=r"pin|free"):
        place(problem, name=name)


@pytest.mark.parametrize(("module", "name", "nodes"), [(exact, "exact", 10), (omnimalloc, "omnimalloc", 0)])
def test_a_missing_package_is_said_in_a_line(monkeypatch, module, name, nodes):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(Declined, match="not installed"):
        place(own_problem("A"), nodes, name)


@pytest.mark.parametrize("nodes", [0, 400_000])
def test_omnimalloc_is_sound(nodes):
    pytest.importorskip("omnimalloc")
    problem = own_problem("C")
    rows = [*zip(problem.lower, problem.upper, problem.size_bytes, strict=True), (0, 1, 0)]
    problem = make_problem(*np.array(rows).T)
    found = place(problem, nodes, "omnimalloc")
    assert faults(problem, found) == []
    assert ("exact" in found.note) == (nodes > 0)


@pytest.mark.parametrize("nodes", [0, 10_000])
def test_omnimalloc_s_time_may_begin_before_0(nodes):
    pytest.importorskip("omnimalloc")
    problem = make_problem([-5, -3, 2], [-2, 2, 3], [4, 4, 8])
    assert place(problem, nodes, "omnimalloc").pool_bytes == 8
