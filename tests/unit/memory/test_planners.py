"""Each planner by itself: what it is known for, on problems small enough to see and on public ones."""

from __future__ import annotations

from bisect import bisect_left, insort
from time import process_time

import numpy as np
import pytest

from benchmarks.memory_instances import infer, train
from gexplorer.memory.planners import portfolio
from gexplorer.memory.planners.base import Declined, Effort
from gexplorer.memory.planners.fit import UNPLACED, Fit, gather, scan
from gexplorer.memory.planners.orders import Order, order_of, range_max
from gexplorer.memory.planners.peel import peel
from gexplorer.memory.planners.placer import Placer
from gexplorer.memory.planners.registry import all_planners, find_planner
from gexplorer.memory.problem import Problem, make_problem
from tests.placements import DSA, MISSING, SMALL, faults, overlapping, public_problem

needs_data = pytest.mark.skipif(not DSA.exists(), reason=MISSING)


def place(name: str, problem: Problem, nodes: int = 0):
    return find_planner(name)().place(problem, Effort(nodes))


def ratio(name: str, problem: Problem, nodes: int = 0) -> float:
    return place(name, problem, nodes).pool_bytes / problem.bound_bytes


def random_problem(seed: int, n: int, length: int, **more) -> Problem:
    random = np.random.RandomState(seed)
    lower = random.randint(0, length, n)
    return make_problem(lower, lower + 1 + random.randint(0, length, n), random.randint(0, 20, n) * 512, **more)


def test_all_are_found_and_say_what_they_do():
    found = {planner.name: planner for planner in all_planners()}
    wanted = ["none", "article_literal", "article_sized", "ge_blocks", "greedy_by_size", "best_fit", "skyline"]
    wanted += ["greedy_by_breadth", "greedy_by_conflicts", "greedy_by_area", "greedy_by_duration", "fast", "portfolio"]
    assert set(wanted) <= set(found)
    assert [name for name in wanted if not found[name].is_safe] == ["article_literal"]
    assert all(found[name].summary().endswith((".", ";")) or ":" in found[name].summary() for name in wanted)
    assert find_planner("HybridMemAssigner") is found["ge_blocks"]


@pytest.mark.parametrize("planner", all_planners(), ids=lambda planner: planner.name)
def test_nothing_to_place(planner):
    found = planner().place(make_problem([], [], []), Effort())
    assert (len(found.offsets), found.pool_bytes) == (0, 0)


def test_none_shares_nothing():
    assert place("none", make_problem([0, 5], [1, 6], [3, 4])).offsets.tolist() == [0, 3]


# --- the articles' planner ---


def test_the_articles_planner_takes_a_buffer_that_is_too_small():
    problem = make_problem([0, 0, 2], [2, 4, 4], [100, 50, 300], ["small", "neighbour", "large"])
    wrong = place("article_literal", problem)
    assert wrong.offsets.tolist() == [0, 100, 0]
    assert overlapping(problem, wrong.offsets) == [(1, 2)]
    assert wrong.pool_bytes == 150 < problem.bound_bytes
    right = place("article_sized", problem)
    assert right.offsets.tolist() == [0, 100, 150]


def test_the_articles_planner_may_overrun_the_pool_without_any_overlap():
    problem = make_problem([0, 1], [1, 2], [100, 300])
    wrong = place("article_literal", problem)
    assert overlapping(problem, wrong.offsets) == []
    assert faults(problem, wrong) == ["a buffer lies outside the pool"]


def as_printed(problem: Problem, checks_size: bool) -> tuple[list[int], int]:
    """The loop of the article, line by line."""
    buffers, offsets, pool = [], [UNPLACED] * len(problem), 0
    tensors = sorted(range(len(problem)), key=lambda t: problem.lower[t])
    for t in tensors:
        def_op, use_op, size = problem.lower[t], problem.upper[t] - 1, problem.size_bytes[t]
        for buffer in buffers:
            if buffer["last_use_op"] < def_op and (not checks_size or buffer["size"] >= size):
                offsets[t] = buffer["offset"]
                buffer["last_use_op"] = use_op
                break
        if offsets[t] == UNPLACED:
            offsets[t] = pool
            buffers.append({"offset": pool, "last_use_op": use_op, "size": size})
            pool += size
    return offsets, pool


