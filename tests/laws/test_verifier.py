"""The verifier of placements agrees with looking at all pairs, on a hundred thousand corrupted plans."""

import random
from collections import Counter

import numpy as np
import pytest

from gexplorer.memory import overlaps
from gexplorer.memory.problem import Problem
from gexplorer.memory.verify import verify_placement

ALIGNMENT = 4
SPAN = 32  # points of one small plan
INT64_MAX = (1 << 63) - 1


class Plan:
    """A small sound plan, as lists of Python integers, that can be spoilt."""

    def __init__(self, rng: random.Random) -> None:
        """First fit by order of arrival, so that there is much reuse."""
        n = rng.randint(3, 12)
        self.rng = rng
        self.lower = [rng.randrange(SPAN - 1) for _ in range(n)]
        self.upper = [rng.randint(low + 1, min(SPAN, low + 9)) for low in self.lower]
        self.size = [ALIGNMENT * rng.randint(0 if rng.random() < 0.1 else 1, 6) for _ in range(n)]
        self.offset: list[int] = []
        for i in range(n):
            at = 0
            while any(
                self.meet(i, j) and at < self.offset[j] + self.size[j] and self.offset[j] < at + self.size[i]
                for j in range(i)
            ):
                at += ALIGNMENT
            self.offset.append(at)
        self.pinned = [offset if rng.random() < 0.2 else -1 for offset in self.offset]
        self.apart = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.05 and not self.share(i, j)]

    def meet(self, i: int, j: int) -> bool:
        return self.lower[i] < self.upper[j] and self.lower[j] < self.upper[i]

    def share(self, i: int, j: int) -> bool:
        return max(self.offset[i], self.offset[j]) < min(self.offset[i] + self.size[i], self.offset[j] + self.size[j])

    def spoil(self) -> None:
        """One corruption of a random kind; some do no harm."""
        rng, n = self.rng, len(self.size)
        i, j = rng.randrange(n), rng.randrange(n)
        match rng.randrange(10):
            case 0:
                self.offset[i] += rng.choice((-3, -2, -1, 1, 2, 3)) * ALIGNMENT
            case 1:
                self.offset[i] += rng.randint(-7, 7)
            case 2:
                self.offset[i], self.offset[j] = self.offset[j], self.offset[i]
            case 3:
                self.offset[i] = self.offset[j]
            case 4:
                self.size[i] = max(0, self.size[i] + rng.randint(-8, 16))
            case 5:
                self.upper[i] = min(SPAN, self.upper[i] + rng.randint(0, 12))
            case 6:
                self.lower[i] = max(0, self.lower[i] - rng.randint(0, 12))
            case 7:
                self.size[i] = rng.choice((-(1 << 31), -1, 1 << 31, 1 << 40))
            case 8:
                self.offset[i] = rng.choice((INT64_MAX, INT64_MAX - 7, 1 << 62, -(1 << 62), 1 << 31))
            case 9:
                self.lower[i], self.upper[i] = self.upper[i], self.lower[i]

    def wrong(self, pool: int, base: int) -> Counter:
        """Every defect by looking at every buffer and every pair, in integers that do not wrap."""
        found: Counter = Counter()
        n = len(self.size)
        well = []
        for i in range(n):
            end = self.offset[i] + self.size[i]
            checks = {
                "negative_size": self.size[i] < 0,
                "empty_lifetime": self.lower[i] >= self.upper[i],
                "negative_offset": self.offset[i] < 0,
                "address_overflow": self.size[i] >= 0 and end > INT64_MAX,
                "outside_pool": self.size[i] >= 0 and pool < end <= INT64_MAX,
                "misaligned": self.offset[i] % ALIGNMENT != 0,
                "pin_moved": self.pinned[i] not in (-1, self.offset[i]),
            }
            found.update((code, (base + i,)) for code, holds in checks.items() if holds)
            well.append(self.size[i] > 0 and self.lower[i] < self.upper[i] and end <= INT64_MAX)
        for i in range(n):
            for j in range(i):
                if well[i] and well[j] and self.share(i, j) and self.meet(i, j):
                    found["overlap", (base + j, base + i)] += 1
        for i, j in self.apart:
            if well[i] and well[j] and self.share(i, j):
                found["apart_shared", (base + j, base + i)] += 1
        return found

    def load(self) -> int:
        """The max live load of what is well formed."""
        solid = [i for i in range(len(self.size)) if self.size[i] > 0 and self.offset[i] + self.size[i] <= INT64_MAX]
        return max(
            (sum(self.size[i] for i in solid if self.lower[i] <= t < self.upper[i]) for t in range(SPAN)), default=0
        )


