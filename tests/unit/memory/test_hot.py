"""Hot loops: plain and compiled, and which of them runs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gexplorer.memory import conflicts, hot
from gexplorer.memory.conflicts import sections
from gexplorer.memory.hot import Hot
from gexplorer.memory.planners import article, best_fit, fit, ge_blocks, skyline

LOOPS = [
    conflicts._list_conflicts,
    article._reuse,
    best_fit._run_arena,
    fit._scan,
    fit._gather,
    ge_blocks._take_blocks,
    ge_blocks._nest,
    skyline._pile,
]


def count_up(values, sums):
    total = 0
    for i in range(len(values)):
        total += values[i]
        sums[i] = total
    return total


@pytest.fixture
def loop() -> Hot:
    return Hot(count_up, ("sums",))


@pytest.mark.parametrize("way", ["plain", "compiled"])
def test_a_loop_writes_what_it_declares(loop, way):
    sums = np.zeros(3, dtype=np.int64)
    assert getattr(loop, way)(np.array([1, 2, 3]), sums) == 6
    assert sums.tolist() == [1, 3, 6]


@pytest.mark.parametrize("way", ["plain", "compiled"])
def test_an_input_may_be_read_only(loop, way):
    values, sums = np.array([1, 2, 3]), np.zeros(3, dtype=np.int64)
    values.flags.writeable = False
    assert getattr(loop, way)(values, sums) == 6


def test_the_compiled_loop_cannot_write_an_input():
    def spoil(values):
        values[0] = 7
        return 0

    from numba.core.errors import TypingError

    with pytest.raises(TypingError):
        Hot(spoil, ()).compiled(np.zeros(1, dtype=np.int64))


def test_a_loop_is_compiled_once_plain_runs_have_cost_as_much(loop, monkeypatch):
    ways = []
    monkeypatch.setattr(loop, "plain", lambda *_: ways.append("plain"))
    monkeypatch.setattr(loop, "compiled", lambda *_: ways.append("compiled"))
    for _ in range(4):
        loop(work=hot.PRICE // 3 + 1)
    loop(work=1)
    assert ways == ["plain", "plain", "compiled", "compiled", "plain"]


def test_everything_runs_plain_without_numba(loop, monkeypatch):
    monkeypatch.setattr(hot, "_has_numba", lambda: False)
    sums = np.zeros(2, dtype=np.int64)
    assert loop(np.array([1, 2]), sums, work=10 * hot.PRICE) == 3
    assert loop._machine_code is None


def test_a_loop_that_is_in_no_file_is_compiled_without_a_cache():
    made = {}
    exec("def twice(values):\n    return 2 * values[0]", made)
    assert Hot(made["twice"], ()).compiled(np.array([4])) == 8


def test_planning_a_model_of_usual_size_does_not_import_numba():
    program = """
import sys, numpy as np
from gexplorer.memory.planners.base import Effort
from gexplorer.memory.planners.registry import find_planner
from gexplorer.memory.problem import make_problem
lower = np.arange(300)
problem = make_problem(lower, lower + 2 + lower % 3, 512 * (1 + lower % 7))
for name in ("portfolio", "ge_blocks", "article_sized"):
    find_planner(name)().place(problem, Effort())
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("seed", range(3))
def test_plain_and_compiled_loops_agree(seed, monkeypatch):
    """Every call of every loop that planning makes is run both ways."""
    from gexplorer.memory.planners.base import Effort
    from gexplorer.memory.planners.registry import all_planners
    from gexplorer.memory.problem import make_problem

    random = np.random.RandomState(seed)
    n = 60
    lower = random.randint(0, 40, n)
    size = random.randint(0, 9, n) * 512 + (lower > 20) * (1 << 40)  # sums beyond 32 bits
    free = make_problem(lower, lower + 1 + random.randint(0, 15, n), size)
    apart = make_problem(free.lower, free.upper, size, apart=[[0, 1], [2, 3]])
    ran = set()

    def both(self, *arguments, work):
        copies = [item.copy() if isinstance(item, np.ndarray) else item for item in arguments]
        result = self.plain(*copies)
        assert self.compiled(*arguments) == result
        for ours, theirs in zip(arguments, copies, strict=True):
            assert np.array_equal(ours, theirs)
        ran.add(self)
        return result

    monkeypatch.setattr(Hot, "__call__", both)
    for planner in all_planners():
        if planner.__module__.startswith("gexplorer.") and planner.name not in ("exact", "omnimalloc"):
            planner().place(free, Effort(2_000))
            if planner.handles_constraints:
                planner().place(apart, Effort(2_000))
    sections(free.lower, free.upper).conflicts()
    assert ran >= set(LOOPS)
