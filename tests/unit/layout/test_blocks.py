import numpy as np
import pytest

from gexplorer.layout.blocks import Run, repeated_runs


@pytest.mark.parametrize(
    ("codes", "runs"),
    [
        ([], []),
        ([1, 2, 3, 4, 5, 6], []),
        ([1, 2, 3] * 4, [Run(0, 3, 4)]),
        ([9, 8, *[1, 2, 3, 4] * 3, 7], [Run(2, 4, 3)]),
        ([*[1, 2, 3] * 5, 9, 9, 8, *[4, 5, 6, 7] * 3], [Run(0, 3, 5), Run(18, 4, 3)]),
    ],
)
def test_runs_are_found(codes, runs):
    assert repeated_runs(codes, least=3) == runs


def test_a_block_that_differs_parts_the_run():
    codes = [*[1, 2, 3, 4] * 4, 1, 2, 9, 4, *[1, 2, 3, 4] * 4]
    runs = repeated_runs(codes, least=3)
    assert sum(run.count for run in runs) == 8
    covered = {at for run in runs for at in range(run.start, run.start + run.period * run.count)}
    assert 18 not in covered


def test_what_is_found_does_repeat():
    codes = np.random.default_rng(3).integers(0, 3, 400).tolist()
    for run in repeated_runs(codes, least=3):
        block = codes[run.start : run.start + run.period]
        assert codes[run.start : run.start + run.period * run.count] == block * run.count