def together(plans: list[Plan]) -> tuple[Problem, np.ndarray]:
    """Many small plans as one, each in a time of its own."""

    def column(name: str, shift: int = 0) -> np.ndarray:
        return np.array([v + shift * at for at, plan in enumerate(plans) for v in getattr(plan, name)], np.int64)

    bases = np.cumsum([0] + [len(plan.size) for plan in plans])
    apart = np.array(
        [(base + i, base + j) for base, plan in zip(bases, plans, strict=False) for i, j in plan.apart], np.int64
    )
    problem = Problem(
        column("lower", SPAN),
        column("upper", SPAN),
        column("size"),
        (),
        ALIGNMENT,
        column("pinned"),
        apart.reshape(-1, 2),
    )
    return problem, column("offset")


def batch(seed: int, size: int) -> tuple[list[Plan], Counter, int]:
    """Spoilt plans, what is wrong with them, and their pool (now and then too small)."""
    rng = random.Random(seed)
    plans = [Plan(rng) for _ in range(size)]
    pool = max(o + s for plan in plans for o, s in zip(plan.offset, plan.size, strict=True)) - rng.choice((0, 0, 0, 4))
    for plan in plans:
        plan.spoil()
    expected: Counter = Counter()
    base = 0
    for plan in plans:
        expected += plan.wrong(pool, base)
        base += len(plan.size)
    if max(plan.load() for plan in plans) > pool:
        expected["pool_below_bound", ()] += 1
    return plans, expected, pool


def found_by_verifier(problem: Problem, offsets: np.ndarray, pool: int) -> Counter:
    found = verify_placement(problem, offsets, pool, limit=1 << 30)
    assert found.total == len(found)
    assert Counter(f.code for f in found) == found.counts
    return Counter((f.code, tuple(sorted(f.rows))) for f in found)


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_brute_force_on_100_000_corruptions(seed, monkeypatch):
    """8 x 25 x 500; every other batch by the compiled sweep. Which defects, in which buffers, and no others."""
    for part in range(25):
        monkeypatch.setattr(overlaps, "FEW_RECTANGLES", 0 if part % 2 else 1 << 30)
        plans, expected, pool = batch(100 * seed + part, 500)
        assert found_by_verifier(*together(plans), pool) == expected


def test_sound_plans_pass():
    rng = random.Random(7)
    plans = [Plan(rng) for _ in range(2_000)]
    pool = max(o + s for plan in plans for o, s in zip(plan.offset, plan.size, strict=True))
    assert verify_placement(*together(plans), pool) == ()


def test_the_order_of_the_buffers_does_not_matter():
    for seed in range(20):
        plans, expected, pool = batch(10_000 + seed, 60)
        problem, offsets = together(plans)
        order = np.random.default_rng(seed).permutation(len(problem))
        place = np.argsort(order)
        shuffled = Problem(
            *(column[order] for column in (problem.lower, problem.upper, problem.size_bytes)),
            (),
            ALIGNMENT,
            problem.pinned[order],
            place[problem.apart],
        )
        found = found_by_verifier(shuffled, offsets[order], pool)
        assert (
            Counter({(code, tuple(sorted(order[list(rows)].tolist()))): k for (code, rows), k in found.items()})
            == expected
        )


def test_both_sweeps_count_alike_at_scale(monkeypatch):
    rng = np.random.default_rng(3)
    n = 30_000
    lower = rng.integers(0, 5_000, n)
    begin = rng.integers(0, 1 << 40, n)
    many = overlaps.Rectangles(lower, lower + rng.integers(1, 50, n), begin, begin + rng.integers(1, 1 << 32, n))
    assert n > overlaps.FEW_RECTANGLES
    compiled = overlaps.overlapping_pairs(many, 50)
    monkeypatch.setattr(overlaps, "FEW_RECTANGLES", n)
    plain = overlaps.overlapping_pairs(many, 50)
    assert compiled[0] == plain[0] > 1_000
    np.testing.assert_array_equal(compiled[1], plain[1])
