"""Who is alive together with whom, against looking at every pair."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.memory.conflicts import Sections, sections


def random_lives(seed: int, n: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    lower = random.randint(-length, length, n)
    return lower, lower + 1 + random.randint(0, length, n)


def pairs_of(lower, upper) -> set[tuple[int, int]]:
    n = len(lower)
    return {(i, j) for i in range(n) for j in range(n) if i != j and lower[i] < upper[j] and lower[j] < upper[i]}


CASES = [(0, 1, 5), (1, 2, 3), (2, 40, 6), (3, 40, 50), (4, 60, 10_000_000), (5, 30, 1)]


@pytest.mark.parametrize("case", CASES)
def test_pairs_degrees_and_lists(case):
    lower, upper = random_lives(*case)
    wanted = pairs_of(lower, upper)
    found = sections(lower, upper)
    assert found.pairs == len(wanted) // 2
    assert found.degree.tolist() == [sum(i == k for k, _ in wanted) for i in range(len(lower))]
    lists = found.conflicts()
    assert [(i, int(j)) for i in range(len(lower)) for j in sorted(lists.of(i))] == sorted(wanted)


@pytest.mark.parametrize("case", CASES)
def test_compressed_time_tells_the_same_pairs_apart(case):
    lower, upper = random_lives(*case)
    found = sections(lower, upper)
    assert pairs_of(found.lower, found.upper) == pairs_of(lower, upper)
    assert sorted(set(found.lower.tolist())) == list(range(found.count))
    assert found.count <= len(lower)


def test_dense_and_sparse_clocks_agree():
    lower, upper = random_lives(7, 50, 30)
    dense, sparse = sections(lower, upper), sections(lower * 10_000_000, upper * 10_000_000)
    assert np.array_equal(dense.lower, sparse.lower)
    assert np.array_equal(dense.upper, sparse.upper)


@pytest.mark.parametrize("case", CASES)
def test_load(case):
    lower, upper = random_lives(*case)
    size = np.random.RandomState(9).randint(0, 1 << 50, len(lower))
    points = np.unique(lower)
    wanted = [int(size[(lower <= point) & (point < upper)].sum()) for point in points]
    assert sections(lower, upper).load(size).tolist() == wanted


def test_pairs_kept_apart_are_in_the_lists():
    lower, upper = np.array([0, 5, 10]), np.array([4, 9, 12])
    lists = sections(lower, upper).conflicts(np.array([[2, 0], [1, 1]]))
    assert [lists.of(i).tolist() for i in range(3)] == [[2], [], [0]]


def test_a_pair_is_listed_once():
    lower, upper = np.array([0, 3, 10]), np.array([4, 9, 12])
    lists = sections(lower, upper).conflicts(np.array([[1, 0], [2, 0], [0, 2], [0, 2]]))
    assert [sorted(lists.of(i).tolist()) for i in range(3)] == [[1, 2], [0], [0]]


def test_counting_does_not_list():
    """A million buffers alive at once: 5e11 pairs, counted exactly."""
    n = 1_000_000
    lower = np.arange(n)
    assert sections(lower, np.full(n, n)).pairs == n * (n - 1) // 2


def test_nothing():
    empty = np.zeros(0, dtype=np.int64)
    found = sections(empty, empty)
    assert isinstance(found, Sections)
    assert (found.count, found.pairs, found.load(empty).tolist()) == (0, 0, [])
    assert len(found.conflicts().others) == 0