@pytest.mark.parametrize("checks_size", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_articles_planner_is_what_is_printed(seed, checks_size):
    problem = random_problem(seed, 60, 25)
    found = place("article_sized" if checks_size else "article_literal", problem)
    offsets, pool = as_printed(problem, checks_size)
    assert found.offsets.tolist() == offsets
    assert checks_size or found.pool_bytes == pool


def bad_placements(problem: Problem, offsets) -> int:
    """How many buffers, when they are placed, overlap the next live one below or above them."""
    by_point = [(int(problem.upper[i]), 0, i) for i in range(len(problem))]
    by_point += [(int(problem.lower[i]), 1, i) for i in range(len(problem))]
    alive, bad = [], 0
    for _, begins, i in sorted(by_point):
        begin, end = int(offsets[i]), int(offsets[i] + problem.size_bytes[i])
        if not begins:
            alive.remove((begin, end, i))
            continue
        at = bisect_left(alive, (begin,))
        bad += any(b < end and begin < e for b, e, _ in alive[max(0, at - 1) : at + 1])
        insort(alive, (begin, end, i))
    return bad


@needs_data
def test_overlaps_of_the_articles_planner_on_public_problems():
    # As counted independently on the same files, by an older program.
    counted = dict(zip(SMALL, (54, 70, 111, 66, 123, 185, 108, 172, 137, 189, 286), strict=True))
    for name in SMALL:
        problem = public_problem(name)
        found = place("article_literal", problem)
        assert bad_placements(problem, found.offsets) == counted[name]
        assert len(overlapping(problem, found.offsets)) > counted[name]
        assert faults(problem, place("article_sized", problem)) == []


# --- GE's blocks ---


def test_a_block_is_as_large_as_its_largest_member():
    problem = make_problem([0, 1, 2], [1, 2, 3], [100, 5000, 700])
    found = place("ge_blocks", problem)
    assert found.offsets.tolist() == [1024, 0, 0]  # side by side in the largest
    assert found.pool_bytes == 5000
    assert faults(problem, found) == []


def test_a_small_block_nests_in_a_large_one_that_lives_at_another_time():
    problem = make_problem([0, 2, 2], [2, 4, 4], [8192, 4096, 2048])
    found = place("ge_blocks", problem)
    assert found.offsets.tolist() == [0, 0, 4096]


def test_blocks_lie_at_multiples_of_512():
    assert (place("ge_blocks", random_problem(3, 50, 20, alignment_bytes=96)).offsets % (512 * 3) == 0).all()


@needs_data
def test_blocks_are_worse_than_offsets():
    problems = [public_problem(name) for name in SMALL]
    blocks, offsets = (np.array([ratio(n, p) for p in problems]) for n in ("ge_blocks", "greedy_by_size"))
    assert (blocks > offsets).all()


# --- orders and gaps ---


def test_each_order():
    #                     large, short | long | crowded: begin at 0, 1, 3 and live for 1, 5 and 1 sections
    lower, upper, size = [0, 1, 3, 3, 3, 6, 7, 8], [1, 9, 4, 4, 4, 7, 8, 9], [50, 9, 40, 3, 2, 1, 1, 1]
    first = {
        Order.SIZE: [0, 2, 1],
        Order.CONFLICTS: [2, 1, 3],  # 40 x 3, 9 x 6, 3 x 3; the first one shares its time with nobody
        Order.AREA: [0, 1, 2],  # 50 x 1, 9 x 5, 40 x 1
        Order.WEIGHT: [0, 2, 1],  # 50, 40, 9 x sqrt(5)
        Order.DURATION: [1, 0, 2],
        Order.BREADTH: [2, 1, 3],  # 54 together at point 3; 50 at point 0
        Order.PEAK: [2, 3, 4],
        Order.START: [0, 1, 2],
    }
    rest = peel(make_problem(lower, upper, size))
    assert {order: order_of(order, rest)[:3].tolist() for order in Order} == first


def test_ties_are_broken_by_size_then_begin_then_number():
    rest = peel(make_problem([0, 5, 2, 2, 2], [9, 6, 3, 3, 3], [1, 7, 7, 8, 7]))
    by_duration = [order_of(order, rest).tolist() for order in (Order.SIZE, Order.DURATION, Order.AREA)]
    assert by_duration == [[2, 1, 3, 0], [2, 1, 3, 0], [2, 1, 3, 0]]  # renumbered: what lives throughout is no member


@pytest.mark.parametrize("seed", range(5))
def test_range_max(seed):
    random = np.random.RandomState(seed)
    values = random.randint(0, 1000, 37)
    lower = random.randint(0, 37, 50)
    upper = np.minimum(37, lower + 1 + random.randint(0, 37, 50))
    wanted = [values[a:b].max() for a, b in zip(lower, upper, strict=True)]
    assert range_max(values, lower, upper).tolist() == wanted


def test_first_and_best_gap():
    # Three walls of the whole length leave gaps of 4 and of 2 bytes; a buffer of 2 wants one of them.
    problem = make_problem([0] * 4, [2, 2, 2, 1], [1, 1, 1, 2], pinned=[0, 5, 8, -1])
    rest = peel(problem)
    placer = Placer(rest)
    order = np.arange(4)
    assert placer.offsets(order, Fit.FIRST).tolist() == [0, 5, 8, 1]
    assert placer.offsets(order, Fit.BEST).tolist() == [0, 5, 8, 6]


@pytest.mark.parametrize("fit", Fit)
@pytest.mark.parametrize("seed", range(15))
def test_scanning_and_gathering_agree(seed, fit):
    problem = random_problem(seed, 80, 30)
    rest = peel(problem)
    n = len(rest.members)
    order = np.random.RandomState(seed).permutation(n)
    lists = rest.sections.conflicts()
    nowhere = np.full(n, UNPLACED)
    whole, count = scan(order, rest.sections, rest.size_bytes, fit, nowhere)
    assert count == n
    assert gather(order, lists, rest.size_bytes, fit, nowhere)[0].tolist() == whole.tolist()
    # the first half in its place already
    half = np.where(np.isin(np.arange(n), order[: n // 2]), whole, UNPLACED)
    assert scan(order[n // 2 :], rest.sections, rest.size_bytes, fit, half)[0].tolist() == whole.tolist()
    # given up at the same buffer, the one that first ends above the limit
    limit = int((whole + rest.size_bytes).max()) - 1
    over = int(np.argmax((whole + rest.size_bytes)[order] > limit))
    assert scan(order, rest.sections, rest.size_bytes, fit, nowhere, limit)[1] == over
    assert gather(order, lists, rest.size_bytes, fit, nowhere, limit)[1] == over


def test_what_lives_throughout_lies_at_the_bottom():
    problem = make_problem([0, 0, 2, 0], [4, 2, 4, 4], [512, 100, 100, 0])
    rest = peel(problem)
    assert (rest.members.tolist(), rest.floor_bytes) == ([1, 2], 512)
    assert place("greedy_by_size", problem).offsets.tolist() == [0, 512, 512, 0]


@needs_data
def test_a_tie_is_worth_a_sixth_of_the_pool():
    """Size, then the shortest first, against size, then the first to begin: Pangu 2.6B."""
    rest = peel(public_problem("pangu_2.6B"))
    clock, size = rest.sections, rest.size_bytes
    placer = Placer(rest)

    def pool(*keys) -> float:
        offsets = placer.offsets(np.lexsort(keys), Fit.FIRST)
        return (rest.floor_bytes + (offsets + size).max()) / rest.problem.bound_bytes

    assert pool(clock.lower, -size) < 1.0076
    assert pool(clock.duration, -size) > 1.15


# --- arena and skyline ---


@pytest.mark.parametrize(("sizes", "offsets"), [((3, 2), (4, 7)), ((2, 3), (7, 4))], ids=["lower first", "upper first"])
def test_the_arena_merges_what_is_freed(sizes, offsets):
    # two neighbours, walled in, end at one point, freed in the order given, and a third one takes both places
    problem = make_problem([0, 0, 0, 1, 2], [2, 2, 9, 9, 3], [*sizes, 4, 1, 5])
    assert place("best_fit", problem).offsets.tolist() == [*offsets, 0, 9, 4]


def test_the_arena_grows_from_the_gap_at_its_top():
    problem = make_problem([0, 0, 1], [1, 2, 2], [2, 3, 4])
    assert place("best_fit", problem).offsets.tolist() == [3, 0, 3]


def test_the_arena_takes_the_smallest_gap():
    # at point 4 there are gaps of 6 and of 4 bytes
    problem = make_problem([0, 1, 2, 3, 4], [4, 9, 4, 9, 5], [6, 1, 4, 1, 4])
    assert place("best_fit", problem).offsets.tolist() == [0, 6, 7, 11, 7]


def piled(problem: Problem) -> list[int]:
    """A skyline by looking at every buffer placed before."""
    life = problem.upper - problem.lower
    order = sorted(range(len(problem)), key=lambda i: (-life[i], -problem.size_bytes[i], problem.lower[i], i))
    offsets: dict[int, int] = {}
    for i in order:
        below = [
            offsets[j] + problem.size_bytes[j]
            for j in offsets
            if problem.lower[j] < problem.upper[i] and problem.lower[i] < problem.upper[j]
        ]
        offsets[i] = max(below, default=0)
    return [int(offsets[i]) for i in range(len(problem))]


@pytest.mark.parametrize("seed", range(20))
def test_the_skyline_is_one(seed):
    random = np.random.RandomState(seed)
    lower = np.arange(60)  # every point begins something, so that time is not compressed
    problem = make_problem(lower, lower + 1 + random.randint(0, 20, 60), 1 + random.randint(0, 9, 60))
    clipped = make_problem(lower, np.minimum(problem.upper, 60), problem.size_bytes)
    assert place("skyline", clipped).offsets.tolist() == piled(clipped)


# --- several planners ---


def test_the_portfolio_stops_at_the_bound():
    found = place("portfolio", make_problem([0, 1], [1, 2], [5, 6]))
    assert (found.pool_bytes, found.note) == (6, "greedy by size, best fit; 1 planner tried")


def test_the_portfolio_is_never_worse_than_its_members():
    for seed in range(20):
        problem = random_problem(seed, 50, 20)
        names = ("greedy_by_size", "greedy_by_conflicts", "greedy_by_area", "greedy_by_duration", "greedy_by_breadth")
        best = min(place(name, problem).pool_bytes for name in (*names, "best_fit", "skyline"))
        found = place("portfolio", problem)
        assert found.pool_bytes <= best
        improved = place("portfolio", problem, 5_000)
        assert improved.pool_bytes <= found.pool_bytes
        assert improved.search_nodes <= 5_000
        assert faults(problem, improved) == []


@pytest.mark.parametrize(
    ("wishes", "how"),
    [({}, "then a search; 13 planners tried"), ({"apart": [[0, 1]]}, "improved; 12 planners tried")],
    ids=["free", "constrained"],
)
def test_going_below_the_best_plan_needs_effort_and_counts_it(wishes, how):
    problem = random_problem(7, 60, 25, **wishes)
    assert ratio("portfolio", problem) > 1
    assert place("portfolio", problem).search_nodes == 0
    found = place("portfolio", problem, 60_000)
    assert 0 < found.search_nodes <= 60_000
    assert found.note.endswith(how)
    assert found.pool_bytes < place("portfolio", problem).pool_bytes
    assert faults(problem, found) == []


def test_what_a_search_proves_raises_the_bound():
    lower, upper = [0, 0, 0, 1, 2, 1, 2, 3, 4], [1, 2, 3, 3, 3, 4, 4, 5, 5]
    problem = make_problem(lower, upper, [2, 2, 1, 1, 1, 1, 1, 3, 2])  # always full, and yet 5 does not do
    found = place("portfolio", problem, 1_000_000)
    assert found.pool_bytes == found.proved_bound_bytes == problem.bound_bytes + 1


def test_the_portfolio_plans_around_pins_where_no_order_is_affordable(monkeypatch):
    monkeypatch.setattr("gexplorer.memory.planners.placer.MOST_STEPS", 1)
    problem = random_problem(1, 40, 20, pinned=[512 * 40] + [-1] * 39, apart=[[3, 4], [5, 30]])
    found = place("portfolio", problem)
    assert found.note.startswith("skyline")
    assert faults(problem, found) == []
    with pytest.raises(Declined, match="too many to place one by one"):
        place("greedy_by_size", problem)


def test_pins_onto_each_other_are_named():
    problem = make_problem([0, 0], [2, 2], [512, 512], ["left", "right"], pinned=[0, 0])
    for name in ("portfolio", "greedy_by_size", "skyline"):
        with pytest.raises(Declined, match="left and right are pinned onto each other"):
            place(name, problem)


def test_budgets_hold(monkeypatch):
    """Without a budget only what runs first is run, and one greedy order."""
    monkeypatch.setattr(portfolio, "BUDGET_STEPS", 0)
    assert place("portfolio", random_problem(4, 60, 25)).note.endswith("; 1 planner tried")


@pytest.mark.parametrize("make", [infer, train])
@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_large_synthetic_problems(make, count):
    problem = make_problem(*make(count)[1:])
    assert ratio("portfolio", problem) <= 1.001


@pytest.mark.parametrize(("make", "winner"), [(infer, "greedy_by_conflicts"), (train, "skyline")])
def test_fast_chooses_by_the_number_of_pairs(make, winner):
    """The training graph has more than a billion of them."""
    problem = make_problem(*make(100_000)[1:])
    found = place("fast", problem)
    assert found.note == winner
    assert found.pool_bytes <= 1.001 * problem.bound_bytes


def test_fast_stays_fast_where_pairs_are_too_many_to_list():
    """Few pairs a buffer, but more in all than lists may hold: looking at all that is placed would take minutes."""
    count, lives = 450_000, 50
    lower = np.arange(count)
    problem = make_problem(lower, lower + lives, 512 * (1 + lower % 7))
    start = process_time()
    found = place("fast", problem)
    assert process_time() - start < 10
    assert found.note in ("best_fit", "skyline")


# Pool / bound at most. Those of resnet50 and, below, of A to K with nodes come from improving orders.
@needs_data
@pytest.mark.parametrize(
    ("name", "nodes", "at_most"),
    [("pangu_2.6B", 0, 1.0076), ("G_1", 0, 1.0), ("S_1", 0, 1.0139), ("Y_1", 0, 1.02), ("resnet50", 200_000, 1.0002)],
)
def test_public_problems(name, nodes, at_most):
    assert ratio("portfolio", public_problem(name), nodes) <= at_most


@needs_data
@pytest.mark.parametrize(("nodes", "at_most"), [(0, 1.23), (200_000, 1.145)])
def test_the_portfolio_on_the_hard_small_ones(nodes, at_most):
    ratios = [ratio("portfolio", public_problem(name), nodes) for name in SMALL]
    assert np.exp(np.mean(np.log(ratios))) <= at_most


def test_a_pin_above_the_load_is_the_bound_and_ends_the_portfolio_s_work():
    problem = make_problem([0, 2, 4], [2, 4, 6], [4, 4, 4], pinned=[-1, 100, -1])
    found = find_planner("portfolio")().place(problem, Effort(10_000_000))
    assert found.pool_bytes == problem.bound_bytes == 104
    assert found.search_nodes == 0
